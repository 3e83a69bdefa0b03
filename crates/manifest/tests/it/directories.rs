//! Directories as resources: which files are read, listed and suggested, and that nothing else can
//! be reached. Every way out that a path can spell is tried in `below.rs`.

use crate::fixture::{Desk, Served, ask, refusal};
use haft_manifest::limits::LISTED_MAX;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const DOCS: &str = "docs://{+path}";

/// A server of the directory `docs`, with these keys.
fn served(uri: &str, keys: &str, files: &[&str]) -> Served {
    let desk = Desk::with(&format!(
        "server: {{ name: desk }}\nresources:\n  - uri: \"{uri}\"\n    directory: docs\n{keys}"
    ));
    std::fs::create_dir(desk.file("docs")).expect("it is ours");
    desk.write("secret.md", "secret");
    for file in files {
        desk.write(&format!("docs/{file}"), format!("text of {file}"));
    }
    desk.serve()
}

async fn read(server: &Served, uri: &str) -> Value {
    ask(server, "resources/read", json!({ "uri": uri })).await["contents"][0].take()
}

async fn check_not_found(server: &Served, uri: &str) {
    let (code, message) = refusal(server, "resources/read", json!({ "uri": uri })).await;
    let expected = "Resource not found; `resources/list` has the addresses";
    assert_eq!((code, &*message), (-32602, expected), "{uri}");
}

async fn suggested(server: &Served, uri: &str, typed: &str) -> Value {
    let params = json!({
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": {"name": "path", "value": typed},
    });
    ask(server, "completion/complete", params).await["completion"].take()
}

#[tokio::test]
async fn files_below_are_read_by_their_paths() {
    let server = served(DOCS, "", &["a.md", "deep/er/b.json", "odd name?.txt", "é%41"]);
    let contents = read(&server, "docs://a.md").await;
    let expected =
        json!({"uri": "docs://a.md", "mimeType": "text/markdown", "text": "text of a.md"});
    assert_eq!(contents, expected);
    for (uri, text) in [
        ("docs://deep/er/b.json", "text of deep/er/b.json"),
        ("docs://deep%2Fer%2Fb.json", "text of deep/er/b.json"),
        ("docs://odd%20name%3F.txt", "text of odd name?.txt"),
        ("docs://odd name?.txt", "text of odd name?.txt"),
        ("docs://%C3%A9%2541", "text of é%41"),
    ] {
        assert_eq!(read(&server, uri).await["text"], text, "{uri}");
    }
    server.desk.write("docs/new.md", "new");
    assert_eq!(read(&server, "docs://new.md").await["text"], "new");
}

#[tokio::test]
async fn no_address_leads_out_of_the_directory() {
    let server = served(DOCS, "", &["a.md", "sub/b.md", ".hidden", ".git/config"]);
    let desk = &server.desk;
    for (link, to) in [
        ("docs/up", ".."),
        ("docs/secret.md", "../secret.md"),
        ("docs/sub/top", "/"),
        ("docs/self", "/proc/self/cwd"),
    ] {
        symlink(to, desk.file(link)).expect("it is ours");
    }
    let absolute = format!("docs://{}", desk.file("secret.md").display());
    let _pipe = desk.gate("docs/pipe");
    let _socket =
        std::os::unix::net::UnixListener::bind(desk.file("docs/socket")).expect("it is ours");
    for uri in [
        "docs://../secret.md",
        "docs://%2e%2e/secret.md",
        "docs://%2e%2e%2fsecret.md",
        "docs://%2E%2E%2Fsecret.md",
        "docs://%252e%252e%252fsecret.md",
        "docs://..%5csecret.md",
        "docs://..\\secret.md",
        "docs://sub/../../secret.md",
        "docs://sub/../a.md",
        "docs://./a.md",
        "docs:///a.md",
        "docs://sub//b.md",
        "docs://sub/",
        "docs://sub",
        "docs://a.md/",
        "docs://a.md/..",
        "docs://a.md%00",
        "docs://a.md\0",
        "docs://%00",
        "docs://%ff",
        "docs://%c0%ae%c0%ae/secret.md",
        "docs://%",
        "docs://.hidden",
        "docs://%2ehidden",
        "docs://.git/config",
        "docs://up/secret.md",
        "docs://secret.md",
        "docs://sub/top/etc/passwd",
        "docs://self/Cargo.toml",
        "docs:///etc/passwd",
        "docs:////etc/passwd",
        "docs://file:///etc/passwd",
        "docs://pipe",
        "docs://socket",
        "docs://",
        "docs://a.md#x",
        "docs://a.md?x",
        "DOCS://a.md",
        "file:///etc/passwd",
        &absolute,
    ] {
        check_not_found(&server, uri).await;
    }
    check_not_found(&server, &format!("docs://{}a.md", "sub/../".repeat(500))).await;
    check_not_found(&server, &format!("docs://{}", "a/".repeat(4000))).await;
    assert_eq!(read(&server, "docs://a.md").await["text"], "text of a.md");
}

#[tokio::test]
async fn hidden_files_are_served_where_that_is_asked_for() {
    let server = served(DOCS, "    hidden: true\n", &[".hidden", ".git/config"]);
    assert_eq!(read(&server, "docs://.git/config").await["text"], "text of .git/config");
    assert_eq!(read(&server, "docs://.hidden").await["mimeType"], "text/plain");
    check_not_found(&server, "docs://../secret.md").await;
    check_not_found(&server, "docs://.git/..").await;
}

