//! `type: pipeline`: what passes from step to step, and what is told of it.

use super::{done, listed, of_documents, of_parser, tools};
use crate::fixture::call;
use crate::origin::{Origin, Reply};
use serde_json::json;

#[tokio::test]
async fn each_step_is_told_and_what_they_made() {
    let (server, _origin) = of_parser(|_| Reply::json(json!({"name": "fox"}))).await;
    let variables = json!({"id": "7", "word": "red"});
    let report = done(&server, "both", json!({"variables": variables})).await;
    let results = report["results"].as_array().expect("a list");
    let told: Vec<_> = results.iter().map(|one| (&one["tool"], &one["success"])).collect();
    assert_eq!(
        told,
        [
            (&json!("look"), &json!(true)),
            (&json!("say"), &json!(true)),
            (&json!("where"), &json!(false)),
        ]
    );
    let said = "{{.Names}}\n${HOME}\n{}\nfox\nred\n";
    assert_eq!(results[1]["output"]["stdout"], said);
    assert_eq!((&results[1]["error"], &results[2]["output"]), (&json!(null), &json!(null)));
    assert!(results[2]["error"].as_str().is_some_and(|why| why.contains("lost")), "{report}");
    let variables = &report["variables"];
    assert_eq!((&variables["id"], &variables["word"]), (&json!("7"), &json!("red")));
    assert_eq!(variables["found"]["body"]["name"], "fox");
    assert_eq!(variables["said"]["stdout"], said);
    assert_eq!(variables.get("place"), None, "what failed made nothing");
    let input = listed(&server, "both").await["inputSchema"].take();
    assert_eq!(input["properties"]["variables"]["type"], "object");
}

#[tokio::test]
async fn what_failed_ends_it_and_is_told_too() {
    let (server, _origin) = of_parser(|_| Reply::status(500)).await;
    let result = call(&server, "both", json!({})).await;
    assert_eq!(result["isError"], true);
    let report = &result["structuredContent"];
    assert_eq!(report["results"][0]["success"], false);
    assert!(report["results"][0]["error"].as_str().is_some_and(|why| why.contains("500")));
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("`both` stopped at step 1 (`look`): "), "{text}");
}

#[tokio::test]
async fn params_are_arguments_and_conditions_calculate() {
    let answer = json!({"word": "fox", "number": 4});
    let (server, _origin) = of_documents(move |_| Reply::json(answer.clone())).await;
    let report = done(&server, "report", json!({"city": "Oslo"})).await;
    let results = report["results"].as_array().expect("a list");
    assert_eq!(results.len(), 3, "{report}");
    assert_eq!(results[1]["output"]["stdout"], "--from=4\nfoxs\n");
    assert_eq!((&results[2]["tool"], &results[2]["success"]), (&json!("list"), &json!(false)));
    let variables = &report["variables"];
    assert_eq!((&variables["city"], &variables["limit"]), (&json!("Oslo"), &json!(3)));
    assert_eq!(variables["counted"]["exit_code"], 0);
    let report = done(&server, "report", json!({"city": "Oslo", "limit": 2})).await;
    assert_eq!(report["results"].as_array().expect("a list").len(), 2, "{report}");
}

