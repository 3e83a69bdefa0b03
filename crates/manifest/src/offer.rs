//! From as run to as served: what is meant becomes the parts of a `haft_server::Server`. Called by
//! `load` when a server is asked for; checks nothing that `meant` has checked.

use crate::around::Standings;
use crate::complete::{self, Complete};
use crate::feed::family::Fed;
use crate::feed::run::Feeding;
use crate::kind::{Kind, Setting};
use crate::meant::Meant;
use crate::prompt::Prompt;
use crate::reading::Readings;
use crate::resource::{Below, Resource, Source};
use crate::rules::What;
use crate::seen::Print;
use crate::tool::Tool;
use crate::view::View;
use haft_fetch::Clients;
use haft_proto::encode::fields::Caching;
use haft_proto::error::Refusal;
use haft_proto::spec::completion::Completion;
use haft_server::around::Measure;
use haft_server::{Completing, Server, ServerBuilder};
use haft_store::Store;
use minijinja::Environment;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What the tools of a file have in common that outlives a reading of it.
#[derive(Clone)]
pub(crate) struct Means {
    /// Where state is kept, if any tool keeps some.
    pub(crate) store: Option<Store>,
    /// What other servers are asked with.
    pub(crate) clients: Clients,
    /// Whether requests are counted and timed.
    pub(crate) measured: bool,
    /// Where files are read.
    pub(crate) readings: Readings,
    /// Where programs run and servers are asked for resources and the like.
    pub(crate) feeding: Feeding,
    /// What remembers calls; a tool that is not in it begins anew.
    pub(crate) standings: Arc<Standings>,
}

impl Means {
    pub(crate) fn new(store: Option<Store>) -> Self {
        let (clients, readings) = (Clients::new(), Readings::new());
        let feeding = Feeding::new(Arc::new(Environment::empty()), clients.clone());
        Self { store, clients, measured: false, readings, feeding, standings: Arc::default() }
    }
}

/// How resources are read, prompts written and values suggested.
#[derive(Clone)]
pub(crate) struct Ways {
    pub(crate) readings: Readings,
    pub(crate) feeding: Feeding,
}

impl Ways {
    pub(crate) fn new(meant: &Meant, means: &Means) -> Self {
        let feeding = means.feeding.with(Arc::clone(&meant.templates));
        Self { readings: means.readings.clone(), feeding }
    }
}

/// A server of everything, or of a part of it.
pub(crate) fn builder(meant: &Meant, means: &Means, view: Option<&View>) -> ServerBuilder {
    let who = &meant.server;
    let (name, title, description, instructions, search) = match view {
        None => (&who.name, &who.title, &who.description, &who.instructions, who.search),
        Some(view) => (&view.name, &view.title, &view.description, &view.instructions, view.search),
    };
    let mut builder = Server::builder(name, &who.version);
    if let Some(least) = search {
        builder = builder.search_from(least);
    }
    if means.measured {
        builder = builder.middleware(Measure);
    }
    if let Some(title) = title {
        builder = builder.title(title);
    }
    if let Some(description) = description {
        builder = builder.description(description);
    }
    if let Some(url) = &who.website_url {
        builder = builder.website_url(url);
    }
    if let Some(instructions) = instructions {
        builder = builder.instructions(instructions);
    }
    if let Some(caching) = who.caching {
        builder = builder.caching(caching);
    }
    builder = who.icons.iter().cloned().fold(builder, ServerBuilder::icon);
    if who.strict_arguments {
        builder = builder.strict_arguments();
    }
    let (tools, inner) = tools(meant, means, view);
    builder = builder.state_keys(who.state_keys.iter().cloned()).tools(tools).inner_tools(inner);
    let ways = Ways::new(meant, means);
    let (resources, templates) = readable_by(meant, &ways, view);
    builder = resources.into_iter().fold(builder, ServerBuilder::resource);
    builder = templates.into_iter().fold(builder, ServerBuilder::resource_template);
    for prompt in &meant.prompts {
        if view.is_none_or(|view| view.has(None, What::Prompt, &prompt.name.value)) {
            builder = builder.prompt(self::prompt(prompt, &ways));
        }
    }
    builder
}

/// The tools of a view, and others that its pipelines may call.
fn tools(
    meant: &Meant,
    means: &Means,
    view: Option<&View>,
) -> (Vec<haft_server::Tool>, Vec<haft_server::Tool>) {
    let is_shown = |(place, tool): &(usize, &Tool)| {
        let (of, name) = (meant.described_by(*place), &tool.name.value);
        view.is_none_or(|view| view.has(of, What::Tool, name))
    };
    let (shown, others): (Vec<_>, Vec<_>) = meant.tools.iter().enumerate().partition(is_shown);
    let told = meant.told_names();
    let make = |tools: Vec<(usize, &Tool)>| {
        let make =
            |(place, tool): (usize, &Tool)| self::tool(tool, meant, means).told_as(&told[place]);
        tools.into_iter().map(make).collect()
    };
    let has_pipelines = shown.iter().any(|(_, tool)| matches!(tool.kind, Kind::Pipeline(_)));
    let others = if has_pipelines { others } else { Vec::new() };
    (make(shown), make(others))
}

