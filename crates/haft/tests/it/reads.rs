//! Functions as resources and prompts: what clients see of them, and how texts become arguments.

use haft::testing::client;
use haft::{
    Completing, Completion, Content, Context, Json, Message, Principal, ResourceContents,
    ServerBuilder, State,
};
use haft_server::handler::BLOCKING_MAX;
use serde_json::json;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, LazyLock};

/// The configuration.
///
/// # Panics
/// Never.
#[haft::resource("config://app", mime = "application/json", title = "Configuration")]
fn config() -> &'static str {
    r#"{"colour":"blue"}"#
}

/// One note.
#[haft::resource("notes://{id}", name = "notes", mime = "text/markdown")]
async fn note(
    #[haft(complete = ids)] id: u32,
    context: &Context,
) -> Result<Option<String>, String> {
    tokio::task::yield_now().await;
    context.info("reading");
    match id {
        0 => Err("the disk is on fire".to_owned()),
        1..10 => Ok(Some(format!("# Note {id}"))),
        _ => Ok(None),
    }
}

async fn ids(typing: Completing) -> Completion {
    typing.among(["1", "2", "21"])
}

#[haft::resource("files:///{+path}/{type}", blocking)]
fn file(path: String, r#type: char, principal: Principal) -> Vec<ResourceContents> {
    vec![ResourceContents::text("a", format!("{path} {type} {principal:?}"))]
}

#[haft::resource("data://bytes")]
fn bytes() -> Vec<u8> {
    vec![0xff, 0]
}

#[haft::resource("data://json")]
fn value() -> Json<[u8; 2]> {
    Json([1, 2])
}

/// Reviews code
/// in a language.
#[haft::prompt(title = "Review")]
fn review(
    /// The code.
    code: String,
    #[haft(complete = languages, default = "rust")] language: String,
    #[haft(default)] strict: bool,
    /// The most
    /// remarks.
    #[haft(rename = "max")]
    remarks: Option<u8>,
) -> String {
    format!("Review this {language} code ({strict}, {remarks:?}): {code}")
}

async fn languages(typing: Completing) -> Completion {
    typing.among(["rust", "ruby", "c"])
}

#[haft::prompt(name = "chat.begin")]
async fn chat(principal: &Principal) -> Result<Vec<Message>, String> {
    if *principal == Principal::Anonymous {
        return Err("who are you?".to_owned());
    }
    Ok(vec![Message::user(Content::text("Hello")), Message::assistant(Content::text("Hi"))])
}

#[haft::prompt(blocking)]
fn blocked(count: usize) -> String {
    "x".repeat(count)
}

fn server() -> ServerBuilder {
    haft::server("test", "1.0.0")
        .resource(config::resource())
        .resource(note::resource())
        .resource(file::resource())
        .resource(bytes::resource())
        .resource(value::resource())
        .prompt(review::prompt())
        .prompt(chat::prompt())
        .prompt(blocked::prompt())
}

#[tokio::test]
async fn resources_and_families_are_described_by_what_stands_on_them() {
    let client = client(server());
    let listed = client.list_resources().await;
    let expected = json!({"uri": "config://app", "name": "config", "title": "Configuration",
                          "description": "The configuration.", "mimeType": "application/json"});
    assert_eq!(listed[0], expected);
    let families = client.list_resource_templates().await;
    let expected = json!({"uriTemplate": "notes://{id}", "name": "notes",
                          "description": "One note.", "mimeType": "text/markdown"});
    assert_eq!(families[0], expected);
    assert_eq!(families[1], json!({"uriTemplate": "files:///{+path}/{type}", "name": "file"}));
}

#[tokio::test]
async fn a_read_is_a_call_of_the_function() {
    let client = client(server());
    assert_eq!(client.read("config://app").await.text(), config());
    let read = client.read("notes://7").await;
    let contents = json!([{"uri": "notes://7", "mimeType": "text/markdown", "text": "# Note 7"}]);
    assert_eq!(read.result()["contents"], contents);
    assert_eq!(read.logs(), [json!("reading")]);
    assert_eq!(client.read("notes://0").await.refusal(), "the disk is on fire");
    for missing in ["notes://10", "notes://seven", "notes://4294967296", "files:///a/bc"] {
        let refusal = client.read(missing).await.refusal();
        assert!(refusal.to_lowercase().contains("not found"), "{refusal}");
    }
    assert_eq!(client.read("files:///a/b/c").await.text(), "a/b c Local");
    assert_eq!(client.read("data://bytes").await.result()["contents"][0]["blob"], "/wA=");
    let value = client.read("data://json").await;
    assert_eq!(
        (&*value.text(), &value.result()["contents"][0]["mimeType"]),
        ("[1,2]", &json!("application/json"))
    );
}

