//! What a program printed, and how it ended, as a result.

use crate::fixture::{Begun, Desk, Served, begin, call, failure, text};
use serde_json::{Value, json};

/// A tool that runs a script, with more keys.
fn script(script: &str, keys: &str) -> Served {
    let script = script.replace('\'', "''");
    Desk::with_tools(&format!("  - name: run\n    command: [sh, -c, '{script}']\n    {keys}\n"))
        .serve()
}

#[tokio::test]
async fn a_text_is_what_was_printed_without_its_last_line_end() {
    for (printf, expected) in
        [(r"printf 'a\nb\n'", "a\nb"), (r"printf ' a \r\n\n'", " a "), ("true", ""), ("echo", "")]
    {
        assert_eq!(text(&script(printf, ""), "run", json!({})).await, expected);
    }
}

#[tokio::test]
async fn what_is_no_text_is_shown_as_unknown_characters() {
    let server = script(r"printf 'a\377\376b\303'", "");
    assert_eq!(text(&server, "run", json!({})).await, "a\u{fffd}\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn lines_are_a_structured_result_and_a_text() {
    let server = script(r"printf 'a\n\nb\r\n'", "output: lines");
    let result = call(&server, "run", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"lines": ["a", "", "b"]}));
    assert_eq!(result["content"], json!([{"type": "text", "text": "a\n\nb"}]));
    let result = call(&script("true", "output: lines"), "run", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"lines": []}));
}

#[tokio::test]
async fn a_report_is_all_that_was_said_whether_it_failed_or_not() {
    let said = r"echo out; echo err >&2; exit ";
    for (code, is_error) in [(0, Value::Null), (3, json!(true)), (4, Value::Null)] {
        let keys = "output: { parse: report, limit: 1KiB }\n    ok_exit: [0, 4]";
        let result = call(&script(&format!("{said}{code}"), keys), "run", json!({})).await;
        let report = json!({"stdout": "out\n", "stderr": "err\n", "exit_code": code});
        assert_eq!((&result["structuredContent"], &result["isError"]), (&report, &is_error));
        assert_eq!(result["content"], json!([{"type": "text", "text": report.to_string()}]));
    }
}

#[tokio::test]
async fn of_stderr_a_report_has_the_last_within_its_limit() {
    let keys = "output: { parse: report, limit: 10KB }";
    let script = script("head -c 60000 /dev/zero | tr '\\0' x >&2; printf last >&2", keys);
    let result = call(&script, "run", json!({})).await;
    let stderr = result["structuredContent"]["stderr"].as_str().expect("a text");
    assert!(stderr.len() == 10_000 && stderr.ends_with("xlast"), "{}", stderr.len());
}

