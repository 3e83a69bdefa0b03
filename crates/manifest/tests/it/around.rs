//! What stands around calls, as a file says it: that it is there, and its faults as they are drawn.

use crate::fixture::{Desk, call, check_fault, check_fault_of_tool, failure, text};
use serde_json::json;

/// A tool that writes a line into a file each time that it runs, and fails until there are so many.
fn shaky(failures: u32, keys: &str) -> Desk {
    Desk::with_tools(&format!(
        "  - name: shaky
    command: [sh, -c, 'echo x >> runs; test $(wc -l < runs) -gt {failures} && wc -l < runs']
    {keys}
"
    ))
}

fn runs(desk: &Desk) -> usize {
    std::fs::read_to_string(desk.file("runs")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_failed_call_is_made_again() {
    let keys = "annotations: { readOnly: true }\n    retry: { attempts: 3, delay: 1ms }";
    let served = shaky(2, keys).serve();
    assert_eq!(text(&served, "shaky", json!({})).await, "3");
}

#[tokio::test]
async fn a_failure_of_another_kind_is_not_tried_again() {
    let keys = "annotations: { readOnly: true }
    retry: { attempts: 3, delay: 1ms, on: [timeout, connect, busy, 5xx] }";
    let desk = shaky(2, keys);
    let server = desk.server();
    failure(&server, "shaky", json!({})).await;
    assert_eq!(runs(&desk), 1);
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_ended_and_tried_again() {
    let desk = Desk::with_tools(
        "  - name: slow
    command: [sh, -c, 'echo x >> runs; test $(wc -l < runs) -gt 1 || sleep 600; echo done']
    annotations: { readOnly: true }
    retry: { attempts: 2, delay: 1ms, each: 2s, on: [timeout] }
",
    );
    assert_eq!(text(&desk.serve(), "slow", json!({})).await, "done");
}

#[tokio::test]
async fn what_stands_around_all_tools_is_around_each_unless_it_says_otherwise() {
    let desk = Desk::with(
        "server: { name: desk }
defaults:
  retry: { attempts: 2, delay: 1ms }
  max_size: 10
  redact: [secret]
tools:
  - name: tried
    annotations: { idempotent: true }
    command: [sh, -c, 'echo x >> tried; test $(wc -l < tried) -gt 1 && echo done']
  - name: not_tried
    command: [sh, -c, 'echo x >> not_tried; test $(wc -l < not_tried) -gt 1 && echo done']
  - { name: long, input: { x: string }, text: '{{ x }}' }
  - { name: longer, input: { x: string }, text: '{{ x }}', max_size: 100, redact: [hidden] }
",
    );
    let served = desk.serve();
    assert_eq!(text(&served, "tried", json!({})).await, "done");
    assert!(failure(&served, "not_tried", json!({})).await.contains("exit code 1"));
    let x = json!({"x": "12345678901"});
    assert!(failure(&served, "long", x.clone()).await.contains("10 is the most that it may have"));
    assert_eq!(text(&served, "longer", x).await, "12345678901");
    let x = json!({"x": "a secret b hidden c"});
    assert_eq!(text(&served, "longer", x).await, "a [redacted] b [redacted] c");
}

#[tokio::test]
async fn an_answer_is_kept_and_a_failing_tool_rests() {
    let keys = "annotations: { readOnly: true }\n    cache: { ttl: 5m }";
    let served = shaky(0, keys).serve();
    for _ in 0..3 {
        assert_eq!(text(&served, "shaky", json!({})).await, "1");
    }
    let desk = shaky(9, "breaker: { failures: 2, rest: 1h }");
    let server = desk.server();
    for _ in 0..5 {
        call(&server, "shaky", json!({})).await;
    }
    assert_eq!(runs(&desk), 2);
}

#[tokio::test]
async fn a_pattern_and_what_the_environment_has_are_taken_out() {
    // PATH is set wherever a program can be found.
    let desk = Desk::with_tools(
        "  - name: leaky
    command: [sh, -c, 'echo \"$PATH 4111111111111111 ok\"']
    redact: ['${env:PATH}', { pattern: '\\b\\d{16}\\b' }]
",
    );
    assert_eq!(text(&desk.serve(), "leaky", json!({})).await, "[redacted] [redacted] ok");
}

#[test]
fn what_is_not_safe_twice_is_neither_tried_again_nor_kept() {
    check_fault_of_tool(
        "text: x\nretry: { attempts: 3 }",
        &[
            "haft.yaml:5:12: `retry` would call a tool twice that does not say that this is safe",
            "5 |     retry: { attempts: 3 }",
            "  |            ^",
            "  = help: if it is, say `annotations: { readOnly: true }` or `idempotent: true`",
        ],
    );
    check_fault_of_tool(
        "text: x\ncache: { ttl: 1m }",
        &[
            concat!(
                "haft.yaml:5:12: `cache` would answer for a tool without calling it, and it may ",
                "change something"
            ),
            "5 |     cache: { ttl: 1m }",
            "  |            ^",
            "  = help: if it does not, say `annotations: { readOnly: true }`",
        ],
    );
}

#[test]
fn amounts_have_bounds() {
    for (keys, message) in [
        ("retry: { attempts: 1 }", "`attempts` must be from 2 to 10"),
        ("retry: { attempts: 11 }", "`attempts` must be from 2 to 10"),
        ("retry: { attempts: 2, delay: 2h }", "`delay` must be longer than nothing and at most 1h"),
        ("retry: { attempts: 2, on: [] }", "`on` is an empty list"),
        ("breaker: { failures: 0 }", "`failures` must be from 1 to 1000"),
        ("breaker: { rest: soon }", "`rest`: \"soon\" is no length of time"),
        ("cache: { ttl: 0s }", "`ttl` must be longer than nothing and at most 8760h"),
        ("cache: { ttl: 1s, entries: 0 }", "`entries` must be from 1 to 1000000"),
        ("max_size: much", "`max_size`: \"much\" is no number of bytes"),
        ("max_size: 1GiB", "`max_size` must be more than nothing and at most 67108864 bytes"),
        ("timeout: 25h", "`timeout` must be longer than nothing and at most 24h"),
        ("concurrency: 0", "`concurrency` must be from 1 to 1024"),
        ("redact: [abc]", "`redact` must be texts of at least 4 characters"),
        ("redact: [{ pattern: 'a(' }]", "this is no regular expression: unclosed group"),
    ] {
        let yaml = format!(
            "server: {{ name: a }}\ndefaults: {{ {keys} }}\ntools: [{{ name: t, text: x }}]"
        );
        let fault = haft_manifest::parse(std::path::Path::new("haft.yaml"), &yaml);
        let fault = fault.err().unwrap_or_else(|| panic!("nothing is wrong with {keys}"));
        assert!(fault.to_string().contains(message), "{keys}: {fault}");
    }
}

#[test]
fn a_failure_that_nobody_knows_is_shown_with_those_that_there_are() {
    check_fault(
        "server: { name: a }\ndefaults: { retry: { attempts: 2, on: [4xx] } }\ntools: []",
        &[
            "haft.yaml:2:40: `on` cannot be \"4xx\"",
            "2 | defaults: { retry: { attempts: 2, on: [4xx] } }",
            "  |                                        ^^^",
            "  = help: known words are busy, 5xx, connect, exit, timeout",
        ],
    );
}
