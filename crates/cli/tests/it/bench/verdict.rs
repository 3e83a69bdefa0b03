//! What `haft bench` counts as wrong, and what it holds a report against: conditions, and an
//! earlier report. It never looks at how fast anything is.

use super::{answering, bench, desk, failure, report};
use crate::foreign_servers::own;
use crate::haft::{Ran, haft};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

#[test]
fn conditions_are_of_both_servers_that_are_compared() {
    let each =
        "sleep 0.02; printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let slow = answering(each);
    let quick = answering(each.trim_start_matches("sleep 0.02; "));
    let judged = |first: &str, second: &str, condition: &str| -> Ran {
        let turns = ["-d", "60ms", "--rounds", "1", "--warmup", "0", "--era", "modern"];
        let both = ["bench", "--command", first, "--compare-command", second];
        haft(both.iter().chain(&turns).chain(&["--fail-if", condition]))
    };
    for (first, second, which) in [(&slow, &quick, "first"), (&quick, &slow, "second")] {
        let (code, said) = failure(&judged(first, second, "p50>15ms"));
        assert_eq!(code, Some(8), "{said}");
        assert!(said.starts_with(&format!("the {which} server: p50>15ms: it is ")), "{said}");
        assert!(!said.contains(';'), "the other one is well: {said}");
        assert_eq!(judged(first, second, "p50>60s").code, Some(0));
    }
    let (code, said) = failure(&judged("yes hello", &quick, "p50>60s"));
    assert_eq!(code, Some(4), "a wrong answer of the first counts as well: {said}");
}

#[test]
fn a_stall_at_the_end_is_in_the_latencies() {
    // The last tenth and a half of a second of two: fifteen requests are due, and none is sent.
    let each = "n=$((n+1)); [ $n = 185 ] && sleep 0.5; \
                printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[]}}\\n' $id";
    let stalled = answering(each);
    let more = ["--era", "modern", "--rate", "100", "-d", "2s", "--json"];
    let ran = bench(&["--command", &stalled], &[&more[..], &["--fail-if", "p99>50ms"]].concat());
    let found = ran.json();
    let unsent = found["unsent"].as_u64().expect("a number");
    assert!((5..=20).contains(&unsent), "{found}");
    let p99 = found["latency"]["p99_ns"].as_u64().expect("nanoseconds");
    assert!(p99 > 50_000_000, "{unsent} of 200 waited: {p99}");
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.stderr.contains("p99>50ms: it is "), "{}", ran.stderr);
}

