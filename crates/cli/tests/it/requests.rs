//! Tools that ask servers, by the command: the example against a server of this machine in the
//! place of GitHub's, and the proxies of the environment.

use crate::origin::{Origin, Reply, Seen};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http/haft.yaml")
}

/// `haft call`, with these variables set: its exit code, and what it printed.
pub(crate) async fn call(
    file: PathBuf,
    arguments: &'static [&'static str],
    variables: Vec<(&'static str, String)>,
) -> (Option<i32>, String, String) {
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        for name in ["HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command.arg("call").arg(file).args(arguments).envs(variables).output()
    };
    let output = tokio::task::spawn_blocking(run).await.expect("it does not panic");
    let output = output.expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A small part of GitHub.
fn github(seen: &Seen) -> Reply {
    if seen.header("authorization") != Some("Bearer test-token") {
        return Reply::json(json!({"message": "Bad credentials"})).status_is(401);
    }
    let (path, _) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    match (&*seen.method, path) {
        ("GET", "/search/issues") => Reply::json(json!({"items": [{"number": 7}]})),
        ("GET", "/repos/rust-lang/rust/issues/7") => Reply::json(json!({"title": "Slow"})),
        ("POST", "/repos/rust-lang/rust/issues") => {
            Reply::json(json!({"number": 8})).status_is(201)
        }
        ("PATCH", "/repos/rust-lang/rust/issues/8") => Reply::json(json!({"state": "closed"})),
        _ => Reply::json(json!({"message": "Not Found"})).status_is(404),
    }
}

async fn ask(
    origin: &Origin,
    token: &str,
    arguments: &'static [&'static str],
) -> (Option<i32>, String) {
    let variables = vec![("GITHUB_API", origin.url("")), ("GITHUB_TOKEN", token.to_owned())];
    let (code, out, error) = call(example(), arguments, variables).await;
    (code, out + &error)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_example_works_against_its_api() {
    let origin = Origin::serve(github).await;
    let find =
        &["find_issues", "repository=rust-lang/rust", "words=a&b", r#"labels=["x y"]"#, "--json"];
    let (code, found) = ask(&origin, "test-token", find).await;
    assert_eq!(code, Some(0), "{found}");
    let found: Value = serde_json::from_str(&found).expect("it is JSON");
    assert_eq!(found["structuredContent"], json!([{"number": 7}]));
    let target = &origin.seen()[0].target;
    let expected = "/search/issues?q=a%26b%20repo%3Arust-lang%2Frust%20is%3Aissue%20label%3A%22x\
                    %20y%22&sort=created&per_page=10";
    assert_eq!(target, expected);
    let read = &["read_issue", "owner=rust-lang", "name=rust", "number=7"];
    let (code, issue) = ask(&origin, "test-token", read).await;
    assert!(code == Some(0) && issue.contains("Slow"), "{issue}");
    let open = &["open_issue", "owner=rust-lang", "name=rust", "title=T", r#"labels=["a"]"#];
    let (code, opened) = ask(&origin, "test-token", open).await;
    assert!(code == Some(0) && opened.contains('8'), "{opened}");
    assert_eq!(origin.seen()[2].text(), r#"{"title":"T","labels":["a"]}"#);
    let close = &["close_issue", "owner=rust-lang", "name=rust", "number=8"];
    let (code, closed) = ask(&origin, "test-token", close).await;
    assert!(code == Some(0) && closed.contains("closed"), "{closed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_failure_of_the_api_is_told_without_the_token() {
    let origin = Origin::serve(github).await;
    let read = &["read_issue", "owner=..", "name=a/b", "number=7"];
    let (code, why) = ask(&origin, "test-token", read).await;
    assert_eq!(code, Some(5), "{why}");
    assert!(why.contains("a part of its path is `.` or `..`"), "{why}");
    let read = &["read_issue", "owner=a?b", "name=a/b", "number=7"];
    let (code, why) = ask(&origin, "test-token", read).await;
    assert_eq!(code, Some(5), "{why}");
    assert!(why.contains("`127.0.0.1` answered 404 Not Found: Not Found"), "{why}");
    assert_eq!(origin.only().target, "/repos/a%3Fb/a%2Fb/issues/7");
    let (code, why) = ask(&origin, "other-token", read).await;
    assert_eq!(code, Some(5), "{why}");
    assert!(why.contains("401 Unauthorized: Bad credentials"), "{why}");
    assert!(!why.contains("other-token"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_proxies_of_the_environment_are_used() {
    let proxy = Origin::serve(|_| Reply::text("from the proxy")).await;
    let origin = Origin::serve(|_| Reply::text("from the server")).await;
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let file = directory.path().join("haft.yaml");
    let write = |url: &str| {
        let yaml = format!(
            "server: {{ name: a }}\ntools:\n  - name: ask\n    http: {{ get: '{url}', \
             allow_private: true }}\n"
        );
        std::fs::write(&file, yaml).expect("it is ours");
    };
    write("http://api.invalid/x");
    let variables = vec![("HTTP_PROXY", proxy.url(""))];
    let (code, out, error) = call(file.clone(), &["ask"], variables).await;
    assert_eq!((code, &*out), (Some(0), "from the proxy\n"), "{error}");
    assert_eq!(proxy.only().target, "http://api.invalid/x");
    write(&origin.url("/x"));
    let variables = vec![("HTTP_PROXY", proxy.url("")), ("NO_PROXY", "127.0.0.1".to_owned())];
    let (code, out, error) = call(file.clone(), &["ask"], variables).await;
    assert_eq!((code, &*out), (Some(0), "from the server\n"), "{error}");
}
