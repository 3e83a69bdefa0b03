//! What is said of a pforge file that cannot all be run.

use super::{DOCUMENTS, PARSER, tools};
use crate::fixture::{Desk, ask};
use serde_json::json;

fn told(desk: &Desk) -> Vec<String> {
    desk.manifest().warnings().iter().map(ToString::to_string).collect()
}

/// The warnings of a tool of these lines.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let desk = tools(&format!("  - name: t\n    description: Does it.\n{lines}"));
    assert_eq!(told(&desk), expected, "{lines}");
}

#[test]
fn compiled_code_is_named_with_what_to_do() {
    let desk = Desk::with(&PARSER.replace("BASE", "https://api.example.com"));
    desk.write("below/file", "");
    let expected = [
        "10:11: greet: left out: it is compiled code (`handlers::greet::say_hello`); make it a \
         program that a `cli` tool runs, or write it in Rust with #[haft::tool]",
        "23:14: say: whoever calls may add any arguments; say `params: {}` if not",
        "31:14: where: whoever calls may add any arguments; say `params: {}` if not",
        "72:21: greet_both: left out: it calls `greet`, which is left out",
        "75:19: file:///{path}: left out: it is compiled code (`handlers::files::read`); files \
         need none: `uri: docs://{+path}` with `directory: docs` in a haft.yaml; or write it in \
         Rust with #[haft::resource]",
        "87:1: state: nothing in this file can reach it, as only compiled code could; in a \
         haft.yaml, tools with `state` keep what they are told in `state: { file: PATH }`",
    ];
    assert_eq!(told(&desk), expected);
}

#[test]
fn what_only_the_documents_know_is_told_where_haft_has_none() {
    let desk = Desk::with(&DOCUMENTS.replace("BASE", "https://api.example.com"));
    desk.write("notes.md", "");
    let expected = [
        "6:14: transport: the command line chooses: `haft serve FILE` speaks Streamable HTTP \
         (`--http ADDRESS` elsewhere), and `--stdio` stdio",
        "8:3: max_connections: nothing reads it: haft has limits of its own, which \
         `docs/reference/limits.md` tells",
        "9:3: state: nothing in this file can reach it, as only compiled code could; in a \
         haft.yaml, tools with `state` keep what they are told in `state: { file: PATH }`",
        "11:13: middleware: middleware `logging` is left out: haft writes no log of calls; a \
         proxy before `haft serve` can",
        "16:73: fault_tolerance: `success_threshold` is 1: after its rest, one call that succeeds \
         ends it",
        "17:3: fault_tolerance: nothing reads `error_tracking`; remove it",
        "57:5: issue: `retry` is left out: what failed may have been done, and would be done twice",
        "58:5: issue: `fallback` is left out: make a pipeline that calls this tool with \
         `error_policy: continue`, and then another on the `condition` that there is no result",
        "59:52: issue: nothing reads `timeout`: a call waits for as long as it may take",
        "68:5: ask: `prompt` is not in `params`: callers must give it, as a text",
        "83:67: flaky: `multiplier` is 2: each pause may be twice as long as the last",
        "83:82: flaky: how long a pause is, is always left to chance",
        "108:27: python_ml: left out: it is code in python (`handlers.ml`) that pforge would \
         load; let a `cli` tool run it: [python3, FILE]",
        "109:27: hash: left out: it is code in go (`handlers.Hash`) that pforge would load; let a \
         `cli` tool run it: [go, run, FILE]",
        "133:11: silent: left out: it says nothing; give it a `template`",
    ];
    assert_eq!(told(&desk), expected);
}

#[test]
fn a_key_that_nobody_reads_is_a_warning_in_every_mapping() {
    let desk = Desk::with(
        "forge: { name: a, version: 1, nam: x }
toolz: []
tools:
  - type: cli
    name: t
    descripton: Does it.
    command: echo
    args: ['{{x}}']
    params: { x: { type: string, requird: true, validation: { mini: 1 } } }
    bulkhead: { max: 1 }
  - type: http
    name: u
    description: Asks.
    endpoint: https://api.example.com
    method: GET
    retries: 3
    auth: { type: bearer, token: a, tokn: b }
  - type: pipeline
    name: v
    description: Does both.
    stepz: []
    steps: [{ tool: u, inptu: {} }]
resources: [{ uri: 'file://./f', nmae: x }]
prompts: [{ name: p, description: Says., template: x, titel: y }]
",
    );
    desk.write("f", "");
    let told: Vec<_> =
        told(&desk).into_iter().filter(|line| line.contains("nothing reads")).collect();
    assert_eq!(
        told,
        [
            "1:31: forge: nothing reads `nam`; did you mean `name`?",
            "2:1: forge: nothing reads `toolz`; did you mean `tools`?",
            "6:5: t: nothing reads `descripton`; did you mean `description`?",
            "9:34: t: nothing reads `requird`; did you mean `required`?",
            "9:63: t: nothing reads `mini`; did you mean `min`?",
            "10:17: t: nothing reads `max`; did you mean `max_queued`?",
            "16:5: u: nothing reads `retries`; did you mean `retry`?",
            "17:37: u: nothing reads `tokn`; did you mean `token`?",
            "21:5: v: nothing reads `stepz`; did you mean `steps`?",
            "22:24: v: nothing reads `inptu`; did you mean `input`?",
            "23:34: file://./f: nothing reads `nmae`; did you mean `name`?",
            "24:55: p: nothing reads `titel`; remove it",
        ]
    );
}

