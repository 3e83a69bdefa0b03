//! Everything that a server offers, as an immutable snapshot: looked up without a lock, swapped as
//! a whole. Requests in flight keep the snapshot that they began on. A change makes a new one that
//! shares with the old what stays: nothing is checked or compiled twice.

use crate::builder::BuildError;
use crate::completion::Completers;
use crate::face::Face;
use crate::kinds::Kinds;
use crate::missing::Missing;
use crate::part::{Entry, Part, names_of};
use crate::prompt::Prompt;
use crate::resource::{RegisteredTemplate, Resource, ResourceTemplate};
use crate::rounds::short;
use crate::schema::derived;
use crate::search::Search;
use crate::state::States;
use crate::tool::{Registered, Tool};
use crate::uri_template::{Matcher, Variables};
use haft_proto::encode;
use haft_proto::limits::Limits;
use haft_proto::version::Revision;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// What a server is made of, in the order in which it is listed.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// What is not listed, as it is not there now.
    pub(crate) missing: Vec<Missing>,
    /// What other tools call, and no client.
    pub(crate) inner: Vec<Tool>,
    /// From how many tools on they are found, and not listed.
    pub(crate) search_from: Option<usize>,
}

/// All of it at one time.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) face: Arc<Face>,
    pub(crate) tools: Arc<Part<Registered>>,
    pub(crate) resources: Arc<Part<Resource>>,
    pub(crate) templates: Arc<Part<RegisteredTemplate>>,
    pub(crate) prompts: Arc<Part<Prompt>>,
    pub(crate) missing: Arc<[Missing]>,
    /// Tools that other tools call, and no client.
    pub(crate) inner: Arc<Part<Registered>>,
    /// What stands in the list for tools that are many.
    pub(crate) search: Option<Arc<Search>>,
}

impl Snapshot {
    /// Checks and compiles everything; the face is made for what there is. What `before` has
    /// compiled of a tool is used again if the tool's schemas are the same.
    pub(crate) fn new(
        parts: Parts,
        (limits, states): (&Limits, &States),
        before: Option<&Self>,
        face: impl FnOnce(Kinds) -> Face,
    ) -> Result<Self, BuildError> {
        // What is made of a type is in its tools by now.
        derived::forget_known();
        let compile = |tools: Vec<Tool>, before: Option<&Part<Registered>>| {
            let tools = tools.into_iter().map(|one| {
                let before = before.and_then(|before| before.find(one.name()));
                one.compile(limits.request_timeout, states, before.map(|known| &**known))
            });
            tools.collect::<Result<Vec<_>, BuildError>>()
        };
        let tools = compile(parts.tools, before.map(|before| &*before.tools))?;
        let names = names_of(&tools)?;
        let inner = compile(parts.inner, before.map(|before| &*before.inner))?;
        let inner = Part::new(inner.into_iter().map(Arc::new).collect())?;
        let (resources, templates) = (parts.resources, parts.templates);
        let (resources, templates) = readable(resources, templates, states)?;
        let prompts = parts.prompts.into_iter().map(|one| prompt(one, states));
        let prompts = Part::new(prompts.collect::<Result<_, _>>()?)?;
        let face = Arc::new(face(Kinds::of(tools.iter(), &resources, &templates, &prompts)));
        let is_found = parts.search_from.is_some_and(|least| tools.len() >= least);
        let tools = match is_found {
            true => Part::new(tools.into_iter().map(Arc::new).collect())?,
            false => Part::listed(tools, names, &face.listing(limits)),
        };
        let search = parts.search_from.map(|least| Search::new(least, &tools)).transpose()?;
        Ok(Self {
            face,
            search: search.map(Arc::new),
            tools: Arc::new(tools),
            resources: Arc::new(resources),
            templates: Arc::new(templates),
            prompts: Arc::new(prompts),
            missing: parts.missing.into(),
            inner: Arc::new(inner),
        })
    }

    /// Which kinds of things there are.
    pub(crate) fn kinds(&self) -> Kinds {
        let tools = self.tools.iter().map(|tool| &**tool);
        Kinds::of(tools, &self.resources, &self.templates, &self.prompts)
    }

    /// Writes all lists of the latest revision now, so that no request has to.
    pub(crate) fn write_lists(&self, limits: &Limits) {
        let listing = &self.face.listing(limits);
        let tools = self.listed_tools();
        tools.write_list(listing);
        self.resources.write_list(listing);
        self.templates.write_list(listing);
        self.prompts.write_list(listing);
    }

    /// A tool that another may call.
    pub(crate) fn find_called(&self, name: &str) -> Option<&Arc<Registered>> {
        let found = self.tools.find(name).or_else(|| self.inner.find(name));
        found.or_else(|| self.tools.find_also(name)).or_else(|| self.inner.find_also(name))
    }

    /// The family that an address belongs to, its variables, and what it is called there.
    pub(crate) fn find_template<'u>(
        &self,
        uri: &'u str,
    ) -> Option<(&Arc<RegisteredTemplate>, Variables, Cow<'u, str>)> {
        self.templates.iter().find_map(|family| {
            let uri = family.built.address(uri)?;
            Some((family, family.template.matches(&uri)?, uri))
        })
    }
}

