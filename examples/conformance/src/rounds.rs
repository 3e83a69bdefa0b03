//! Tools that ask again and again, or several things at once. In the modern era each answer comes
//! with the same call, made once more: what was answered before travels sealed with the client. The
//! code reads as if it had waited all the time.

use haft_proto::spec::question::Sample;
use haft_server::{AskError, Context, Elicited, Tool, handler};
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("test_input_required_result_elicitation", handler::future(one_form))
            .description("Asks the user for a name."),
        Tool::new("test_input_required_result_sampling", handler::future(one_sample))
            .description("Asks the client's model for a capital."),
        Tool::new("test_input_required_result_list_roots", handler::future(one_list))
            .description("Asks where the server may work."),
        Tool::new("test_input_required_result_request_state", handler::future(confirmed))
            .description("Asks the user to confirm."),
        Tool::new("test_input_required_result_tampered_state", handler::future(confirmed))
            .description("Asks the user to confirm, and notices a forged state."),
        Tool::new("test_input_required_result_multiple_inputs", handler::future(three_at_once))
            .description("Asks three things at once."),
        Tool::new("test_input_required_result_multi_round", handler::future(one_after_another))
            .description("Asks two things, one after the other."),
        Tool::new("test_input_required_result_capabilities", handler::future(what_is_possible))
            .description("Asks what the client can answer, and nothing else."),
    ]
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Color {
    color: String,
}

#[derive(Deserialize)]
struct Confirmation {
    ok: bool,
}

const NAME: &str =
    r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
const COLOR: &str =
    r#"{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}"#;
const CONFIRMATION: &str =
    r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;

/// The name of the user, if there is one who tells it.
pub(crate) async fn user_name(context: &Context) -> Result<String, AskError> {
    let told = context.elicit::<Name>("user_name", "What is your name?", NAME).await?;
    Ok(told.accepted().map_or_else(|| "stranger".to_owned(), |told| told.name))
}

async fn one_form(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    Ok(format!("Hello, {}!", user_name(&context).await?))
}

async fn one_sample(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let question = Sample::text("What is the capital of France?", 100);
    let said = context.sample("capital_question", question).await?;
    Ok(format!("The model says: {}", said.text()))
}

async fn one_list(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let roots = context.roots("client_roots").await?;
    let names: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{} roots: {}", names.len(), names.join(", ")))
}

async fn confirmed(_: IgnoredAny, context: Context) -> Result<&'static str, AskError> {
    match context.elicit::<Confirmation>("confirm", "Please confirm.", CONFIRMATION).await? {
        Elicited::Accepted(Confirmation { ok: true }) => Ok("state-ok: confirmed"),
        _ => Ok("state-ok: not confirmed"),
    }
}

/// Questions that wait side by side travel together.
async fn three_at_once(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let (name, greeting, roots) = tokio::try_join!(
        user_name(&context),
        context.sample("greeting", Sample::text("Generate a greeting", 50)),
        context.roots("client_roots"),
    )?;
    Ok(format!("{} {name}, you have {} roots.", greeting.text(), roots.len()))
}

async fn one_after_another(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let Elicited::Accepted(Name { name }) =
        context.elicit("step1", "Step 1: What is your name?", NAME).await?
    else {
        return Ok("Nobody there.".to_owned());
    };
    let Elicited::Accepted(Color { color }) =
        context.elicit("step2", "Step 2: What is your favorite color?", COLOR).await?
    else {
        return Ok(format!("{name} has no favorite color."));
    };
    Ok(format!("{name} likes {color}."))
}

async fn what_is_possible(_: IgnoredAny, context: Context) -> Result<String, AskError> {
    let name = async {
        match context.client().form {
            true => user_name(&context).await,
            false => Ok("stranger".to_owned()),
        }
    };
    let greeting = async {
        match context.client().sampling {
            true => {
                let request = Sample::text("Generate a greeting", 50);
                Ok(context.sample("greeting", request).await?.text())
            }
            false => Ok("Hello".to_owned()),
        }
    };
    let (name, greeting) = tokio::try_join!(name, greeting)?;
    Ok(format!("{greeting}, {name}."))
}
