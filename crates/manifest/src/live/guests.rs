//! What comes from elsewhere and is served beside what the file has: what upstreams have. Set by
//! whoever finds it, kept when the file is read anew.

use super::{Live, lock};
use crate::load::Manifest;
use crate::offer::{self, Means};
use crate::rules::What;
use crate::view::View;
use haft_proto::spec::Meta;
use haft_server::{
    BuildError, CALL, FIND, Missing, Prompt, Resource, ResourceTemplate, ServerBuilder, Tool,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// See above. Of two things with one name the file's is served.
#[derive(Clone, Default)]
pub struct Guests {
    /// Of each upstream, in the order in which they are listed; no two things have one name.
    pub of: Vec<Guest>,
    /// What makes other tools of these for a view.
    pub tailor: Option<Tailor>,
    /// What is said of them in `_meta` of every list: an object.
    pub list_meta: Option<Meta>,
}

/// Of a view, what the file has, and all guests: the tools that are other in that view by their
/// names elsewhere, and `None` for those that it does not have then. Their names differ from those
/// of all else that the view has.
pub type Tailor =
    Arc<dyn Fn(&View, &Owned, &Guests) -> HashMap<String, Option<Tool>> + Send + Sync>;

/// What one upstream has.
#[derive(Clone, Default)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Guest {
    pub upstream: String,
    pub tools: Vec<Tool>,
    pub resources: Vec<Resource>,
    pub templates: Vec<ResourceTemplate>,
    pub prompts: Vec<Prompt>,
    pub missing: Vec<Missing>,
}

/// What a file has itself: names, and addresses of resources.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Owned {
    pub tools: HashSet<String>,
    pub resources: HashSet<String>,
    pub templates: HashSet<String>,
    pub prompts: HashSet<String>,
}

impl Guests {
    /// Everything of a file, and these behind it, in their order; or what a view has of that.
    pub(super) fn join(
        &self,
        manifest: &Manifest,
        means: &Means,
        view: Option<&View>,
    ) -> ServerBuilder {
        let own = Owned::of(manifest, means);
        let mut builder = offer::builder(&manifest.meant, means, view);
        if let Some(meta) = &self.list_meta {
            builder = builder.list_meta(meta.clone());
        }
        let tools = self.chosen(
            view,
            What::Tool,
            |guest| &guest.tools,
            |tool| Some(tool.name()).filter(|name| !own.tools.contains(*name)),
        );
        let tailor = view.filter(|view| !view.tools().is_empty()).zip(self.tailor.as_ref());
        let mut tailored =
            tailor.map(|(view, tailor)| tailor(view, &own, self)).unwrap_or_default();
        let as_here = |tool: Tool| tailored.remove(tool.name()).unwrap_or(Some(tool));
        builder = builder.tools(tools.into_iter().filter_map(as_here));
        builder = self.resources(&own, view).into_iter().fold(builder, ServerBuilder::resource);
        let templates = self.templates(&own, view);
        builder = templates.into_iter().fold(builder, ServerBuilder::resource_template);
        let prompts = self.chosen(
            view,
            What::Prompt,
            |guest| &guest.prompts,
            |prompt| Some(prompt.name()).filter(|name| !own.prompts.contains(*name)),
        );
        let builder = prompts.into_iter().fold(builder, ServerBuilder::prompt);
        let is_of = |guest: &&Guest| view.is_none_or(|view| view.has_of(&guest.upstream));
        let away = self.of.iter().filter(is_of);
        builder.missing(away.flat_map(|guest| guest.missing_in(view)))
    }

    /// The resources of a file and their families, and these behind them.
    pub(super) fn join_readable(
        &self,
        manifest: &Manifest,
        means: &Means,
        view: Option<&View>,
    ) -> (Vec<Resource>, Vec<ResourceTemplate>) {
        let own = Owned::of(manifest, means);
        let (mut resources, mut templates) = offer::readable(&manifest.meant, means, view);
        resources.extend(self.resources(&own, view));
        templates.extend(self.templates(&own, view));
        (resources, templates)
    }

