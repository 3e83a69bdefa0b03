//! Tools that ask their client once: its model, its user, or where they may work. The same code
//! asks in both eras. A client that cannot answer makes the tool fail, and is told what it lacks.

use haft_proto::spec::question::Sample;
use haft_server::{AskError, Context, Elicited, Tool, handler};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("test_sampling", handler::future(sampling))
            .description("Asks the client's model.")
            .input_schema(one_text("prompt")),
        Tool::new("test_elicitation", handler::future(elicitation))
            .description("Asks the user for a name and an address.")
            .input_schema(one_text("message")),
        Tool::new("test_elicitation_sep1034_defaults", handler::future(defaults))
            .description("Shows a form that is filled in already."),
        Tool::new("test_elicitation_sep1330_enums", handler::future(choices))
            .description("Shows a form with each kind of choice."),
        Tool::new("test_roots", handler::future(roots))
            .description("Asks where the server may work."),
        Tool::new("test_missing_capability", handler::future(needs_sampling))
            .description("Needs a client that has a model."),
        Tool::new("test_streaming_elicitation", handler::future(tells_and_asks))
            .description("Reports progress, then asks the user."),
    ]
}

/// The schema of a tool with one argument, a text.
fn one_text(name: &str) -> String {
    format!(
        r#"{{"type":"object","required":["{name}"],"additionalProperties":false,
            "properties":{{"{name}":{{"type":"string"}}}}}}"#
    )
}

#[derive(Deserialize)]
struct Prompt {
    prompt: String,
}

async fn sampling(asked: Prompt, context: Context) -> Result<String, AskError> {
    let said = context.sample("answer", Sample::text(asked.prompt, 100)).await?;
    Ok(format!("LLM response: {}", said.text()))
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

/// What the user fills in.
#[derive(Deserialize, Serialize)]
struct Person {
    username: String,
    email: String,
}

async fn elicitation(asked: Message, context: Context) -> Result<String, AskError> {
    let form = r#"{"type":"object","required":["username","email"],"properties":{
        "username":{"type":"string","description":"Your name here"},
        "email":{"type":"string","description":"Your address"}}}"#;
    let filled_in = context.elicit::<Person>("person", &asked.message, form).await?;
    Ok(told("User response", &filled_in))
}

async fn defaults(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let form = r#"{"type":"object","required":[],"properties":{
        "name":{"type":"string","description":"Your name","default":"John Doe"},
        "age":{"type":"integer","description":"Your age","default":30},
        "score":{"type":"number","description":"Your score","default":95.5},
        "status":{"type":"string","description":"Your status","default":"active",
            "enum":["active","inactive","pending"]},
        "verified":{"type":"boolean","description":"Whether you are verified","default":true}}}"#;
    let filled_in = context.elicit::<Value>("person", "Is this right?", form).await?;
    Ok(told("Elicitation completed", &filled_in))
}

async fn choices(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let form = r#"{"type":"object","required":[],"properties":{
        "untitledSingle":{"type":"string","description":"One of these",
            "enum":["option1","option2","option3"]},
        "titledSingle":{"type":"string","description":"One of these, with titles","oneOf":[
            {"const":"value1","title":"First option"},
            {"const":"value2","title":"Second option"},
            {"const":"value3","title":"Third option"}]},
        "legacyEnum":{"type":"string","description":"Titles as they were written before",
            "enum":["opt1","opt2","opt3"],
            "enumNames":["Option one","Option two","Option three"]},
        "untitledMulti":{"type":"array","description":"Any of these","minItems":1,"maxItems":3,
            "items":{"type":"string","enum":["option1","option2","option3"]}},
        "titledMulti":{"type":"array","description":"Any of these, with titles",
            "minItems":1,"maxItems":3,"items":{"anyOf":[
                {"const":"value1","title":"First choice"},
                {"const":"value2","title":"Second choice"},
                {"const":"value3","title":"Third choice"}]}}}}"#;
    let chosen = context.elicit::<Value>("choices", "Choose as you like.", form).await?;
    Ok(told("Elicitation completed", &chosen))
}

/// What became of a form, for the model.
fn told<T: Serialize>(beginning: &str, elicited: &Elicited<T>) -> String {
    let content = match elicited {
        Elicited::Accepted(content) => serde_json::to_string(content).unwrap_or_default(),
        Elicited::Declined | Elicited::Cancelled => "{}".to_owned(),
    };
    format!("{beginning}: action={}, content={content}", elicited.action())
}

async fn roots(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let roots = context.roots("roots").await?;
    Ok(format!("roots: {}", roots.len()))
}

async fn needs_sampling(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let said = context.sample("answer", Sample::text("Say hello.", 100)).await?;
    Ok(said.text())
}

async fn tells_and_asks(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    context.progress(1.0, Some(2.0), Some("asking"));
    let form = r#"{"type":"object","properties":{"ok":{"type":"boolean"}}}"#;
    let answer = context.elicit::<Value>("ok", "Go on?", form).await?;
    Ok(told("User response", &answer))
}
