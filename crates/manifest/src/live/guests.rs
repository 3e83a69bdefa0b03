//! What comes from elsewhere and is served beside what the file has: what upstreams have. Set by
//! whoever finds it, kept when the file is read anew.

use super::{Live, lock};
use crate::load::Manifest;
use crate::offer::{self, Means};
use haft_server::{BuildError, Missing, Prompt, Resource, ResourceTemplate, ServerBuilder, Tool};
use std::collections::HashSet;
use std::sync::Arc;

/// See above. Of two things with one name the file's is served.
#[derive(Clone, Default)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Guests {
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
    /// Everything of a file, and these behind it, in their order.
    pub(super) fn join(&self, manifest: &Manifest, means: &Means) -> ServerBuilder {
        let own = Owned::of(manifest, means);
        let mut builder = offer::builder(&manifest.meant, means);
        let tools = self.tools.iter().filter(|one| !own.tools.contains(one.name()));
        builder = builder.tools(tools.cloned());
        builder = self.resources(&own).fold(builder, ServerBuilder::resource);
        builder = self.templates(&own).fold(builder, ServerBuilder::resource_template);
        let prompts = self.prompts.iter().filter(|one| !own.prompts.contains(one.name()));
        let builder = prompts.cloned().fold(builder, ServerBuilder::prompt);
        builder.missing(self.missing.iter().cloned())
    }

    /// The resources of a file and their families, and these behind them.
    pub(super) fn join_readable(
        &self,
        manifest: &Manifest,
        means: &Means,
    ) -> (Vec<Resource>, Vec<ResourceTemplate>) {
        let own = Owned::of(manifest, means);
        let (mut resources, mut templates) = offer::readable(&manifest.meant, means);
        resources.extend(self.resources(&own));
        templates.extend(self.templates(&own));
        (resources, templates)
    }

    fn resources(&self, own: &Owned) -> impl Iterator<Item = Resource> {
        self.resources.iter().filter(|one| !own.resources.contains(one.uri())).cloned()
    }

    fn templates(&self, own: &Owned) -> impl Iterator<Item = ResourceTemplate> {
        let templates = self.templates.iter();
        templates.filter(|one| !own.templates.contains(one.uri_template())).cloned()
    }
}

impl Owned {
    fn of(manifest: &Manifest, means: &Means) -> Self {
        let meant = &manifest.meant;
        let (resources, templates) = offer::readable(meant, means);
        Self {
            tools: meant.tools.iter().map(|tool| tool.name.value.clone()).collect(),
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
        self.server.replace(guests.join(&manifest, &means))?;
        lock(&self.now).guests = guests;
        Ok(())
    }
}
