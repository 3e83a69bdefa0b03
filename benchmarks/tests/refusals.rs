//! That what a client gets wrong is looked at once, counted: a check that parses its value touches
//! the heap for each part of it. One test, as the counter counts the whole process.

use haft_benchmarks::answer;
use haft_proto::limits::Limits;
use haft_server::handler::{self, Answer, Call, Handler, Made};
use haft_server::schema::Schema;
use haft_server::{Server, Tool};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn allocations<T>(act: impl FnOnce() -> T) -> (u64, T) {
    let before = dhat::HeapStats::get().total_blocks;
    let made = act();
    (dhat::HeapStats::get().total_blocks - before, made)
}

/// A handler as somebody else writes it.
struct Foreign;

impl Handler for Foreign {
    fn call(&self, _: Call<'_>, answer: Answer<'_>) -> Made {
        answer.text("done");
        Made::Now
    }
}

/// It has a keyword that is not checked without a parse.
const SCHEMA: &str = r#"{"type":"object","properties":{"words":{"type":"array","items":
    {"type":"string","pattern":"^w"}},"count":{"type":"integer"}},"required":["count"]}"#;

#[test]
fn arguments_that_do_not_fit_are_checked_once() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let words = vec!["word"; 5000];
    let schema = Schema::compile(SCHEMA).expect("it is one");
    assert!(!schema.is_direct());
    let limits = Limits::default();
    let mut out = Vec::with_capacity(1 << 20);
    for (tool, decodes) in [
        (Tool::new("t", Foreign), false),
        (Tool::new("t", handler::function(|_: Value| "done")), true),
        (Tool::new("t", handler::future(|_: Value, _| async { "done" })), true),
    ] {
        let server = Server::builder("refusals", "1.0.0").tool(tool.input_schema(SCHEMA)).build();
        let server = server.expect("it is right");
        // One is refused, and one is mended.
        for (count, is_mended) in [(json!("many"), false), (json!("3"), true)] {
            let arguments = json!({ "words": &words, "count": count }).to_string();
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":
                    {{"name":"t","arguments":{arguments}}}}}"#
            );
            let mut call = || {
                out.clear();
                answer(&server, &limits, message.as_bytes(), &mut out)
            };
            // The first call compiles the schema.
            call();
            let (once, checked) = allocations(|| schema.check(&arguments));
            assert!(checked.is_err() && once > 1000, "{once}");
            let (mending, _) = allocations(|| schema.repair(&arguments));
            let (all, _) = allocations(call);
            let (decoding, _) = allocations(|| serde_json::from_str::<Value>(&arguments));
            let decoding = if decodes && is_mended { decoding } else { 0 };
            let expected = once + mending + decoding;
            assert!(all < expected + 100, "{all} in place of {expected}; a check has {once}");
        }
    }
}
