//! What can be said to a model: with arguments, with resources and pictures, and after asking.

use crate::content::pixel;
use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::prompt::Message;
use haft_server::{AskError, Get, Prompt};
use serde::Deserialize;

pub(crate) fn all() -> Vec<Prompt> {
    vec![
        Prompt::new("test_simple_prompt", |_| async { "This is a simple prompt for testing." })
            .description("A prompt without arguments."),
        Prompt::new("test_prompt_with_arguments", with_arguments)
            .description("A prompt with two arguments.")
            .required("arg1", "The first one.")
            .required("arg2", "The second one.")
            .complete("arg1", |typing| async move { typing.among(["test", "testing", "tested"]) })
            .complete("arg2", |typing| async move { typing.among(["one", "two", "three"]) }),
        Prompt::new("test_prompt_with_embedded_resource", with_resource)
            .description("A prompt with a resource and its content.")
            .required("resourceUri", "The address of the resource."),
        Prompt::new("test_prompt_with_image", with_picture).description("A prompt with a picture."),
        Prompt::new("test_input_required_result_prompt", after_asking)
            .description("A prompt that asks the user first."),
    ]
}

async fn with_arguments(get: Get) -> String {
    let (first, second) = (get.argument("arg1"), get.argument("arg2"));
    format!("Prompt with arguments: arg1='{first}', arg2='{second}'")
}

async fn with_resource(get: Get) -> Vec<Message> {
    let text = "Embedded resource content for testing.";
    let resource = ResourceContents::text(get.argument("resourceUri"), text);
    vec![
        Message::user(Content::Embedded(resource.mime_type("text/plain"))),
        Message::user(Content::text("Please process the embedded resource above.")),
    ]
}

async fn with_picture(_: Get) -> Vec<Message> {
    let text = Content::text("Please analyze the image above.");
    vec![Message::user(pixel()), Message::user(text)]
}

#[derive(Deserialize)]
struct Wish {
    context: String,
}

async fn after_asking(get: Get) -> Result<String, AskError> {
    let form =
        r#"{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}"#;
    let question = "What context should the prompt use?";
    let told = get.context.elicit::<Wish>("user_context", question, form).await?;
    let context = told.accepted().map_or_else(|| "none".to_owned(), |told| told.context);
    Ok(format!("Prompt with context: {context}"))
}
