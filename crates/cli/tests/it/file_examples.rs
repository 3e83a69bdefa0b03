//! The examples `live-resources` and `openapi` by the command, against a server of this machine in
//! the place of the one that they name.

use crate::origin::{Origin, Reply, Seen};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Runs a verb on an example; its exit code, and what it printed.
async fn run(
    origin: &Origin,
    example: &'static str,
    verb: &'static str,
    words: &'static [&'static str],
) -> (Option<i32>, String) {
    let url = origin.url("");
    let work = move || {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        for name in ["HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command.env("GITHUB_API", &url).env("LIBRARY_API", format!("{url}/v2"));
        command.env("LIBRARY_CARD", "card-of-a-test").env("LC_ALL", "C").env("NO_COLOR", "1");
        command.arg(verb).arg(examples.join(example).join("haft.yaml")).args(words).output()
    };
    let output = tokio::task::spawn_blocking(work).await.expect("it does not panic");
    let output = output.expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// A small part of GitHub.
fn github(seen: &Seen) -> Reply {
    match &*seen.target {
        "/repos/rust-lang/rust/issues/7" => Reply::json(json!({"body": "It is slow.\n"})),
        "/gitignore/templates/Rust" => Reply::json(json!({"name": "Rust", "source": "target\n"})),
        _ => Reply::json(json!({"message": "Not Found"})).status_is(404),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn live_resources_are_read_as_they_are_now() {
    let origin = Origin::serve(github).await;
    let (code, said) = run(&origin, "live-resources", "check", &[]).await;
    assert!(code == Some(0) && !said.contains("warning"), "{said}");
    for (uri, expected) in [
        ("notes://search/left", "./kitchen.md:1:Tea is in the left drawer"),
        ("notes://search/-e%20.", ""),
        ("notes://sizes.csv", "kitchen.md,12\n"),
        ("issue://rust-lang/rust/7", r#"{"body":"It is slow.\n"}"#),
        ("gitignore://Rust", "target\n"),
    ] {
        let words: &'static [&'static str] = Box::leak(Box::new([uri]));
        let (code, said) = run(&origin, "live-resources", "read", words).await;
        assert!(code == Some(0) && said.contains(expected), "{uri}: {said}");
    }
    let (code, why) = run(&origin, "live-resources", "read", &["issue://a/b/9"]).await;
    let expected = "Resource not found: `127.0.0.1` answered 404 Not Found: Not Found";
    assert!(code != Some(0) && why.contains(expected), "{why}");
    let triage = &["triage", "owner=rust-lang", "repository=rust", "number=7"];
    let (code, said) = run(&origin, "live-resources", "prompt", triage).await;
    assert!(code == Some(0) && said.contains("How urgent is this issue?"), "{said}");
    assert!(said.contains("It is slow.") && said.contains("kitchen.md,12"), "{said}");
    let tidy = &["tidy-note", "note=Buy tea.", "language=French"];
    let (code, said) = run(&origin, "live-resources", "prompt", tidy).await;
    assert!(code == Some(0) && said.contains("Write this note anew in French:"), "{said}");
    assert!(said.contains("Buy tea.") && !said.contains("---"), "{said}");
}

/// A small library.
fn library(seen: &Seen) -> Reply {
    if seen.header("x-library-card") != Some("card-of-a-test") {
        return Reply::json(json!({"message": "who are you?"})).status_is(401);
    }
    match (&*seen.method, &*seen.target) {
        ("GET", "/v2/books?words=night%20train&shelf=novels") => {
            Reply::json(json!([{"isbn": "1-2", "title": "Night train"}]))
        }
        ("GET", "/v2/books?words=night") => Reply::json(json!([{"isbn": "3-4"}])),
        ("GET", "/v2/books?words=nothing") => Reply::json(json!([])),
        ("POST", "/v2/loans") => Reply::json(json!({"number": 5})).status_is(201),
        ("DELETE", "/v2/loans/5") => Reply::status(204),
        _ => Reply::json(json!({"message": "no such book"})).status_is(404),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_tools_of_an_openapi_document_work_against_its_api() {
    let origin = Origin::serve(library).await;
    let (code, said) = run(&origin, "openapi", "check", &[]).await;
    assert!(code == Some(0) && !said.contains("warning"), "{said}");
    let (_, listed) = run(&origin, "openapi", "list", &["--json"]).await;
    let listed: Value = serde_json::from_str(&listed).expect("it is JSON");
    let tools = listed["tools"].as_array().expect("a list");
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = ["lend_by_title", "library_findBooks", "library_readBook", "library_lendBook"];
    assert_eq!(names[..4], expected);
    assert_eq!(names[4..], ["library_returnBook"]);
    let find = &["library_findBooks", "words=night train", "shelf=novels"];
    let (code, found) = run(&origin, "openapi", "call", find).await;
    assert!(code == Some(0) && found.contains("Night train"), "{found}");
    let lend = &["lend_by_title", "words=night", "reader=r-1"];
    let (code, lent) = run(&origin, "openapi", "call", lend).await;
    assert!(code == Some(0) && lent.contains(r#"{"number":5}"#), "{lent}");
    let seen = origin.seen();
    let sent = seen.iter().find(|seen| seen.method == "POST").expect("it was lent");
    let sent: Value = serde_json::from_slice(&sent.body).expect("it is JSON");
    assert_eq!((&sent["isbn"], &sent["reader"]), (&json!("3-4"), &json!("r-1")));
    let (code, why) = run(&origin, "openapi", "call", &["library_readBook", "isbn=9"]).await;
    assert!(code == Some(5) && why.contains("no such book"), "{why}");
    let (code, why) = run(&origin, "openapi", "call", &["library_readBook", "isbn=../x"]).await;
    assert!(code != Some(0) && why.contains("must match the pattern"), "{why}");
    let (code, back) = run(&origin, "openapi", "call", &["library_returnBook", "number=5"]).await;
    assert_eq!(code, Some(0), "{back}");
}
