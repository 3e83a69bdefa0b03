//! Prompts: what is listed of them, what they say for which arguments, and what is suggested.

use crate::fixture::{Desk, Served, ask, refusal};
use serde_json::{Value, json};

fn desk(lines: &str) -> Desk {
    Desk::with(&format!("server: {{ name: desk }}\n{lines}"))
}

/// The messages of the prompt `p`.
async fn messages(server: &Served, arguments: Value) -> Value {
    let params = json!({"name": "p", "arguments": arguments});
    ask(server, "prompts/get", params).await["messages"].take()
}

/// What is said in its messages, if they are texts.
async fn texts(lines: &str, arguments: Value) -> Vec<String> {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let server = desk(&format!("prompts:\n  - name: p\n{lines}")).serve();
    let messages = messages(&server, arguments).await;
    let said = |message: &Value| {
        let (role, text) = (message["role"].as_str(), message["content"]["text"].as_str());
        format!("{}: {}", role.expect("a role"), text.expect("a text"))
    };
    messages.as_array().expect("a list").iter().map(said).collect()
}

#[tokio::test]
async fn a_single_text_is_a_message_of_the_user() {
    let said = texts("arguments: [a]\ntext: |\n  Say {{ a }}.\n", json!({"a": "{{ a }}"})).await;
    assert_eq!(said, ["user: Say {{ a }}."]);
    assert_eq!(texts("text: 5", json!({})).await, ["user: 5"]);
}

#[tokio::test]
async fn messages_are_said_in_order_by_whom_they_name() {
    let lines = "messages:
- user: One
- assistant: Two
- { role: assistant, text: Three }
- { role: user, text: Four }
- text: Five";
    let expected = ["user: One", "assistant: Two", "assistant: Three", "user: Four", "user: Five"];
    assert_eq!(texts(lines, json!({})).await, expected);
}

#[tokio::test]
async fn an_absent_argument_is_empty_and_so_may_a_message_be() {
    let lines = "arguments: { a: One, 'b?': Two }
messages:
- user: '{{ a }}{{ b }}{{ b | default(\"-\") }}'
- assistant: '{% if b %}B is {{ b }}.{% endif %}'
- user: '  '";
    let without = ["user: x-", "user:   "];
    assert_eq!(texts(lines, json!({"a": "x", "c": "unknown"})).await, without);
    let with = ["user: xyy", "assistant: B is y.", "user:   "];
    assert_eq!(texts(lines, json!({"a": "x", "b": "y"})).await, with);
}

#[tokio::test]
async fn arguments_are_listed_however_they_are_written() {
    let server = desk(
        "prompts:
  - name: p
    title: The P
    description: It does p.
    icons: [{ src: 'data:,x' }]
    meta: { x: 1 }
    arguments:
      a: What A is.
      'b?': { title: The B, description: What B is. }
      c: { required: false }
    text: '{{ a }}{{ b }}{{ c }}'
  - name: q
    arguments: [a, 'b?', { name: c, description: What C is. }, { name: 'd?' }]
    text: '{{ a }}{{ b }}{{ c }}{{ d }}'\n",
    )
    .serve();
    let listed = ask(&server, "prompts/list", json!({})).await["prompts"].take();
    let expected = json!([
        {
            "name": "p", "title": "The P", "description": "It does p.",
            "arguments": [
                {"name": "a", "description": "What A is.", "required": true},
                {"name": "b", "title": "The B", "description": "What B is."},
                {"name": "c"},
            ],
            "icons": [{"src": "data:,x"}], "_meta": {"x": 1},
        },
        {
            "name": "q",
            "arguments": [
                {"name": "a", "required": true},
                {"name": "b"},
                {"name": "c", "description": "What C is.", "required": true},
                {"name": "d"},
            ],
        },
    ]);
    assert_eq!(listed, expected);
    let refused = refusal(&server, "prompts/get", json!({"name": "q", "arguments": {}})).await;
    assert_eq!((refused.0, refused.1.contains("`a`, `c`")), (-32602, true), "{refused:?}");
}