fn tool(tool: &Tool, meant: &Meant, means: &Means) -> haft_server::Tool {
    let name = tool.name.value.clone();
    let defaults: Map<String, Value> = tool
        .input
        .arguments
        .iter()
        .filter_map(|argument| Some((argument.name.clone(), argument.default()?.clone())))
        .collect();
    let aliases = tool.input.aliases().map(|(name, alias)| (name.to_owned(), alias.to_owned()));
    let aliases = aliases.collect();
    let (templates, clients, store) =
        (Arc::clone(&meant.templates), means.clients.clone(), means.store.clone());
    let mut built = tool.kind.tool(Setting { name, defaults, aliases, templates, clients, store });
    built = built.annotations(tool.annotations).prepared_input(tool.input.schema.clone());
    if tool.leaves_out_extra.unwrap_or(meant.server.leaves_out_extra) {
        built = built.leave_out_extra_arguments();
    }
    if let Some(title) = &tool.title {
        built = built.title(title);
    }
    if let Some(description) = &tool.description {
        built = built.description(&description.value);
    }
    if let Some(schema) = &tool.output_schema {
        built = built.prepared_output(schema.clone());
    }
    if let Some(meta) = &tool.meta {
        built = built.meta(meta.clone());
    }
    built = tool.icons.iter().cloned().fold(built, haft_server::Tool::icon);
    match means.standings.get(&tool.name.value) {
        Some(standing) => tool.around.wrap(built, standing),
        None => tool.around.wrap(built, &tool.around.standing(tool.kind.turns(), None, false)),
    }
}

/// What remembers the calls of the tools, as far as they are those that were read `before`.
pub(crate) fn standings(meant: &Meant, before: &Meant, known: &Standings) -> Standings {
    let prints = |meant: &Meant| -> BTreeMap<String, Print> {
        let names = meant.tools.iter().map(|tool| tool.name.value.clone());
        names.zip(meant.prints.tools.iter().copied()).collect()
    };
    let (then, now) = (prints(before), prints(meant));
    let standing = |tool: &Tool| {
        let name = &tool.name.value;
        let is_same = match &tool.kind {
            // What comes of its calls comes of other tools.
            Kind::Pipeline(_) => then == now,
            _ => then.get(name) == now.get(name),
        };
        (name.clone(), tool.around.standing(tool.kind.turns(), known.get(name), is_same))
    };
    meant.tools.iter().map(standing).collect()
}

/// What clients are told is the same for a resource and for a family of resources.
macro_rules! described {
    ($built:expr, $resource:expr, $of_server:expr) => {{
        let (mut built, resource): (_, &Resource) = ($built, $resource);
        if let Some(title) = &resource.title {
            built = built.title(title);
        }
        if let Some(description) = &resource.description {
            built = built.description(&description.value);
        }
        if let Some(mime_type) = &resource.mime_type {
            built = built.mime_type(mime_type);
        }
        if let Some(meta) = &resource.meta {
            built = built.meta(meta.clone());
        }
        if let Some(caching) = resource.caching($of_server) {
            built = built.caching(caching);
        }
        for icon in &resource.icons {
            built = built.icon(icon.clone());
        }
        built.annotations(resource.annotations.clone())
    }};
}

/// The resources and families of resources.
pub(crate) fn readable(
    meant: &Meant,
    means: &Means,
    view: Option<&View>,
) -> (Vec<haft_server::Resource>, Vec<haft_server::ResourceTemplate>) {
    readable_by(meant, &Ways::new(meant, means), view)
}

fn readable_by(
    meant: &Meant,
    ways: &Ways,
    view: Option<&View>,
) -> (Vec<haft_server::Resource>, Vec<haft_server::ResourceTemplate>) {
    let (mut resources, mut templates) = resources(meant, ways);
    if let Some(view) = view {
        resources.retain(|one| view.has(None, What::Resource, one.uri()));
        templates.retain(|one| view.has(None, What::Resource, one.uri_template()));
        templates = templates.into_iter().map(|one| within(view, one)).collect();
    }
    (resources, templates)
}

/// A family without what a view takes out of it.
pub(crate) fn within(
    view: &View,
    family: haft_server::ResourceTemplate,
) -> haft_server::ResourceTemplate {
    match view.addresses() {
        Some(addresses) => family.addressed(addresses),
        None => family,
    }
}

