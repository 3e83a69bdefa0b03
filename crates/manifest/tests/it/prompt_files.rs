//! Prompts in files of their own: a message that is a file, and directories of prompts; what they
//! say, what is listed of them, when they are read again, and their faults.

use crate::fixture::{Desk, ask};
use haft_manifest::{Edits, Live, Reading};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::sync::Arc;

const FOLDER: &str = "server: { name: desk }\nprompts: [{ directory: prompts/ }]\n";
const MESSAGE: &str = "server: { name: desk }
prompts:
  - name: p
    arguments: [who, 'tone?']
    messages:
      - file: words/greet.md
      - { role: assistant, file: words/fixed.txt }
";

async fn said(server: &haft_server::Server, name: &str, arguments: Value) -> Vec<String> {
    let got = ask(server, "prompts/get", json!({"name": name, "arguments": arguments})).await;
    let said = |message: &Value| {
        let text = message["content"]["text"].as_str().expect("a text");
        format!("{}: {text}", message["role"].as_str().expect("a role"))
    };
    got["messages"].as_array().expect("a list").iter().map(said).collect()
}

/// The drawing of the fault of a desk, without its directory.
fn fault(desk: &Desk) -> String {
    let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else { panic!("it is right") };
    fault.to_string().replace(&format!("{}/", desk.path().display()), "")
}

#[tokio::test]
async fn a_message_may_be_a_file_with_a_template() {
    let desk = Desk::with(MESSAGE);
    desk.write("words/greet.md", "# {{ who }}\n\n{% if tone %}Be {{ tone }}.{% endif %}\n");
    desk.write("words/fixed.txt", "\"${env:PATH}\", ${HOME} and $${x}\n");
    let server = desk.serve();
    let fixed = "assistant: \"${env:PATH}\", ${HOME} and $${x}";
    let told = said(&server, "p", json!({"who": "Ada", "tone": "kind"})).await;
    assert_eq!(told, ["user: # Ada\n\nBe kind.", fixed]);
    assert_eq!(said(&server, "p", json!({"who": "{{ tone }}"})).await[0], "user: # {{ tone }}\n");
}

