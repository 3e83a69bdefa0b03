//! `type: cli`: what callers may give, and what they get.

use super::{done, failed, listed, of_documents, of_parser, tools};
use crate::fixture::{Begun, begin, call, failure};
use crate::origin::Reply;
use serde_json::json;

#[tokio::test]
async fn a_program_without_params_takes_further_arguments_and_no_environment() {
    let (server, _origin) = of_parser(|_| Reply::text("")).await;
    let said = done(&server, "say", json!({"args": ["-n", "a b"]})).await;
    let expected = "{{.Names}}\n${HOME}\n{}\n-n\na b\n";
    assert_eq!(said, json!({"stdout": expected, "stderr": "", "exit_code": 0}));
    assert_eq!(done(&server, "say", json!({})).await["stdout"], "{{.Names}}\n${HOME}\n{}\n");
    let why = failure(&server, "say", json!({"env": {"LD_PRELOAD": "x"}})).await;
    assert!(why.contains("env"), "{why}");
    let tool = listed(&server, "say").await;
    assert_eq!(
        tool["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "args": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Further arguments of the program.",
                },
            },
            "additionalProperties": false,
        })
    );
    assert_eq!(tool["outputSchema"]["required"], json!(["stdout", "stderr", "exit_code"]));
}

#[tokio::test]
async fn an_exit_code_other_than_zero_is_an_error_with_all_that_was_said() {
    let (server, _origin) = of_parser(|_| Reply::text("")).await;
    let said = failed(&server, "where", json!({})).await;
    assert_eq!((&said["exit_code"], &said["stderr"]), (&json!(3), &json!("lost\n")));
    let below = server.desk.file("below").canonicalize().expect("it is there");
    assert_eq!(said["stdout"], format!("{}\nhush\n", below.display()));
}

#[tokio::test]
async fn a_signal_is_minus_one() {
    let server = tools("  - { type: cli, name: t, command: sh, args: [-c, 'kill -9 $$'] }").serve();
    assert_eq!(failed(&server, "t", json!({})).await["exit_code"], -1);
}

#[tokio::test]
async fn params_are_checked_have_defaults_and_fill_the_command_line() {
    let (server, _origin) = of_documents(|_| Reply::text("")).await;
    let said = done(&server, "count", json!({"word": "fox"})).await;
    assert_eq!(said["stdout"], "--from=1\nfoxs\n");
    for wrong in [
        json!({}),
        json!({"word": "f"}),
        json!({"word": "Fox"}),
        json!({"word": "foxfoxfoxfox"}),
        json!({"word": "fox", "first": -1}),
        json!({"word": "fox", "first": 11}),
        json!({"word": "fox", "unit": "m"}),
        json!({"word": "fox", "sizes": []}),
        json!({"word": "fox", "deep": {"b": "x"}}),
        json!({"word": "fox", "other": 1}),
    ] {
        let result = call(&server, "count", wrong.clone()).await;
        assert_eq!(result["isError"], true, "{wrong} {result}");
    }
    assert_eq!(
        listed(&server, "count").await["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "word": {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$"},
                "first": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
                "unit": {"type": "string", "enum": ["km", "mi"]},
                "sizes": {"type": "array", "minItems": 1, "items": {"type": "number"}},
                "deep": {
                    "type": "object",
                    "properties": {"a": {"type": "number"}, "b": {"type": "string"}},
                    "required": ["a", "b"],
                },
            },
            "required": ["word"],
            "additionalProperties": false,
        })
    );
}

/// As the documents have it: "pforge appends to args".
#[tokio::test]
async fn params_that_no_text_names_are_further_arguments_in_order() {
    let (server, _origin) = of_documents(|_| Reply::text("")).await;
    let arguments = json!({"word": "fox", "sizes": [1.5, 2], "unit": "km"});
    let said = done(&server, "count", arguments).await;
    assert_eq!(said["stdout"], "--from=1\nfoxs\nkm\n1.5\n2\n");
}

#[tokio::test]
async fn no_caller_chooses_the_directory_of_a_program() {
    let lines = "  - { type: cli, name: t, command: docker, args: ['{{sub}}'], cwd: '{{dir}}', \
                 params: { dir: { type: array }, sub: string } }";
    let empty: Vec<&str> = Vec::new();
    assert_eq!(tools(lines).serve().tool_names(), empty);
}

#[tokio::test]
async fn a_dollar_may_stand_before_a_placeholder() {
    let server =
        tools("  - { type: cli, name: t, command: echo, args: ['${{price}}', '$${{price}}'] }")
            .serve();
    assert_eq!(done(&server, "t", json!({"price": "5"})).await["stdout"], "$5 $$5\n");
}

#[tokio::test]
async fn names_that_are_in_no_params_are_texts_that_callers_must_give() {
    let server =
        tools("  - { type: cli, name: t, command: echo, args: ['{{message}}', '{{args}}'] }")
            .serve();
    let said = done(&server, "t", json!({"message": "a; b", "args": ["c", "d"]})).await;
    assert_eq!(said["stdout"], "a; b c d\n");
    let tool = listed(&server, "t").await;
    assert_eq!(tool["inputSchema"]["required"], json!(["message"]));
}

#[tokio::test]
async fn params_may_be_a_list_or_a_schema() {
    for params in [
        "[{ name: a, type: integer, required: true }, { name: b, type: string, default: x }]",
        "{ type: object, properties: { a: { type: integer }, b: { type: string, default: x } }, \
         required: [a] }",
    ] {
        let head = "type: cli, name: t, command: echo, args: ['{{a}}{{b}}']";
        let server = tools(&format!("  - {{ {head}, params: {params} }}")).serve();
        assert_eq!(done(&server, "t", json!({"a": 1})).await["stdout"], "1x\n", "{params}");
        let why = failure(&server, "t", json!({})).await;
        assert!(why.contains('a'), "{why}");
    }
}

#[tokio::test]
async fn output_has_a_bound() {
    let lines = "  - { type: cli, name: t, command: head, args: [-c, '2000000', /dev/zero] }";
    let server = tools(lines).serve();
    let why = failure(&server, "t", json!({})).await;
    assert!(why.contains("printed more than 1048576 bytes"), "{why}");
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_ended() {
    let lines = "  - { type: cli, name: t, command: sleep, args: ['60'], timeout_ms: 50 }";
    let server = tools(lines).serve();
    let why = failure(&server, "t", json!({})).await;
    assert!(why.contains("50"), "{why}");
}

#[tokio::test]
async fn as_many_calls_wait_as_the_file_says() {
    let desk = tools(
        "  - { type: cli, name: t, command: sh, args: [-c, 'echo up > up; read go < gate'], \
         bulkhead: { max_concurrent: 1, max_queued: 0 } }",
    );
    let (up, gate, server) = (desk.fifo("up"), desk.gate("gate"), desk.server());
    let Begun::Later(first) = begin(&server, "t", &json!({})) else { panic!("it runs") };
    let first = tokio::spawn(first);
    assert_eq!(up.text().await, "up\n");
    let why = failure(&server, "t", json!({})).await;
    assert_eq!(why, "The tool `t` is busy: 1 calls run and 0 wait already. Call it again later.");
    gate.open();
    first.await.expect("it does not panic");
}
