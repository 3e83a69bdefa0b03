//! What a pipeline may cost, and that nothing of it is left when its call is over.

use crate::fixture::{Begun, Desk, Served, begin, call, failure, text};
use haft_proto::admit;
use haft_proto::envelope::{self, Incoming};
use haft_proto::method::Method;
use haft_proto::service::{Ask, Asked, Outlet, Principal, Service, Turn, Unanswered, Wire};
use haft_proto::version::Revision;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn serve(tools: &str) -> Served {
    Desk::with_tools(tools).serve()
}

/// A tool that never ends and holds the pipe `held` open until it is dead; it tells by `up` that it
/// has begun.
const ENDLESS: &str = "
  - name: endless
    command: [sh, -c, 'exec 9>held; echo up > up; sleep 1000 & wait']
    timeout: 1h
";

#[tokio::test]
async fn dropping_a_call_kills_what_its_steps_run() {
    let desk = Desk::with_tools(&format!(
        "{ENDLESS}
  - name: inner
    pipeline: [{{ each: [1], call: endless }}]
  - name: p
    pipeline: [{{ parallel: [{{ call: inner }}] }}]
    timeout: 1h
"
    ));
    let (held, up, server) = (desk.fifo("held"), desk.fifo("up"), desk.server());
    let Begun::Later(mut later) = begin(&server, "p", &json!({})) else { panic!("it runs") };
    tokio::select! {
        _ = &mut later => panic!("it does not end by itself"),
        text = up.text() => assert_eq!(text, "up\n"),
    }
    assert!(!held.has_text());
    drop(later);
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn the_timeout_of_a_pipeline_ends_its_steps() {
    let desk = Desk::with_tools(&format!(
        "{ENDLESS}  - name: p\n    pipeline: [{{ call: endless }}]\n    timeout: 300ms\n"
    ));
    let (held, up, server) = (desk.fifo("held"), desk.fifo("up"), desk.server());
    let why = failure(&server, "p", json!({})).await;
    assert_eq!(why, "The tool `p` was stopped: it took longer than 300ms.");
    drop(up);
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn the_timeout_of_a_step_is_a_failure_of_that_step() {
    let server = serve(
        "  - { name: slow, command: [sleep, '1000'], timeout: 100ms }
  - { name: say, text: on }
  - { name: p, pipeline: [{ call: slow }] }
  - { name: q, pipeline: [{ call: slow, on_error: continue }, { call: say }] }
",
    );
    let why = failure(&server, "p", json!({})).await;
    let expected = "`p` stopped at step 1 (`slow`): The tool `slow` was stopped: it took longer \
        than 100ms.";
    assert_eq!(why, expected);
    assert_eq!(text(&server, "q", json!({})).await, "on");
}

#[tokio::test]
async fn a_step_out_of_its_own_time_ends_what_it_called() {
    for step in [
        "{ call: endless, timeout: 200ms, on_error: continue, as: slow }",
        "{ do: [{ call: endless }], timeout: 200ms, on_error: continue, as: slow }",
        "{ each: [1], call: endless, timeout: 200ms, on_error: continue, as: slow }",
    ] {
        let desk = Desk::with_tools(&format!(
            "{ENDLESS}  - name: p
    pipeline: [{step}]
    result: '{{{{ errors.slow }}}}'
    timeout: 1h
"
        ));
        let (held, up, server) = (desk.fifo("held"), desk.fifo("up"), desk.server());
        let why = text(&server, "p", json!({})).await;
        assert!(why.ends_with("it took longer than 200ms"), "{step} {why}");
        drop(up);
        assert_eq!(held.text().await, "", "{step}");
    }
}

#[tokio::test]
async fn a_step_out_of_its_own_time_ends_the_pipeline() {
    let server = serve(
        "  - { name: slow, command: [sleep, '1000'], timeout: 1h }
  - { name: p, pipeline: [{ call: slow, timeout: 50ms }], timeout: 1h }
",
    );
    let why = failure(&server, "p", json!({})).await;
    assert_eq!(why, "`p` stopped at step 1 (`slow`): it took longer than 50ms");
}

#[tokio::test]
async fn a_branch_that_fails_ends_the_others() {
    let desk = Desk::with_tools(&format!(
        "{ENDLESS}
  - {{ name: fail, command: [sh, -c, 'read go < gate; exit 3'] }}
  - {{ name: p, pipeline: [{{ parallel: [{{ call: endless }}, {{ call: fail }}] }}], timeout: 1h }}
"
    ));
    let (held, up, gate) = (desk.fifo("held"), desk.fifo("up"), desk.gate("gate"));
    let server = desk.server();
    let Begun::Later(mut later) = begin(&server, "p", &json!({})) else { panic!("it runs") };
    tokio::select! {
        _ = &mut later => panic!("both wait"),
        _ = up.text() => gate.open(),
    }
    let result = crate::fixture::result_of(&later.await.message);
    let why = "`p` stopped at step 1.2 (`fail`): `sh` ended with exit code 3 and said nothing.";
    assert_eq!(result["content"][0]["text"], why);
    assert_eq!(held.text().await, "");
}

/// Each item waits for the one after it.
#[tokio::test]
async fn items_are_worked_on_at_the_same_time_as_far_as_is_allowed() {
    let tools = |concurrency: usize| {
        format!(
            "
  - name: meet
    input: {{ n: integer }}
    command: [sh, -c, 'mkdir -p in; : > in/$1; ls in | wc -l; test $1 = 1 && read go < gate
      || echo go > gate; rm in/$1', sh, '{{{{ n }}}}']
    output: json
  - name: p
    pipeline:
      - each: [1, 2]
        concurrency: {concurrency}
        call: meet
        with: {{ n: '{{{{ item }}}}' }}
    timeout: 2s
"
        )
    };
    let desk = Desk::with_tools(&tools(2));
    let _gate = desk.gate("gate");
    let result = call(&desk.server(), "p", json!({})).await;
    assert_eq!(result.get("isError"), None, "{result}");
    let desk = Desk::with_tools(&tools(1));
    let _gate = desk.gate("gate");
    let why = failure(&desk.server(), "p", json!({})).await;
    assert_eq!(why, "The tool `p` was stopped: it took longer than 2s.");
}

#[tokio::test]
async fn a_list_is_as_long_as_its_max() {
    let server = serve(
        "  - { name: say, input: { text: string }, text: '{{ text }}' }
  - name: p
    input: { items: 'string[]' }
    pipeline: [{ each: '{{ items }}', call: say, with: { text: '{{ item }}' }, max: 10000 }]
    result: { n: '{{ items | length }}' }
  - name: q
    input: { items: 'string[]' }
    pipeline: [{ each: '{{ items }}', call: say, with: { text: '{{ item }}' } }]
",
    );
    let items = |count: usize| json!({ "items": vec!["a"; count] });
    let result = call(&server, "p", items(10_000)).await;
    assert_eq!(result["structuredContent"], json!({"n": 10_000}));
    let why = failure(&server, "p", items(10_001)).await;
    let expected = "`p` stopped at step 1 (`say`): The list has more than 10000 items, the `max` \
        of this step.";
    assert_eq!(why, expected);
    let result = call(&server, "q", items(100)).await;
    assert_eq!(result["structuredContent"].as_array().map(Vec::len), Some(100));
    assert!(failure(&server, "q", items(101)).await.contains("more than 100 items"));
}

#[tokio::test]
async fn steps_that_never_wait_hold_up_nobody() {
    let server = serve(
        "  - { name: say, text: x }
  - name: p
    input: { items: 'integer[]' }
    pipeline: [{ each: '{{ items }}', call: say, max: 10000 }]
    timeout: 1ms
  - name: skip
    input: { items: 'integer[]' }
    pipeline:
      - { each: '{{ items }}', max: 10000, do: [{ call: say, when: '{{ false }}' }] }
    timeout: 1ms
",
    );
    let items: Vec<_> = (0..10_000).collect();
    for tool in ["p", "skip"] {
        let why = failure(&server, tool, json!({ "items": items })).await;
        assert_eq!(why, format!("The tool `{tool}` was stopped: it took longer than 1ms."));
    }
}

#[tokio::test]
async fn one_call_makes_so_many_others() {
    let server = serve(
        "  - { name: say, text: x }
  - { name: p, input: { rows: 'integer[]' },
      pipeline: [{ each: '{{ rows }}', item: a, max: 1000,
        do: [{ each: '{{ rows }}', item: b, max: 1000, call: say }] }] }
",
    );
    let rows: Vec<_> = (0..200).collect();
    let why = failure(&server, "p", json!({"rows": rows})).await;
    assert!(why.ends_with("Internal error: one call made more than 16384 others"), "{why}");
}

#[tokio::test]
async fn what_is_kept_and_what_is_passed_on_have_bounds() {
    let server = serve(
        "  - name: big
    command: [sh, -c, 'head -c 6000000 /dev/zero | tr \"\\0\" a']
    output: { limit: 8MiB }
  - { name: say, input: { a: string, b: string }, text: ok }
  - { name: many, pipeline: [{ each: [1,2,3,4,5,6,7,8,9,10,11,12], call: big }] }
  - name: few
    pipeline: [{ each: [1,2,3,4,5,6,7,8,9,10,11,12], call: big }]
    result: ok
  - name: both
    pipeline:
      - { call: big, as: x }
      - { call: say, with: { a: '{{ x }}', b: '{{ x }}' } }
",
    );
    let why = failure(&server, "many", json!({})).await;
    let end = "the results of its steps are more than 67108864 bytes together";
    assert!(why.starts_with("`many` stopped at step 1 (`big`), item 12: ") && why.ends_with(end));
    assert_eq!(text(&server, "few", json!({})).await, "ok");
    let why = failure(&server, "both", json!({})).await;
    assert_eq!(why, "`both` stopped at step 2 (`say`): it makes more than 8388608 bytes");
}

#[tokio::test]
async fn a_result_is_as_deep_as_a_message_may_be() {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let server = serve(
        "  - name: json
    input: { text: string }
    command: [cat]
    stdin: '{{ text }}'
    output: json
  - name: p
    input: { text: string }
    pipeline: [{ call: json, with: { text: '{{ text }}' }, as: x }]
    result: { a: '{{ x }}' }
",
    );
    let result = call(&server, "p", json!({"text": nest(119)})).await;
    assert_eq!(result.get("isError"), None);
    let why = failure(&server, "p", json!({"text": nest(120)})).await;
    assert!(why.starts_with("`p` stopped at its `result`: "), "{why}");
    let why = failure(&server, "p", json!({"text": nest(100_000)})).await;
    assert!(why.contains("did not print one JSON value"), "{why}");
}

#[tokio::test]
async fn a_caller_cannot_stand_in_for_a_step() {
    let server = serve(
        "  - { name: say, text: real }
  - name: p
    input_schema: { type: object, properties: { go: { type: boolean } } }
    pipeline: [{ call: say, when: '{{ go }}', as: said }]
    result: { said: '{{ said }}', errors: '{{ errors }}' }
",
    );
    let sent = json!({"go": false, "said": "forged", "errors": {"said": "forged"}});
    let result = call(&server, "p", sent).await;
    assert_eq!(result["structuredContent"], json!({"said": null, "errors": {}}));
}

#[tokio::test]
async fn what_a_tool_cannot_take_is_a_failure_of_the_step() {
    let server = serve(
        "  - name: json
    input: { text: string }
    command: [cat]
    stdin: '{{ text }}'
    output: json
  - { name: num, input: { n: integer }, text: '{{ n }}' }
  - name: p
    input: { text: string }
    pipeline:
      - { call: json, with: { text: '{{ text }}' }, as: x }
      - { call: num, with: { n: '{{ x.n }}' } }
  - name: each
    input: { text: string }
    pipeline:
      - { call: json, with: { text: '{{ text }}' }, as: x }
      - { each: '{{ x }}', call: num, with: { n: 1 } }
",
    );
    let cases = [
        (
            "p",
            "{\"n\": \"no\"}",
            "Invalid arguments for `num`: `n` must be an integer, not \"no\".",
        ),
        ("p", "{}", "Invalid arguments for `num`: `n` is missing; it must be an integer."),
        ("p", "[3]", "Invalid arguments for `num`: `n` is missing; it must be an integer."),
        ("each", "{\"a\": 1}", "`each` needs a list, and this is a map."),
        ("each", "\"abc\"", "`each` needs a list, and this is a string."),
        ("each", "null", "`each` needs a list, and there is nothing."),
    ];
    for (tool, sent, expected) in cases {
        let why = failure(&server, tool, json!({ "text": sent })).await;
        let expected = format!("`{tool}` stopped at step 2 (`num`): {expected}");
        assert_eq!(why, expected);
    }
}

#[test]
fn no_value_of_any_key_is_too_strange_to_check() {
    let values = [
        "null",
        "true",
        "-1",
        "0",
        "4294967296",
        "1e300",
        ".nan",
        "''",
        "'{{'",
        "'{{ }}'",
        "'{{ t }}'",
        "'{{ t.a.b[0] | f }}'",
        "'{% if %}'",
        "'{{ x }}{{ y }}'",
        "[]",
        "[[]]",
        "[null]",
        "{}",
        "{ a: {} }",
        "{ '': '{{ t }}' }",
        "[{ call: p }]",
        "[{ do: [] }]",
        "'${env:PATH}'",
        "'{{ ${env:PATH} }}'",
        "!!binary aaaa",
        "'\\u0000'",
        "'{{ [1]*9 }}'",
    ];
    let keys = [
        "call",
        "with",
        "do",
        "parallel",
        "each",
        "item",
        "max",
        "concurrency",
        "when",
        "on_error",
        "as",
    ];
    for key in keys {
        for value in values {
            for rest in ["", "call: say, ", "do: [{ call: say }], each: [1], "] {
                let yaml = format!(
                    "server: {{ name: a }}\ntools:\n  - {{ name: say, text: x }}\n  - {{ name: p, \
                     input: {{ t: string }}, pipeline: [{{ {rest}{key}: {value} }}] }}\n"
                );
                let checked = haft_manifest::parse("haft.yaml".as_ref(), &yaml);
                if let Err(fault) = checked {
                    assert!(fault.line().is_some(), "{yaml}");
                }
            }
        }
    }
}

/// A wire that keeps what is told.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Value>>>);

impl Wire for Heard {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.clone())
    }
}

impl Outlet for Heard {
    fn send(&self, message: Vec<u8>) -> bool {
        let message = serde_json::from_slice(&message).expect("a notification is JSON");
        self.0.lock().expect("free").push(message);
        true
    }

    fn ask(&self, _: Method, _: String) -> Asked {
        Box::pin(std::future::ready(Err(Unanswered::Gone)))
    }
}

#[tokio::test]
async fn progress_is_told_of_each_step() {
    let server = serve(
        "  - { name: say, command: [echo] }
  - { name: fail, command: ['false'] }
  - { name: inner, pipeline: [{ call: say }, { call: say }] }
  - name: p
    pipeline:
      - { call: inner }
      - { each: [1, 2, 3, 4], call: say }
      - { call: fail, on_error: continue }
      - { each: [1, 2], on_error: continue, do: [{ call: say }, { call: fail }] }
      - { call: say, when: '{{ false }}' }
      - { parallel: [{ call: say }, { do: [{ call: say }, { call: say }] }] }
",
    );
    let wire = Heard::default();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "p", "_meta": {
            "io.modelcontextprotocol/protocolVersion": Revision::LATEST.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": "t"}}})
    .to_string();
    let Ok(Incoming::One(message)) = envelope::read(request.as_bytes(), server.limits()) else {
        panic!("it is a message")
    };
    let admitted = admit::modern_request(&message, None).expect("the request is right");
    let ask = Ask {
        message: &message,
        id: message.id.expect("a request has an id"),
        method: admitted.method,
        revision: admitted.revision,
        session: None,
        principal: &Principal::Local,
        headers: None,
        wire: &wire,
    };
    let Turn::Later(later) = server.ask(ask, &mut Vec::new()) else { panic!("it runs") };
    later.await;
    let told = wire.0.lock().expect("free");
    let progress: Vec<_> =
        told.iter().map(|it| it["params"]["progress"].as_f64().expect("a number")).collect();
    assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    let expected = [0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 3.0, 3.25, 3.5, 3.75, 4.0, 5.0];
    assert_eq!(progress[..12], expected, "{progress:?}");
    assert_eq!(progress.last(), Some(&6.0));
    assert!(told.iter().all(|it| it["params"]["total"] == 6.0));
    assert_eq!(told[1]["params"]["message"], "step 2 (`say`) is done");
    assert_eq!(told[2]["params"]["message"], "step 2 (`say`) is done");
}