#[test]
fn a_pipeline_without_its_tools_is_left_out() {
    for (steps, expected) in [
        (
            "[{ tool: echo }]",
            "6:21: t: left out: it calls `echo`, and no tool of this file is called so",
        ),
        (
            "[{ tool: word_count }, { tool: ehco }]",
            "6:21: t: left out: it calls `word_count`, and no tool of this file is called so",
        ),
        ("[{ tool: t }]", "6:21: t: left out: `t` calls it in turn, and there would be no end"),
    ] {
        check(&format!("type: pipeline\nsteps: {steps}"), &[expected]);
    }
    let desk = tools(
        "  - { name: count_words, description: A., type: cli, command: wc, args: [-w], params: {} }
  - { name: t, description: T., type: pipeline, steps: [{ tool: count_word }] }
",
    );
    let expected = "4:65: t: left out: it calls `count_word`; did you mean `count_words`?";
    assert_eq!(told(&desk), [expected]);
    let desk = tools(
        "  - { name: a, description: A., type: pipeline, steps: [{ tool: b }] }
  - { name: b, description: B., type: pipeline, steps: [{ tool: a }] }
  - { name: c, description: C., type: cli, command: echo, args: [], params: {} }
",
    );
    let expected = [
        "3:65: a: left out: `b` calls it in turn, and there would be no end",
        "4:65: b: left out: `a` calls it in turn, and there would be no end",
    ];
    assert_eq!(told(&desk), expected);
    assert_eq!(desk.server().tool_names(), ["c"]);
}

/// Nobody's stack or patience is as long as that.
#[test]
fn a_long_row_of_pipelines_is_followed_to_its_end() {
    let count = 1000;
    let row = |last: &str| {
        let step = |at: usize| match at + 1 == count {
            true => last.to_owned(),
            false => format!("p{}", at + 1),
        };
        let pipeline = |at: usize| {
            let called = step(at);
            format!("  - {{ name: p{at}, type: pipeline, steps: [{{ tool: {called} }}] }}\n")
        };
        (0..count).map(pipeline).collect::<String>()
    };
    let good = tools(&format!("{}  - {{ name: e, type: cli, command: ls, args: [] }}\n", row("e")));
    assert_eq!(good.manifest().tools().count(), count + 1);
    for last in ["p0", "nowhere"] {
        let desk = tools(&row(last));
        assert_eq!(desk.manifest().tools().count(), 0);
        assert_eq!(told(&desk).len(), count);
    }
}

#[test]
fn what_a_caller_must_not_choose_is_left_out() {
    check(
        "type: cli\ncommand: '{{program}}'\nargs: []",
        &["6:14: t: left out: whoever calls would choose the program; name it in `command`"],
    );
    for cwd in ["'{{dir}}'", "'{{dir.sub}}'", "'/srv/{dir}'", "'{{DIR}}'\nparams: { DIR: string }"]
    {
        check(
            &format!("type: cli\ncommand: ./run.sh\nargs: ['{{{{sub}}}}']\ncwd: {cwd}"),
            &["8:10: t: left out: whoever calls would choose the directory that the program runs \
               in, and what it finds there; name it in `cwd`, or pass it in `args`"],
        );
    }
    check(
        "type: http\nendpoint: https://a.example\nmethod: GET\nauth: { type: basic, username: a, \
         password: '{{p}}' }",
        &["8:49: t: left out: callers would have to know the password; put it into the \
           environment: `password: ${PASSWORD}`"],
    );
}

