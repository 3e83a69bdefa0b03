//! All parts become one server. Called by `main`.

use crate::{asking, changing, content, prompts, resources, rounds, running, schemas, tasks};
use haft_server::{BuildError, Server};

/// The server, ready to be served on any wire.
///
/// # Errors
/// Two parts have one name, or a schema is broken.
pub(crate) fn server() -> Result<Server, BuildError> {
    let server = Server::builder("conformance", env!("CARGO_PKG_VERSION"))
        .title("Conformance")
        .description("Everything that a server can have.")
        .instructions("Tools are named for what they show. None of them does anything useful.")
        .state(resources::Updates::default())
        // The suite calls whichever tool stands first: it must need nothing.
        .tools(content::tools())
        .tools(running::tools())
        .tools(asking::tools())
        .tools(rounds::tools())
        .tools(schemas::tools())
        .tools(tasks::tools())
        .tools(changing::tools())
        .resource(resources::text())
        .resource(resources::binary())
        .resource(resources::watched())
        .resource_template(resources::template());
    prompts::all().into_iter().fold(server, |server, prompt| server.prompt(prompt)).build()
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn the_first_tool_needs_nothing_and_no_two_have_a_name() {
        let names = server().expect("the parts fit").tool_names();
        assert_eq!(names[0], "test_simple_text");
        assert!(names.len() > 30, "{names:?}");
    }
}