fn resources(
    meant: &Meant,
    ways: &Ways,
) -> (Vec<haft_server::Resource>, Vec<haft_server::ResourceTemplate>) {
    let (mut resources, mut templates) = (Vec::new(), Vec::new());
    let of_server = meant.server.caching;
    let mut uris: BTreeSet<String> =
        meant.resources.iter().map(|resource| resource.uri.value.clone()).collect();
    for resource in &meant.resources {
        let below = match &resource.source {
            Source::Directory(below) => below,
            Source::Feed(fed) if !fed.variables.is_empty() => {
                let built = fed_family(resource, fed, ways);
                templates.push(described!(built, resource, of_server));
                continue;
            }
            Source::Feed(_) | Source::File(_) | Source::Text(_) => {
                let built = single(resource, ways);
                resources.push(described!(built, resource, of_server));
                continue;
            }
        };
        let readings = &ways.readings;
        let family = family(resource, below, ways);
        templates.push(described!(family, resource, of_server));
        for one in resource.listed() {
            // One that is listed by its own entry has its own content.
            if uris.insert(one.uri.clone()) {
                resources.push(listed(one, resource, below, (readings, of_server)));
            }
        }
    }
    (resources, templates)
}

fn single(resource: &Resource, ways: &Ways) -> haft_server::Resource {
    let (uri, name) = (&resource.uri.value, &resource.name);
    let (reader, ways) = (Arc::new(resource.clone()), ways.clone());
    let built = haft_server::Resource::new(uri, name, move |read| {
        let (reader, ways) = (Arc::clone(&reader), ways.clone());
        async move { reader.read(read.variables, &ways).await }
    });
    match resource.source.text() {
        Some(text) => built.size(text.len() as u64),
        None => built,
    }
}

/// What a program or server says of many addresses.
fn fed_family(resource: &Resource, fed: &Fed, ways: &Ways) -> haft_server::ResourceTemplate {
    let (uri, name) = (&resource.uri.value, &resource.name);
    let (reader, reading) = (Arc::new(resource.clone()), ways.clone());
    let built = haft_server::ResourceTemplate::new(uri, name, move |read| {
        let (reader, ways) = (Arc::clone(&reader), reading.clone());
        async move { reader.read(read.variables, &ways).await }
    });
    fed.completes
        .iter()
        .fold(built, |built, complete| built.try_complete(&complete.of, suggesting(complete, ways)))
}

/// Suggests values, for the server.
fn suggesting(
    complete: &Complete,
    ways: &Ways,
) -> impl Fn(Completing) -> Suggesting + Send + Sync + 'static {
    let (complete, ways) = (Arc::new(complete.clone()), ways.clone());
    move |typing| {
        let (complete, ways) = (Arc::clone(&complete), ways.clone());
        Box::pin(async move { complete.suggest(typing, &ways).await })
    }
}

type Suggesting = Pin<Box<dyn Future<Output = Result<Completion, Refusal>> + Send>>;

fn family(resource: &Resource, below: &Below, ways: &Ways) -> haft_server::ResourceTemplate {
    let (uri, name) = (&resource.uri.value, &resource.name);
    let (reader, kind) = (Arc::new(below.clone()), resource.mime_type.clone());
    let (finder, finding) = (Arc::clone(&reader), ways.clone());
    let readings = ways.readings.clone();
    let built = haft_server::ResourceTemplate::new(uri, name, move |mut request| {
        let (reader, readings, kind) = (Arc::clone(&reader), readings.clone(), kind.clone());
        let path = request.variables.remove(&reader.variable).unwrap_or_default();
        async move { reader.read(path, kind, &readings).await }
    });
    built.complete(&below.variable, move |typing| {
        let (finder, finding) = (Arc::clone(&finder), finding.clone());
        async move { complete::paths(&finder.directory, typing, &finding).await }
    })
}

/// A file of a directory, listed by itself.
fn listed(
    one: crate::resource::Listed,
    resource: &Resource,
    below: &Below,
    (readings, of_server): (&Readings, Option<Caching>),
) -> haft_server::Resource {
    let (reader, readings) = (Arc::new(below.clone()), readings.clone());
    let (path, kind) = (one.name.clone(), resource.mime_type.clone());
    let mut built = haft_server::Resource::new(one.uri, one.name, move |_| {
        let (reader, readings) = (Arc::clone(&reader), readings.clone());
        let (path, kind) = (path.clone(), kind.clone());
        async move { reader.read(path, kind, &readings).await }
    });
    if let Some(kind) = one.mime_type {
        built = built.mime_type(kind);
    }
    if let Some(caching) = resource.caching(of_server) {
        built = built.caching(caching);
    }
    built.annotations(resource.annotations.clone())
}

fn prompt(prompt: &Prompt, ways: &Ways) -> haft_server::Prompt {
    let (writer, writing) = (Arc::new(prompt.clone()), ways.clone());
    let mut built = haft_server::Prompt::new(&prompt.name.value, move |get| {
        let (writer, ways) = (Arc::clone(&writer), writing.clone());
        async move { writer.messages(get.arguments, &ways).await }
    });
    if let Some(title) = &prompt.title {
        built = built.title(title);
    }
    if let Some(description) = &prompt.description {
        built = built.description(&description.value);
    }
    if let Some(meta) = &prompt.meta {
        built = built.meta(meta.clone());
    }
    built = prompt.icons.iter().cloned().fold(built, haft_server::Prompt::icon);
    for argument in &prompt.arguments {
        built = built.argument(argument.spec.clone());
        if let Some(complete) = &argument.complete {
            built = built.try_complete(&complete.of, suggesting(complete, ways));
        }
    }
    built
}