/// Resources and families of them, checked.
pub(crate) fn readable(
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    states: &States,
) -> Result<(Part<Resource>, Part<RegisteredTemplate>), BuildError> {
    let resources = resources.into_iter().map(|one| resource(one, states));
    let templates = templates.into_iter().map(|one| template(one, states));
    let resources = Part::new(resources.collect::<Result<_, _>>()?)?;
    Ok((resources, Part::new(templates.collect::<Result<_, _>>()?)?))
}

/// A tool, checked and compiled.
pub(crate) fn tool(
    tool: Tool,
    limits: &Limits,
    states: &States,
) -> Result<Arc<Registered>, BuildError> {
    derived::forget_known();
    tool.compile(limits.request_timeout, states, None).map(Arc::new)
}

impl Resource {
    /// Whether a server could have it, as far as its address goes.
    ///
    /// # Errors
    /// [`BuildError::BadUri`].
    pub fn verify(&self) -> Result<(), BuildError> {
        let alone = Self { needs: Vec::new(), ..self.clone() };
        resource(alone, &States::default()).map(drop)
    }
}

impl ResourceTemplate {
    /// Whether a server could have it, as far as its template goes.
    ///
    /// # Errors
    /// [`BuildError::BadUriTemplate`].
    pub fn verify(&self) -> Result<(), BuildError> {
        let alone = Self { needs: Vec::new(), ..self.clone() };
        template(alone, &States::default()).map(drop)
    }
}

/// A resource, checked.
pub(crate) fn resource(resource: Resource, states: &States) -> Result<Arc<Resource>, BuildError> {
    states.check(&resource.needs, || format!("the resource `{}`", resource.uri()))?;
    if !has_scheme(resource.uri()) {
        return Err(BuildError::BadUri { uri: resource.uri().to_owned() });
    }
    Ok(Arc::new(resource))
}

/// A family of resources, checked and compiled.
pub(crate) fn template(
    built: ResourceTemplate,
    states: &States,
) -> Result<Arc<RegisteredTemplate>, BuildError> {
    let text = built.uri_template();
    states.check(&built.needs, || format!("the resource template `{text}`"))?;
    let bad = |reason| BuildError::BadUriTemplate { template: text.to_owned(), reason };
    let template = match &built.far {
        Some(_) => Matcher::of_far(text),
        None => Matcher::of_own(text),
    };
    let template = template.map_err(|error| bad(error.to_string()))?;
    if !has_scheme(text) {
        return Err(bad("it begins with a scheme like `app:`".to_owned()));
    }
    let variables: Vec<_> = template.variables().collect();
    check_completers(&built.completers, text, &variables)?;
    Ok(Arc::new(RegisteredTemplate { template, built }))
}

/// A prompt, checked.
pub(crate) fn prompt(prompt: Prompt, states: &States) -> Result<Arc<Prompt>, BuildError> {
    states.check(&prompt.needs, || format!("the prompt `{}`", prompt.name()))?;
    let arguments = prompt.spec.arguments.iter().map(|argument| argument.name.as_str());
    check_completers(&prompt.completers, prompt.name(), &arguments.collect::<Vec<_>>())?;
    Ok(Arc::new(prompt))
}

impl Registered {
    /// Tells it from another of its name, by what it says of itself.
    pub(crate) fn print(&self) -> u64 {
        short(self.checks.told.get().as_bytes())
    }
}

impl Entry for Registered {
    const KIND: &'static str = "tools";
    const KEY: &'static str = "tools";

    fn name(&self) -> &str {
        &self.tool.name
    }

    fn also(&self) -> Option<&str> {
        self.special.as_ref()?.also.as_deref()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        let told = self.checks.told.get();
        if self.tool.is_timeless || revision == Revision::LATEST {
            out.extend_from_slice(told.as_bytes());
        } else {
            encode::tools::older(out, revision, told);
        }
    }

    fn become_part(&mut self, page: &Arc<str>, range: Range<usize>) {
        self.checks.told.become_part(page, range);
    }
}

impl Entry for Resource {
    const KIND: &'static str = "resources";
    const KEY: &'static str = "resources";

    fn name(&self) -> &str {
        self.uri()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        match &self.far {
            Some(far) => encode::relay::definition(out, far.told.get()),
            None => encode::resource::resource(out, revision, &self.spec),
        }
    }
}

impl Entry for RegisteredTemplate {
    const KIND: &'static str = "resource templates";
    const KEY: &'static str = "resourceTemplates";

    fn name(&self) -> &str {
        self.built.uri_template()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        match &self.built.far {
            Some(far) => encode::relay::definition(out, far.told.get()),
            None => encode::resource::resource_template(out, revision, &self.built.spec),
        }
    }
}

impl Entry for Prompt {
    const KIND: &'static str = "prompts";
    const KEY: &'static str = "prompts";

    fn name(&self) -> &str {
        self.name()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        match &self.far {
            Some(far) => encode::relay::renamed(out, far.told.get(), self.name()),
            None => encode::prompt::prompt(out, revision, &self.spec),
        }
    }
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
