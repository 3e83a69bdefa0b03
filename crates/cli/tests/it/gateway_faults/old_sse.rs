//! Upstreams that speak HTTP+SSE of 2024-11-05 and do wrong: at the stream, in its first event, and
//! in the middle of an answer.

use super::bed::{Bed, wait_until};
use super::{Case, check};

#[test]
fn an_upstream_of_2024_that_begins_wrong_is_said_to() {
    const FOREIGN: &str = "GET raw event: endpoint\ndata: http://127.0.0.2:9/m\n\n";
    check(
        Bed::old,
        &[
            Case(&["GET stream", "GET hang"], &["bad", "does not say where messages go"]),
            Case(&["GET stream", "GET exit"], &["bad", "does not say where messages go"]),
            Case(&["GET stream", FOREIGN, "GET hang"], &["bad", "to another server"]),
            Case(&["GET status 500"], &["bad", "no MCP server answers there"]),
        ],
    );
}

#[test]
fn an_upstream_of_2024_that_answers_wrong_is_said_to() {
    const WHOSE: &str = r#"tools/call raw data: {"jsonrpc":"2.0","id":$id,"result":{"x":""#;
    check(
        Bed::old,
        &[
            Case(&["tools/call half", "tools/call exit"], &["bad", "in the middle of its answer"]),
            Case(&["tools/call send nonsense"], &["bad", "is not a JSON-RPC message"]),
            Case(&["tools/call wait 0"], &["bad", "within 1s"]),
            Case(&[WHOSE, "tools/call fill 1000000000"], &["bad", "larger than"]),
            Case(&["tools/call status 500"], &["bad", "HTTP 500"]),
        ],
    );
}

#[test]
fn an_upstream_of_2024_whose_stream_breaks_off_has_another_session_for_the_next_call() {
    let rules = ["tools/call half", "tools/call exit", "tools/call@2 answer"];
    let bed = Bed::old(&rules);
    let broken = bed.call("bad_try");
    assert!(broken.said().contains("in the middle of its answer"), "{broken:?}");
    assert!(wait_until(|| bed.call("bad_try").said() == "tried"));
    for _ in 0..5 {
        assert_eq!(bed.call("bad_try").said(), "tried");
    }
    bed.stop().expect("an orderly end");
}
