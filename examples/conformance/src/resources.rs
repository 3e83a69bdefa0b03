//! What can be read: a text, a picture, something that changes, and a family with a template.

use crate::content::PIXEL;
use haft_server::{Read, Resource, ResourceTemplate};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn text() -> Resource {
    let content = "This is the content of the static text resource.";
    Resource::text("test://static-text", "static-text", content)
        .description("A text that never changes.")
        .mime_type("text/plain")
}

pub(crate) fn binary() -> Resource {
    Resource::bytes("test://static-binary", "static-binary", PIXEL)
        .description("A picture that never changes.")
        .mime_type("image/png")
}

/// Any member of the family: the template's variables are in `read.variables`. Without one of
/// that name the answer is "not found".
pub(crate) fn template() -> ResourceTemplate {
    let data = |read: Read| async move {
        let id = read.variables.get("id")?;
        let text = serde_json::json!({
            "id": id,
            "templateTest": true,
            "data": format!("Data for ID: {id}"),
        });
        Some(text.to_string())
    };
    ResourceTemplate::new("test://template/{id}/data", "template", data)
        .description("Some data for each id.")
        .mime_type("application/json")
        .complete("id", |typing| async move { typing.among(["123", "124", "200"]) })
}

/// How often the watched resource has changed: a value that the handlers of a server share.
#[derive(Default)]
pub(crate) struct Updates(pub(crate) AtomicU64);

/// The address of the watched resource.
pub(crate) const WATCHED: &str = "test://watched-resource";

/// A resource that changes when a tool is called.
pub(crate) fn watched() -> Resource {
    let read = |read: Read| async move {
        let updates = read.context.state::<Updates>()?;
        Some(format!("It was updated {} times.", updates.0.load(Ordering::Relaxed)))
    };
    Resource::new(WATCHED, "watched-resource", read)
        .description("A text that changes when `test_update_watched` is called.")
        .mime_type("text/plain")
}
