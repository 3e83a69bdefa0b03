//! Clients that open more sessions than anybody needs, or never read what they asked for.

use super::bed::{Bed, Watch, address, ask, request, wait_until};
use super::{KIB_MAX, PROMPT, RESULT};
use std::io::Write;
use std::net::TcpStream;
use std::thread;

/// How many clients ask at the same time.
const CLIENTS: usize = 4;
const SESSIONS: usize = 10_000;
/// How many clients do not read.
const DEAF: usize = 24;

#[test]
fn ten_thousand_sessions_hurt_nobody() {
    let bed = Bed::piped(&[]);
    assert_eq!(bed.call("bad_try").said(), "tried");
    let (before, watch) = (bed.taken(), Watch::begin(&bed));
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{},
        "clientInfo":{"name":"a","version":"1"}}}"#;
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..SESSIONS / CLIENTS {
                    let told = ask(&bed.gate.url, "", hello);
                    assert!(told.contains("mcp-session-id: "), "{told}");
                }
            });
        }
    });
    assert!(watch.end().is_ok_and(|slowest| slowest <= PROMPT));
    let descriptors = || bed.taken().descriptors;
    assert!(
        wait_until(|| descriptors() <= before.descriptors + 2),
        "{before:?}, {}",
        descriptors()
    );
    let after = bed.taken();
    // Under 4 KB each.
    assert!(after.kib.saturating_sub(before.kib) < SESSIONS as u64 * 4, "{before:?}, {after:?}");
    bed.stop().expect("an orderly end");
}

#[test]
fn clients_that_do_not_read_hurt_nobody() {
    let rules = [RESULT, "tools/call fill 3000000", r#"tools/call send "}]}}"#];
    let bed = Bed::piped(&rules);
    // All of them may take longer than one may.
    let is_whole = || bed.call("bad_try").said().len() == 3_000_000;
    assert!(wait_until(is_whole));
    let (before, watch) = (bed.taken(), Watch::begin(&bed));
    let request = request(&bed.gate.url, "bad_try");
    let deaf: Vec<TcpStream> = (0..DEAF)
        .map(|_| {
            let mut stream = TcpStream::connect(address(&bed.gate.url)).expect("it listens");
            stream.write_all(request.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    assert!(wait_until(is_whole));
    let during = bed.taken();
    drop(deaf);
    assert!(watch.end().is_ok_and(|slowest| slowest <= PROMPT));
    assert!(wait_until(|| bed.taken().descriptors <= before.descriptors + 2));
    assert!(during.kib_max <= KIB_MAX + DEAF as u64 * 3_000, "{during:?}");
    bed.stop().expect("an orderly end");
}

#[test]
fn an_answer_that_is_too_long_hurts_no_other_call() {
    let fill = "tools/call fill 20000000";
    let rules =
        ["tools/call wait 300", RESULT, fill, r#"tools/call send "}]}}"#, "tools/call@2 answer"];
    let bed = Bed::piped(&rules);
    assert_eq!(bed.call("good_try").said(), "tried");
    let (first, second) = thread::scope(|scope| {
        let one = scope.spawn(|| bed.call("bad_try"));
        let other = scope.spawn(|| bed.call("bad_try"));
        (one.join().expect("an answer"), other.join().expect("an answer"))
    });
    let mut said = [first.said(), second.said()];
    said.sort_unstable();
    assert!(said[0].contains("larger than 4194304 bytes"), "{said:?}");
    assert_eq!(said[1], "tried");
    // It is the same child as before.
    assert_eq!(bed.see("upstreams")[0]["restarts"], 0);
    bed.stop().expect("an orderly end");
}