#[test]
fn what_changes_nothing_is_told() {
    check(
        "type: cli\ncommand: echo\nargs: []\nstream: true\nparams: {}",
        &["8:5: t: `stream` changes nothing: the answer comes when the program ends"],
    );
    check(
        "type: http\nendpoint: https://a.example",
        &["3:5: t: there is no `method`; this is a GET"],
    );
    check(
        "type: cli\ncommand: echo\nargs: [--, '{{wrod}}', '{{a}}{{b}}']\nparams: { word: string }",
        &[
            "3:5: t: `a`, `b` are not in `params`: callers must give them, as texts",
            "7:16: t: `wrod` is not in `params`; did you mean `word`?",
        ],
    );
    check(
        "type: cli\ncommand: echo\nparams: {}\nmiddleware: [{ type: audit }, { type: recovery, \
         max_retries: 20 }, { type: metrics, enabled: false }]",
        &[
            "8:26: t: middleware `audit` is left out: haft has none like it",
            "8:53: t: `retry` is left out: what failed may have been done, and would be done twice",
        ],
    );
}

#[test]
fn a_program_that_takes_any_arguments_is_told() {
    let told = "6:14: t: whoever calls may add any arguments; say `params: {}` if not";
    check("type: cli\ncommand: git\nargs: [log]", &[told]);
    check("type: cli\ncommand: git\nargs: [log]\nparams: {}", &[]);
}

/// Whoever chooses the host is told what is sent there.
#[test]
fn secrets_go_to_no_server_that_callers_choose() {
    let tool = |endpoint: &str, more: &str| {
        format!(
            "type: http\nendpoint: '{endpoint}'\nmethod: POST\nparams: {{ path: string }}\n{more}"
        )
    };
    let left_out = "6:15: t: left out: whoever calls would choose the server that gets `auth` or \
                    variables; write it out in `endpoint`, up to its `/`";
    let joined = "https://api.example.com{path}";
    for secret in [
        "auth: { type: bearer, token: abc }",
        "auth: { type: basic, username: a, password: b }",
        "auth: { type: apikey, key: a }",
        "headers: { x-mine: 'a ${CARGO_PKG_NAME}' }",
        "headers: { x-mine: '{{CARGO_PKG_NAME}}' }",
        "headers: { Authorization: Bearer abc }",
        "query: { key: '${CARGO_PKG_NAME}' }",
        "body: { a: ['${CARGO_PKG_NAME}'] }",
    ] {
        check(&tool(joined, secret), &[left_out]);
        check(&tool("https://{{path}}/x", secret), &[left_out]);
        check(&tool("https://api.example.com/{path}", secret), &[]);
    }
    check(&tool("https://{path}/?key=${CARGO_PKG_NAME}", ""), &[left_out]);
    let chosen = "6:15: t: whoever calls chooses the server; write it out, up to its `/`, if not";
    for open in [
        "",
        "headers: { accept: text/html, x-mine: 'a $${B}' }",
        "auth: { type: bearer, token: '{{path}}' }",
    ] {
        check(&tool(joined, open), &[chosen]);
    }
}

#[test]
fn what_is_nearly_json_is_left_out() {
    let told = "8:11: t: left out: this looks like JSON and is none, so that nothing in it could \
                be escaped; a placeholder stands in a text or where a value stands";
    for body in ["{ {{a}}: 1 }", "{ \"a\": \"{{a}}\", }", "[1, {{a}}{{a}}]", "[{{ID}}, {{a}}]"] {
        check(
            &format!(
                "type: http\nendpoint: https://a.example\nmethod: POST\nbody: '{body}'\nparams: \
                 {{ a: string }}"
            )
            .replace("body: '", "body:  '"),
            &[&told.replace("8:11", "8:12")],
        );
    }
}