#[tokio::test]
async fn values_are_suggested_and_others_are_taken() {
    let server = desk(
        "prompts:
  - name: p
    arguments: { lang: { values: [Python, Perl, rust, 5] }, 'free?': Anything. }
    text: '{{ lang }}{{ free }}'\n",
    )
    .serve();
    let complete = |name: &str, typed: &str| {
        json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": name, "value": typed}})
    };
    let suggested = ask(&server, "completion/complete", complete("lang", "p")).await;
    assert_eq!(suggested["completion"]["values"], json!(["Python", "Perl"]));
    let suggested = ask(&server, "completion/complete", complete("lang", "")).await;
    assert_eq!(suggested["completion"]["values"], json!(["Python", "Perl", "rust", "5"]));
    let suggested = ask(&server, "completion/complete", complete("free", "")).await;
    assert_eq!(suggested["completion"]["values"], json!([]));
    let said = messages(&server, json!({"lang": "APL"})).await;
    assert_eq!(said[0]["content"]["text"], "APL");
}

#[tokio::test]
async fn a_message_may_be_a_resource_or_a_picture() {
    let desk = desk(
        "resources:
  - { uri: 'app://text', text: T }
  - { uri: 'app://file', file: notes.md }
prompts:
  - name: p
    messages:
      - resource: app://text
      - { role: assistant, resource: 'app://file' }
      - image: pixel.png\n",
    );
    desk.write("notes.md", "# N");
    desk.write("pixel.png", b"\x89PNG");
    let server = desk.serve();
    let expected = json!([
        {"role": "user", "content": {"type": "resource",
            "resource": {"uri": "app://text", "mimeType": "text/plain", "text": "T"}}},
        {"role": "assistant", "content": {"type": "resource",
            "resource": {"uri": "app://file", "mimeType": "text/markdown", "text": "# N"}}},
        {"role": "user", "content":
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}},
    ]);
    assert_eq!(messages(&server, json!({})).await, expected);
    server.desk.write("notes.md", "# New");
    let said = messages(&server, json!({})).await;
    assert_eq!(said[1]["content"]["resource"]["text"], "# New");
    std::fs::remove_file(server.desk.file("pixel.png")).expect("it is ours");
    let refused = refusal(&server, "prompts/get", json!({"name": "p"})).await;
    let message =
        "Internal error: a part of the prompt is missing: the picture: The file is not there.";
    assert_eq!(refused, (-32603, message.to_owned()));
    std::fs::remove_file(server.desk.file("notes.md")).expect("it is ours");
    let refused = refusal(&server, "prompts/get", json!({"name": "p"})).await;
    let message = "Internal error: a part of the prompt is missing: app://file: \
                   The file is not there.";
    assert_eq!(refused, (-32603, message.to_owned()));
}

#[tokio::test]
async fn what_an_argument_makes_of_a_message_has_a_bound() {
    let server = desk(
        "prompts:
  - name: p
    arguments: [n]
    text: '{% for i in range(9) %}{{ n }}{% endfor %}'\n",
    )
    .serve();
    let said = messages(&server, json!({"n": "3"})).await;
    assert_eq!(said[0]["content"]["text"], "333333333");
    let params = json!({"name": "p", "arguments": {"n": "n".repeat(1_000_000)}});
    let refused = refusal(&server, "prompts/get", params).await;
    let message = "Invalid params: a message of the prompt cannot be filled: it makes more than \
                   8388608 bytes; send less";
    assert_eq!(refused, (-32602, message.to_owned()));
}

#[tokio::test]
async fn what_is_filled_in_is_no_template() {
    let said = texts("text: '${env:PATH} $${env:PATH}'", json!({})).await;
    let path = std::env::var("PATH").expect("there is a PATH");
    assert_eq!(said, [format!("user: {path} ${{env:PATH}}")]);
    let desk = desk("prompts:\n  - { name: p, arguments: [x], text: '${file:t} {{ x }}' }\n");
    desk.write("t", "{{ x }}");
    let server = desk.serve();
    let said = messages(&server, json!({"x": "1"})).await;
    assert_eq!(said[0]["content"]["text"], "{{ x }} 1");
}