#[tokio::test]
async fn json_is_passed_on_as_it_was_printed() {
    let server = script(r#"printf '{"b": 1.10,\n "a": 123456789012345678901}\n'"#, "output: json");
    let Begun::Later(later) = begin(&server, "run", &json!({})) else { panic!("it runs") };
    let message = String::from_utf8(later.await.message).expect("an answer is UTF-8");
    let structured = r#""structuredContent":{"b": 1.10, "a": 123456789012345678901}"#;
    assert!(message.contains(structured), "{message}");
    let answer: Value = serde_json::from_str(&message).expect("an answer is JSON");
    let text = "{\"b\": 1.10,\n \"a\": 123456789012345678901}";
    assert_eq!(answer["result"]["content"][0]["text"], text);
}

#[tokio::test]
async fn what_is_not_one_json_value_is_a_failure() {
    let deep = format!("printf '{}{}'", "[".repeat(200), "]".repeat(200));
    for printf in ["echo oops", "echo '{} {}'", "true", "printf '{\"a\":'", "echo NaN", &*deep] {
        let why = failure(&script(printf, "output: json"), "run", json!({})).await;
        assert!(why.starts_with("`sh` did not print one JSON value: "), "{printf}: {why}");
    }
}

#[tokio::test]
async fn json_is_repaired_where_it_can_be_and_else_it_is_said_what_is_wrong() {
    for (printf, expected) in [
        (r#"printf '\357\273\277{"a": 1}'"#, Ok(json!({"a": 1}))),
        (r#"printf '{"a": "x\\ud83d"}'"#, Ok(json!({"a": "x\u{fffd}"}))),
        (r#"printf '{"\\ude00": "\\ud83d\\ude00"}'"#, Ok(json!({"\u{fffd}": "\u{1f600}"}))),
        (r#"printf '{"a": NaN}'"#, Err("`NaN` is no value of JSON")),
        (r#"printf '{"a": -Infinity}'"#, Err("`-Infinity` is no value of JSON")),
        (r#"printf '{"a": "caf\351"}'"#, Err("it is not UTF-8 at byte 11")),
        (r#"printf '{"a": "b\001"}'"#, Err("control character")),
    ] {
        let result = call(&script(printf, "output: json"), "run", json!({})).await;
        let said = result["content"][0]["text"].as_str().expect("a text");
        match expected {
            Ok(value) => assert_eq!(result["structuredContent"], value, "{printf}: {said}"),
            Err(why) => {
                assert_eq!(result["isError"], true, "{printf}: {result}");
                let why = format!("`sh` did not print one JSON value: {why}");
                assert!(said.starts_with(&why), "{printf}: {said}");
            }
        }
    }
    let marked = script(r"printf '\357\273\277a\n'", "");
    assert_eq!(text(&marked, "run", json!({})).await, "a");
}

#[tokio::test]
async fn json_is_held_against_its_schema() {
    let keys = "output: json\n    output_schema: { type: object, required: [a] }";
    let result = call(&script("echo '{\"a\": 1}'", keys), "run", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"a": 1}));
    let why = failure(&script("echo '{}'", keys), "run", json!({})).await;
    assert!(why.contains("does not fit its own output schema"), "{why}");
}

#[tokio::test]
async fn an_exit_code_is_a_failure_unless_it_is_named() {
    let failing = "echo out; echo first >&2; echo last >&2; exit 2";
    let why = failure(&script(failing, ""), "run", json!({})).await;
    assert_eq!(why, "`sh` ended with exit code 2:\nfirst\nlast");
    let why = failure(&script(failing, "ok_exit: [0, 1]"), "run", json!({})).await;
    assert_eq!(why, "`sh` ended with exit code 2:\nfirst\nlast");
    assert_eq!(text(&script(failing, "ok_exit: [2]"), "run", json!({})).await, "out");
    let why = failure(&script("true", "ok_exit: [1]"), "run", json!({})).await;
    assert_eq!(why, "`sh` ended with exit code 0 and said nothing.");
}

#[tokio::test]
async fn a_failure_without_words_on_stderr_shows_what_was_printed() {
    let why = failure(&script("echo hopeless; exit 1", ""), "run", json!({})).await;
    assert_eq!(why, "`sh` ended with exit code 1:\nhopeless");
}

#[tokio::test]
async fn of_many_words_the_last_are_shown() {
    let talkative = "i=0; while [ $i -lt 5000 ]; do echo \"word $i\" >&2; i=$((i+1)); done; exit 1";
    let why = failure(&script(talkative, ""), "run", json!({})).await;
    assert!(why.ends_with("word 4998\nword 4999"), "{why}");
    assert!((1900..2200).contains(&why.len()), "{}", why.len());
}

#[tokio::test]
async fn a_signal_is_named() {
    let why = failure(&script("kill -TERM $$", ""), "run", json!({})).await;
    assert_eq!(why, "`sh` was ended by signal 15 and said nothing.");
}

#[tokio::test]
async fn output_up_to_the_limit_is_kept_and_a_byte_more_is_not() {
    let print = |count: usize| format!("head -c {count} /dev/zero | tr '\\0' x");
    let keys = "output: { limit: 64KiB }";
    let printed = text(&script(&print(65_536), keys), "run", json!({})).await;
    assert_eq!(printed.len(), 65_536);
    let why = failure(&script(&print(65_537), keys), "run", json!({})).await;
    assert_eq!(why, "`sh` was stopped: it printed more than 65536 bytes. Ask for less at once.");
}

#[tokio::test]
async fn a_program_that_never_stops_printing_is_stopped() {
    let why = failure(&script("yes", ""), "run", json!({})).await;
    assert_eq!(why, "`sh` was stopped: it printed more than 1048576 bytes. Ask for less at once.");
}

#[tokio::test]
async fn words_on_stderr_have_no_limit_and_are_no_failure() {
    let server = script("head -c 5000000 /dev/zero >&2; echo done", "");
    assert_eq!(text(&server, "run", json!({})).await, "done");
}

/// A tool that reads its argument.
fn reading(script: &str) -> Served {
    let script = script.replace('\'', "''");
    Desk::with_tools(&format!(
        "  - name: run
    input: {{ text: string }}
    command: [sh, -c, '{script}']
    stdin: '{{{{ text }}}}'
    output: {{ limit: 8MiB }}
"
    ))
    .serve()
}

#[tokio::test]
async fn a_program_reads_all_that_is_sent() {
    let sent = "0123456789abcdef".repeat(100_000);
    assert_eq!(text(&reading("cat"), "run", json!({"text": sent})).await, sent);
    assert_eq!(text(&reading("wc -c"), "run", json!({"text": ""})).await.trim(), "0");
}

#[tokio::test]
async fn a_program_need_not_read_what_is_sent() {
    let sent = "0123456789abcdef".repeat(100_000);
    for (script, expected) in
        [("echo unread", "unread"), ("head -c 4", "0123"), ("exec <&-; echo closed", "closed")]
    {
        assert_eq!(text(&reading(script), "run", json!({"text": sent})).await, expected);
    }
}

#[tokio::test]
async fn a_program_without_stdin_reads_nothing() {
    assert_eq!(text(&script("wc -c", ""), "run", json!({})).await.trim(), "0");
}

#[tokio::test]
async fn a_program_may_close_its_output_and_go_on() {
    let why = failure(&script("exec >&- 2>&-; exit 3", ""), "run", json!({})).await;
    assert_eq!(why, "`sh` ended with exit code 3 and said nothing.");
}
