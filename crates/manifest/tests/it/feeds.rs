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

/// A family `app://{a}` that asks this server at these lines, in which `BASE` is its address.
fn asking(origin: &Origin, lines: &str) -> Served {
    let lines = lines.replace("BASE", &origin.url(""));
    serve(&format!("uri: 'app://{{a}}'\n{lines}"))
}

#[tokio::test]
async fn a_variable_of_the_address_stays_in_its_place_of_a_request() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let server = asking(
        &origin,
        "http: { get: 'BASE/x/{{ a }}/y?q={{ a }}', headers: { x-a: '{{ a | length }}' }, \
         allow_private: true }",
    );
    for (uri, target) in [
        ("app://Oslo", "/x/Oslo/y?q=Oslo"),
        ("app://a%2fb%3Fc%26d%23e", "/x/a%2Fb%3Fc%26d%23e/y?q=a%2Fb%3Fc%26d%23e"),
        ("app://a%0D%0Ahost:%20b", "/x/a%0D%0Ahost%3A%20b/y?q=a%0D%0Ahost%3A%20b"),
        ("app://%252e%252e", "/x/%252e%252e/y?q=%252e%252e"),
        ("app://-", "/x/-/y?q=-"),
    ] {
        assert_eq!(read(&server, uri).await["text"], "ok");
        assert_eq!(origin.seen().last().expect("it was asked").target, target);
    }
    let asked = origin.seen().len();
    for uri in ["app://..", "app://%2e%2e", "app://..%2f..%2fadmin", "app://%2e%2E%5Cx", "app://."]
    {
        let (code, why) = refused(&server, uri).await;
        let expected = "Invalid params: These arguments make no usable address: a part of its \
                        path is `.` or `..`.";
        assert_eq!((code, &*why), (-32602, expected), "{uri}");
    }
    let server =
        asking(&origin, "http: { get: BASE/, headers: { x-a: '{{ a }}' }, allow_private: true }");
    for uri in ["app://a%0D%0Ax-b:%20c", "app://a%00b", "app://a%0Ab"] {
        let (code, why) = refused(&server, uri).await;
        assert_eq!((code, why.contains("`x-a` cannot hold line ends")), (-32602, true), "{why}");
    }
    assert_eq!(origin.seen().len(), asked);
}

#[tokio::test]
async fn a_server_tells_in_its_own_words_why_there_is_nothing() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/gone" => Reply::json(json!({"message": "it was deleted"})).status_is(410),
        "/never" => Reply::json(json!({"message": "no such issue"})).status_is(404),
        // A server that repeats who asked.
        "/who" => Reply::text(seen.header("authorization").unwrap_or_default()).status_is(403),
        _ => Reply::json(json!({"detail": "out of paper"})).status_is(500),
    })
    .await;
    let server = asking(
        &origin,
        "http: { get: 'BASE/{{ a }}', auth: { bearer: '${env:PATH}' }, allow_private: true }",
    );
    for (name, code, expected) in [
        ("never", -32602, "Resource not found: `127.0.0.1` answered 404 Not Found: no such issue"),
        ("gone", -32602, "Resource not found: `127.0.0.1` answered 410 Gone: it was deleted"),
        ("broken", -32603, "`127.0.0.1` answered 500 Internal Server Error: out of paper"),
        ("who", -32603, "`127.0.0.1` answered 403 Forbidden: …"),
    ] {
        let expected = (code, expected.to_owned());
        assert_eq!(refused(&server, &format!("app://{name}")).await, expected);
    }
}

#[tokio::test]
async fn a_private_address_is_refused_unless_it_is_allowed() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let server = asking(&origin, "http: { get: 'BASE/{{ a }}' }");
    let (code, why) = refused(&server, "app://x").await;
    assert_eq!((code, why.contains("is no address of the internet")), (-32603, true), "{why}");
    assert_eq!(origin.connections(), 0);
}

#[tokio::test]
async fn a_program_tells_why_there_is_nothing() {
    let server =
        serve("uri: 'app://{a}'\ncommand: [sh, -c, 'echo \"no $1\" >&2; exit 3', sh, '{{ a }}']");
    let (code, why) = refused(&server, "app://luck").await;
    assert_eq!((code, &*why), (-32603, "`sh` ended with exit code 3:\nno luck"));
    let server = serve("uri: app://x\ncommand: [sh, -c, 'echo a; exit 3']\nok_exit: [0, 3]");
    assert_eq!(read(&server, "app://x").await["text"], "a\n");
    let server = serve("uri: app://x\ncommand: [there-is-no-such-program]");
    let (code, why) = refused(&server, "app://x").await;
    assert_eq!((code, why.contains("there is no such program")), (-32603, true), "{why}");
}

#[tokio::test]
async fn a_part_of_the_json_can_be_picked() {
    let keys = "command: [printf, '%s', '{\"a\": [1, {\"b\": \"c\"}]}']";
    for (pick, kind, text) in [
        ("/a/1/b", "text/plain", "c"),
        ("/a/0", "application/json", "1"),
        ("/a/1", "application/json", "{\"b\": \"c\"}"),
    ] {
        let server = serve(&format!("uri: app://x\n{keys}\npick: {pick}"));
        let expected = json!({"uri": "app://x", "mimeType": kind, "text": text});
        assert_eq!(read(&server, "app://x").await, expected);
    }
    let server = serve(&format!("uri: app://x\n{keys}\npick: /b"));
    let (code, why) = refused(&server, "app://x").await;
    assert_eq!((code, &*why), (-32603, "`printf` printed JSON without /b."));
}

#[tokio::test]
async fn a_token_is_still_there_when_others_asked_in_between() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/token" => Reply::json(r#"{"access_token":"t","expires_in":3600}"#),
        _ => Reply::text("in"),
    })
    .await;
    let url = origin.url("");
    let resource = |name: &str| {
        format!(
            "  - uri: app://{name}
    http:
      get: '{url}/{name}'
      allow_private: true
      auth: {{ oauth: {{ token_url: '{url}/token', client_id: {name}, client_secret: s }} }}
"
        )
    };
    let (a, b) = (resource("a"), resource("b"));
    let server = Desk::with(&format!("server: {{ name: desk }}\nresources:\n{a}{b}")).serve();
    for uri in ["app://a", "app://b", "app://a", "app://b"] {
        assert_eq!(read(&server, uri).await["text"], "in");
    }
    let asked = origin.seen().into_iter().filter(|seen| seen.target == "/token").count();
    assert_eq!(asked, 2, "one for each of the two");
}