#[test]
fn a_baseline_of_another_load_is_refused_with_what_differs() {
    let desk = desk();
    let server = own(&desk.file);
    let asked = ["echo", "text=a", "-n", "20", "-c", "2"];
    let file = desk.path("earlier.json");
    let earlier = report(&[&server.url], &asked);
    fs::write(&file, earlier.to_string()).expect("a folder of ours");
    let baseline = ["--baseline", file.to_str().expect("a path"), "--tolerance", "100000"];
    let again = |target: &str, asked: &[&str]| bench(&[target], &[asked, &baseline[..]].concat());
    assert_eq!(again(&server.url, &asked).code, Some(0), "the same load is none of another");
    let of = ["echo", "text=a", "-n", "20"];
    let more = |more: &[&'static str]| [&of[..], more].concat();
    let long = ["echo", "text=more", "-n", "20", "-c", "2"].to_vec();
    let http2 = more(&["-c", "2", "--http2"]);
    let short = more(&["-c", "2", "--requests-per-connection", "5"]);
    let cases: [(&str, Vec<&str>, &str); 9] = [
        (&server.url, http2, "wire: http/1.1 then, h2 now"),
        (desk.file(), more(&["-c", "2"]), "wire: http/1.1 then, stdio now"),
        (&server.url, more(&["-c", "3"]), "connections: 2 then, 3 now"),
        (&server.url, more(&["-c", "2", "--rate", "100"]), "rate: no rate then, 100 now"),
        (&server.url, more(&["-c", "2", "--era", "legacy"]), "revision: 2026-07-28 then, 2025-"),
        (&server.url, short, "requests a connection: no bound then, 5 now"),
        (&server.url, more(&["-c", "2", "-t", "2"]), "threads: 1 then, 2 now"),
        (&server.url, long, "bytes of parameters then, "),
        (&server.url, vec!["-n", "20", "-c", "2", "--mix", "tools/list=1"], "tools/list"),
    ];
    for (target, asked, text) in cases {
        let ran = again(target, &asked);
        let (code, said) = failure(&ran);
        assert_eq!((code, &*ran.stdout), (Some(2), ""), "{asked:?}: {said}");
        assert!(said.contains("it is of another load") && said.contains(text), "{said}");
    }
}

#[test]
fn a_baseline_of_another_mix_is_refused_and_of_another_length_is_not() {
    let desk = desk();
    let file = desk.path("earlier.json");
    let baseline = ["--baseline", file.to_str().expect("a path"), "--tolerance", "100000"];
    let mix = ["--mix", "tools/list=3,ping=1", "--era", "legacy"];
    let earlier = report(&[desk.file()], &[&mix[..], &["-n", "20"]].concat());
    let (planned, weight) = (&earlier["planned"], &earlier["requests"][0]["weight"]);
    assert_eq!((planned, weight), (&serde_json::json!({"answers": 20}), &3.into()), "{earlier}");
    fs::write(&file, earlier.to_string()).expect("a folder of ours");
    let again = |asked: &[&str]| bench(&[desk.file()], &[asked, &baseline[..]].concat());
    let turned = ["--mix", "tools/list=1,ping=3", "--era", "legacy", "-n", "20"];
    let (code, said) = failure(&again(&turned));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("weights: 3, 1 then, 1, 3 now"), "{said}");
    for length in [["-n", "40"], ["-d", "100ms"]] {
        let ran = again(&[&mix[..], &length].concat());
        assert_eq!(ran.code, Some(0), "how long it takes is no part of the load: {ran:?}");
    }
}

#[test]
fn a_baseline_of_before_weights_were_told_is_compared_by_what_it_tells() {
    let desk = desk();
    let server = own(&desk.file);
    let file = desk.path("earlier.json");
    let asked = ["echo", "text=a", "-n", "20"];
    let mut earlier = report(&[&server.url], &asked);
    let object = earlier.as_object_mut().expect("a report");
    for key in ["requests_per_connection", "planned"] {
        assert!(object.remove(key).is_some(), "{key} is told");
    }
    earlier["requests"][0].as_object_mut().expect("a request").remove("weight");
    fs::write(&file, earlier.to_string()).expect("a folder of ours");
    let baseline = ["--baseline", file.to_str().expect("a path"), "--tolerance", "100000"];
    let again = |more: &[&str]| bench(&[&server.url], &[&asked[..], more, &baseline[..]].concat());
    assert_eq!(again(&["--requests-per-connection", "5"]).code, Some(0), "it says nothing of it");
    let (code, said) = failure(&again(&["-c", "2"]));
    assert_eq!(code, Some(2), "{said}");
}

/// The address of a server whose first answer has a body that is no message; the others are good.
fn malformed_once() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        let mut answers = 0;
        for client in listener.incoming().flatten() {
            let mut to = client.try_clone().expect("a socket");
            let mut from = BufReader::new(client);
            while let Some(id) = asked_for(&mut from) {
                answers += 1;
                let good = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#);
                let body = if answers == 1 { "{\"jsonrpc\"".to_owned() } else { good };
                let length = body.len();
                let head = format!("content-type: application/json\r\ncontent-length: {length}");
                _ = write!(to, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
            }
        }
    });
    url
}

/// The id of the next request of a connection.
fn asked_for(from: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if let Some(found) = line.strip_prefix("content-length: ") {
            length = found.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = String::new();
    from.take(length).read_to_string(&mut body).ok()?;
    let message: serde_json::Value = serde_json::from_str(&body).ok()?;
    Some(message["id"].to_string())
}

#[test]
fn one_bad_body_is_one_failure() {
    let ran = bench(&[&malformed_once()], &["--era", "modern", "-n", "20", "--json"]);
    let found = ran.json();
    assert_eq!((ran.code, &found["failures"]), (Some(4), &1.into()), "{ran:?}");
    assert_eq!((&found["answers"], &found["wrong"][0]["count"]), (&19.into(), &1.into()));
}
