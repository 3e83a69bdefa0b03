//! Tools that call other tools: what passes from step to step, with real programs.

use crate::fixture::{Desk, Served, ask, call, failure, text};
use haft_server::{AskError, Context, Server, Tool, handler};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tools that the pipelines here call: what they take, they give back or fail over.
const TOOLS: &str = "
  - { name: say, input: { text: string }, text: '{{ text }}' }
  - name: json
    input: { text: string }
    command: [cat]
    stdin: '{{ text }}'
    output: json
  - name: fail
    input: { 'why?': string }
    command: [sh, -c, 'echo \"$1\" >&2; exit 3', sh, '{{ why }}']
  - name: add
    input: { a: integer, 'b?': integer }
    command: [sh, -c, 'echo $(($1 + $2))', sh, '{{ a }}', '{{ b | default(1) }}']
    output: json
    output_schema: { type: integer }
";

/// A server of these and of a pipeline `p` of these lines, from its `input` on.
fn server(lines: &str) -> Served {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    Desk::with_tools(&format!("{TOOLS}\n  - name: p\n{lines}")).serve()
}

async fn structured(server: &Server, arguments: Value) -> Value {
    let result = call(server, "p", arguments).await;
    assert_eq!(result.get("isError"), None, "{result}");
    result["structuredContent"].clone()
}

#[tokio::test]
async fn the_example_runs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pipeline/haft.yaml");
    let manifest = haft_manifest::load(Path::new(path)).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(manifest.warnings(), []);
    let server = manifest.server().unwrap_or_else(|fault| panic!("{fault}"));
    let text = "An extraordinary fox, a fox of letters, writes";
    let result = call(&server, "describe", json!({"text": text, "long": 8})).await;
    assert_eq!(
        result["structuredContent"],
        json!({
            "words": 8,
            "longest": ["extraordinary", "letters", "writes", "fox"],
            "backwards": [null, "srettel", "setirw", "xof"],
            "problem": "1 of 4 items failed; the first at step 2 (`backwards`), item 1: \
                `sh` ended with exit code 1:\nextraordinary is too long",
            "warning": "A text of 8 words is long.",
            "summary": "8 words; the longest is extraordinary.",
        }),
        "{result}"
    );
    let result = call(&server, "describe", json!({"text": "One fox"})).await;
    let expected = json!({"words": 2, "longest": ["One", "fox"], "backwards": ["enO", "xof"],
        "warning": null, "summary": "2 words; the longest is One."});
    assert_eq!(result["structuredContent"], expected, "{result}");
}

#[tokio::test]
async fn values_keep_their_types_from_step_to_step() {
    let server = server(
        r#"input: { a: integer }
pipeline:
  - { call: add, with: { a: "{{ a }}" }, as: sum }
  - { call: add, with: { a: "{{ sum }}", b: 10 }, as: more }
  - { call: json, with: { text: '{"days": [1, 2.5, "3", null, true, {"a": []}]}' }, as: all }
result:
  { sum: "{{ sum }}", more: "{{ more }}", days: "{{ all.days }}", n: [1, "{{ a }}"] }"#,
    );
    let expected = json!({"sum": 42, "more": 52,
        "days": [1, 2.5, "3", null, true, {"a": []}], "n": [1, 41]});
    assert_eq!(structured(&server, json!({"a": 41})).await, expected);
}

#[tokio::test]
async fn without_a_result_the_last_step_answers_as_it_did() {
    let server = server(
        "input: { text: string }\npipeline:\n  - { call: say, with: { text: 'I say {{ text }}' } }",
    );
    assert_eq!(text(&server, "p", json!({"text": "hi"})).await, "I say hi");
}

#[tokio::test]
async fn an_absent_argument_is_left_out_of_a_call() {
    let server = server(
        "input: { 'b?': integer }\npipeline:\n  - { call: add, with: { a: 1, b: '{{ b }}' } }",
    );
    assert_eq!(structured(&server, json!({})).await, json!(2));
    assert_eq!(structured(&server, json!({"b": 5})).await, json!(6));
}

#[tokio::test]
async fn a_step_is_skipped_unless_its_condition_holds() {
    let server = server(
        r#"input: { n: integer }
pipeline:
  - { call: say, with: { text: big }, when: "{{ n >= 1000 }}", as: size }
  - { call: say, with: { text: small }, when: "{{ n < 10 }}", as: size }
result: "{{ size | default('middle', true) }}""#,
    );
    assert_eq!(text(&server, "p", json!({"n": 1000})).await, "big");
    assert_eq!(text(&server, "p", json!({"n": 9})).await, "small");
    assert_eq!(text(&server, "p", json!({"n": 10})).await, "middle");
}

#[tokio::test]
async fn a_failure_names_the_step_and_its_tool() {
    let server = server(
        "pipeline:
  - { call: say, with: { text: x } }
  - do:
      - { each: [1, 2], call: fail, with: { why: 'no {{ item }}' } }",
    );
    let why = failure(&server, "p", json!({})).await;
    assert_eq!(why, "`p` stopped at step 2.1 (`fail`), item 1: `sh` ended with exit code 3:\nno 1");
}

#[tokio::test]
async fn a_step_that_may_fail_leaves_nothing_and_a_reason() {
    let server = server(
        r#"pipeline:
  - { call: fail, with: { why: boom }, on_error: continue, as: a }
  - { call: say, with: { text: fine }, on_error: continue, as: b }
  - { call: say, when: "{{ errors.a }}", with: { text: "{{ a is none }}!" }, as: c }
result: { a: "{{ a }}", b: "{{ b }}", c: "{{ c }}", why: "{{ errors }}" }"#,
    );
    let expected = json!({"a": null, "b": "fine", "c": "true!",
        "why": {"a": "`sh` ended with exit code 3:\nboom"}});
    assert_eq!(structured(&server, json!({})).await, expected);
}

