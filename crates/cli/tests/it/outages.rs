//! What verbs say of upstreams that are down or cannot be started, and how they end then.

use crate::desk::Desk;
use crate::haft::haft;
use serde_json::Value;

/// A file with a tool of its own, a server that answers and what else is given.
fn desk(upstreams: &str) -> Desk {
    let own = "server: { name: own }\ntools: [{ name: hi, description: Greets., text: hi }]\n";
    let inner = own.replace("own", "inner");
    let desk = Desk::with("");
    std::fs::write(desk.path("inner.yaml"), inner).expect("a folder of ours");
    let good = format!(
        "  good: {{ command: [{}, serve, inner.yaml, --stdio] }}\n",
        env!("CARGO_BIN_EXE_haft")
    );
    std::fs::write(&desk.file, format!("{own}upstreams:\n{good}{upstreams}")).expect("the same");
    desk
}

const DOWN: &str = "  v: { command: [nope-not-there] }\n  w: { command: [cat], cwd: nowhere }\n";

#[test]
fn verbs_tell_of_upstreams_that_cannot_be_started() {
    let desk = desk(DOWN);
    let v = "`v` is down: cannot start `nope-not-there`: No such file or directory";
    let w = "nowhere does not exist";
    for (words, code) in [
        (&["list", desk.file()][..], 0),
        (&["list", desk.file(), "--json"], 0),
        (&["list", desk.file(), "--verbose"], 0),
        (&["call", desk.file(), "hi"], 0),
        (&["call", desk.file(), "v_find"], 4),
        (&["check", desk.file(), "--connect"], 4),
        (&["check", desk.file(), "--connect", "--json"], 4),
    ] {
        let run = haft(words.iter().copied());
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.stderr.contains(v) && run.stderr.contains(w), "{words:?}: {}", run.stderr);
    }
    let run = haft(["doctor", desk.file()]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stdout.contains(v) && run.stdout.contains(w), "{}", run.stdout);
    let run = haft(["check", desk.file()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("v: there is no program `nope-not-there`"), "{}", run.stderr);
    assert_eq!(haft(["check", desk.file(), "--strict"]).code, Some(8));
}

#[test]
fn a_file_whose_upstreams_answer_gives_no_reason_to_complain() {
    let desk = desk("");
    for words in [&["list"][..], &["doctor"], &["check", "--connect", "--strict"]] {
        let mut words = words.to_vec();
        words.insert(1, desk.file());
        let run = haft(words.iter().copied());
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{words:?}: {run:?}");
    }
    let run = haft(["check", desk.file(), "--connect", "--json"]);
    let upstreams = &run.json()["upstreams"];
    assert_eq!(upstreams[0]["state"], "ready", "{upstreams}");
}

#[test]
fn a_tool_that_the_list_lacks_is_for_the_server_to_judge() {
    let desk = desk("");
    let run = haft(["call", desk.file(), "ho"]);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(
        run.stderr.contains("has no tool `ho`") && run.stderr.contains("it has hi, good_hi"),
        "{run:?}"
    );
}

/// Each line of the log is JSON, the first one and those of outages among them.
#[test]
fn with_json_each_line_of_the_log_is_an_event() {
    let desk = desk(DOWN);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["serve", desk.file(), "--http", "127.0.0.1:0", "--json"]);
    command.args(["--admin", "127.0.0.1:0"]);
    let served = crate::gateway::started(command);
    served.told(&["\"upstream\"", "\"good\"", "\"ready\""]);
    served.told(&["\"upstream\"", "\"w\"", "\"down\""]);
    let line = served.told(&["\"upstream\"", "\"v\"", "\"down\""]);
    let event: Value = serde_json::from_str(&line).expect("a JSON line");
    let reason = event["upstream"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("No such file or directory"), "{event}");
    for line in served.said.lock().expect("free").iter() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(event.is_object(), "{line}");
    }
}
