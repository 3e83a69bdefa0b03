//! Tools that ask a real server of this machine: what is sent for a call's arguments.

use crate::fixture::{Desk, Served, call, failure, text};
use crate::origin::{Origin, Reply, Seen};
use serde_json::{Value, json};

/// A tool `ask` with these lines below `http`, in which `BASE` is the server; it takes anything.
pub(crate) fn tool(origin: &Origin, lines: &str, keys: &str) -> Served {
    let lines: String = lines.lines().map(|line| format!("      {line}\n")).collect();
    let keys: String = keys.lines().map(|line| format!("    {line}\n")).collect();
    let open = "input_schema: { type: object, patternProperties: { '': {} } }";
    let yaml = format!(
        "  - name: ask\n    {open}\n    http:\n{lines}      allow_private: [127.0.0.1]\n{keys}"
    );
    Desk::with_tools(&yaml.replace("BASE", &origin.url(""))).serve()
}

pub(crate) async fn echo() -> Origin {
    Origin::serve(|_| Reply::text("ok")).await
}

/// What the server is asked for a call.
async fn sent(lines: &str, arguments: Value) -> Seen {
    let origin = echo().await;
    let server = tool(&origin, lines, "");
    assert_eq!(text(&server, "ask", arguments).await, "ok");
    origin.only()
}

/// Why a call asks nobody.
async fn refused(lines: &str, arguments: Value) -> String {
    let origin = echo().await;
    let server = tool(&origin, lines, "");
    let why = failure(&server, "ask", arguments).await;
    assert_eq!(origin.connections(), 0, "{why}");
    why
}

#[tokio::test]
async fn a_value_stays_in_its_segment_of_the_path() {
    let lines = "get: BASE/v1/cities/{{ city }}/now";
    for (city, expected) in [
        ("Oslo", "/v1/cities/Oslo/now"),
        ("São Paulo", "/v1/cities/S%C3%A3o%20Paulo/now"),
        ("a/b?c=d#e", "/v1/cities/a%2Fb%3Fc%3Dd%23e/now"),
        ("a..b/.c", "/v1/cities/a..b%2F.c/now"),
        ("%2e%2e", "/v1/cities/%252e%252e/now"),
        ("a\\b@c:1", "/v1/cities/a%5Cb%40c%3A1/now"),
        ("a\r\nhost: evil\t\0", "/v1/cities/a%0D%0Ahost%3A%20evil%09%00/now"),
        ("...", "/v1/cities/.../now"),
    ] {
        assert_eq!(sent(lines, json!({"city": city})).await.target, expected);
    }
    assert_eq!(sent(lines, json!({"city": 7})).await.target, "/v1/cities/7/now");
    assert_eq!(sent(lines, json!({"city": ["a", "b,c"]})).await.target, "/v1/cities/a,b%2Cc/now");
}

#[tokio::test]
async fn a_segment_that_would_lead_elsewhere_is_refused() {
    let lines = "delete: BASE/items/{{ id }}";
    for (id, why) in [
        (json!(".."), "a part of its path is `.` or `..`"),
        (json!("."), "a part of its path is `.` or `..`"),
        (json!("../../admin"), "a part of its path is `.` or `..`"),
        (json!("a\\..\\b"), "a part of its path is `.` or `..`"),
        (json!("a/."), "a part of its path is `.` or `..`"),
        (json!(""), "`id` is absent or empty"),
        (json!(null), "`id` is absent or empty"),
        (json!([]), "`id` is absent or empty"),
    ] {
        let expected = format!("These arguments make no usable address: {why}.");
        assert_eq!(refused(lines, json!({"id": id})).await, expected);
    }
    let long = "x".repeat(20_000);
    assert!(refused(lines, json!({"id": long})).await.contains("it is too long"));
}