#[tokio::test]
async fn each_file_of_a_directory_is_a_prompt_of_its_name() {
    let desk = Desk::with(FOLDER);
    let head = "---\ntitle: Review\ndescription: Reviews code.\narguments:\n  code: The code.\n  \
                'lang?': { description: Its language., values: [rust, perl] }\n---\n\n";
    desk.write(
        "prompts/review.md",
        format!("\u{feff}{head}Review {{{{ lang }}}}: {{{{ code }}}}\n"),
    );
    desk.write("prompts/plain text.md", "{{ second }} {{ first }} {{ second | upper }}\n");
    desk.write("prompts/crlf.md", "---\r\ndescription: D\r\n---\r\n\r\nHello.\r\n");
    desk.write("prompts/empty-head.md", "---\n---\n--- {{ x }}");
    for other in ["prompts/notes.txt", "prompts/.hidden.md", "prompts/below/deep.md", "out.md"] {
        desk.write(other, "{{ nothing of ours");
    }
    symlink("../out.md", desk.file("prompts/leak.md")).expect("it is ours");
    let server = desk.serve();
    let listed = ask(&server, "prompts/list", json!({})).await["prompts"].take();
    let required = |name: &str| json!({"name": name, "required": true});
    let expected = json!([
        {"name": "crlf", "description": "D"},
        {"name": "empty-head", "arguments": [required("x")]},
        {"name": "plain text", "arguments": [required("second"), required("first")]},
        {"name": "review", "title": "Review", "description": "Reviews code.", "arguments": [
            {"name": "code", "description": "The code.", "required": true},
            {"name": "lang", "description": "Its language."},
        ]},
    ]);
    assert_eq!(listed, expected);
    assert_eq!(said(&server, "crlf", json!({})).await, ["user: Hello.\r"]);
    assert_eq!(said(&server, "empty-head", json!({"x": "1"})).await, ["user: --- 1"]);
    let told = said(&server, "plain text", json!({"first": "a", "second": "b"})).await;
    assert_eq!(told, ["user: b a B"]);
    assert_eq!(said(&server, "review", json!({"code": "1"})).await, ["user: Review : 1"]);
    let complete = json!({"ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "lang", "value": "r"}});
    let suggested = ask(&server, "completion/complete", complete).await;
    assert_eq!(suggested["completion"]["values"], json!(["rust"]));
}

#[test]
fn a_fault_of_a_prompt_is_shown_in_its_file() {
    let check = |text: &str, expected: &str| {
        let desk = Desk::with(FOLDER);
        desk.write("prompts/a.md", text);
        let (drawn, mut lines) = (fault(&desk), expected.lines());
        let first = lines.next().expect("a line");
        assert_eq!(drawn.lines().next(), Some(first), "{text}\n{drawn}");
        for line in lines {
            assert!(drawn.contains(line), "{line}\n{drawn}");
        }
    };
    check(
        "---\narguments: [code]\n---\nReview\n\"{{ cod }}\"\n",
        "prompts/a.md:5:5: there is no argument `cod`\n5 | \"{{ cod }}\"\n  |     ^^^\n\
         = help: did you mean `code`?",
    );
    check(
        "\"One\n{{ a | shout }}",
        "prompts/a.md:2:8: the template cannot be used: there is no \
        filter `shout`",
    );
    check(
        "---\nargument: [code]\n---\nx",
        "prompts/a.md:2:1: `argument` is no known key of the \
        head of a prompt\n= help: did you mean `arguments`?",
    );
    check(
        "---\narguments:\n  a: { complete: { command: [echo, '{{ b }}'] } }\n---\n{{ a }}",
        "prompts/a.md:3:40: there is no argument `b`",
    );
    check("---\ntitle: [\n---\nx", "prompts/a.md:2:8: this is not YAML: unclosed bracket '['");
    check(
        "---\ntitle: A\n",
        "prompts/a.md:1:1: this is not YAML: the head that begins here has no \
        second line of `---`",
    );
    check(
        "---\ntitle: A\n---\n \n",
        "prompts/a.md:4:1: the prompt `a` says nothing\n\
        = help: write what it says below its head",
    );
    let desk = Desk::with(MESSAGE);
    desk.write("words/greet.md", "Hello\n  {{ whom }}\n");
    assert!(fault(&desk).starts_with("words/greet.md:2:6: there is no argument `whom`"));
}

#[test]
fn what_cannot_be_read_is_a_fault_where_it_is_named() {
    let desk = Desk::with(MESSAGE);
    desk.write("words/greet.md", "Hello {{ who }}{{ tone }}");
    let first = |desk: &Desk| fault(desk).lines().next().map(str::to_owned).expect("a line");
    let missing = "haft.yaml:7:34: cannot read \"words/fixed.txt\": there is no such file";
    assert_eq!(first(&desk), missing);
    let desk = Desk::with(FOLDER);
    let missing = "haft.yaml:2:24: cannot read \"prompts/\": there is no such directory";
    assert_eq!(first(&desk), missing);
    desk.write("prompts/a.md", b"\xff");
    let odd = "haft.yaml:2:24: cannot read \"prompts/a.md\": it is not UTF-8";
    assert_eq!(first(&desk), odd);
    desk.write("prompts/a.md", "a".repeat(1024 * 1024 + 1));
    let long = "haft.yaml:2:24: cannot read \"prompts/a.md\": The file is larger than 1048576 \
                bytes, which is the limit here.";
    assert_eq!(first(&desk), long);
    let desk = Desk::with(&FOLDER.replace("[{", "[{ name: a, text: b }, {"));
    desk.write("prompts/a.md", "A");
    let twice = "haft.yaml:2:46: the prompt of line 2 is called `a` already";
    assert_eq!(first(&desk), twice);
    let desk = Desk::with(&FOLDER.replace("[{", "[{ title: a,"));
    assert_eq!(first(&desk), "haft.yaml:2:13: `title` and `directory` exclude each other");
    let desk = Desk::with("server: { name: a }\nprompts: [{ title: a, text: b }]\n");
    assert_eq!(first(&desk), "haft.yaml:2:11: a prompt needs `name`");
}

#[test]
fn a_directory_of_prompts_has_a_bound_in_files_and_in_bytes() {
    let crowded = "haft.yaml:2:24: \"prompts/\" has more than 1000 files, or 16777216 bytes of \
                   prompts";
    let desk = Desk::with(FOLDER);
    (0..1000).for_each(|number| desk.write(&format!("prompts/{number}.txt"), "x"));
    desk.manifest();
    desk.write("prompts/one-more.txt", "x");
    assert_eq!(fault(&desk).lines().next(), Some(crowded));
    let desk = Desk::with(FOLDER);
    let large = "a".repeat(1024 * 1024);
    (0..16).for_each(|number| desk.write(&format!("prompts/{number}.md"), &large));
    desk.manifest();
    desk.write("prompts/one-more.md", "a");
    assert_eq!(fault(&desk).lines().next(), Some(crowded));
}

#[tokio::test]
async fn what_is_edited_in_a_file_is_an_edit() {
    let desk = Desk::with(&FOLDER.replace("}]", "}, { name: m, messages: [{ file: m.md }] }]"));
    desk.write("prompts/a.md", "A");
    desk.write("m.md", "M");
    let live = Live::new(&desk.file("haft.yaml"), Reading::Edits, false);
    let live = Arc::new(live.unwrap_or_else(|fault| panic!("{fault}")));
    let mut edits = Edits::new(Arc::clone(&live));
    let remove = || std::fs::remove_file(desk.file("prompts/a.md")).expect("it is ours");
    let made: [(&dyn Fn(), &str); 5] = [
        (&|| desk.write("prompts/a.md", "B"), "~ a"),
        (&|| desk.write("prompts/b.md", "B"), "+ b"),
        (&|| desk.write("m.md", "N"), "~ m"),
        (&remove, "- a"),
        (&|| desk.write("prompts/b.md", "---\ntitle: T\n---\nB"), "~ b"),
    ];
    for (edit, expected) in made {
        edit();
        let told = edits.next().await.unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(told.prompts.to_string(), expected);
    }
    assert_eq!(said(live.server(), "m", json!({})).await, ["user: N"]);
    desk.write("prompts/b.md", "{{ b");
    let fault = edits.next().await.expect_err("it is no template");
    assert_eq!((fault.path(), fault.line()), (&*desk.file("prompts/b.md"), Some(1)));
    assert_eq!(said(live.server(), "b", json!({})).await, ["user: B"]);
}

#[test]
fn what_is_odd_about_a_prompt_in_a_directory_is_told_at_the_directory() {
    let desk = Desk::with(FOLDER);
    desk.write("prompts/a.md", "---\ntitle: T\narguments: [b]\n---\n${HOME} stays.");
    let warnings: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    let expected = [
        "2:24: a: nobody can tell what it is for; add a `description`",
        "2:24: a: no message reads the argument `b`",
    ];
    assert_eq!(warnings, expected);
}
