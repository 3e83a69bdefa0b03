//! `haft` against a server of others that asks back, has resources and prompts, and changes: over
//! both wires, in both eras, without a terminal.

use crate::foreign_servers::{asking, everything, listening_asking};
use crate::haft::{Ran, haft};
use haft_client::{Change, CompleteFor, Interest, Launch, Options, Target, connect};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Where the server is, and the era to speak there.
struct Place {
    target: Vec<String>,
    era: &'static str,
}

impl Place {
    fn run(&self, verb: &str, words: &[&str]) -> Ran {
        let target = self.target.iter().map(String::as_str);
        haft([verb, "--era", self.era].into_iter().chain(target).chain(words.iter().copied()))
    }

    /// What the server's tool heard, which it repeats.
    fn heard(&self, words: &[&str]) -> Value {
        let ran = self.run("call", words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }
}

/// Runs a check at every place where the server can ask.
fn everywhere(check: impl Fn(&Place)) {
    let command = || vec!["--command".to_owned(), asking("stdio")];
    let (modern, legacy) = (listening_asking("http"), listening_asking("http sessions"));
    for (target, era) in [
        (command(), "modern"),
        (command(), "legacy"),
        (vec![modern.url.clone()], "modern"),
        (vec![legacy.url.clone()], "legacy"),
    ] {
        check(&Place { target, era });
    }
}

#[test]
fn a_form_is_answered_from_the_command_line() {
    everywhere(|place| {
        let answers = ["register", "--answer", "name=Zoë", "--answer", "age=40", "--answer"];
        let heard = place.heard(&[&answers[..], &["days=sat", "--answer", "days=sun"]].concat());
        let content = json!({"name": "Zoë", "age": 40, "days": ["sat", "sun"], "news": false});
        assert_eq!(heard, json!({"form": {"action": "accept", "content": content}}));
        let ran = place.run("call", &["steps", "--answer", "yes=true"]);
        assert_eq!(ran.printed(), "two steps\n", "the same answer in two rounds");
    });
}

#[test]
fn what_is_not_answered_is_declined_with_one_line() {
    everywhere(|place| {
        let ran = place.run("call", &["register"]);
        assert_eq!(ran.stdout, "{\"form\":{\"action\":\"decline\"}}\n", "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        for part in ["declined: curious (", "asks \"Who are you?\"", "--answer name=… answers"] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
        let ran = place.run("call", &["register", "--answer", "name=Ada"]);
        assert_eq!(ran.stdout, "{\"form\":{\"action\":\"decline\"}}\n", "{ran:?}");
        assert!(ran.stderr.contains("`days` is missing; --answer gives it"), "{ran:?}");
        let ran = place.run("call", &["agree", "--answer", "yes=true"]);
        assert_eq!(ran.stdout, "{\"it\":{\"action\":\"decline\"}}\n", "nobody agreed: {ran:?}");
        let ran = place.run("call", &["pay", "--json"]);
        assert_eq!(ran.json()["content"][0]["text"], r#"{"page":{"action":"decline"}}"#);
        let note: Value = serde_json::from_str(&ran.stderr).expect("one JSON line");
        let message = note["note"]["message"].as_str().expect("a message");
        assert!(message.contains("https://pay.example.com/?bill=7"), "{message}");
    });
}

#[test]
fn an_answer_that_does_not_fit_exits_with_6_and_one_that_nobody_wants_is_named() {
    everywhere(|place| {
        for (answer, why) in [
            ("age=old", "--answer: `age` must be an integer, not \"old\""),
            ("age=17", "--answer: `age` must be 18 or more"),
            ("colour=blue", "--answer: `colour` must be one of the choices"),
        ] {
            let ran = place.run("call", &["register", "--answer", answer]);
            assert_eq!(ran.code, Some(6), "{ran:?}");
            assert_eq!(ran.stderr, format!("error: {why}\n"));
        }
        let ran = place.run("call", &["steps", "--answer", "yes=true", "--answer", "x=1"]);
        assert_eq!(ran.stderr, "warning: --answer x=… was not asked for\n");
    });
    let ran = haft(["call", "--command", "true", "x", "--answer", "nonsense"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_model_and_roots_are_offered_if_they_are_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("a b");
    std::fs::create_dir(&inside).expect("a folder in it");
    let inside = inside.canonicalize().expect("a path").display().to_string();
    everywhere(|place| {
        let heard = place.heard(&["think", "--sampling-text", "42"]);
        assert_eq!(heard["model"]["content"], json!({"type": "text", "text": "42"}));
        let heard = place.heard(&["where", "--root", &inside]);
        let uri = format!("file://{}", inside.replace(' ', "%20"));
        assert_eq!(heard, json!({"roots": {"roots": [{"uri": uri, "name": "a b"}]}}));
        for tool in ["think", "where"] {
            let ran = place.run("call", &[tool]);
            assert_eq!(ran.code, Some(5), "not offered: {ran:?}");
        }
    });
    let ran = haft(["call", "--command", "true", "x", "--root", "/no/such/directory"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_stream_that_the_server_closes_in_mid_call_is_taken_up_again() {
    everywhere(|place| {
        let ran = place.run("call", &["poll"]);
        assert_eq!(
            (&*ran.stdout, &*ran.stderr),
            ("welcome back\n", "progress 1/2\nprogress 2/2\n")
        );
    });
}

#[test]
fn resources_and_prompts_are_listed_counted_read_and_filled_in() {
    everywhere(|place| {
        let list = place.run("list", &[]);
        let list = list.printed();
        let headings = ["TOOL ", "\n\nRESOURCE ", "\n\nTEMPLATE ", "\n\nPROMPT "];
        for part in headings.into_iter().chain(["memo://day/{day}", "language, tone?"]) {
            assert!(list.contains(part), "{part}: {list}");
        }
        let list = place.run("list", &["--json"]).json();
        assert_eq!(list["resources"][0]["uri"], "memo://today");
        assert_eq!(list["resourceTemplates"][0]["uriTemplate"], "memo://day/{day}");
        assert_eq!(list["prompts"][0]["name"], "review");
        let found = place.run("inspect", &["--json"]).json();
        let counts =
            ["resources", "resourceTemplates", "prompts"].map(|kind| &found[kind]["count"]);
        assert_eq!(counts, [&json!(2), &json!(1), &json!(1)]);

        assert_eq!(place.run("read", &["memo://today"]).printed(), "Nothing yet.\n");
        assert_eq!(place.run("read", &["memo://day/monday"]).printed(), "It was monday.\n");
        let read = place.run("read", &["memo://today", "--json"]).json();
        assert_eq!(read["contents"][0]["mimeType"], "text/plain");
        let ran = place.run("read", &["memo://logo"]);
        assert!(ran.stdout.contains("PNG\r\n"), "{ran:?}");
        let ran = place.run("read", &["memo://no"]);
        assert_eq!(ran.code, Some(5), "{ran:?}");

        let ran = place.run("prompt", &["review", "language=Rust", "--answer", "file=a.rs"]);
        assert_eq!(ran.printed(), "user:\nReview a.rs in Rust.\n");
        let ran = place.run("prompt", &["review"]);
        assert_eq!(ran.code, Some(6), "{ran:?}");
        let hint =
            "error: `language` is missing; give language=…\nhint: review takes language, tone?\n";
        assert_eq!(ran.stderr, hint);
        assert_eq!(place.run("prompt", &["revue"]).code, Some(5));
    });
}

#[test]
fn the_reference_server_of_the_legacy_era_asks_and_is_answered() {
    let target = everything();
    let run = |words: &[&str]| {
        haft(["call", "--command", &target].into_iter().chain(words.iter().copied()))
    };
    let ran =
        run(&["trigger-elicitation-request", "--answer", "name=Ada", "--answer", "integer=7"]);
    assert!(ran.printed().contains("- Favorite Integer: 7"), "{ran:?}");
    let ran = run(&["trigger-sampling-request", "prompt=Who?", "--sampling-text", "Me."]);
    assert!(ran.stdout.contains("\"text\": \"Me.\""), "{ran:?}");
    let ran = run(&["trigger-url-elicitation", "url=https://example.com/"]);
    assert!(ran.stdout.contains("User declined to open the URL"), "{ran:?}");
    assert!(ran.stderr.contains("it wants https://example.com/ to be visited"), "{ran:?}");
}

/// Where the client library connects.
fn target_of(place: &Place) -> Target {
    match &*place.target {
        [url] => Target::Url(url.clone()),
        words => {
            let words = shlex::split(&words[1]).expect("quotes are closed");
            Target::Command(Launch::new(&words[0], &words[1..]))
        }
    }
}

#[test]
fn changes_are_heard_of_by_whoever_listens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    everywhere(|place| {
        runtime.block_on(async {
            let client = connect(&target_of(place), &Options::default()).await.expect("connected");
            let uris = vec!["memo://today".to_owned()];
            let interest = Interest { tools: true, uris, ..Interest::default() };
            let mut changes = client.listen(interest.clone()).await.expect("a stream");
            assert_eq!(*changes.honoured(), interest);
            let none = RawValue::from_string("{}".to_owned()).expect("JSON");
            client.call_tool("change", &none, &mut |_| {}).await.expect("an answer");
            let mut heard = HashSet::new();
            while heard.len() < 2 {
                heard.insert(changes.next().await.expect("a change").expect("no error"));
            }
            let expected = [Change::Tools, Change::Resource("memo://today".to_owned())];
            assert_eq!(heard, HashSet::from(expected));
            drop(changes);
            client.close().await;
        });
    });
}

#[test]
fn arguments_are_completed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    everywhere(|place| {
        runtime.block_on(async {
            let client = connect(&target_of(place), &Options::default()).await.expect("connected");
            let prompt = CompleteFor::Prompt("review");
            let found = client.complete(prompt, "language", "Rus", &[]).await.expect("values");
            assert_eq!(found.values, ["Rust"]);
            let template = CompleteFor::Template("memo://day/{day}");
            let found = client.complete(template, "day", "s", &[("x", "y")]).await.expect("values");
            assert_eq!(found.values, ["sunday"]);
            client.close().await;
        });
    });
}
