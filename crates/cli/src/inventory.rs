//! Everything that a server lists: tools, resources, resource templates and prompts, asked for at
//! the same time. Used by `list` and `inspect`, which show it.

use crate::exit::Failure;
use crate::print::Printer;
use haft_client::{Client, ClientError, Listing, Prompt, Resource, ResourceTemplate, ToolList};
use serde_json::value::RawValue;

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
    /// another list that is refused is warned of.
    pub(crate) async fn take(client: &Client, printer: Printer) -> Result<Self, Failure> {
        let handshake = client.handshake();
        // A server that does not describe itself may have anything.
        let is_described = handshake.raw.get() != RawValue::NULL.get();
        let has =
            |capability: &str| !is_described || handshake.capabilities.get(capability).is_some();
        let (resources, prompts) = (has("resources"), has("prompts"));
        let (tools, resources, templates, prompts) = tokio::try_join!(
            client.list_tools(),
            if_any(resources, client.list_resources(), printer),
            if_any(resources, client.list_resource_templates(), printer),
            if_any(prompts, client.list_prompts(), printer),
        )?;
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
