//! Names that pforge takes and that templates cannot read: callers use them as they are.

use super::{done, listed, tools};
use crate::origin::{Origin, Reply};
use serde_json::json;

#[tokio::test]
async fn a_parameter_may_have_a_dash_or_a_word_of_templates() {
    let server = tools(
        "  - { type: cli, name: t, command: echo, args: ['{{user-name}}', '--{{range}}'], params: \
         { user-name: string, dry-run: { type: boolean, default: false }, range: integer, \
         namespace: { type: array }, dict: { type: string } } }",
    )
    .serve();
    let given = json!({"user-name": "a b", "range": 3, "namespace": ["x", "y"]});
    assert_eq!(done(&server, "t", given).await["stdout"], "a b --3 false x y\n");
    let input = listed(&server, "t").await["inputSchema"].take();
    let names: Vec<_> = input["properties"].as_object().expect("names").keys().collect();
    assert_eq!(names, ["user-name", "dry-run", "range", "namespace", "dict"]);
    assert_eq!(input["required"], json!(["user-name", "range"]));
}

#[tokio::test]
async fn an_address_a_header_and_a_body_may_have_them_too() {
    let origin = Origin::serve(|_| Reply::text("ok")).await;
    let server = tools(&format!(
        "  - {{ type: http, name: t, endpoint: '{}/u/{{{{user-id}}}}/{{range}}', method: POST, \
         headers: {{ X-A: '{{{{user-id}}}}' }}, body: {{ id: '{{{{user-id}}}}' }} }}",
        origin.url("")
    ))
    .serve();
    done(&server, "t", json!({"user-id": "a/b", "range": "c"})).await;
    let seen = origin.seen();
    assert_eq!(seen[0].target, "/u/a%2Fb/c");
    assert_eq!(seen[0].header("x-a"), Some("a/b"));
    assert_eq!(seen[0].text(), r#"{"id":"a/b"}"#);
}

#[tokio::test]
async fn what_a_step_makes_may_have_any_name() {
    for name in ["my-data", "errors", "loop", "in"] {
        let lines = format!(
            "  - {{ type: cli, name: say, command: echo, args: ['{{{{word}}}}'], params: {{ word: \
             string }} }}
  - type: pipeline
    name: p
    steps:
      - {{ tool: say, input: {{ word: one }}, output_var: {name} }}
      - {{ tool: say, input: {{ word: 'a {{{{{name}.stdout}}}}' }}, condition: {name} }}
      - {{ tool: say, input: {{ word: two }}, condition: '{name}.exit_code == 0' }}
      - {{ tool: say, input: {{ word: '{{{{given-id}}}}' }}, condition: '!{name}' }}
      - {{ tool: say, input: {{ word: '{{{{given-id}}}}' }} }}
"
        );
        let server = tools(&lines).serve();
        let report = done(&server, "p", json!({"variables": {"given-id": "x"}})).await;
        let results = report["results"].as_array().expect("a list");
        let said: Vec<_> = results.iter().map(|one| &one["output"]["stdout"]).collect();
        assert_eq!(said, ["one\n", "a one\n\n", "two\n", "x\n"], "{name} {report}");
        assert_eq!(report["variables"][name]["stdout"], "one\n", "{name}");
        assert_eq!(report["variables"]["given-id"], "x");
    }
}

#[tokio::test]
async fn a_pipeline_may_have_parameters_of_any_name() {
    let lines = "  - { type: cli, name: say, command: echo, args: ['{{dry-run}}'], params: { \
                 dry-run: boolean } }
  - type: pipeline
    name: p
    params: { is-dry: boolean, errors: { type: integer, default: 2 } }
    steps: [{ tool: say, input: { dry-run: '{{is-dry}}' }, condition: 'errors == 2' }]
";
    let report = done(&tools(lines).serve(), "p", json!({"is-dry": true})).await;
    assert_eq!(report["results"][0]["output"]["stdout"], "true\n");
    assert_eq!(report["variables"], json!({"is-dry": true, "errors": 2}));
}
