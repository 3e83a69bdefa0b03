//! Documents that describe APIs: what their operations send to a real server of this machine.

use crate::fixture::{Desk, Served, call, failure, text};
use crate::origin::{Origin, Reply, Seen};
use serde_json::{Value, json};

/// A manifest with one upstream, whose document these lines are.
pub(crate) fn desk(document: &str, keys: &str) -> Desk {
    let keys: String = keys.lines().map(|line| format!("    {line}\n")).collect();
    let desk = Desk::with(&format!(
        "server: {{ name: desk }}\nupstreams:\n  api:\n    openapi: api.yaml\n{keys}"
    ));
    desk.write("api.yaml", document);
    desk
}

/// The tools of a document whose server echoes.
pub(crate) fn serve(origin: &Origin, document: &str, keys: &str) -> Served {
    let keys = format!("base_url: {}\nallow_private: [127.0.0.1]\n{keys}", origin.url("/v1"));
    desk(document, &keys).serve()
}

pub(crate) async fn echo() -> Origin {
    Origin::serve(|_| Reply::text("ok")).await
}

/// A document with the operation `ask`, which these lines describe.
fn document(method: &str, path: &str, lines: &str) -> String {
    let (pad, lines) = ("      ", lines.lines());
    let lines: String = lines.map(|line| format!("{pad}{line}\n")).collect();
    format!(
        "openapi: 3.0.3\ninfo: {{ title: t, version: '1' }}\npaths:\n  {path:?}:\n    {method}:\n\
         {pad}operationId: ask\n{lines}"
    )
}

/// What the server is asked for a call of the operation.
pub(crate) async fn sent(method: &str, path: &str, lines: &str, arguments: Value) -> Seen {
    let origin = echo().await;
    let server = serve(&origin, &document(method, path, lines), "");
    assert_eq!(text(&server, "api_ask", arguments).await, "ok");
    origin.only()
}

pub(crate) async fn target(parameters: &str, path: &str, arguments: Value) -> String {
    sent("get", path, &format!("parameters:\n{parameters}"), arguments).await.target
}

#[tokio::test]
async fn a_parameter_of_the_path_is_written_in_its_style() {
    for (style, arguments, expected) in [
        ("", json!({"id": "a/b c"}), "/v1/pets/a%2Fb%20c/toys"),
        ("", json!({"id": [3, 4]}), "/v1/pets/3,4/toys"),
        (", explode: true", json!({"id": {"a": 1, "b": 2}}), "/v1/pets/a=1,b=2/toys"),
        (", style: label", json!({"id": [3, 4]}), "/v1/pets/.3,4/toys"),
        (", style: label, explode: true", json!({"id": [3, 4]}), "/v1/pets/.3.4/toys"),
        (", style: matrix", json!({"id": [3, 4]}), "/v1/pets/;id=3,4/toys"),
        (", style: matrix, explode: true", json!({"id": [3, 4]}), "/v1/pets/;id=3;id=4/toys"),
    ] {
        let parameter = format!("- {{ name: id, in: path, required: true, schema: {{}}{style} }}");
        assert_eq!(target(&parameter, "/pets/{id}/toys", arguments).await, expected, "{style}");
    }
    // A name that nobody describes is an argument all the same.
    let seen = sent("get", "/pets/{petId}", "", json!({"petId": "7"})).await;
    assert_eq!(seen.target, "/v1/pets/7");
}

#[tokio::test]
async fn a_parameter_of_the_query_is_written_in_its_style() {
    for (style, arguments, expected) in [
        ("", json!({"q": ["a&b", 1]}), "/v1/find?q=a%26b&q=1"),
        ("", json!({"q": {"a": 1, "b": "x y"}}), "/v1/find?a=1&b=x%20y"),
        (", explode: false", json!({"q": ["a,b", 1]}), "/v1/find?q=a%2Cb,1"),
        (", style: spaceDelimited, explode: false", json!({"q": [1, 2]}), "/v1/find?q=1%202"),
        (", style: pipeDelimited, explode: false", json!({"q": [1, 2]}), "/v1/find?q=1%7C2"),
        (
            ", style: deepObject",
            json!({"q": {"a": {"b": [1]}}}),
            "/v1/find?q%5Ba%5D%5Bb%5D%5B0%5D=1",
        ),
        ("", json!({}), "/v1/find"),
    ] {
        let parameter = format!("- {{ name: q, in: query, schema: {{}}{style} }}");
        assert_eq!(target(&parameter, "/find", arguments).await, expected, "{style}");
    }
    let json =
        "- { name: q, in: query, content: { application/json: { schema: { type: object } } } }";
    let expected = "/v1/find?q=%7B%22a%22%3A1%7D";
    assert_eq!(target(json, "/find", json!({"q": {"a": 1}})).await, expected);
    let odd = "- { name: 'filter[a b]', in: query, schema: { type: string } }";
    let expected = "/v1/find?x=1&filter%5Ba%20b%5D=z";
    assert_eq!(target(odd, "/find?x=1", json!({"filter_a_b": "z"})).await, expected);
}

