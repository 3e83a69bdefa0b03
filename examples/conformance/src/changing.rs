//! Tools that change the server they belong to, so that its clients can be told. What they add is
//! taken away again: the lists are the same before and after.

use crate::resources::Watched;
use haft_server::{BuildError, Prompt, Server, Tool, handler};
use serde::de::IgnoredAny;
use std::sync::{Arc, Weak};

pub(crate) fn tools(server: &Arc<Server>, watched: &Watched) -> [Tool; 3] {
    // A tool that owned its server would keep it alive for ever.
    let of_tools = Arc::downgrade(server);
    let of_prompts = Arc::downgrade(server);
    let watched = watched.clone();
    [
        Tool::new(
            "test_trigger_tool_change",
            handler::function(move |_: IgnoredAny| change_tools(&of_tools)),
        )
        .description("Adds a tool, and takes it away again."),
        Tool::new(
            "test_trigger_prompt_change",
            handler::function(move |_: IgnoredAny| change_prompts(&of_prompts)),
        )
        .description("Adds a prompt, and takes it away again."),
        Tool::new("test_update_watched", handler::function(move |_: IgnoredAny| update(&watched)))
            .description("Changes the watched resource."),
    ]
}

fn change_tools(server: &Weak<Server>) -> Result<&'static str, BuildError> {
    if let Some(server) = server.upgrade() {
        let passing = Tool::new("test_passing", handler::function(|_: IgnoredAny| "Still here."));
        server.add_tool(passing.description("Is there for a moment."))?;
        server.remove_tool("test_passing");
    }
    Ok("The tools have changed, and changed back.")
}

fn change_prompts(server: &Weak<Server>) -> Result<&'static str, BuildError> {
    if let Some(server) = server.upgrade() {
        let passing = Prompt::new("test_passing", |_| async { "Still here." });
        server.add_prompt(passing.description("Is there for a moment."))?;
        server.remove_prompt("test_passing");
    }
    Ok("The prompts have changed, and changed back.")
}

fn update(watched: &Watched) -> String {
    let count = watched.update();
    format!("{} was updated {count} times.", Watched::URI)
}
