//! Templates: what they may read, what is never taken for one, and their bounds.

use crate::fixture::{Desk, Served, check_fault_of_tool, failure, text};
use serde_json::json;

/// A tool that answers with a template, given as a YAML value.
fn saying(input: &str, template: &str) -> Served {
    let tool = format!("  - name: say\n    input: {input}\n    text: {template}\n");
    Desk::with_tools(&tool).serve()
}

#[tokio::test]
async fn a_text_is_filled_with_the_arguments() {
    let server = saying("{ name: string }", r#""Hello, {{ name }}!""#);
    assert_eq!(text(&server, "say", json!({"name": "World"})).await, "Hello, World!");
    assert_eq!(text(&server, "say", json!({"name": "<b> & \"q\""})).await, "Hello, <b> & \"q\"!");
}

#[tokio::test]
async fn statements_and_filters_are_jinjas() {
    let template = "|
      {% for word in words %}
      {{ loop.index }}. {{ word | upper }}
      {% endfor %}
      {% if end is defined %}{{ end }}{% else %}-{% endif %}
";
    let server = saying("{ words: 'string[]', 'end?': string }", template);
    assert_eq!(text(&server, "say", json!({"words": ["a", "b"]})).await, "1. A\n2. B\n-");
    assert_eq!(text(&server, "say", json!({"words": [], "end": "e"})).await, "e");
}

#[tokio::test]
async fn what_is_absent_is_empty() {
    let server = saying("{ 'a?': object, 'b?': string }", "'[{{ a.b.c }}{{ b }}]'");
    assert_eq!(text(&server, "say", json!({})).await, "[]");
    assert_eq!(text(&server, "say", json!({"a": {"b": {"c": 1}}, "b": "2"})).await, "[12]");
}

#[tokio::test]
async fn a_value_is_never_a_template() {
    let server = saying("{ a: string }", "'{{ a }}'");
    for value in ["{{ a }}", "{% raw %}", "${env:PATH}", "{#"] {
        assert_eq!(text(&server, "say", json!({"a": value})).await, value);
    }
}

#[tokio::test]
async fn what_is_filled_in_is_never_a_template() {
    let tool =
        "  - { name: say, input: { a: string }, text: '${file:braces}{{ a }}${file:braces}' }
  - { name: fixed, text: '${file:braces}' }\n";
    let desk = Desk::with_tools(tool);
    std::fs::write(desk.file("braces"), "{{ a }}{% x\n").expect("it is ours");
    let server = desk.server();
    let said = text(&server, "say", json!({"a": "A"})).await;
    assert_eq!(said, "{{ a }}{% xA{{ a }}{% x");
    assert_eq!(text(&server, "fixed", json!({})).await, "{{ a }}{% x");
}

#[tokio::test]
async fn variables_of_the_environment_are_filled_in() {
    let path = std::env::var("PATH").expect("every process has a PATH");
    let server = saying("{}", "'${env:PATH} $${env:PATH}'");
    assert_eq!(text(&server, "say", json!({})).await, format!("{path} ${{env:PATH}}"));
}

#[tokio::test]
async fn a_template_that_makes_too_much_is_stopped() {
    let template = "'{% for i in range(100) %}{{ a }}{% endfor %}'";
    let server = saying("{ a: string }", template);
    assert_eq!(text(&server, "say", json!({"a": "a"})).await.len(), 100);
    let why = failure(&server, "say", json!({"a": "a".repeat(100_000)})).await;
    assert_eq!(
        why,
        "The tool's text cannot be filled: it makes more than 8388608 bytes; send less"
    );
}

#[tokio::test]
async fn a_template_that_works_too_long_is_stopped() {
    let template =
        "'{% for a in x %}{% for b in x %}{% if b %}{% endif %}{% endfor %}{% endfor %}'";
    let server = saying("{ x: array }", template);
    assert_eq!(text(&server, "say", json!({"x": [1, 2]})).await, "");
    let why = failure(&server, "say", json!({"x": vec![1; 2000]})).await;
    assert_eq!(why, "The tool's text cannot be filled: it takes too many steps; send less");
}

#[tokio::test]
async fn a_template_that_fails_says_why() {
    let server = saying("{ a: integer }", "'{{ 1 // a }}'");
    assert_eq!(text(&server, "say", json!({"a": 1})).await, "1");
    let why = failure(&server, "say", json!({"a": 0})).await;
    assert!(why.starts_with("The tool's text cannot be filled: "), "{why}");
}

#[test]
fn an_argument_is_not_called_like_a_function() {
    check_fault_of_tool(
        "text: '{{ range }}'\ninput: { range: string }",
        &[
            "haft.yaml:4:15: the template cannot be used: `range` is a function here; give the \
             argument another name",
            "4 |     text: '{{ range }}'",
            "  |               ^^^^^",
        ],
    );
}

#[tokio::test]
async fn names_that_a_schema_leaves_open_are_not_held_against_a_template() {
    let server = Desk::with_tools(
        "  - name: say
    input_schema: { type: object, allOf: [{ properties: { a: { type: string } } }] }
    text: '{{ a }}{{ b }}'
",
    )
    .serve();
    assert_eq!(text(&server, "say", json!({"a": "x", "b": "y"})).await, "xy");
}

#[tokio::test]
async fn a_caller_cannot_stand_in_for_what_was_filled_in() {
    let tool = "  - name: say\n    input_schema: { type: object }\n    \
                text: \"${env:CARGO_PKG_NAME}/{{ 'x' | upper }}\"\n";
    let server = Desk::with_tools(tool).serve();
    let arguments = json!({"__filled_0": "http://evil.example", "__filled_1": "evil"});
    assert_eq!(text(&server, "say", arguments).await, "haft-manifest/X");
}

#[tokio::test]
async fn no_argument_makes_a_filter_take_all_memory() {
    let server = saying(
        "{ a: string, 'b?': string, 'list?': array }",
        r#""{{ a | replace('x', b) }}{{ list | join(b) }}""#,
    );
    let huge = "x".repeat(1 << 20);
    let replaced = failure(&server, "say", json!({"a": huge, "b": huge})).await;
    assert!(replaced.contains("it makes more than 8388608 bytes"), "{replaced}");
    let list = vec!["y"; 1000];
    let joined = failure(&server, "say", json!({"a": "", "b": huge, "list": list})).await;
    assert!(joined.contains("it makes more than 8388608 bytes"), "{joined}");
    let small = text(&server, "say", json!({"a": "axa", "b": "-", "list": ["1", 2]})).await;
    assert_eq!(small, "a-a1-2");
    let indented = saying("{ n: integer, a: array }", r#""{{ a | tojson(indent=n) }}""#);
    failure(&indented, "say", json!({"n": 1_000_000_000_000u64, "a": [1]})).await;
}