#[tokio::test]
async fn a_path_may_be_a_template_that_does_more() {
    let lines = "get: \"BASE/{{ name | upper }}{% if page %}/{{ page }}{% endif %}/x\"";
    assert_eq!(sent(lines, json!({"name": "a/b"})).await.target, "/A%2FB/x");
    assert_eq!(sent(lines, json!({"name": "a", "page": 2})).await.target, "/A/2/x");
    let why = refused(lines, json!({"name": ""})).await;
    assert!(why.ends_with("`name` is empty."), "{why}");
    let why = refused(lines, json!({"page": 1})).await;
    assert!(why.contains("a part of the path is empty"), "{why}");
    let lines = "get: \"BASE/files/{{ path | safe }}\"";
    assert_eq!(sent(lines, json!({"path": "a/b.txt"})).await.target, "/files/a/b.txt");
    for path in [
        "../x",
        "a/../../x",
        "a/%2E%2e/x",
        "a/.",
        "a b",
        "a\r\nb",
        "a#b",
        "a\\b",
        "a\tb",
        "x?admin=true",
    ] {
        let why = refused(lines, json!({"path": path})).await;
        assert!(why.starts_with("These arguments make no usable address: "), "{path}: {why}");
    }
}

#[tokio::test]
async fn a_value_of_the_query_adds_no_parameter() {
    let lines = "get: BASE/s?a=1&q={{ q }}&r=x{{ r }}y
query: { tag: '{{ tags }}', both: '{{ q }}-{{ r }}', 'a b': 'c d', n: 5 }";
    let seen = sent(lines, json!({"q": "x&admin=1#f+ ", "tags": ["a=b", "c&d"]})).await;
    let expected = "/s?a=1&q=x%26admin%3D1%23f%2B%20&tag=a%3Db&tag=c%26d\
                    &both=x%26admin%3D1%23f%2B%20-&a%20b=c%20d&n=5";
    assert_eq!(seen.target, expected);
    let seen = sent(lines, json!({"r": "&"})).await;
    assert_eq!(seen.target, "/s?a=1&r=x%26y&both=-%26&a%20b=c%20d&n=5");
    assert_eq!(sent("get: BASE", json!({})).await.target, "/");
    assert_eq!(sent("get: BASE/x?q={{ q }}", json!({})).await.target, "/x");
}

#[tokio::test]
async fn a_header_holds_no_other_header() {
    let lines = "get: BASE/
headers: { x-name: '{{ name }}', x-all: 'v{{ name }}', x-list: '{{ list }}', accept: text/csv }";
    let seen = sent(lines, json!({"name": "zoë", "list": [1, "b"]})).await;
    assert_eq!(seen.headers["x-name"].as_bytes(), "zoë".as_bytes());
    assert_eq!((seen.header("x-list"), seen.header("accept")), (Some("1, b"), Some("text/csv")));
    let seen = sent(lines, json!({})).await;
    assert_eq!((seen.header("x-name"), seen.header("x-all")), (None, None));
    for name in ["a\r\nx-evil: 1", "a\nb", "a\0b", "a\u{7f}b"] {
        let why = refused(lines, json!({"name": name})).await;
        let expected =
            "The header `x-name` cannot hold line ends or other control characters.".to_owned();
        assert_eq!(why, expected, "{name:?}");
    }
}

#[tokio::test]
async fn a_body_of_json_keeps_the_types_of_its_arguments() {
    let lines = "post: BASE/
json: { city: '{{ city }}', days: '{{ days }}', note: 'for {{ city }}',
  fixed: [1, 2.5, true, null, 'x'],
  deep: { list: ['{{ a }}', '{{ b }}'], '\"': '{{ city }}' }, one: '{{ text }}' }";
    let arguments = json!({"city": "a\"b\\\n", "days": 3, "b": {"c": [null]}});
    let seen = sent(lines, arguments).await;
    let body: Value = serde_json::from_slice(&seen.body).expect("it is JSON");
    let expected = json!({
        "city": "a\"b\\\n", "days": 3, "note": "for a\"b\\\n", "fixed": [1, 2.5, true, null, "x"],
        "deep": {"list": [{"c": [null]}], "\"": "a\"b\\\n"},
    });
    assert_eq!(body, expected);
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let seen = sent("put: BASE/\njson: '{{ all }}'", json!({"all": [1, "a"]})).await;
    assert_eq!((&*seen.method, seen.text()), ("PUT", "[1,\"a\"]"));
    let seen = sent("patch: BASE/\njson: '{{ all }}'", json!({})).await;
    assert_eq!((seen.text(), seen.header("content-type")), ("", None));
    let seen = sent("post: BASE/\njson: { a: '{{ a }}', b: '{{ b }}' }", json!({"b": 1})).await;
    assert_eq!(seen.text(), "{\"b\":1}");
}