#[tokio::test]
async fn loops_nest_and_keep_their_order() {
    let server = server(
        r#"input: { rows: "integer[][]" }
pipeline:
  - each: "{{ rows }}"
    item: row
    concurrency: 3
    do:
      - { each: "{{ row }}", item: cell, call: add, with: { a: "{{ cell }}" }, as: cells }
    as: all
result: { all: "{{ all }}" }"#,
    );
    let got = structured(&server, json!({"rows": [[1, 2], [], [3]]})).await;
    assert_eq!(got, json!({"all": [[2, 3], [], [4]]}));
}

#[tokio::test]
async fn pipelines_call_pipelines() {
    let server = Desk::with_tools(&format!(
        "{TOOLS}
  - name: outer
    pipeline:
      - {{ call: inner, with: {{ n: 1 }}, as: n }}
      - {{ call: inner, with: {{ n: '{{{{ n }}}}' }} }}
  - name: inner
    input: {{ n: integer }}
    pipeline: [{{ call: add, with: {{ a: '{{{{ n }}}}' }} }}]
"
    ))
    .serve();
    assert_eq!(text(&server, "outer", json!({})).await, "3");
}

#[tokio::test]
async fn a_pipeline_behaves_as_all_its_steps_do() {
    let server = Desk::with_tools(
        "  - name: a
    text: x
    annotations: { readOnly: true, idempotent: true, openWorld: false }
  - { name: b, text: x, annotations: { readOnly: true, destructive: true, openWorld: false } }
  - { name: both, pipeline: [{ parallel: [{ call: a }, { each: [1], call: b }] }] }
  - { name: said, pipeline: [{ call: both }], annotations: { readOnly: false } }
",
    )
    .server();
    let list = ask(&server, "tools/list", json!({})).await;
    let hints = |index: usize| list["tools"][index]["annotations"].clone();
    let of_steps = json!({"readOnlyHint": true, "destructiveHint": true, "openWorldHint": false});
    assert_eq!(hints(2), of_steps);
    assert_eq!(hints(3)["readOnlyHint"], false);
    assert_eq!(hints(3)["destructiveHint"], true);
}

#[test]
fn what_is_odd_about_a_pipeline_is_noticed() {
    let desk = Desk::with_tools(
        "  - name: a
    description: Writes.
    text: x
    annotations: { readOnly: false }
  - name: p
    description: Reads.
    input: { n: string, 'm?': string }
    annotations: { readOnly: true }
    pipeline:
      - { call: a, as: x }
      - { call: a, as: y, on_error: continue }
      - { call: a, as: z, when: '{{ errors.y and m }}' }
",
    );
    let found: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    let said = "the pipeline says `readOnly: true`, and `a` does not";
    let expected = [
        "9:14: p: nothing reads the argument `n`".to_owned(),
        format!("12:17: p: {said}"),
        "12:24: p: nothing reads `x`".to_owned(),
        format!("13:17: p: {said}"),
        format!("14:17: p: {said}"),
        "14:24: p: nothing reads `z`".to_owned(),
    ];
    assert_eq!(found, expected);
}

/// Calls a pipeline and accepts all that it asks, until there is a result; how often it asked.
async fn accept_all(server: &Server) -> (usize, Value) {
    let mut params = json!({"name": "p", "arguments": {}});
    for count in 0.. {
        let result = ask(server, "tools/call", params.clone()).await;
        let Some(asked) = result["inputRequests"].as_object() else { return (count, result) };
        assert!(count < 9, "it asks for ever: {result}");
        let accepted = json!({"action": "accept", "content": {}});
        let answers = asked.keys().map(|key| (key.clone(), accepted.clone())).collect();
        params["inputResponses"] = Value::Object(answers);
        params["requestState"] = result["requestState"].clone();
    }
    unreachable!("it counts for ever")
}

#[tokio::test]
async fn a_step_that_asks_is_told_again_whatever_the_steps_before_it_make() {
    let server = server(
        r#"pipeline:
  - call: say
    with: { text: '' }
    as: now
  - each: [[tea, milk], [tea]]
    item: shop
    concurrency: 2
    do:
      - each: "{{ shop }}"
        item: what
        concurrency: 2
        call: add
        with: { a: "{{ now | int }}" }"#,
    );
    let runs = Arc::new(AtomicUsize::new(0));
    let say = move |_: Value| runs.fetch_add(1, Ordering::Relaxed).to_string();
    let say = Tool::new("say", handler::function(say)).input_schema(r#"{"type":"object"}"#);
    server.add_tool(say).expect("it is offered");
    let charged = Arc::new(AtomicUsize::new(0));
    let charges = Arc::clone(&charged);
    let pay = handler::future(move |_: Value, context: Context| {
        let charges = Arc::clone(&charges);
        async move {
            context.once("charge", async { charges.fetch_add(1, Ordering::Relaxed) }).await;
            let said = context.elicit::<Value>("sure", "Sure?", r#"{"type":"object"}"#).await?;
            Ok::<_, AskError>(said.action())
        }
    });
    let pay = Tool::new("add", pay).input_schema(r#"{"type":"object"}"#);
    server.add_tool(pay).expect("it is offered");
    let (asked, result) = accept_all(&server).await;
    assert_eq!((asked, charged.load(Ordering::Relaxed)), (1, 3), "{result}");
    assert_eq!(result.get("isError"), None, "{result}");
}
