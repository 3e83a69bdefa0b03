//! Arguments that a tool does not have, as some clients send their own with every call.

use crate::fixture::{Desk, call};
use crate::origin::{Origin, Reply};
use serde_json::json;

#[tokio::test]
async fn extra_arguments_are_refused_or_left_out_as_the_file_says() {
    for (server, upstream, own, described) in [
        ("", "", false, false),
        ("extra_arguments: refuse", "", false, false),
        ("extra_arguments: leave_out", "", true, true),
        ("", "extra_arguments: leave_out", false, true),
        ("extra_arguments: leave_out", "extra_arguments: refuse", true, false),
        ("extra_arguments: leave_out, strict_arguments: true", "", true, true),
    ] {
        let origin = Origin::serve(|_| Reply::text("ok")).await;
        let yaml = format!(
            "server: {{ name: d, {server} }}
tools:
  - {{ name: own, input: {{ a: string }}, text: '{{{{ a }}}}' }}
  - {{ name: open, input_schema: {{ type: object }}, text: all }}
upstreams:
  api: {{ openapi: api.yaml, base_url: '{}', allow_private: true, {upstream} }}
",
            origin.url("")
        );
        let desk = Desk::with(&yaml);
        desk.write(
            "api.yaml",
            "openapi: 3.0.0\npaths: { /x: { post: { operationId: ask, requestBody: { required: \
             true, content: { application/json: { schema: { type: object, required: [a], \
             properties: { a: { type: string } } } } } } } } }",
        );
        let served = desk.serve();
        let arguments = json!({"a": "1", "sessionId": "s", "toolCallId": {"b": [1]}});
        for (tool, is_taken) in [("own", own), ("api_ask", described), ("open", true)] {
            let result = call(&served, tool, arguments.clone()).await;
            let is_refused = result["isError"] == true;
            assert_eq!(!is_refused, is_taken, "{server} {upstream} {tool}: {result}");
        }
        let bodies: Vec<_> = origin.seen().iter().map(|seen| seen.text().to_owned()).collect();
        let expected: &[&str] = if described { &[r#"{"a":"1"}"#] } else { &[] };
        assert_eq!(bodies, expected, "{server} {upstream}");
        // What is there and wrong is told as before.
        let result = call(&served, "own", json!({"b": 1})).await;
        assert_eq!(result["isError"], true, "{result}");
    }
}