#[test]
fn a_body_that_callers_could_add_to_is_left_out() {
    let tool = |kind: &str, body: &str| {
        format!(
            "type: http\nendpoint: https://a.example\nmethod: POST\nheaders: {{ content-type: \
             {kind} }}\nbody: '{body}'"
        )
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    let no_form = "9:11: t: left out: whoever calls could add fields to this form; write it like \
                   `name={{name}}&page=1`";
    for body in ["{{a}}", "a=1&{{b}}=2"] {
        check(&tool(FORM, body), &[no_form]);
    }
    for kind in ["text/xml", "application/soap+xml", "text/html", "application/json"] {
        let expected = format!(
            "9:11: t: left out: what callers give could become more of this `{kind}` than a \
             value, as nothing in it could be escaped; let a `cli` tool send it"
        );
        check(&tool(kind, "<a>{{b}}</a>"), &[&expected]);
        check(&tool(kind, "<a/>"), &[]);
    }
}

/// What pforge takes, haft takes as far as it goes.
#[test]
fn amounts_out_of_bounds_are_the_nearest_within() {
    let http = "type: http\nendpoint: https://a.example\nmethod: GET\nparams: {}\n";
    for (lines, expected) in [
        (
            "retry: { max_attempts: 20 }",
            "9:28: t: `max_attempts` is from 1 to 10: 20 is taken as 10",
        ),
        (
            "retry: { max_attempts: 3.5 }",
            "9:28: t: `max_attempts` is from 1 to 10: 3.5 is taken as 3",
        ),
        (
            "retry: { max_attempts: -1 }",
            "9:28: t: `max_attempts` is from 1 to 10: -1 is taken as 1",
        ),
        (
            "middleware: [{ type: recovery, max_retries: 20 }]",
            "9:49: t: `max_retries` is from 0 to 9: 20 is taken as 9",
        ),
        (
            "circuit_breaker: { failure_threshold: 0 }",
            "9:43: t: `failure_threshold` is from 1 to 1000: 0 is taken as 1",
        ),
        (
            "circuit_breaker: { failure_threshold: 5000 }",
            "9:43: t: `failure_threshold` is from 1 to 1000: 5000 is taken as 1000",
        ),
        (
            "bulkhead: { max_concurrent: 0 }",
            "9:33: t: `max_concurrent` is from 1 to 1024: 0 is taken as 1",
        ),
        (
            "bulkhead: { max_concurrent: 5000 }",
            "9:33: t: `max_concurrent` is from 1 to 1024: 5000 is taken as 1024",
        ),
        (
            "bulkhead: { max_queued: 5000 }",
            "9:29: t: `max_queued` is from 0 to 1024: 5000 is taken as 1024",
        ),
    ] {
        check(&format!("{http}{lines}"), &[expected]);
    }
    for lines in [
        "retry: { max_attempts: 3.0 }",
        "retry: { max_attempts: 10 }",
        "bulkhead: { max_concurrent: 1, max_queued: 0 }",
    ] {
        check(&format!("{http}{lines}"), &[]);
    }
}

#[test]
fn times_out_of_bounds_are_the_nearest_within() {
    let http = "type: http\nendpoint: https://a.example\nmethod: GET\nparams: {}\n";
    for (lines, expected) in [
        ("timeout_ms: 0", "9:17: t: `timeout_ms` is from 1ms to 24h: 0 is taken as 1ms"),
        ("timeout_ms: -5", "9:17: t: `timeout_ms` is from 1ms to 24h: -5 is taken as 1ms"),
        (
            "timeout_ms: 86400001",
            "9:17: t: `timeout_ms` is from 1ms to 24h: 86400001 is taken as 24h",
        ),
        ("timeout_ms: 1e300", "9:17: t: `timeout_ms` is from 1ms to 24h: 1e300 is taken as 24h"),
        ("timeout: 25h", "9:14: t: `timeout` is from 1ms to 24h: 25h is taken as 24h"),
        ("retry: { backoff_ms: 0 }", "9:26: t: `backoff_ms` is from 1ms to 1h: 0 is taken as 1ms"),
        ("retry: { max_delay: 2h }", "9:25: t: `max_delay` is from 1ms to 1h: 2h is taken as 1h"),
        (
            "circuit_breaker: { timeout: 0 }",
            "9:33: t: `timeout` is from 1ms to 24h: 0 is taken as 1ms",
        ),
        (
            "middleware: [{ type: timeout, timeout_ms: 0 }]",
            "9:47: t: `timeout_ms` is from 1ms to 24h: 0 is taken as 1ms",
        ),
    ] {
        check(&format!("{http}{lines}"), &[expected]);
    }
    for lines in ["timeout_ms: 86400000", "timeout: 2", "retry: { initial_delay: 100ms }"] {
        check(&format!("{http}{lines}"), &[]);
    }
}

#[tokio::test]
async fn a_prompt_that_is_no_template_leaves_the_rest() {
    let desk = Desk::with(
        "forge: { name: a, version: 1 }
prompts:
  - { name: p, template: '{{#if a}}x{{else}}y{{else if b}}z{{/if}}' }
  - { name: q, template: 'Hello {{a}}' }
",
    );
    let expected = "3:26: p: left out: its `template` becomes none of haft's; write it as \
                    `text` in a haft.yaml";
    assert!(told(&desk).iter().any(|line| line == expected), "{:?}", told(&desk));
    let list = ask(&desk.serve(), "prompts/list", json!({})).await;
    let prompts = list["prompts"].as_array().expect("a list");
    assert_eq!((prompts.len(), &prompts[0]["name"]), (1, &json!("q")));
}