#[tokio::test]
async fn a_form_is_escaped_like_a_query() {
    let lines = "post: BASE/\nform: { user: '{{ user }}', tag: '{{ tags }}', no: '{{ no }}' }";
    let seen = sent(lines, json!({"user": "a&b=c d", "tags": ["x", "y"]})).await;
    assert_eq!(seen.text(), "user=a%26b%3Dc%20d&tag=x&tag=y");
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn parts_of_a_body_end_where_they_should() {
    let lines = "post: BASE/
multipart:
  note: '{{ note }}'
  file: { content: '{{ data }}', filename: '{{ name }}', mime_type: text/csv, base64: true }";
    let arguments = json!({"note": "--haft-\r\nx", "data": "AAEC", "name": "a\"\r\nb.csv"});
    let seen = sent(lines, arguments).await;
    let kind = seen.header("content-type").expect("it has a kind");
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
    let expected = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\n--haft-\r\nx\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"file\"; \
         filename=\"a%22%0D%0Ab.csv\"\r\ncontent-type: text/csv\r\n\r\n\u{0}\u{1}\u{2}\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(seen.text(), expected);
    let why = refused(lines, json!({"data": "no Base64!", "name": "x"})).await;
    assert!(why.starts_with("The content of `file` is not Base64: "), "{why}");
}

#[tokio::test]
async fn a_text_is_sent_as_it_is() {
    let lines = "post: BASE/\nbody: '<a>{{ text }}</a>'\nheaders: { content-type: text/xml }";
    let seen = sent(lines, json!({"text": "b"})).await;
    assert_eq!((seen.text(), seen.header("content-type")), ("<a>b</a>", Some("text/xml")));
    let seen = sent("post: BASE/\nbody: 'x'", json!({})).await;
    assert_eq!(seen.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn who_asks_is_told_in_each_way() {
    for (auth, header, expected) in [
        ("bearer: s3cret", "authorization", "Bearer s3cret"),
        ("basic: { user: ada, password: pw }", "authorization", "Basic YWRhOnB3"),
        ("header: { name: X-Api-Key, value: k }", "x-api-key", "k"),
    ] {
        let seen = sent(&format!("get: BASE/\nauth: {{ {auth} }}"), json!({})).await;
        assert_eq!(seen.header(header), Some(expected));
    }
    let lines = "get: BASE/?a=b\nauth: { query: { name: key, value: 'k&' } }";
    assert_eq!(sent(lines, json!({})).await.target, "/?a=b&key=k%26");
}

#[tokio::test]
async fn tools_of_one_file_share_a_token() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/token" => Reply::json(r#"{"access_token":"t","expires_in":3600}"#),
        _ => Reply::text(if seen.header("authorization") == Some("Bearer t") { "in" } else { "" }),
    })
    .await;
    let auth =
        "auth: { oauth: { token_url: BASE/token, client_id: me, client_secret: s, scope: a } }";
    let tool = |name: &str| {
        format!(
            "  - name: {name}\n    http:\n      get: BASE/{name}\n      \
             allow_private: true\n      {auth}\n"
        )
    };
    let yaml = (tool("one") + &tool("two")).replace("BASE", &origin.url(""));
    let server = Desk::with_tools(&yaml).serve();
    assert_eq!(text(&server, "one", json!({})).await, "in");
    assert_eq!(text(&server, "two", json!({})).await, "in");
    let targets: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/token", "/one", "/two"]);
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_host_of_a_caller_is_one_and_stays_out_of_private_networks() {
    let origin = echo().await;
    let lines = "get: 'http://{{ host }}/x'\nallow_dynamic_host: true";
    let server = tool(&origin, lines, "");
    let host = origin.address.to_string();
    assert_eq!(text(&server, "ask", json!({"host": host})).await, "ok");
    for host in [
        "a/b", "a?b", "a#b", "u@a", "a\\b", "a b", "a\tb", "a\r\nb", "", "a:b", "[a]", "a/", "a?",
        "http://a",
    ] {
        let why = failure(&server, "ask", json!({"host": host})).await;
        assert!(why.starts_with("These arguments make no usable address: "), "{host:?}: {why}");
    }
    for host in ["169.254.169.254", "10.0.0.1:80", "[::1]", "127.1", "localhost.", "[::ffff:a00:1]"]
    {
        let why = failure(&server, "ask", json!({"host": host})).await;
        let is_private = why.contains("is no address of the internet");
        assert!(is_private || why.contains("cannot be"), "{host}: {why}");
    }
    let whole = tool(&origin, "get: '{{ url }}'\nallow_dynamic_host: true", "");
    assert_eq!(text(&whole, "ask", json!({"url": origin.url("/a?b")})).await, "ok");
    assert_eq!(origin.seen()[1].target, "/a?b");
    for url in ["file:///etc/passwd", "//a/", "gopher://a/", "http:/a", "", "http://a/\r\nx"] {
        let why = failure(&whole, "ask", json!({"url": url})).await;
        assert!(why.starts_with("These arguments make no usable address: "), "{url:?}: {why}");
    }
    assert_eq!(origin.seen().len(), 2);
}

#[tokio::test]
async fn a_private_address_is_refused_unless_it_is_allowed() {
    let origin = echo().await;
    let served = |allow: &str| {
        let url = format!("http://localhost:{}/", origin.address.port());
        let yaml = format!("  - name: ask\n    http: {{ get: '{url}'{allow} }}\n");
        Desk::with_tools(&yaml).serve()
    };
    for allow in ["", ", allow_private: false", ", allow_private: [10.0.0.0/8]"] {
        let why = failure(&served(allow), "ask", json!({})).await;
        assert!(why.contains("is no address of the internet"), "{why}");
    }
    assert_eq!(origin.connections(), 0);
    for allow in [", allow_private: true", ", allow_private: [localhost]"] {
        assert_eq!(text(&served(allow), "ask", json!({})).await, "ok");
    }
}

#[tokio::test]
async fn arguments_have_their_defaults() {
    let origin = echo().await;
    let yaml = format!(
        "  - name: ask
    input: {{ q: {{ type: string, default: all }}, 'n?': integer }}
    http: {{ get: '{}/x', query: {{ q: '{{{{ q }}}}', n: '{{{{ n }}}}' }}, allow_private: true }}
",
        origin.url("")
    );
    let server = Desk::with_tools(&yaml).serve();
    let result = call(&server, "ask", json!({})).await;
    assert_eq!(result["content"][0]["text"], "ok");
    assert_eq!(origin.only().target, "/x?q=all");
}

#[tokio::test]
async fn parts_that_make_a_huge_body_are_refused() {
    let lines = "post: BASE/\nmultipart: { a: '{{ a }}' }";
    // A head of some hundred bytes for each of these.
    let why = refused(lines, json!({"a": vec![0; 200_000]})).await;
    assert!(why.contains("make a body of more than 16777216 bytes"), "{why}");
}

#[tokio::test]
async fn a_request_that_expects_content_says_how_long_none_is() {
    for (lines, expected) in [
        ("post: BASE/items/5:suspend", Some("0")),
        ("put: BASE/x", Some("0")),
        ("patch: BASE/x", Some("0")),
        ("post: BASE/x\nform: { a: '{{ a }}' }", Some("0")),
        ("put: BASE/x\nbody: '{{ a }}'", Some("0")),
        ("put: BASE/x\nbody: abc", Some("3")),
        ("get: BASE/x", None),
        ("delete: BASE/x", None),
    ] {
        let seen = sent(lines, json!({})).await;
        assert_eq!(seen.header("content-length"), expected, "{lines}");
        assert_eq!(seen.header("transfer-encoding"), None, "{lines}");
    }
}
