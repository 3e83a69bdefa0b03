//! Everything that a server offers, as an immutable snapshot: looked up without a lock, swapped as
//! a whole. Requests in flight keep the snapshot that they began on. A change makes a new one that
//! shares with the old what stays: nothing is checked or compiled twice.

use crate::builder::BuildError;
use crate::completion::Completers;
use crate::face::Face;
use crate::kinds::Kinds;
use crate::list_cache::{ListCache, Listing};
use crate::missing::Missing;
use crate::names::Names;
use crate::prompt::Prompt;
use crate::resource::{RegisteredTemplate, Resource, ResourceTemplate};
use crate::rounds::short;
use crate::schema::derived;
use crate::search::Search;
use crate::state::States;
use crate::tool::{Registered, Tool};
use crate::uri_template::{Matcher, Variables};
use haft_proto::encode;
use haft_proto::error::Refusal;
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

/// One of many in a list.
pub(crate) trait Entry {
    /// Two what there are, should a name be there twice.
    const KIND: &'static str;
    /// Under which key they are listed.
    const KEY: &'static str;

    /// Its name or address: there is one of each.
    fn name(&self) -> &str;

    /// Appends it as a list has it.
    fn write(&self, out: &mut Vec<u8>, revision: Revision);

    /// It stands there, in the page of a list of the latest revision: it need not keep what it says
    /// a second time.
    fn become_part(&mut self, _page: &Arc<str>, _range: Range<usize>) {}
}

impl<T: Entry> Entry for Arc<T> {
    const KIND: &'static str = T::KIND;
    const KEY: &'static str = T::KEY;

    fn name(&self) -> &str {
        (**self).name()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        (**self).write(out, revision);
    }
}

/// Everything of one kind, with its list.
pub(crate) struct Part<T> {
    entries: Vec<Arc<T>>,
    names: Names,
    list: ListCache,
}

impl<T: Entry> Part<T> {
    /// All of these.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`].
    pub(crate) fn new(mut entries: Vec<Arc<T>>) -> Result<Self, BuildError> {
        // They may stand where larger things stood before.
        entries.shrink_to_fit();
        let names = names_of(&entries)?;
        Ok(Self { entries, names, list: ListCache::default() })
    }

    /// All of these, whose names are known, with the list of the latest revision.
    fn listed(mut entries: Vec<T>, names: Names, listing: &Listing<'_>) -> Self {
        let list = ListCache::written(&mut entries, listing);
        let mut entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
        // They stand where larger things stood before.
        entries.shrink_to_fit();
        Self { entries, names, list }
    }

    /// The same with one more, or with one in place of that of its name.
    pub(crate) fn with(&self, new: Arc<T>) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + 1);
        entries.extend(self.entries.iter().cloned());
        let mut names = self.names.clone();
        match self.place(new.name()) {
            Some(place) => entries[place] = new,
            None => {
                entries.push(Arc::clone(&new));
                names.push(new.name(), |place| entries[place].name());
            }
        }
        Self { entries, names, list: ListCache::default() }
    }

    /// The same without one; `None` if it is not there.
    pub(crate) fn without(&self, name: &str) -> Option<Self> {
        let gone = self.place(name)?;
        let mut entries = self.entries.clone();
        entries.remove(gone);
        let names = names_of(&entries).expect("they are some of those before");
        Some(Self { entries, names, list: ListCache::default() })
    }

    #[inline]
    fn place(&self, name: &str) -> Option<usize> {
        self.names.find(name, |place| self.entries[place].name())
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<T>> {
        self.place(name).map(|place| &self.entries[place])
    }

    pub(crate) fn at(&self, place: usize) -> Option<&Arc<T>> {
        self.entries.get(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.iter()
    }

    /// Whether clients that list one and the other see the same.
    pub(crate) fn lists_as(&self, other: &Self) -> bool {
        let written = |one: &T| {
            let mut written = Vec::new();
            one.write(&mut written, Revision::LATEST);
            written
        };
        let mut both = self.entries.iter().zip(&other.entries);
        self.entries.len() == other.entries.len()
            && both.all(|(one, other)| Arc::ptr_eq(one, other) || written(one) == written(other))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A page of its list, for a cursor as raw JSON.
    pub(crate) fn page(
        &self,
        listing: &Listing<'_>,
        revision: Revision,
        cursor: Option<&str>,
    ) -> Result<&Arc<str>, Refusal> {
        self.list.page(&self.entries, listing, revision, cursor)
    }
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
        tools.list.write_latest(&tools.entries, listing);
        self.resources.list.write_latest(&self.resources.entries, listing);
        self.templates.list.write_latest(&self.templates.entries, listing);
        self.prompts.list.write_latest(&self.prompts.entries, listing);
    }

    /// A tool that another may call.
    pub(crate) fn find_called(&self, name: &str) -> Option<&Arc<Registered>> {
        let found = self.tools.find(name).or_else(|| self.inner.find(name));
        found.or_else(|| also(&self.tools, name)).or_else(|| also(&self.inner, name))
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

/// The tool that can be called so as well. Who calls it so says a name that clients are not told.
pub(crate) fn also<'p>(part: &'p Part<Registered>, name: &str) -> Option<&'p Arc<Registered>> {
    part.iter().find(|tool| tool.also() == Some(name))
}

/// The table of their names.
fn names_of<T: Entry>(entries: &[T]) -> Result<Names, BuildError> {
    let duplicate = |name| BuildError::Duplicate { kind: T::KIND, name };
    Names::of(entries, Entry::name).map_err(duplicate)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler;
    use haft_proto::encode::fields::Caching;
    use haft_proto::encode::list::Around;
    use haft_proto::spec::implementation::Implementation;

    fn registered(name: &str) -> Arc<Registered> {
        let work = handler::function(|_: serde::de::IgnoredAny| "done");
        tool(Tool::new(name, work), &Limits::default(), &States::default()).expect("a tool")
    }

    #[test]
    fn what_stays_is_shared_and_not_made_again() {
        let before = Part::new(["a", "b", "c"].map(registered).to_vec()).expect("three names");
        let after = before.with(registered("d")).without("b").expect("it was there");
        let names: Vec<_> = after.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        for name in ["a", "c"] {
            let (old, new) = (before.find(name).expect("here"), after.find(name).expect("there"));
            assert!(Arc::ptr_eq(old, new), "{name}");
        }
        assert_eq!(after.find("d").map(|tool| tool.name()), Some("d"));
        assert!(after.find("b").is_none() && after.without("b").is_none());
        let replaced = after.with(registered("c"));
        assert_eq!(replaced.iter().count(), 3);
        assert!(!Arc::ptr_eq(&replaced.entries[1], &after.entries[1]));
    }

    #[test]
    fn a_list_is_written_when_it_is_asked_for() {
        let server = Implementation::default();
        let around = Around { server: &server, caching: Caching::default(), meta: None };
        let listing = Listing { around, page_entries: 9 };
        let part = Part::new(vec![registered("a")]).expect("one name");
        let page = part.page(&listing, Revision::LATEST, None).expect("the first");
        let again = part.page(&listing, Revision::LATEST, None).expect("the same");
        assert!(Arc::ptr_eq(page, again), "written once");
        assert!(part.list.is_written(Revision::LATEST));
        assert!(!part.list.is_written(Revision::V2024_11_05), "nobody has asked");
    }
}
