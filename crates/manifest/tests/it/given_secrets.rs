//! What `${env:}` and `${file:}` give a program or a server stays with it: nothing that it says
//! back has it, whatever it was given as.

use crate::fixture::{Desk, ask, call};
use crate::origin::{Origin, Reply};
use serde_json::json;

const SECRET: &str = "hunter2-\"quoted\"";

/// What a tool or a resource of these lines answers, as JSON.
async fn answered(lines: &str) -> String {
    let (key, read) =
        if lines.starts_with("uri:") { ("resources", true) } else { ("tools", false) };
    let lines = lines.replace('\n', "\n    ");
    let desk = Desk::with(&format!("server: {{ name: desk }}\n{key}:\n  - {lines}\n"));
    desk.write("token", SECRET);
    desk.write("short", "abcde");
    desk.write("a.json", json!({ "a": SECRET }).to_string());
    let server = desk.serve();
    match read {
        true => ask(&server, "resources/read", json!({"uri": "app://it"})).await.to_string(),
        false => call(&server, "it", json!({})).await.to_string(),
    }
}

#[tokio::test]
async fn what_a_program_is_given_is_not_in_what_it_says() {
    let home = std::env::var("HOME").unwrap_or_default();
    for (lines, expected) in [
        ("name: it\ncommand: [echo, 'a ${file:token} b']", "a [redacted] b"),
        ("name: it\ncommand: [printf, '%s', '${file:token}']", "[redacted]"),
        ("name: it\ncommand: [sh, -c, 'echo [$T]']\nenv: { T: '${file:token}' }", "[[redacted]]"),
        ("name: it\ncommand: [cat]\nstdin: '<${file:token}>'", "<[redacted]>"),
        (
            "name: it\ncommand: [sh, -c, 'echo no $1 >&2; exit 3', sh, '${file:token}']",
            "no [redacted]",
        ),
        (
            "name: it\ncommand: [sh, -c, 'echo $1; echo $1 >&2', sh, \
             '${file:token}']\noutput: report",
            r#""stdout":"[redacted]\n","stderr":"[redacted]\n""#,
        ),
        (
            "name: it\ncommand: [sh, -c, 'cat a.json', sh, '${file:token}']\noutput: json",
            r#""structuredContent":{"a":"[redacted]"}"#,
        ),
        // What is short, what every program has, and what was not filled in is no secret.
        ("name: it\ncommand: [echo, '<${file:short}>']", "<abcde>"),
        ("name: it\ncommand: [echo, '<${env:HOME}>']", &*format!("<{home}>")),
        ("name: it\ncommand: [echo, hunter2-x]", "hunter2-x"),
        // Whoever writes a text means it.
        ("name: it\ntext: 'see ${file:token}'", r#"see hunter2-\"quoted\""#),
        ("uri: app://it\ncommand: [echo, '<${file:token}>']", "<[redacted]>"),
        ("uri: app://it\ncommand: [printf, '\\377%s', '${file:token}']", "/1tyZWRhY3RlZF0="),
    ] {
        let answer = answered(lines).await;
        let expected = expected.to_owned();
        let is_there = answer.contains(&expected)
            || answer.contains(&expected.replace('"', "\\\"").replace("\\n", "\\\\n"));
        assert!(is_there, "{lines}\n{answer}");
        assert!(lines.contains("text:") || !answer.contains("quoted"), "{lines}\n{answer}");
    }
}

#[tokio::test]
async fn what_a_server_is_given_is_not_in_what_it_says() {
    for (keys, reply) in [
        ("headers: { X-Key: '${file:token}' }", "you are KEY"),
        ("query: { key: '${file:token}' }", "you are KEY"),
        ("post: BASE/it\njson: { key: '${file:token}' }", r#"{"you": "KEY"}"#),
        ("headers: { X-Key: 'Key ${file:token}' }", "FAIL you are KEY"),
    ] {
        let said = reply.replace("KEY", "abc-123-abc");
        let origin = Origin::serve(move |_| match said.strip_prefix("FAIL ") {
            Some(said) => Reply::text(said).status_is(403),
            None => Reply::text(&*said),
        })
        .await;
        let keys = keys.replace('\n', "\n  ");
        let keys = if keys.contains("BASE") { keys } else { format!("get: BASE/it\n  {keys}") };
        let http = format!("http:\n  {keys}\n  allow_private: true")
            .replace("BASE/it", &origin.url("/it"));
        for lines in [format!("name: it\n{http}"), format!("uri: app://it\n{http}")] {
            let indented = lines.replace('\n', "\n    ");
            let (key, read) =
                if lines.starts_with("uri:") { ("resources", true) } else { ("tools", false) };
            let desk = Desk::with(&format!("server: {{ name: desk }}\n{key}:\n  - {indented}\n"));
            desk.write("token", "abc-123-abc");
            let server = desk.serve();
            let answer = match read {
                true if reply.starts_with("FAIL") => continue,
                true => ask(&server, "resources/read", json!({"uri": "app://it"})).await,
                false => call(&server, "it", json!({})).await,
            };
            let answer = answer.to_string();
            let is_clean = answer.contains('…') && !answer.contains("abc-123");
            assert!(is_clean, "{lines}\n{answer}");
        }
    }
}