#[tokio::test]
async fn a_file_below_has_a_limit_and_a_kind() {
    let keys = "    limit: 12\n    mime_type: text/x-doc\n";
    let server = served(DOCS, keys, &["a.md", "a.mdx"]);
    assert_eq!(read(&server, "docs://a.md").await["mimeType"], "text/x-doc");
    let refused = refusal(&server, "resources/read", json!({"uri": "docs://a.mdx"})).await;
    let message = "The file is larger than 12 bytes, which is the limit here.";
    assert_eq!(refused, (-32603, message.to_owned()));
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_found() {
    use std::os::unix::fs::PermissionsExt;
    let server = served(DOCS, "", &["locked"]);
    let locked = server.desk.file("docs/locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).expect("it is ours");
    if std::fs::read(&locked).is_err() {
        check_not_found(&server, "docs://locked").await;
    } else {
        // Nothing is locked for root.
        assert_eq!(read(&server, "docs://locked").await["text"], "text of locked");
    }
}

#[tokio::test]
async fn a_directory_may_come_and_go() {
    let server = served(DOCS, "", &["a.md"]);
    std::fs::rename(server.desk.file("docs"), server.desk.file("old")).expect("it is ours");
    check_not_found(&server, "docs://a.md").await;
    assert_eq!(suggested(&server, DOCS, "").await["values"], json!([]));
    server.desk.write("docs/b.md", "b");
    assert_eq!(read(&server, "docs://b.md").await["text"], "b");
}

#[tokio::test]
async fn a_path_is_suggested_by_its_beginning() {
    let files = ["guides/install.md", "guides/Intro.md", "index.md", ".hidden"];
    let server = served(DOCS, "", &files);
    let all = json!({"values": ["guides/Intro.md", "guides/install.md", "index.md"], "total": 3});
    assert_eq!(suggested(&server, DOCS, "").await, all);
    let some = json!({"values": ["guides/Intro.md", "guides/install.md"], "total": 2});
    assert_eq!(suggested(&server, DOCS, "guides/in").await, some);
    for typed in ["../", "/", ".h", "x"] {
        let none = json!({"values": [], "total": 0});
        assert_eq!(suggested(&server, DOCS, typed).await, none, "{typed}");
    }
    for number in 0..100 {
        server.desk.write(&format!("docs/many/{number}"), "");
    }
    let many = suggested(&server, DOCS, "").await;
    assert_eq!(
        (many["values"].as_array().map(Vec::len), &many["hasMore"]),
        (Some(100), &json!(true))
    );
    assert_eq!(many.get("total"), None);
    assert_eq!(suggested(&server, DOCS, "many/").await["total"], 100);
}

#[tokio::test]
async fn files_are_listed_where_that_is_asked_for() {
    let keys = "    list: true\n    annotations: { priority: 0.5 }\n    description: Pages.\n";
    for (uri, deep) in
        [(DOCS, "docs://deep/b%20%3F.md"), ("docs://{path}", "docs://deep%2Fb%20%3F.md")]
    {
        let server = served(uri, keys, &["a.md", "deep/b ?.md", ".hidden"]);
        let listed = ask(&server, "resources/list", json!({})).await["resources"].take();
        let expected = json!([
            {"uri": "docs://a.md", "name": "a.md", "mimeType": "text/markdown",
                "annotations": {"priority": 0.5}},
            {"uri": deep, "name": "deep/b ?.md", "mimeType": "text/markdown",
                "annotations": {"priority": 0.5}},
        ]);
        assert_eq!(listed, expected);
        assert_eq!(read(&server, deep).await["text"], "text of deep/b ?.md");
        let templates = ask(&server, "resources/templates/list", json!({})).await;
        let expected = json!([{"uriTemplate": uri, "name": "docs", "description": "Pages.",
            "annotations": {"priority": 0.5}}]);
        assert_eq!(templates["resourceTemplates"], expected);
        let again = read(&server, "docs://a.md").await;
        assert_eq!(again["mimeType"], "text/markdown");
    }
}

#[tokio::test]
async fn so_many_files_are_listed_and_no_more() {
    let names: Vec<_> = (0..=LISTED_MAX).map(|number| format!("{number:04}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let server = served(DOCS, "    list: true\n", &names);
    let listed = ask(&server, "resources/list", json!({})).await;
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(LISTED_MAX));
    let warnings = server.desk.manifest().warnings();
    let cut = "it has more files than are listed, which are 1000 at most";
    assert!(warnings.iter().any(|warning| warning.message == cut), "{warnings:?}");
    assert_eq!(read(&server, "docs://1000").await["text"], "text of 1000");
}

#[tokio::test]
async fn an_entry_of_its_own_comes_before_the_directory() {
    let desk = Desk::with(
        "server: { name: desk }
resources:
  - { uri: 'docs://{+path}', directory: docs, list: true }
  - { uri: 'docs://a.md', text: my own }\n",
    );
    desk.write("docs/a.md", "theirs");
    let server = desk.serve();
    assert_eq!(read(&server, "docs://a.md").await["text"], "my own");
    let listed = ask(&server, "resources/list", json!({})).await;
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(1));
}
