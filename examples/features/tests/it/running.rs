//! Examples of what happens while a tool runs, and around it.

use crate::server::{Client, ERAS, Era, text};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener};

#[test]
fn progress_and_logs_arrive_before_the_result() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").expect("a file");
    std::fs::write(folder.path().join("b.bin"), [0xff, 0xfe]).expect("a file");
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_progress_and_logs"), era);
        if era == Era::Legacy {
            client.ask("logging/setLevel", json!({ "level": "warning" }));
        }
        let counted = client.text("count_lines", json!({ "directory": folder.path() }));
        assert_eq!(counted, "2 lines in 2 files");
        // All of this came before the result, or it would not be here yet.
        let of = |method: &str| -> Vec<&Value> {
            let told = client.told.iter().filter(|told| told["method"] == method);
            told.map(|told| &told["params"]).collect()
        };
        let progress = of("notifications/progress");
        assert_eq!(progress.len(), 2, "{progress:?}");
        assert_eq!(
            (&progress[1]["message"], &progress[1]["total"]),
            (&json!("b.bin"), &json!(2.0))
        );
        let logs = of("notifications/message");
        assert_eq!((logs.len(), &logs[0]["level"]), (1, &json!("warning")));
        assert!(logs[0]["data"].as_str().expect("a text").starts_with("b.bin is left out"));
    }
}

#[test]
fn what_a_cancelled_call_holds_is_given_back() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_cancellation_and_deadlines"), era);
        assert_eq!(client.text("wait_for_port", json!({ "port": port })), "it listens");
        client.wait_for("notifications/progress");

        // Nobody listens at port 0.
        let call = json!({ "name": "wait_for_port", "arguments": { "port": 0, "seconds": 30 } });
        let id = client.send("tools/call", call);
        client.wait_for("notifications/progress");
        assert_eq!(client.text("waiting_calls", json!({})), "1");
        client.cancel(id);
        let mut tries = 0;
        while client.text("waiting_calls", json!({})) != "0" {
            tries += 1;
            assert!(tries < 10_000, "the call still holds its place");
        }
    }
}

#[test]
fn deadlines_end_what_takes_too_long() {
    // It takes connections and says nothing.
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = mute.local_addr().expect("it has one").port();
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_cancellation_and_deadlines"), era);
        let waiting = json!({ "name": "wait_for_port", "arguments": { "port": 0, "seconds": 1 } });
        let (waiting, banner) = (
            client.send("tools/call", waiting),
            json!({ "name": "banner", "arguments": { "port": port } }),
        );
        let banner = client.send("tools/call", banner);
        let late = client.answer_to(banner).to_string();
        assert!(late.contains("longer than 1s"), "{late}");
        let result = client.answer_to(waiting)["result"].take();
        assert_eq!(result["isError"], true);
        assert_eq!(text(&result), "nobody listens at 0; is it started?");
    }
}

#[test]
fn middleware_refuses_what_is_used_up_and_writes_what_was_asked() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_middleware"), era);
        for _ in 0..2 {
            let sent = client.text("send_sms", json!({ "text": "Hello" }));
            assert_eq!(sent, "5 characters are on their way.");
        }
        let refused = client.call("send_sms", json!({ "text": "Hello" }));
        assert_eq!(refused["isError"], true);
        assert!(text(&refused).contains("tomorrow"), "{refused}");
        assert_eq!(client.text("price", json!({})), "9");
        let log = client.close();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 4, "{log}");
        assert!(lines[2].starts_with("Local tools/call send_sms: failed after "), "{log}");
        assert!(lines[3].starts_with("Local tools/call price: done after "), "{log}");
    }
}

#[test]
fn testing_is_a_server_like_any_other() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_testing"), era);
        let day = json!({ "year": 2024, "month": 2, "day": 29 });
        assert_eq!(client.text("weekday", day), "Thursday");
    }
}
