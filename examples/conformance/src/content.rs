//! Tools that answer at once, with each kind of content there is.

use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::tool_result::ToolResult;
use haft_server::{Tool, handler};
use serde::de::IgnoredAny;

/// A picture of one pixel.
pub(crate) const PIXEL: &[u8] = include_bytes!("../assets/pixel.png");
/// A sound of one sample.
const SILENCE: &[u8] = include_bytes!("../assets/silence.wav");

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            "test_simple_text",
            handler::function(|_: IgnoredAny| "This is a simple text response for testing."),
        )
        .description("Answers with a text."),
        Tool::new("test_image_content", showing(|| vec![pixel()]))
            .description("Answers with a picture."),
        Tool::new("test_audio_content", showing(|| vec![Content::audio(SILENCE, "audio/wav")]))
            .description("Answers with a sound."),
        Tool::new("test_embedded_resource", showing(embedded))
            .description("Answers with a resource and its content."),
        Tool::new("test_multiple_content_types", showing(mixed))
            .description("Answers with a text, a picture and a resource."),
        Tool::new("test_error_handling", handler::function(fail))
            .description("Fails, and says why."),
    ]
}

pub(crate) fn pixel() -> Content {
    Content::image(PIXEL, "image/png")
}

/// What a function returns becomes the tool's answer; here, pieces of content.
fn showing(content: fn() -> Vec<Content>) -> impl handler::Handler {
    handler::function(move |_: IgnoredAny| ToolResult {
        content: content(),
        ..ToolResult::default()
    })
}

fn embedded() -> Vec<Content> {
    let text = "This is an embedded resource content.";
    let resource = ResourceContents::text("test://embedded-resource", text);
    vec![Content::Embedded(resource.mime_type("text/plain"))]
}

fn mixed() -> Vec<Content> {
    let json = r#"{"test":"data","value":123}"#;
    let resource = ResourceContents::text("test://mixed-content-resource", json);
    vec![
        Content::text("Multiple content types test:"),
        pixel(),
        Content::Embedded(resource.mime_type("application/json")),
    ]
}

/// An `Err` is a failure of the tool, which the model reads; no error of the protocol.
fn fail(_: IgnoredAny) -> Result<String, &'static str> {
    Err("This tool intentionally returns an error for testing")
}
