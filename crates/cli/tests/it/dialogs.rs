//! What a person is asked on a terminal when a server asks back, and what the server is told.

use crate::foreign_servers::{asking, everything};
use crate::pty::{Left, OnTerminal};
use serde_json::{Value, json};

const ERAS: [&str; 2] = ["modern", "legacy"];

fn call(tool: &str, era: &str, more: &[&str]) -> OnTerminal {
    let server = asking("stdio");
    let mut args = vec!["call", "--era", era, "--command", &server, tool];
    args.extend(more);
    OnTerminal::haft(&args)
}

/// What the server heard, by key; the tool repeats it.
fn heard(left: &Left) -> Value {
    assert_eq!(left.code, Some(0), "{left:?}");
    serde_json::from_str(&left.stdout).unwrap_or_else(|error| panic!("{error}: {left:?}"))
}

#[test]
fn a_form_is_asked_field_by_field_and_again_until_it_fits() {
    for era in ERAS {
        let mut haft = call("register", era, &[]);
        haft.sees("curious (").sees(") asks:").sees("Who are you?");
        haft.sees("! declines, Ctrl-D cancels");
        haft.sees("Your name (text, at least 3 characters, required): As on the badge.");
        haft.sees("> ").types("").sees("it is required");
        haft.sees("> ").types("Al").sees("it needs at least 3 characters");
        haft.sees("> ").types("Zoë");
        haft.sees("age (a whole number, 18 or more)").sees("[36] ").types("x");
        haft.sees("it must be a number").sees("[36] ").types("17");
        haft.sees("it must be 18 or more").sees("[36] ").types("");
        haft.sees("colour (one of these)").sees("   1  Red").sees("   2  Green").types("blue");
        haft.sees("it must be one of the choices, 1 to 2").types("gr");
        haft.sees("days (1 or more of these, with commas between, required)").types("2,Saturday");
        haft.sees("news (y or n)").sees("[n] ").types("maybe");
        haft.sees("it must be y or n").types("yes");
        haft.sees("Your name: Zoë").sees("colour: Green").sees("days: Sunday, Saturday");
        haft.sees("Send this? [Y/n, e to edit] ").types("");
        let content = json!({"name": "Zoë", "age": 36, "colour": "#0f0", "news": true,
            "days": ["sun", "sat"]});
        let expected = json!({"form": {"action": "accept", "content": content}});
        assert_eq!(heard(&haft.finish()), expected, "{era}");
    }
}

#[test]
fn a_form_can_be_changed_before_it_is_sent_and_optional_fields_left_out() {
    let mut haft = call("register", "modern", &["--answer", "days=sat", "--answer", "age=40"]);
    haft.sees("Your name").sees("> ").types("Ada").sees("[40] ").types("");
    haft.sees("colour").sees("> ").types("").sees("[Saturday] ").types("").sees("[n] ").types("");
    haft.sees("colour: ").sees("left out").sees("e to edit] ").types("e");
    haft.sees("[Ada] ").types("Ida").sees("[40] ").types("41").sees("colour").sees("> ").types("");
    haft.sees("[Saturday] ").types("").sees("[n] ").types("").sees("to edit] ").types("y");
    let content = json!({"name": "Ida", "age": 41, "news": false, "days": ["sat"]});
    assert_eq!(heard(&haft.finish())["form"]["content"], content);
}

#[test]
fn a_person_can_decline_and_cancel_at_any_prompt() {
    for era in ERAS {
        let mut haft = call("register", era, &[]);
        haft.sees("> ").types("!");
        assert_eq!(heard(&haft.finish()), json!({"form": {"action": "decline"}}));
        let mut haft = call("register", era, &[]);
        haft.sees("> ").types("Ada").sees("[36] ").ends_input();
        assert_eq!(heard(&haft.finish()), json!({"form": {"action": "cancel"}}));
    }
    let mut haft = call("agree", "modern", &[]);
    haft.sees("Do you agree? [y/n] ").types("").sees("[y/n] ").types("y");
    let accepted = json!({"it": {"action": "accept", "content": {}}});
    assert_eq!(heard(&haft.finish()), accepted);
    let mut haft = call("agree", "modern", &[]);
    haft.sees("[y/n] ").types("no");
    assert_eq!(heard(&haft.finish()), json!({"it": {"action": "decline"}}));
}

