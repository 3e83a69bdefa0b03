//! What is suggested for arguments of prompts and variables of addresses: values of the file, names
//! in a directory, lines of a real program, lists of a real server. Messages that come from those.

use crate::fixture::{Desk, Served, ask, refusal};
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};

/// A server with a family `app://{a}/{b}` for whose `b` this is suggested.
fn family(complete: &str) -> Served {
    let desk = Desk::with(&format!(
        "server: {{ name: desk }}
resources:
  - uri: app://{{a}}/{{b}}
    command: [echo, '{{{{ a }}}}', '{{{{ b }}}}']
    complete:
      b: {complete}
"
    ));
    for name in ["docs/one.md", "docs/deep/two.md", "docs/.hidden", "outside.md"] {
        desk.write(name, "x");
    }
    std::os::unix::fs::symlink("../outside.md", desk.file("docs/link.md")).expect("it is ours");
    desk.serve()
}

fn params(typed: &str, known: Value) -> Value {
    json!({
        "ref": {"type": "ref/resource", "uri": "app://{a}/{b}"},
        "argument": {"name": "b", "value": typed},
        "context": {"arguments": known},
    })
}

async fn suggested(server: &Served, typed: &str, known: Value) -> Value {
    ask(server, "completion/complete", params(typed, known)).await["completion"].take()
}

#[tokio::test]
async fn values_are_those_that_begin_with_what_is_typed() {
    let server = family("[Oslo, oxford, Bergen, 5]");
    let expected = json!({"values": ["Oslo", "oxford"], "total": 2});
    assert_eq!(suggested(&server, "o", json!({})).await, expected);
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "app://{a}/{b}"},
        "argument": {"name": "a", "value": ""},
    });
    let none = ask(&server, "completion/complete", params).await;
    assert_eq!(none["completion"]["values"], json!([]));
}

#[tokio::test]
async fn names_in_a_directory_stay_in_it() {
    let server = family("{ directory: docs }");
    let all = suggested(&server, "", json!({})).await;
    assert_eq!(all, json!({"values": ["deep/two.md", "one.md"], "total": 2}));
    let deep = suggested(&server, "deep/", json!({})).await;
    assert_eq!(deep["values"], json!(["deep/two.md"]));
    for typed in ["../", "..", "/", "/etc/", "deep/../../", "\0", ".h"] {
        assert_eq!(suggested(&server, typed, json!({})).await["values"], json!([]), "{typed:?}");
    }
}

#[tokio::test]
async fn each_line_of_a_program_is_a_value() {
    let server = family("{ command: [printf, 'one\\r\\ntwo\\n\\n  %s\\none\\nOther', '{{ a }}'] }");
    let values = suggested(&server, "", json!({"a": "$(id)"})).await;
    assert_eq!(values, json!({"values": ["one", "two", "  $(id)", "Other"], "total": 4}));
    let values = suggested(&server, "o", json!({})).await;
    assert_eq!(values["values"], json!(["one", "Other"]));
}

#[tokio::test]
async fn who_reads_what_is_typed_has_chosen_already() {
    let server = family("{ command: [printf, '%s-%s', '{{ b }}', '{{ a }}'] }");
    let values = suggested(&server, "--x; id", json!({"a": "z", "other": "y"})).await;
    assert_eq!(values["values"], json!(["--x; id-z"]));
    let values = suggested(&server, "a\0b", json!({})).await;
    assert_eq!(values["values"], json!([]));
    let params = params(&"y".repeat(1_000_000), json!({}));
    let (code, why) = refusal(&server, "completion/complete", params).await;
    let too_long = "`printf` cannot be started: its arguments are too long. Send shorter ones.";
    assert_eq!((code, &*why), (-32603, too_long));
}

#[tokio::test]
async fn a_hundred_are_sent_and_all_are_counted() {
    let server = family("{ command: [seq, '250'] }");
    let values = suggested(&server, "", json!({})).await;
    let sent = values["values"].as_array().expect("a list").len();
    assert_eq!((sent, &values["total"], &values["hasMore"]), (100, &json!(250), &json!(true)));
    let values = suggested(&server, "24", json!({})).await;
    assert_eq!((&values["total"], values.get("hasMore")), (&json!(11), None));
}

