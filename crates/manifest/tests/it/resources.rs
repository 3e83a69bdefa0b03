//! Texts and files as resources: what is listed of them, what is read, and what is told of those
//! that cannot be read.

use crate::fixture::{Desk, Served, ask, refusal};
use serde_json::{Value, json};

fn desk(resources: &str) -> Desk {
    Desk::with(&format!("server: {{ name: desk }}\nresources:\n{resources}"))
}

async fn read(server: &Served, uri: &str) -> Value {
    let mut result = ask(server, "resources/read", json!({ "uri": uri })).await;
    result["contents"][0].take()
}

async fn listed(server: &Served) -> Value {
    ask(server, "resources/list", json!({})).await["resources"].take()
}

#[tokio::test]
async fn a_text_is_read_as_it_is_typed() {
    let server = desk(
        "  - { uri: 'app://a', text: 'Hi {{ name }} $${x}' }
  - uri: app://b.md
    text: |
      # B
      b\n",
    )
    .serve();
    let contents = read(&server, "app://a").await;
    let expected =
        json!({"uri": "app://a", "mimeType": "text/plain", "text": "Hi {{ name }} ${x}"});
    assert_eq!(contents, expected);
    let contents = read(&server, "app://b.md").await;
    let expected = json!({"uri": "app://b.md", "mimeType": "text/markdown", "text": "# B\nb"});
    assert_eq!(contents, expected);
    let expected = json!([
        {"uri": "app://a", "name": "a", "mimeType": "text/plain", "size": 18},
        {"uri": "app://b.md", "name": "b.md", "mimeType": "text/markdown", "size": 5},
    ]);
    assert_eq!(listed(&server).await, expected);
}

#[tokio::test]
async fn a_file_is_read_anew_each_time() {
    let desk = desk("  - { uri: app://notes, file: notes.md }\n");
    desk.write("notes.md", "one");
    let server = desk.serve();
    assert_eq!(read(&server, "app://notes").await["text"], "one");
    // It may have another size by the time that somebody reads the list.
    assert_eq!(listed(&server).await[0].get("size"), None);
    server.desk.write("notes.md", "two, and longer");
    let contents = read(&server, "app://notes").await;
    let expected =
        json!({"uri": "app://notes", "mimeType": "text/markdown", "text": "two, and longer"});
    assert_eq!(contents, expected);
    server.desk.write("notes.md", [0xff, 0xfe]);
    let contents = read(&server, "app://notes").await;
    let expected = json!({"uri": "app://notes", "mimeType": "text/markdown", "blob": "//4="});
    assert_eq!(contents, expected);
    std::fs::remove_file(server.desk.file("notes.md")).expect("it is ours");
    let gone = refusal(&server, "resources/read", json!({"uri": "app://notes"})).await;
    assert_eq!((gone.0, gone.1.contains("not found")), (-32602, true));
}

#[tokio::test]
async fn a_file_without_a_known_end_is_what_its_bytes_are() {
    let desk = desk(
        "  - { uri: 'app://a', file: a }
  - { uri: 'app://b', file: b }
  - { uri: 'app://c', file: c, mime_type: 'text/x-c; v=1' }\n",
    );
    desk.write("a", "text");
    desk.write("b", [0xff]);
    desk.write("c", "");
    let server = desk.serve();
    assert_eq!(read(&server, "app://a").await["mimeType"], "text/plain");
    assert_eq!(read(&server, "app://b").await["mimeType"], "application/octet-stream");
    let empty = json!({"uri": "app://c", "mimeType": "text/x-c; v=1", "text": ""});
    assert_eq!(read(&server, "app://c").await, empty);
    assert_eq!(listed(&server).await[0].get("mimeType"), None);
}

