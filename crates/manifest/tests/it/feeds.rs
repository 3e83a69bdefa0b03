//! Resources that a real program prints or a real server answers: what is read of them, and what is
//! told where nothing can be.

use crate::fixture::{Desk, Served, ask, refusal};
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};

/// A server with a resource of these keys.
fn serve(lines: &str) -> Served {
    let lines = lines.replace('\n', "\n    ");
    Desk::with(&format!("server: {{ name: desk }}\nresources:\n  - {lines}\n")).serve()
}

async fn read(server: &Served, uri: &str) -> Value {
    let mut result = ask(server, "resources/read", json!({ "uri": uri })).await;
    result["contents"][0].take()
}

async fn refused(server: &Served, uri: &str) -> (i64, String) {
    refusal(server, "resources/read", json!({ "uri": uri })).await
}

#[tokio::test]
async fn what_a_program_prints_is_the_content() {
    let server = serve("uri: app://now.csv\ncommand: [printf, 'a,b\\n%s\\n', c]");
    let expected = json!({"uri": "app://now.csv", "mimeType": "text/csv", "text": "a,b\nc\n"});
    assert_eq!(read(&server, "app://now.csv").await, expected);
    let server = serve("uri: app://bytes\ncommand: [printf, '\\377']");
    let expected =
        json!({"uri": "app://bytes", "mimeType": "application/octet-stream", "blob": "/w=="});
    assert_eq!(read(&server, "app://bytes").await, expected);
}

#[tokio::test]
async fn a_variable_of_the_address_is_one_argument() {
    let server = serve(
        "uri: 'app://{a}/{+b}'
command: [sh, -c, 'printf \"%s|\" \"$@\"; cat; printf \"|%s\" \"$C\"', sh, '{{ a }}', 'x{{ b }}y']
stdin: '{{ b }}'
env: { C: '{{ a }}' }",
    );
    for (uri, a, b) in [
        ("app://1/2/3", "1", "2/3"),
        ("app://$(id);`id`&%22'/%0A%7C*", "$(id);`id`&\"'", "\n|*"),
        ("app://-rf/--help", "-rf", "--help"),
        ("app://%7B%7B%20b%20%7D%7D/%2e%2e%2fx", "{{ b }}", "../x"),
    ] {
        let contents = read(&server, uri).await;
        let expected = format!("{a}|x{b}y|{b}|{a}");
        assert_eq!((&contents["uri"], &contents["text"]), (&json!(uri), &json!(expected)));
    }
    let (code, why) = refused(&server, "app://%00/x").await;
    let nul = "Invalid params: An argument of a program cannot hold a NUL character.";
    assert_eq!((code, &*why), (-32602, nul));
    let (code, why) = refused(&server, &format!("app://{}/x", "y".repeat(1_000_000))).await;
    assert_eq!((code, why.contains("at most 8192 bytes")), (-32602, true), "{why}");
    let listed = ask(&server, "resources/templates/list", json!({})).await;
    assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "app://{a}/{+b}");
}

#[tokio::test]
async fn what_a_server_answers_is_the_content_and_of_its_kind() {
    let origin = Origin::serve(|seen| {
        let (kind, body) = match &*seen.target {
            "/text" => ("text/markdown; charset=utf-8", "Grüße".as_bytes()),
            "/latin" => ("text/plain; charset=latin1", &b"\xe9"[..]),
            "/json" => ("application/json", &b"{\"a\":[1]}"[..]),
            "/picture" => ("image/gif", &b"GIF"[..]),
            "/liar" => ("text/plain", &b"\xff"[..]),
            _ => ("text/plain", &b""[..]),
        };
        Reply::status(200).with("content-type", kind).body(body)
    })
    .await;
    let server = serve(&format!(
        "uri: 'app://{{path}}'\nhttp: {{ get: '{}/{{{{ path }}}}', allow_private: true }}",
        origin.url("")
    ));
    for (path, mime_type, body, content) in [
        ("text", "text/markdown", "text", "Grüße"),
        ("latin", "text/plain", "text", "é"),
        ("json", "application/json", "text", r#"{"a":[1]}"#),
        ("picture", "image/gif", "blob", "R0lG"),
        ("liar", "text/plain", "blob", "/w=="),
        ("empty", "text/plain", "text", ""),
    ] {
        let uri = format!("app://{path}");
        let expected = json!({"uri": uri, "mimeType": mime_type, body: content});
        assert_eq!(read(&server, &uri).await, expected);
    }
}