#[tokio::test]
async fn a_value_is_passed_on_whole() {
    let lines =
        "  - { type: cli, name: say, command: echo, args: ['{{a}}', '{{b}}'], params: { a: \
                 string, b: { type: integer, default: 2 } } }
  - type: pipeline
    name: p
    steps:
      - { tool: say, input_from: given }
      - { tool: say, input: { a: \"{{given.b}}{{nothing}}\", b: \"{{given.b}}\" } }
";
    let server = tools(lines).serve();
    let given = json!({"variables": {"given": {"a": "x", "b": 7}}});
    let report = done(&server, "p", given).await;
    assert_eq!(report["results"][0]["output"]["stdout"], "x 7\n");
    assert_eq!(report["results"][1]["output"]["stdout"], "7 7\n");
    let result = call(&server, "p", json!({"variables": {"given": [1]}})).await;
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("`a` is missing"), "{text}");
}

#[tokio::test]
async fn a_later_step_may_make_what_an_earlier_one_could_not() {
    let lines = "  - { type: cli, name: fail, command: 'false', args: [] }
  - { type: cli, name: say, command: echo, args: ['{{word}}'], params: { word: string } }
  - type: pipeline
    name: p
    steps:
      - { tool: fail, output_var: data, error_policy: continue }
      - { tool: say, input: { word: second }, output_var: data, condition: '!data' }
      - { tool: say, input: { word: third }, output_var: data, condition: '!data' }
      - { tool: say, input: { word: '{{data.stdout}}' }, condition: data }
";
    let report = done(&tools(lines).serve(), "p", json!({})).await;
    assert_eq!(report["variables"]["data"]["stdout"], "second\n");
    let results = report["results"].as_array().expect("a list");
    assert_eq!((results.len(), &results[2]["output"]["stdout"]), (3, &json!("second\n\n")));
}

#[tokio::test]
async fn a_step_has_a_time_of_its_own() {
    let lines = "  - { type: cli, name: slow, command: sleep, args: ['60'] }
  - { type: cli, name: say, command: echo, args: [on] }
  - type: pipeline
    name: p
    steps: [{ tool: slow, timeout_ms: 50, error_policy: continue }, { tool: say }]
";
    let report = done(&tools(lines).serve(), "p", json!({})).await;
    let (slow, said) = (&report["results"][0], &report["results"][1]);
    assert_eq!((&slow["success"], &said["output"]["stdout"]), (&json!(false), &json!("on\n")));
    assert!(slow["error"].as_str().is_some_and(|why| why.ends_with("longer than 50ms")), "{slow}");
}

#[tokio::test]
async fn what_the_called_tool_does_not_take_is_not_passed_on() {
    let lines =
        "  - { type: cli, name: say, description: Says., command: echo, args: ['{{word-a}}'], \
         params: { word-a: string } }
  - type: pipeline
    name: p
    description: Says.
    steps:
      - { tool: say, input: { word-a: a, word-b: b, env: { X: y } } }
      - { tool: say, input_from: '{{given}}' }
";
    let desk = tools(lines);
    let told: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    let expected = [
        "8:42: p: `say` takes no `word-b`: it gets none; did you mean `word-a`?",
        "8:53: p: `say` takes no `env`: it gets none",
    ];
    assert_eq!(told[..2], expected);
    let given = json!({"variables": {"given": {"word-a": "x", "other": 1}}});
    let report = done(&desk.serve(), "p", given).await;
    assert_eq!(report["results"][0]["output"]["stdout"], "a\n");
    assert_eq!(report["results"][1]["output"]["stdout"], "x\n");
}

/// In pforge, a program that ran has done what it was asked, whatever its exit code is.
#[tokio::test]
async fn a_step_whose_outcome_is_looked_at_may_fail() {
    let lines = "  - { type: cli, name: fail, command: sh, args: [-c, 'exit 3'] }
  - { type: cli, name: say, command: echo, args: ['{{word}}'], params: { word: string } }
  - type: pipeline
    name: p
    steps:
      - { tool: fail, output_var: x-y }
      - { tool: say, input: { word: bad }, condition: 'x-y.exit_code != 0' }
      - { tool: say, input: { word: good }, condition: 'x-y.exit_code == 0' }
  - type: pipeline
    name: q
    steps:
      - { tool: fail, output_var: x }
      - { tool: say, input: { word: after }, condition: x }
";
    let server = tools(lines).serve();
    let report = done(&server, "p", json!({})).await;
    let results = report["results"].as_array().expect("a list");
    assert_eq!((results.len(), &results[1]["output"]["stdout"]), (2, &json!("bad\n")));
    assert_eq!(
        (&results[0]["success"], &results[0]["output"]["exit_code"]),
        (&json!(true), &json!(3))
    );
    let result = call(&server, "q", json!({})).await;
    assert_eq!(result["isError"], true, "nobody looks: {result}");
}

#[tokio::test]
async fn a_status_may_be_looked_at_too() {
    let origin = Origin::serve(|_| Reply::status(404)).await;
    let lines = format!(
        "  - {{ type: http, name: look, endpoint: '{}', method: GET, params: {{}} }}
  - {{ type: cli, name: say, command: echo, args: ['{{{{word}}}}'], params: {{ word: integer }} }}
  - type: pipeline
    name: p
    steps:
      - {{ tool: look, output_var: found }}
      - {{ tool: say, input: {{ word: '{{{{found.status}}}}' }} }}
",
        origin.url("/")
    );
    let report = done(&tools(&lines).serve(), "p", json!({})).await;
    assert_eq!(report["results"][1]["output"]["stdout"], "404\n");
}

#[tokio::test]
async fn a_condition_may_be_a_value() {
    for (condition, expected) in [
        ("false", 0),
        ("'false'", 0),
        ("'False'", 0),
        ("'!true'", 0),
        ("true", 1),
        ("'!false'", 1),
        ("'true'", 1),
    ] {
        let lines = format!(
            "  - {{ type: cli, name: say, command: echo, args: [a], params: {{}} }}
  - {{ type: pipeline, name: p, steps: [{{ tool: say, condition: {condition} }}] }}
"
        );
        let report = done(&tools(&lines).serve(), "p", json!({})).await;
        let ran = report["results"].as_array().expect("a list").len();
        assert_eq!(ran, expected, "{condition} {report}");
    }
}
