//! Everything that a server offers, as an immutable snapshot: looked up without a lock, swapped as
//! a whole. Requests in flight keep the snapshot that they began on.

use crate::builder::BuildError;
use crate::completion::Completers;
use crate::list_cache::ListCache;
use crate::prompt::Prompt;
use crate::resource::{RegisteredTemplate, Resource, ResourceTemplate};
use crate::state::States;
use crate::tasks::TaskUse;
use crate::tool::{Registered, Tool};
use crate::uri_template::{UriTemplate, Variables};
use haft_proto::encode;
use haft_proto::encode::fields::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec::implementation::Implementation;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a server is made of, in the order in which it is listed.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
}

/// All of it at one time.
pub(crate) struct Snapshot {
    pub(crate) tools: Part<Registered>,
    pub(crate) resources: Part<Resource>,
    pub(crate) templates: Part<RegisteredTemplate>,
    pub(crate) prompts: Part<Prompt>,
    /// What it was made of, to be changed and made again.
    pub(crate) parts: Parts,
}

/// Everything of one kind, with its list.
pub(crate) struct Part<T> {
    entries: Vec<Arc<T>>,
    by_name: FxHashMap<Box<str>, usize>,
    pub(crate) list: ListCache,
}

impl<T> Part<T> {
    fn new(
        kind: &'static str,
        entries: Vec<Arc<T>>,
        name: impl Fn(&T) -> &str,
        list: ListCache,
    ) -> Result<Self, BuildError> {
        let mut by_name = FxHashMap::default();
        for (index, entry) in entries.iter().enumerate() {
            if by_name.insert(name(entry).into(), index).is_some() {
                return Err(BuildError::Duplicate { kind, name: name(entry).to_owned() });
            }
        }
        Ok(Self { entries, by_name, list })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.get(name).map(|index| &self.entries[*index])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Snapshot {
    pub(crate) fn new(
        parts: Parts,
        server: &Implementation,
        caching: Caching,
        limits: &Limits,
        states: &States,
    ) -> Result<Self, BuildError> {
        let snapshot = Self {
            tools: tools(&parts.tools, server, caching, (limits, states))?,
            resources: resources(&parts.resources, server, caching, limits)?,
            templates: templates(&parts.templates, server, caching, limits)?,
            prompts: prompts(&parts.prompts, server, caching, limits)?,
            parts,
        };
        Ok(snapshot)
    }

    /// The family that an address belongs to, and its variables.
    pub(crate) fn find_template(&self, uri: &str) -> Option<(&Arc<RegisteredTemplate>, Variables)> {
        self.templates.iter().find_map(|family| Some((family, family.template.matches(uri)?)))
    }

    /// Whether calls of any tool may become tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.task_use != TaskUse::Never)
    }

    /// Whether any resource is a user interface.
    pub(crate) fn has_ui(&self) -> bool {
        self.resources.iter().any(|resource| resource.uri().starts_with("ui://"))
    }

    /// Whether any argument has suggestions.
    pub(crate) fn has_completions(&self) -> bool {
        let of_prompts = self.prompts.iter().any(|prompt| !prompt.completers.is_empty());
        of_prompts || self.templates.iter().any(|family| !family.built.completers.is_empty())
    }
}

fn tools(
    tools: &[Tool],
    server: &Implementation,
    caching: Caching,
    (limits, states): (&Limits, &States),
) -> Result<Part<Registered>, BuildError> {
    let compile = |tool: &Tool| tool.clone().compile(limits.request_timeout, states).map(Arc::new);
    let entries = tools.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
    let listed: Vec<_> = entries.iter().map(|tool| &tool.tool).collect();
    let list = ListCache::new("tools", &listed, server, caching, limits.page_entries, |o, r, t| {
        encode::tools::tool(o, r, t);
    });
    Part::new("tools", entries, |tool| &tool.tool.name, list)
}

fn resources(
    resources: &[Resource],
    server: &Implementation,
    caching: Caching,
    limits: &Limits,
) -> Result<Part<Resource>, BuildError> {
    if let Some(bad) = resources.iter().find(|resource| !has_scheme(resource.uri())) {
        return Err(BuildError::BadUri { uri: bad.uri().to_owned() });
    }
    let entries: Vec<_> = resources.iter().cloned().map(Arc::new).collect();
    let listed: Vec<_> = entries.iter().map(|resource| &resource.spec).collect();
    let list =
        ListCache::new("resources", &listed, server, caching, limits.page_entries, |o, r, e| {
            encode::resource::resource(o, r, e);
        });
    Part::new("resources", entries, |resource| resource.uri(), list)
}

fn templates(
    templates: &[ResourceTemplate],
    server: &Implementation,
    caching: Caching,
    limits: &Limits,
) -> Result<Part<RegisteredTemplate>, BuildError> {
    let mut entries = Vec::with_capacity(templates.len());
    for built in templates {
        let text = built.uri_template();
        let bad = |reason| BuildError::BadUriTemplate { template: text.to_owned(), reason };
        let template = UriTemplate::parse(text).map_err(|error| bad(error.to_string()))?;
        if !has_scheme(text) {
            return Err(bad("it begins with a scheme like `app:`".to_owned()));
        }
        let variables: Vec<_> = template.variables().collect();
        check_completers(&built.completers, text, &variables)?;
        entries.push(Arc::new(RegisteredTemplate { template, built: built.clone() }));
    }
    let listed: Vec<_> = entries.iter().map(|family| &family.built.spec).collect();
    let key = "resourceTemplates";
    let list = ListCache::new(key, &listed, server, caching, limits.page_entries, |o, r, e| {
        encode::resource::resource_template(o, r, e);
    });
    Part::new("resource templates", entries, |family| family.built.uri_template(), list)
}

fn prompts(
    prompts: &[Prompt],
    server: &Implementation,
    caching: Caching,
    limits: &Limits,
) -> Result<Part<Prompt>, BuildError> {
    for prompt in prompts {
        let arguments = prompt.spec.arguments.iter().map(|argument| argument.name.as_str());
        check_completers(&prompt.completers, prompt.name(), &arguments.collect::<Vec<_>>())?;
    }
    let entries: Vec<_> = prompts.iter().cloned().map(Arc::new).collect();
    let listed: Vec<_> = entries.iter().map(|prompt| &prompt.spec).collect();
    let list =
        ListCache::new("prompts", &listed, server, caching, limits.page_entries, |o, r, e| {
            encode::prompt::prompt(o, r, e);
        });
    Part::new("prompts", entries, |prompt| prompt.name(), list)
}

fn check_completers(
    completers: &Completers,
    of: &str,
    arguments: &[&str],
) -> Result<(), BuildError> {
    match completers.arguments().find(|argument| !arguments.contains(argument)) {
        Some(argument) => {
            let (of, argument) = (of.to_owned(), argument.to_owned());
            Err(BuildError::BadCompletion { of, argument })
        }
        None => Ok(()),
    }
}

/// Whether it begins as a URI does (RFC 3986, 3.1).
fn has_scheme(uri: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(is_allowed)
    })
}
