//! The test client and the golden file: what they show, and what they say when something is wrong.

use haft::Limits;
use haft::testing::{assert_tools, client};
use serde_json::json;

/// Counts the words of a text.
#[haft::tool(read_only)]
fn word_count(text: String) -> usize {
    text.split_whitespace().count()
}

/// Fails.
#[haft::tool]
fn failing() -> Result<String, String> {
    Err("on purpose".to_owned())
}

fn server() -> haft::ServerBuilder {
    haft::server("words", "1.0.0").tools(haft::tools![word_count, failing])
}

#[tokio::test]
async fn every_revision_can_be_spoken() {
    let client = client(server());
    let arguments = json!({"text": "a b"});
    assert_eq!(client.call("word_count", arguments.clone()).await.text(), "2");
    assert_eq!(client.legacy().call("word_count", arguments.clone()).await.text(), "2");
    let oldest = client.speaking("2024-11-05");
    assert_eq!(oldest.call("word_count", arguments).await.text(), "2");
    assert_eq!(oldest.list_tools().await[0].get("annotations"), None);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "a", "version": "1"}});
    let initialized = client.legacy().ask("initialize", hello).await;
    assert_eq!(initialized.result()["serverInfo"]["name"], "words");
    let refused = client.ask("ping", json!({})).await.refusal();
    assert!(refused.contains("Method not found"), "{refused}");
}

#[tokio::test]
async fn all_pages_of_a_list_are_read() {
    let one_a_page = Limits { page_entries: 1, ..Limits::default() };
    let client = client(server().limits(one_a_page));
    let tools = client.list_tools().await;
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["word_count", "failing"]);
}

#[tokio::test]
async fn the_tools_are_those_of_the_file() {
    assert_tools!(server(), "tests/golden/words.json");
}

/// What a panic in another task says.
async fn panic_of(task: impl Future<Output = ()> + Send + 'static) -> String {
    let ended = tokio::spawn(task).await.expect_err("it panics");
    let said = ended.into_panic();
    said.downcast_ref::<String>().cloned().expect("it says something")
}

#[tokio::test]
async fn a_tool_that_differs_from_the_file_is_shown_line_by_line() {
    let said = panic_of(async {
        let changed = word_count::tool().description("Counts all words of a text.");
        let server = haft::server("words", "1.0.0").tool(changed).tool(failing::tool());
        assert_tools!(server, "tests/golden/words.json");
    });
    let expected = "the tools differ from tests/golden/words.json:
  [
    {
      \"name\": \"word_count\",
-     \"description\": \"Counts the words of a text.\",
+     \"description\": \"Counts all words of a text.\",
      \"inputSchema\": {
        \"type\": \"object\",
        \"properties\": {
UPDATE_GOLDEN=1 writes them as they are";
    assert_eq!(said.await, expected);
}

#[tokio::test]
async fn an_answer_that_is_not_expected_is_shown() {
    let said = panic_of(async {
        let client = client(server());
        let _ = client.call("failing", json!({})).await.text();
    });
    assert_eq!(said.await, "the tool `failing` failed: on purpose");
    let said = panic_of(async {
        let client = client(server());
        let _ = client.call("word_count", json!({"text": ""})).await.json::<u32>();
    });
    assert!(said.await.starts_with("the tool `word_count` has no structured content: {"));
    let said = panic_of(async {
        let client = client(server());
        let _ = client.call("wordcount", json!({})).await.text();
    });
    let said = said.await;
    assert!(said.starts_with("the tool `wordcount` was refused: {"), "{said}");
    assert!(said.contains("did you mean \\\"word_count\\\"?"), "{said}");
}

#[tokio::test]
async fn a_server_that_cannot_be_built_says_why() {
    let said = panic_of(async {
        client(server().tool(failing::tool()));
    });
    let expected = "the server cannot be built: two tools have the name `failing`; rename one";
    assert_eq!(said.await, expected);
}