#[tokio::test]
async fn headers_and_cookies_are_sent_and_cannot_be_ended() {
    let lines = "parameters:
- { name: X-Ids, in: header, schema: { type: array, items: { type: integer } } }
- { name: X-Map, in: header, explode: true, schema: { type: object } }
- { name: Authorization, in: header, schema: { type: string } }
- { name: session, in: cookie, schema: { type: string } }
- { name: theme, in: cookie, schema: { type: string } }";
    let arguments = json!({
        "X-Ids": [1, 2], "X-Map": {"a": 1, "b": 2}, "session": "a;b=c", "theme": "dark",
    });
    let seen = sent("get", "/me", lines, arguments).await;
    assert_eq!(seen.header("x-ids"), Some("1,2"));
    assert_eq!(seen.header("x-map"), Some("a=1,b=2"));
    assert_eq!(seen.header("cookie"), Some("session=a%3Bb%3Dc; theme=dark"));
    assert_eq!(seen.header("authorization"), None);
    let origin = echo().await;
    let lines = "parameters: [{ name: X-A, in: header, schema: { type: string } }]";
    let server = serve(&origin, &document("get", "/me", lines), "");
    let why = failure(&server, "api_ask", json!({"X-A": "a\r\nx-b: c"})).await;
    assert!(why.contains("line ends"), "{why}");
    assert_eq!(origin.connections(), 0);
}

const PET: &str = "
  content:
    KIND:
      schema:
        type: object
        required: [name]
        properties:
          id: { type: integer, readOnly: true }
          name: { type: string }
          tag: { type: string, nullable: true }
          size: { type: object, properties: { h: { type: number } } }";

fn body(kind: &str, is_required: bool) -> String {
    format!("requestBody:\n  required: {is_required}{}", PET.replace("KIND", kind))
}