#[tokio::test]
async fn what_is_no_file_is_not_found_and_nothing_waits_for_it() {
    let desk = desk(
        "  - { uri: 'app://nothing', file: nothing }
  - { uri: 'app://pipe', file: pipe }
  - { uri: 'app://folder', file: folder }
  - { uri: 'app://device', file: /dev/zero }
  - { uri: 'app://socket', file: socket }\n",
    );
    let _gate = desk.gate("pipe");
    std::fs::create_dir(desk.file("folder")).expect("it is ours");
    let _socket = std::os::unix::net::UnixListener::bind(desk.file("socket")).expect("it is ours");
    let server = desk.serve();
    for uri in ["app://nothing", "app://pipe", "app://folder", "app://device", "app://socket"] {
        let (code, message) = refusal(&server, "resources/read", json!({ "uri": uri })).await;
        assert_eq!((code, message.contains("not found")), (-32602, true), "{uri} {message}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_without_its_path() {
    let desk = desk(
        "  - { uri: app://small, file: big, limit: 10 }
  - { uri: app://large, file: big, limit: 11B }
  - { uri: app://default, file: huge }\n",
    );
    desk.write("big", "12345678901");
    let huge = std::fs::File::create(desk.file("huge")).expect("it is ours");
    huge.set_len(haft_manifest::limits::RESOURCE_BYTES as u64 + 1).expect("it takes no room");
    let server = desk.serve();
    assert_eq!(read(&server, "app://large").await["text"], "12345678901");
    let refused = refusal(&server, "resources/read", json!({"uri": "app://small"})).await;
    let message = "The file is larger than 10 bytes, which is the limit here.";
    assert_eq!(refused, (-32603, message.to_owned()));
    let refused = refusal(&server, "resources/read", json!({"uri": "app://default"})).await;
    assert!(refused.1.contains("larger than 2097152 bytes"), "{refused:?}");
}

#[tokio::test]
async fn everything_that_is_said_of_a_resource_is_listed() {
    let desk = desk(
        "  - uri: app://a
    name: first
    title: The first
    description: It is the first.
    mime_type: text/x-first
    annotations: { audience: [user, assistant], priority: 1, last_modified: '2026-07-28' }
    icons:
      - { src: 'https://a.example/i.png', mime_type: image/png, sizes: [48x48, any], theme: dark }
    meta: { a.example/x: [1, true, null, 'p${env:PATH}'] }
    text: a\n",
    );
    let listed = listed(&desk.serve()).await;
    let path = std::env::var("PATH").expect("there is a PATH");
    let expected = json!([{
        "uri": "app://a",
        "name": "first",
        "title": "The first",
        "description": "It is the first.",
        "mimeType": "text/x-first",
        "size": 1,
        "annotations":
            {"audience": ["user", "assistant"], "priority": 1.0, "lastModified": "2026-07-28"},
        "icons": [{"src": "https://a.example/i.png", "mimeType": "image/png",
            "sizes": ["48x48", "any"], "theme": "dark"}],
        "_meta": {"a.example/x": [1, true, null, format!("p{path}")]},
    }]);
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn files_are_not_kept_unless_somebody_says_so() {
    let entries = "resources:
  - { uri: 'app://text', text: a }
  - { uri: 'app://file', file: haft.yaml }
  - { uri: 'app://own', file: haft.yaml, caching: { ttl: 5s, scope: private } }\n";
    for (caching, expected) in [
        ("", [(60_000, "public"), (0, "public"), (5000, "private")]),
        (
            ", caching: { ttl: 1.5s, scope: private }",
            [(1500, "private"), (1500, "private"), (5000, "private")],
        ),
    ] {
        let server = Desk::with(&format!("server: {{ name: a{caching} }}\n{entries}")).serve();
        for (uri, (ttl, scope)) in ["app://text", "app://file", "app://own"].iter().zip(expected) {
            let result = ask(&server, "resources/read", json!({ "uri": uri })).await;
            assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!(scope)));
        }
        let listed = ask(&server, "resources/list", json!({})).await;
        assert_eq!(listed["ttlMs"], expected[0].0);
    }
}

#[tokio::test]
async fn a_server_says_what_it_has_and_that_nothing_changes() {
    let with = |rest: &str| Desk::with(&format!("server: {{ name: a }}\n{rest}")).serve();
    let capabilities = |server: Served| async move {
        ask(&server, "server/discover", json!({})).await["capabilities"].take()
    };
    let all = with("resources: [{ uri: 'a:b', text: c }]\nprompts: [{ name: d, text: e }]\n");
    let all = capabilities(all).await;
    assert!(all.get("resources").is_some() && all.get("prompts").is_some(), "{all}");
    assert_eq!(all.get("completions"), None);
    assert!(!all.to_string().contains("true"), "{all}");
    let none = capabilities(with("")).await;
    assert!(none.get("resources").is_none() && none.get("prompts").is_none(), "{none}");
    let directory = with("resources: [{ uri: 'a:{b}', directory: . }]\n");
    assert!(capabilities(directory).await.get("completions").is_some());
}