#[test]
fn answers_that_are_all_given_are_not_asked_for_again() {
    let mut haft = call("register", "modern", &["--answer", "name=Ada", "--answer", "days=sat"]);
    let left = haft.finish();
    assert_eq!(heard(&left)["form"]["action"], "accept");
    assert!(!left.shown.contains("Who are you?"), "{left:?}");
}

#[test]
fn questions_come_one_round_after_the_other() {
    for era in ERAS {
        let mut haft = call("steps", era, &[]);
        haft.sees("Step 1?").sees("[y/n] ").types("y").sees("Step 2?").sees("[y/n] ").types("n");
        assert_eq!(haft.finish().stdout, "two steps\n", "{era}");
    }
}

#[test]
fn an_address_is_shown_with_its_host_and_never_opened() {
    for era in ERAS {
        for (typed, action) in [("y", "accept"), ("n", "decline")] {
            let mut haft = call("pay", era, &[]);
            haft.sees("wants you to visit an address:").sees("Pay first.");
            haft.sees("https://pay.example.com/?bill=7").sees("haft does not open");
            haft.sees("Do you visit pay.example.com? [y/n] ").types(typed);
            let left = haft.finish();
            assert_eq!(heard(&left), json!({"page": {"action": action}}), "{era}");
            let emphasised = "https://\x1b[1mpay.example.com\x1b[0m/?bill=7";
            assert!(left.shown.contains(emphasised), "{left:?}");
        }
    }
    let mut haft = call("pay", "modern", &[]);
    haft.sees("[y/n] ").ends_input();
    assert_eq!(heard(&haft.finish()), json!({"page": {"action": "cancel"}}));
}

#[test]
fn a_visit_that_must_come_first_is_followed_by_the_call() {
    let mut haft = call("visit", "legacy", &[]);
    haft.sees("Log in.").sees("[y/n] ").types("y").sees("Press Enter when").types("");
    assert_eq!(haft.finish().stdout, "you were there\n");
    let mut haft = call("visit", "legacy", &[]);
    haft.sees("[y/n] ").types("y").sees("Press Enter when").ends_input();
    let left = haft.finish();
    assert_eq!(left.code, Some(5), "{left:?}");
    assert!(left.shown.contains("URL elicitation required (-32042)"), "{left:?}");
}

#[test]
fn what_a_server_asks_cannot_steer_the_terminal() {
    for era in ERAS {
        let mut haft = call("evil", era, &[]);
        haft.sees("]0;owned[2J31mHello").sees("T[1A (one of these): [5mD").sees("  1  [7mA");
        haft.sees("> ").types("1");
        let left = haft.finish();
        assert_eq!(heard(&left)["it"]["content"], json!({"x\u{1b}[31m": "a"}));
        for escape in ["\x1b]", "\x1b[2J", "\x1b[31m", "\x1b[1A", "\x1b[5m", "\x1b[7m", "\x07"] {
            assert!(!left.shown.contains(escape), "{escape:?} is shown: {left:?}");
        }
        assert!(!left.shown.contains(['\u{9b}', '\u{202e}']), "{left:?}");
    }
}

#[test]
fn with_json_nobody_is_asked() {
    let mut haft = call("register", "modern", &["--json"]);
    let left = haft.finish();
    let result: Value = serde_json::from_str(&left.stdout).expect("one document");
    assert_eq!(result["content"][0]["text"], r#"{"form":{"action":"decline"}}"#);
    let note: Value = serde_json::from_str(left.shown.trim_end()).expect("one JSON line");
    let message = note["note"]["message"].as_str().expect("a message");
    assert!(message.starts_with("declined: curious"), "{message}");
}

#[test]
fn an_interrupted_question_ends_with_130() {
    let mut haft = call("register", "legacy", &[]);
    haft.sees("> ").interrupts();
    let left = haft.finish();
    assert_eq!(left.code, Some(130), "{left:?}");
    assert!(left.shown.trim_end().ends_with("interrupted"), "{left:?}");
}

#[test]
fn progress_is_a_bar_that_goes_away() {
    let server = everything();
    let words = ["trigger-long-running-operation", "duration=1", "steps=2"];
    let mut haft = OnTerminal::haft(&[&["call", "--command", &server][..], &words].concat());
    haft.sees(" 50 % ");
    let left = haft.finish();
    assert!(left.stdout.starts_with("Long running operation completed."), "{left:?}");
    let last = left.shown.rsplit('\r').next().unwrap_or_default();
    assert_eq!(last, "\x1b[2K", "{left:?}");
}