#[tokio::test]
async fn prompts_are_described_by_what_stands_on_them() {
    let listed = client(server()).list_prompts().await;
    let expected = json!({
        "name": "review",
        "title": "Review",
        "description": "Reviews code in a language.",
        "arguments": [
            {"name": "code", "description": "The code.", "required": true},
            {"name": "language"},
            {"name": "strict"},
            {"name": "max", "description": "The most remarks."},
        ],
    });
    assert_eq!(listed[0], expected);
    assert_eq!(listed[1], json!({"name": "chat.begin"}));
}

#[tokio::test]
async fn texts_are_read_into_the_types_of_the_function() {
    let client = client(server());
    let said = client.prompt("review", json!({"code": "1"})).await.text();
    assert_eq!(said, "Review this rust code (false, None): 1");
    let all = json!({"code": "1", "language": "c", "strict": "true", "max": "3"});
    let said = client.prompt("review", all).await.text();
    assert_eq!(said, "Review this c code (true, Some(3)): 1");
    let wrong = client.prompt("review", json!({"code": "1", "max": "many"})).await.refusal();
    let expected =
        "Invalid params: the argument `max` cannot be read: invalid digit found in string";
    assert_eq!(wrong, expected);
    let missing = client.prompt("review", json!({})).await.refusal();
    assert!(missing.contains("code"), "{missing}");
    assert_eq!(client.prompt("chat.begin", json!({})).await.text(), "Hello\nHi");
    assert_eq!(client.prompt("blocked", json!({"count": "3"})).await.text(), "xxx");
}

struct Motto(&'static str);

#[haft::resource("app://motto")]
fn motto(motto: State<Motto>) -> &'static str {
    motto.0
}

#[haft::prompt]
fn moral(motto: &State<Motto>) -> String {
    format!("Remember: {}", motto.0)
}

#[tokio::test]
async fn what_handlers_share_is_given_and_missed_when_the_server_is_built() {
    let server = || haft::server("test", "1.0.0");
    let both = server().resource(motto::resource()).prompt(moral::prompt());
    let client = client(both.state(Motto("Be kind.")));
    assert_eq!(client.read("app://motto").await.text(), "Be kind.");
    assert_eq!(client.prompt("moral", json!({})).await.text(), "Remember: Be kind.");
    for (server, whose) in [
        (server().resource(motto::resource()), "the resource `app://motto`"),
        (server().prompt(moral::prompt()), "the prompt `moral`"),
    ] {
        let error = server.build().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&format!("{whose} needs a `")), "{error}");
    }
}

#[tokio::test]
async fn values_are_suggested() {
    let client = client(server());
    for (reference, argument, typed, expected) in [
        (json!({"type": "ref/prompt", "name": "review"}), "language", "ru", ["rust", "ruby"]),
        (json!({"type": "ref/resource", "uri": "notes://{id}"}), "id", "2", ["2", "21"]),
    ] {
        let params = json!({"ref": reference, "argument": {"name": argument, "value": typed}});
        let suggested = client.ask("completion/complete", params).await;
        assert_eq!(suggested.result()["completion"]["values"], json!(expected));
    }
}

/// Where calls of `held` wait for each other.
static GATE: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(BLOCKING_MAX + 1));
static BEGAN: AtomicUsize = AtomicUsize::new(0);

#[haft::resource("held://{number}", blocking)]
fn held(number: usize) -> String {
    BEGAN.fetch_add(1, Ordering::SeqCst);
    GATE.wait();
    number.to_string()
}

#[tokio::test]
async fn reads_that_block_have_a_bounded_number_of_threads_even_when_cancelled() {
    let client = client(haft::server("test", "1.0.0").resource(held::resource()));
    for number in 0..10 * BLOCKING_MAX {
        let uri = format!("held://{number}");
        tokio::select! {
            biased;
            _ = client.read(&uri) => panic!("{number} does not wait"),
            () = ready(()) => {}
        }
    }
    tokio::task::spawn_blocking(|| GATE.wait()).await.expect("the reads are let go");
    // Only those that had a thread ran.
    assert_eq!(BEGAN.load(Ordering::SeqCst), BLOCKING_MAX);
}