#[tokio::test]
async fn the_members_of_a_body_are_arguments() {
    let arguments = json!({"name": "Rex", "tag": null, "size": {"h": 1.5}});
    let seen = sent("post", "/pets", &body("application/json", true), arguments).await;
    assert_eq!(seen.text(), r#"{"name":"Rex","tag":null,"size":{"h":1.5}}"#);
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let merge = body("application/merge-patch+json", true);
    let seen = sent("patch", "/pets", &merge, json!({"name": "Rex"})).await;
    assert_eq!(seen.text(), r#"{"name":"Rex"}"#);
    assert_eq!(seen.header("content-type"), Some("application/merge-patch+json"));
    let form = body("application/x-www-form-urlencoded", true);
    let seen = sent("post", "/pets", &form, json!({"name": "R&x", "size": {"h": 1}})).await;
    assert_eq!(seen.text(), "name=R%26x&size=%7B%22h%22%3A1%7D");
    // What need not be sent is not sent.
    let optional = body("application/json", false);
    let seen = sent("post", "/pets", &optional, json!({})).await;
    assert_eq!((seen.text(), seen.header("content-type")), ("", None));
}

#[tokio::test]
async fn a_read_only_member_is_no_argument() {
    let origin = echo().await;
    let server = serve(&origin, &document("post", "/pets", &body("application/json", true)), "");
    let why = failure(&server, "api_ask", json!({"name": "Rex", "id": 7})).await;
    assert!(why.contains("`id`"), "{why}");
    let why = failure(&server, "api_ask", json!({})).await;
    assert!(why.contains("name"), "{why}");
}

#[tokio::test]
async fn a_body_that_clashes_with_a_parameter_is_one_argument() {
    let lines = format!(
        "parameters: [{{ name: name, in: query, schema: {{ type: string }} }}]\n{}",
        body("application/json", true)
    );
    let arguments = json!({"name": "q", "body": {"name": "Rex"}});
    let seen = sent("post", "/pets", &lines, arguments).await;
    assert_eq!((&*seen.target, seen.text()), ("/v1/pets?name=q", r#"{"name":"Rex"}"#));
}

#[tokio::test]
async fn files_and_bytes_are_sent_as_they_are() {
    let lines = "requestBody:
  required: true
  content:
    multipart/form-data:
      encoding: { photo: { contentType: image/png } }
      schema:
        type: object
        properties:
          note: { type: string }
          photo: { type: string, format: binary }
          more: { type: array, items: { type: string, format: binary } }";
    let arguments = json!({"note": "hi", "photo": "AQI=", "more": ["Aw==", "BA=="],
        "more_filename": ["a\u{e9}.bin"]});
    let seen = sent("post", "/photos", lines, arguments).await;
    let boundary = seen.header("content-type").and_then(|kind| kind.split("boundary=").nth(1));
    let boundary = boundary.expect("there is one").to_owned();
    let part = |head: &str, content: &[u8]| {
        let head = format!("--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let file = |name: &str, called: &str, kind: &str, content: &[u8]| {
        part(&format!("name=\"{name}\"; filename=\"{called}\"\r\ncontent-type: {kind}"), content)
    };
    let expected = [
        part("name=\"note\"", b"hi"),
        file("photo", "photo.png", "image/png", &[1, 2]),
        file("more", "a\u{e9}.bin", "application/octet-stream", &[3]),
        file("more", "more-2", "application/octet-stream", &[4]),
        format!("--{boundary}--\r\n").into_bytes(),
    ];
    assert_eq!(seen.body, expected.concat());

    let bytes = "requestBody: { required: true, content: { image/png: {} } }";
    let seen = sent("put", "/photo", bytes, json!({"body": "AQID"})).await;
    assert_eq!((&*seen.body, seen.header("content-type")), (&[1, 2, 3][..], Some("image/png")));
    let xml = "requestBody: { required: true, content: { application/xml: {} } }";
    let seen = sent("put", "/note", xml, json!({"body": "<a/>"})).await;
    assert_eq!((seen.text(), seen.header("content-type")), ("<a/>", Some("application/xml")));
}

#[tokio::test]
async fn each_operation_gets_the_credentials_that_it_asks_for() {
    let document = "openapi: 3.1.0
info: { title: t, version: '1' }
security: [{ key: [] }]
paths:
  /header: { get: { operationId: header } }
  /query: { get: { operationId: query, security: [{ inQuery: [] }] } }
  /cookie: { get: { operationId: cookie, security: [{ inCookie: [] }] } }
  /both: { get: { operationId: both, security: [{ key: [], inQuery: [], inCookie: [] }] } }
  /login: { get: { operationId: login, security: [{ other: [] }, { login: [] }] } }
  /open: { get: { operationId: open, security: [] } }
  /other: { get: { operationId: other, security: [{ other: [] }] } }
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Key }
    inQuery: { type: apiKey, in: query, name: key }
    inCookie: { type: apiKey, in: cookie, name: sid }
    login: { type: http, scheme: basic }
    other: { type: http, scheme: bearer }
";
    let keys = "security:
  key: k-secret
  inQuery: q-secret
  inCookie: c-secret
  login: { user: me, password: pw }";
    let origin = echo().await;
    let server = serve(&origin, document, keys);
    for (name, expected) in [
        ("header", ["k-secret", "", "", ""]),
        ("query", ["", "key=q-secret", "", ""]),
        ("cookie", ["", "", "sid=c-secret", ""]),
        ("both", ["k-secret", "key=q-secret", "sid=c-secret", ""]),
        ("login", ["", "", "", "Basic bWU6cHc="]),
        ("open", ["", "", "", ""]),
        ("other", ["", "", "", ""]),
    ] {
        assert_eq!(text(&server, &format!("api_{name}"), json!({})).await, "ok");
        let seen = origin.seen().pop().expect("it was asked");
        let header = |name| seen.header(name).unwrap_or_default().to_owned();
        let query = seen.target.split_once('?').map_or("", |(_, query)| query);
        let found = [header("x-key"), query.into(), header("cookie"), header("authorization")];
        assert_eq!(found, expected, "{name}");
    }
}

#[tokio::test]
async fn a_document_from_an_address_is_asked_for_once() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/api.json" => Reply::json(json!({
            "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
            "servers": [{"url": "/v2"}],
            "paths": {"/pets": {"get": {"operationId": "list", "summary": "All pets."}}}
        })),
        _ => Reply::json(json!([1])),
    })
    .await;
    let yaml = format!(
        "server: {{ name: d }}\nupstreams:\n  pets: {{ openapi: '{}', prefix: '', \
         allow_private: true }}\n",
        origin.url("/api.json")
    );
    let desk = Desk::with(&yaml);
    let manifest = tokio::task::spawn_blocking(move || desk.serve()).await.expect("it ends");
    let result = call(&manifest, "list", json!({})).await;
    assert_eq!(result["structuredContent"], json!([1]), "{result}");
    let targets: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/api.json", "/v2/pets"]);
}

#[test]
fn who_asks_is_not_told_to_another_server() {
    let document = "openapi: 3.0.0
servers: [{ url: 'https://a.example/v1' }]
paths:
  /a: { get: {} }
  /b:
    get: { servers: [{ url: 'https://b.example' }] }
    put: { servers: [{ url: 'https://a.example' }] }
";
    let names = |keys: &str| desk(document, keys).manifest().server().map(|it| it.tool_names());
    assert_eq!(names(""), Ok(["api_get_a", "api_get_b", "api_put_b"].map(str::to_owned).into()));
    let two = ["api_get_a", "api_put_b"].map(str::to_owned);
    assert_eq!(names("auth: { bearer: secret-token }"), Ok(two.clone().into()));
    assert_eq!(names("headers: { x-key: secret-token }"), Ok(two.into()));
    let desk = desk(document, "auth: { bearer: secret-token }");
    let left: Vec<_> = desk.manifest().warnings().iter().map(|note| note.name.clone()).collect();
    assert!(left.contains(&"GET /b".to_owned()), "{left:?}");
}
