//! From as run to as served: what is meant becomes the parts of a `haft_server::Server`. Called by
//! `load` when a server is asked for; checks nothing that `meant` has checked.

use crate::kind::Setting;
use crate::meant::Meant;
use crate::prompt::Prompt;
use crate::reading::Readings;
use crate::resource::{Below, Resource, Source};
use crate::tool::Tool;
use haft_fetch::Clients;
use haft_proto::encode::fields::Caching;
use haft_proto::spec::completion::{Completion, VALUES_MAX};
use haft_server::around::Measure;
use haft_server::{Server, ServerBuilder};
use haft_store::Store;
use minijinja::Environment;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
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
}

impl Means {
    pub(crate) fn new(store: Option<Store>) -> Self {
        Self { store, clients: Clients::new(), measured: false }
    }
}

/// A server of everything.
pub(crate) fn builder(meant: &Meant, means: &Means) -> ServerBuilder {
    let who = &meant.server;
    let mut builder = Server::builder(&who.name, &who.version);
    if means.measured {
        builder = builder.middleware(Measure);
    }
    if let Some(title) = &who.title {
        builder = builder.title(title);
    }
    if let Some(description) = &who.description {
        builder = builder.description(description);
    }
    if let Some(url) = &who.website_url {
        builder = builder.website_url(url);
    }
    if let Some(instructions) = &who.instructions {
        builder = builder.instructions(instructions);
    }
    if let Some(caching) = who.caching {
        builder = builder.caching(caching);
    }
    builder = who.icons.iter().cloned().fold(builder, ServerBuilder::icon);
    if who.strict_arguments {
        builder = builder.strict_arguments();
    }
    builder = builder.state_keys(who.state_keys.iter().cloned()).tools(tools(meant, means));
    let readings = Readings::new();
    let (resources, templates) = resources(meant, &readings);
    builder = resources.into_iter().fold(builder, ServerBuilder::resource);
    builder = templates.into_iter().fold(builder, ServerBuilder::resource_template);
    for prompt in &meant.prompts {
        builder = builder.prompt(self::prompt(prompt, &meant.templates, &readings));
    }
    builder
}

fn tools(meant: &Meant, means: &Means) -> Vec<haft_server::Tool> {
    meant.tools.iter().map(|tool| self::tool(tool, &meant.templates, means)).collect()
}

fn tool(tool: &Tool, templates: &Arc<Environment<'static>>, means: &Means) -> haft_server::Tool {
    let name = tool.name.value.clone();
    let defaults: Map<String, Value> = tool
        .input
        .arguments
        .iter()
        .filter_map(|argument| Some((argument.name.clone(), argument.default()?.clone())))
        .collect();
    let (templates, Means { store, clients, .. }) = (Arc::clone(templates), means.clone());
    let mut built = tool.kind.tool(Setting { name, defaults, templates, clients, store });
    built = built.annotations(tool.annotations).prepared_input(tool.input.schema.clone());
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
    tool.around.wrap(built, tool.kind.turns())
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
) -> (Vec<haft_server::Resource>, Vec<haft_server::ResourceTemplate>) {
    resources(meant, &Readings::new())
}

fn resources(
    meant: &Meant,
    readings: &Readings,
) -> (Vec<haft_server::Resource>, Vec<haft_server::ResourceTemplate>) {
    let (mut resources, mut templates) = (Vec::new(), Vec::new());
    let of_server = meant.server.caching;
    let mut uris: BTreeSet<String> =
        meant.resources.iter().map(|resource| resource.uri.value.clone()).collect();
    for resource in &meant.resources {
        let Source::Directory(below) = &resource.source else {
            let built = single(resource, readings);
            resources.push(described!(built, resource, of_server));
            continue;
        };
        let family = family(resource, below, readings);
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

fn single(resource: &Resource, readings: &Readings) -> haft_server::Resource {
    let (uri, name) = (&resource.uri.value, &resource.name);
    let (reader, readings) = (Arc::new(resource.clone()), readings.clone());
    let built = haft_server::Resource::new(uri, name, move |_| {
        let (reader, readings) = (Arc::clone(&reader), readings.clone());
        async move { reader.read(&readings).await }
    });
    match resource.size() {
        Some(size) => built.size(size),
        None => built,
    }
}

fn family(
    resource: &Resource,
    below: &Below,
    readings: &Readings,
) -> haft_server::ResourceTemplate {
    let (uri, name) = (&resource.uri.value, &resource.name);
    let (reader, kind) = (Arc::new(below.clone()), resource.mime_type.clone());
    let (finder, finding) = (Arc::clone(&reader), readings.clone());
    let readings = readings.clone();
    let built = haft_server::ResourceTemplate::new(uri, name, move |mut request| {
        let (reader, readings, kind) = (Arc::clone(&reader), readings.clone(), kind.clone());
        let path = request.variables.remove(&reader.variable).unwrap_or_default();
        async move { reader.read(path, kind, &readings).await }
    });
    built.complete(&below.variable, move |typing| {
        let (finder, finding) = (Arc::clone(&finder), finding.clone());
        async move {
            let find = move || finder.directory.find(&typing.value, VALUES_MAX);
            let found = finding.run(find).await.unwrap_or_default();
            let total = (!found.is_cut).then_some(found.files.len() as u64);
            let values = found.files.into_iter().map(|file| file.path).collect();
            Completion { values, total, has_more: found.is_cut }
        }
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
    if let Some(size) = one.size {
        built = built.size(size);
    }
    if let Some(caching) = resource.caching(of_server) {
        built = built.caching(caching);
    }
    built.annotations(resource.annotations.clone())
}

fn prompt(
    prompt: &Prompt,
    templates: &Arc<Environment<'static>>,
    readings: &Readings,
) -> haft_server::Prompt {
    let (writer, templates, readings) =
        (Arc::new(prompt.clone()), Arc::clone(templates), readings.clone());
    let mut built = haft_server::Prompt::new(&prompt.name.value, move |get| {
        let (writer, templates, readings) =
            (Arc::clone(&writer), Arc::clone(&templates), readings.clone());
        async move { writer.messages(get.arguments, &templates, &readings).await }
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
        if !argument.values.is_empty() {
            let values: Arc<[String]> = argument.values.clone().into();
            built = built.complete(&argument.spec.name, move |typing| {
                std::future::ready(typing.among(values.iter()))
            });
        }
    }
    built
}
