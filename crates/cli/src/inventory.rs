//! Everything that a server lists: tools, resources, resource templates and prompts, asked for at
//! the same time. Used by `list` and `inspect`, which show it.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use haft_client::{Client, ClientError, Listing, Prompt, Resource, ResourceTemplate, ToolList};
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::timeout;

/// What a server offers.
#[derive(Debug)]
pub(crate) struct Inventory {
    pub(crate) tools: ToolList,
    pub(crate) resources: Listing<Resource>,
    pub(crate) templates: Listing<ResourceTemplate>,
    pub(crate) prompts: Listing<Prompt>,
}

impl Inventory {
    /// Asks for all lists, but for those that the server says it does not have. Tools must come;
    /// another list that is refused is warned of. All of them are there after `most`.
    pub(crate) async fn take(
        client: &Client,
        most: Duration,
        printer: Printer,
    ) -> Result<Self, Failure> {
        let handshake = client.handshake();
        // A server that does not describe itself may have anything.
        let is_described = handshake.raw.get() != RawValue::NULL.get();
        let has =
            |capability: &str| !is_described || handshake.capabilities.get(capability).is_some();
        let (resources, prompts) = (has("resources"), has("prompts"));
        let lists = async {
            tokio::try_join!(
                client.list_tools(),
                if_any(resources, client.list_resources(), printer),
                if_any(resources, client.list_resource_templates(), printer),
                if_any(prompts, client.list_prompts(), printer),
            )
        };
        let (tools, resources, templates, prompts) = within(most, lists).await?;
        Ok(Self { tools, resources, templates, prompts })
    }

    /// Says what is left out: what MCP does not define, and tools that a client must not offer.
    pub(crate) fn warn_of_dropped(&self, printer: Printer) {
        for (kind, dropped) in [
            ("tool", &self.tools.dropped),
            ("resource", &self.resources.dropped),
            ("resource template", &self.templates.dropped),
            ("prompt", &self.prompts.dropped),
        ] {
            for one in dropped {
                printer.warn(&format!("the {kind} `{}` is left out: {}", one.name, one.reason));
            }
        }
    }
}

/// Lists that are whole within a time, however many pages they have.
///
/// # Errors
/// That of the client, or that it took too long.
pub(crate) async fn within<T>(
    most: Duration,
    lists: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, Failure> {
    let Ok(lists) = timeout(most, lists).await else {
        let message = format!("the server's lists did not end within {most:?}");
        return Err(Failure::new(Exit::TimedOut, message).hint("--timeout 5m waits longer"));
    };
    Ok(lists?)
}

async fn if_any<T>(
    is_there: bool,
    list: impl Future<Output = Result<Listing<T>, ClientError>>,
    printer: Printer,
) -> Result<Listing<T>, ClientError> {
    if !is_there {
        return Ok(Listing::default());
    }
    match list.await {
        Err(error @ ClientError::Refused { .. }) => {
            printer.warn(&error.to_string());
            Ok(Listing::default())
        }
        listing => listing,
    }
}
