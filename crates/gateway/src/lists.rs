//! The lists of an upstream, all asked for at once. An entry that is none, and a list that cannot
//! be had, is left out alone, with the reason. Called by `keeper` for each look; what is served
//! of it is for `catalogue` to say.

use crate::catalogue::{Listed, Offer};
use crate::circle::{self, Came, Mark};
use crate::discretion;
use crate::limits::GATEWAYS_MAX;
use crate::upstream::Loss;
use haft_client::{Client, ClientError, Listing};
use haft_proto::method::Method;
use haft_proto::spec::client::TASKS;
use std::time::Duration;
use tokio::time::timeout;

/// What it has, of the kinds that it says it has.
///
/// # Errors
/// The connection is lost, or no list can be had.
pub(crate) async fn look(
    client: &Client,
    limit: Duration,
    is_far: bool,
    mark: &Mark,
) -> Result<Offer, ClientError> {
    let has = |kind| client.handshake().capabilities.get(kind).is_some();
    let tools = async {
        let list = client.list_tools().await?;
        let (entries, dropped, ttl, meta) = (list.tools, list.dropped, list.ttl, list.meta);
        Ok(Listing { entries, dropped, ttl, meta, ..Listing::default() })
    };
    let (resources, prompts) = (client.list_resources(), client.list_prompts());
    let templates = client.list_resource_templates();
    let is_resourceful = has("resources");
    let (tools, resources, templates, prompts) = tokio::join!(
        list(has("tools"), Method::ToolsList, limit, tools, |one| (one.name, one.raw)),
        list(is_resourceful, Method::ResourcesList, limit, resources, |one| (one.uri, one.raw)),
        list(is_resourceful, Method::ResourcesTemplatesList, limit, templates, |one| {
            (one.uri_template, one.raw)
        }),
        list(has("prompts"), Method::PromptsList, limit, prompts, |one| (one.name, one.raw)),
    );
    let offer = Offer { has_tasks: has_tasks(client), ..Offer::default() };
    let mut had = Had { offer, error: None, lists: 0, is_far, mark };
    had.offer.tools = had.take("tool", "tools", tools)?;
    had.offer.resources = had.take("resource", "resources", resources)?;
    had.offer.templates = had.take("resource template", "resource templates", templates)?;
    had.offer.prompts = had.take("prompt", "prompts", prompts)?;
    match had.error {
        Some(error) if had.lists == 0 => Err(error),
        _ => Ok(had.offer),
    }
}

/// Whether calls may become tasks there.
fn has_tasks(client: &Client) -> bool {
    let extensions = client.handshake().capabilities.get("extensions");
    extensions.is_some_and(|extensions| extensions.get(TASKS).is_some())
}

/// A list, if there is one.
type Found = Option<Result<Listing<Listed>, ClientError>>;

async fn list<T>(
    is_there: bool,
    method: Method,
    limit: Duration,
    asking: impl Future<Output = Result<Listing<T>, ClientError>>,
    listed: impl FnMut(T) -> Listed,
) -> Found {
    if !is_there {
        return None;
    }
    let late = ClientError::TimedOut { method: method.name(), after: limit };
    let list = timeout(limit, asking).await.unwrap_or(Err(late));
    Some(list.map(|list| {
        let entries = list.entries.into_iter().map(listed).collect();
        let (dropped, ttl, meta) = (list.dropped, list.ttl, list.meta);
        Listing { entries, dropped, ttl, meta, ..Listing::default() }
    }))
}

/// What has been had so far.
struct Had<'m> {
    offer: Offer,
    /// Why the first list that could not be had could not.
    error: Option<ClientError>,
    /// How many could.
    lists: usize,
    is_far: bool,
    mark: &'m Mark,
}

impl Had<'_> {
    /// Takes a list of a kind, which has that name.
    fn take(
        &mut self,
        kind: &'static str,
        name: &str,
        found: Found,
    ) -> Result<Vec<Listed>, ClientError> {
        match found {
            None => Ok(Vec::new()),
            Some(Ok(list)) => {
                self.lists += 1;
                self.offer.ttl = self.offer.ttl.into_iter().chain(list.ttl).min();
                let dropped = list.dropped.into_iter().map(|one| (kind, one.name, one.reason));
                self.offer.dropped.extend(dropped);
                let meta = list.meta.as_ref().map_or("{}", |meta| meta.get());
                Ok(self.new_of(kind, list.entries, meta))
            }
            Some(Err(error)) if is_end(&error, self.is_far) => Err(error),
            Some(Err(error)) => {
                let reason = discretion::said(&error);
                self.offer.dropped.push(("list", name.to_owned(), reason));
                self.offer.is_partial = true;
                self.error.get_or_insert(error);
                Ok(Vec::new())
            }
        }
    }
}

impl Had<'_> {
    /// Those of a list that have not been here before.
    fn new_of(&mut self, kind: &'static str, list: Vec<Listed>, meta: &str) -> Vec<Listed> {
        let gateways = circle::named_in(meta);
        self.offer.is_own |= self.mark.is_of(&gateways);
        let mut new = Vec::with_capacity(list.len());
        for (name, told) in list {
            match self.mark.take(told, &gateways) {
                Came::New(told) => new.push((name, told)),
                Came::Back => self.offer.returned += 1,
                Came::TooFar => {
                    let reason = format!("it came through more than {GATEWAYS_MAX} gateways");
                    self.offer.dropped.push((kind, name, reason));
                }
            }
        }
        new
    }
}

/// Whether a failure says that the connection is lost, and not only an answer.
fn is_end(error: &ClientError, is_far: bool) -> bool {
    match Loss::by(error) {
        Loss::NotBegun => true,
        Loss::Unknown => !is_far,
        Loss::Late | Loss::None => false,
    }
}