    fn resources(&self, own: &Owned, view: Option<&View>) -> Vec<Resource> {
        self.chosen(
            view,
            What::Resource,
            |guest| &guest.resources,
            |one| Some(one.uri()).filter(|uri| !own.resources.contains(*uri)),
        )
    }

    fn templates(&self, own: &Owned, view: Option<&View>) -> Vec<ResourceTemplate> {
        let chosen = self.chosen(
            view,
            What::Resource,
            |guest| &guest.templates,
            |one| Some(one.uri_template()).filter(|template| !own.templates.contains(*template)),
        );
        match view {
            Some(view) => chosen.into_iter().map(|one| offer::within(view, one)).collect(),
            None => chosen,
        }
    }

    /// Those of a kind that a view has; `name` is that of a thing, if it is free.
    fn chosen<T: Clone>(
        &self,
        view: Option<&View>,
        what: What,
        of: impl Fn(&Guest) -> &Vec<T>,
        name: impl Fn(&T) -> Option<&str>,
    ) -> Vec<T> {
        let mut chosen = Vec::new();
        for guest in &self.of {
            let has =
                |name: &str| view.is_none_or(|view| view.has(Some(&guest.upstream), what, name));
            chosen.extend(of(guest).iter().filter(|one| name(one).is_some_and(has)).cloned());
        }
        chosen
    }
}

impl Guest {
    /// Names that it may have while it is away, those that a view gives its tools included.
    fn missing_in(&self, view: Option<&View>) -> Vec<Missing> {
        let rules = view.into_iter().flat_map(|view| view.tools().iter());
        let named = rules.filter_map(|(pattern, rule)| {
            let may_be = |one: &&Missing| one.is_of(pattern.as_str());
            Some(self.missing.iter().find(may_be)?.of(rule.name.clone()?))
        });
        self.missing.iter().cloned().chain(named).collect()
    }
}

impl Owned {
    fn of(manifest: &Manifest, means: &Means) -> Self {
        let meant = &manifest.meant;
        let (resources, templates) = offer::readable(meant, means, None);
        let mut tools: HashSet<String> =
            meant.tools.iter().map(|tool| tool.name.value.clone()).collect();
        tools.extend(meant.told_names());
        let mut searches = meant.views.iter().map(|view| view.search).chain([meant.server.search]);
        if searches.any(|search| search.is_some()) {
            tools.extend([FIND, CALL].map(str::to_owned));
        }
        Self {
            tools,
            resources: resources.iter().map(|one| one.uri().to_owned()).collect(),
            templates: templates.iter().map(|one| one.uri_template().to_owned()).collect(),
            prompts: meant.prompts.iter().map(|prompt| prompt.name.value.clone()).collect(),
        }
    }
}

impl Live {
    /// What the file has itself, as it is served now.
    #[must_use]
    pub fn owned(&self) -> Owned {
        Owned::of(&self.manifest(), &self.means)
    }

    /// Serves these beside what the file has, in place of those before. Clients are told of the
    /// lists that differ; requests in flight finish on what they began with.
    ///
    /// # Errors
    /// [`BuildError`]: two have one name, or a schema is none. Then nothing has changed.
    pub fn set_guests(&self, guests: Guests) -> Result<(), BuildError> {
        let guests = Arc::new(guests);
        let _swapping = lock(&self.swapping);
        let (manifest, means) = {
            let now = lock(&self.now);
            let store = now.store.as_ref().map(|(_, store)| store.clone());
            let standings = Arc::clone(&now.standings);
            (Arc::clone(&now.manifest), Means { store, standings, ..self.means.clone() })
        };
        self.server.replace(guests.join(&manifest, &means, None))?;
        let views = self.show(&manifest, &means, &guests)?;
        let mut now = lock(&self.now);
        (now.guests, now.views) = (guests, views);
        Ok(())
    }
}