#[tokio::test]
async fn a_list_of_a_server_is_suggested() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/Oslo/streets?q=K" => Reply::json(json!({"found": {"names": ["Karl", 7, null, {}, ""]}})),
        "/lines" => Reply::text("one\ntwo\n"),
        _ => Reply::json(json!({"message": "no"})).status_is(404),
    })
    .await;
    let family = |path: &str, pick: &str| {
        let url = origin.url(path);
        family(&format!("{{ http: {{ get: '{url}', allow_private: true }}{pick} }}"))
    };
    let server = family("/{{ a }}/streets?q={{ b }}", ", pick: /found/names");
    let values = suggested(&server, "K", json!({"a": "Oslo"})).await;
    assert_eq!(values, json!({"values": ["Karl", "7"], "total": 2}));
    // Nobody is asked before what the request needs is typed.
    let asked = origin.seen().len();
    assert_eq!(suggested(&server, "K", json!({})).await["values"], json!([]));
    for a in ["..", "../..", "", "%2e%2e/.."] {
        assert_eq!(suggested(&server, "K", json!({ "a": a })).await["values"], json!([]), "{a}");
    }
    assert_eq!(origin.seen().len(), asked);
    let (code, why) = refusal(&server, "completion/complete", params("", json!({"a": "x"}))).await;
    assert_eq!((code, &*why), (-32603, "`127.0.0.1` answered 404 Not Found: no"));
    let server = family("/lines", "");
    assert_eq!(suggested(&server, "t", json!({})).await["values"], json!(["two"]));
    let server = family("/Oslo/streets?q=K", "");
    let (code, why) = refusal(&server, "completion/complete", params("", json!({}))).await;
    assert_eq!((code, &*why), (-32603, "`127.0.0.1` did not answer a list."));
}

#[tokio::test]
async fn a_program_or_a_server_says_a_message() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/picture" => Reply::status(200).with("content-type", "image/png").body("PNG"),
        "/data" => Reply::status(200).with("content-type", "application/zip").body(b"\xff"),
        "/missing" => Reply::json(json!({"message": "no such letter"})).status_is(404),
        target => Reply::json(json!({"text": target, "more": true})),
    })
    .await;
    let url = origin.url("");
    let server = Desk::with(&format!(
        "server: {{ name: desk }}
resources:
  - {{ uri: 'app://today', command: [echo, monday] }}
prompts:
  - name: p
    arguments: [letter, 'tone?']
    messages:
      - user: Answer this.
      - command: [printf, '%s|', '{{{{ tone }}}}', '${{NOT}}', '{{{{ letter }}}}']
      - {{ role: assistant, command: [true] }}
      - {{ role: assistant, command: [cat], stdin: '{{{{ letter }}}}' }}
      - {{ http: {{ get: '{url}/{{{{ letter }}}}', allow_private: true }}, pick: /text }}
      - {{ resource: app://today }}
  - name: q
    arguments:
      letter: {{ complete: {{ command: [printf, 'a\\nb'] }} }}
    messages: [{{ http: {{ get: '{url}/{{{{ letter }}}}', allow_private: true }} }}]
"
    ))
    .serve();
    let get = |name: &str, letter: &str| json!({"name": name, "arguments": {"letter": letter}});
    let result = ask(&server, "prompts/get", get("p", "a b; `id`\n")).await;
    let text =
        |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
    let resource = json!({"uri": "app://today", "mimeType": "text/plain", "text": "monday\n"});
    let expected = json!([
        text("user", "Answer this."),
        text("user", "${NOT}|a b; `id`\n|"),
        text("assistant", "a b; `id`"),
        text("user", "/a%20b%3B%20%60id%60%0A"),
        {"role": "user", "content": {"type": "resource", "resource": resource}},
    ]);
    assert_eq!(result["messages"], expected);
    let picture = ask(&server, "prompts/get", get("q", "picture")).await;
    let expected = json!({"type": "image", "data": "UE5H", "mimeType": "image/png"});
    assert_eq!(picture["messages"][0]["content"], expected);
    let (code, why) = refusal(&server, "prompts/get", get("q", "data")).await;
    assert_eq!(
        (code, why.contains("no text, picture or sound, but application/zip")),
        (-32603, true)
    );
    let (code, why) = refusal(&server, "prompts/get", get("q", "missing")).await;
    assert_eq!((code, &*why), (-32603, "`127.0.0.1` answered 404 Not Found: no such letter"));
    let (code, why) = refusal(&server, "prompts/get", get("q", "..")).await;
    assert_eq!((code, why.contains("`.` or `..`")), (-32602, true), "{why}");
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "q"}, "argument": {"name": "letter", "value": "b"},
    });
    let suggested = ask(&server, "completion/complete", params).await;
    assert_eq!(suggested["completion"]["values"], json!(["b"]));
}
