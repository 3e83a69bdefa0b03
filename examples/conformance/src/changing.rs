//! Tools that change the server they belong to, so that its clients can be told. What they add is
//! taken away again: the lists are the same before and after.

use crate::resources::{Updates, WATCHED};
use haft_server::{BuildError, Context, Prompt, Tool, handler};
use serde::de::IgnoredAny;
use std::sync::atomic::Ordering;

pub(crate) fn tools() -> [Tool; 3] {
    [
        Tool::new("test_trigger_tool_change", handler::future(change_tools))
            .description("Adds a tool, and takes it away again."),
        Tool::new("test_trigger_prompt_change", handler::future(change_prompts))
            .description("Adds a prompt, and takes it away again."),
        Tool::new("test_update_watched", handler::future(update_watched))
            .description("Changes the watched resource.")
            .needs_state::<Updates>(),
    ]
}

async fn change_tools(_: IgnoredAny, context: Context) -> Result<&'static str, BuildError> {
    let server = context.server();
    let passing = Tool::new("test_passing", handler::function(|_: IgnoredAny| "Still here."));
    server.add_tool(passing.description("Is there for a moment."))?;
    server.remove_tool("test_passing");
    Ok("The tools have changed, and changed back.")
}

async fn change_prompts(_: IgnoredAny, context: Context) -> Result<&'static str, BuildError> {
    let server = context.server();
    let passing = Prompt::new("test_passing", |_| async { "Still here." });
    server.add_prompt(passing.description("Is there for a moment."))?;
    server.remove_prompt("test_passing");
    Ok("The prompts have changed, and changed back.")
}

async fn update_watched(_: IgnoredAny, context: Context) -> String {
    let updates = context.state::<Updates>().expect("no server is built without what tools need");
    let count = updates.0.fetch_add(1, Ordering::Relaxed) + 1;
    context.server().resource_updated(WATCHED);
    format!("{WATCHED} was updated {count} times.")
}
