//! How what a server offers is swapped for something else while it runs: one part, or all of it at
//! once. Called by whoever holds the server; requests in flight finish on what they began with.

use crate::builder::{BuildError, Growth, ServerBuilder};
use crate::changes::Change;
use crate::dispatch::{Server, offers};
use crate::face::Face;
use crate::kinds::Kinds;
use crate::registry::{self, Snapshot};
use crate::resource::{Resource, ResourceTemplate};
use crate::sealed::KeysFrom;
use std::sync::{Arc, PoisonError};

impl Server {
    /// Becomes what `builder` describes, all at once: who the server is, its instructions and
    /// caching, and all tools, resources and prompts. Requests in flight finish on the old ones; no
    /// connection, session or subscription ends. Clients are told of the lists that differ and of
    /// no others. What of a tool is compiled stays if its schemas are the same.
    ///
    /// Limits, middleware, shared values, the task store and what clients were told of growth stay
    /// as they were. Keys for state are taken over; without any, those of the builder before are
    /// good for nothing any more, and those of [`Server::set_state_keys`] stay. What clients were
    /// told that there is stays too: the last prompt leaves an empty list, not an unknown method.
    /// Of a kind that is new, a client of the legacy era that began before is not told.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn replace(&self, builder: ServerBuilder) -> Result<(), BuildError> {
        let core = &self.core;
        let ServerBuilder { info, instructions, caching, parts, is_strict, state_keys, .. } =
            builder;
        let list_meta = builder.list_meta;
        let before = core.snapshot.load_full();
        let needs = (&core.limits, &core.states);
        let face = |kinds: Kinds, told: &Face| {
            let offers = offers(kinds, core.growth).or(&told.offers);
            Face::new(info.clone(), instructions.as_deref(), caching, offers, is_strict)
                .with_list_meta(list_meta.clone())
        };
        let mut next =
            Snapshot::new(parts, needs, Some(&before), |kinds| face(kinds, &before.face))?;
        core.sealer.set_keys(&state_keys, KeysFrom::Builder);
        let (now, gone) = {
            let _changing = core.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let told = Arc::clone(&core.snapshot.load().face);
            if !Arc::ptr_eq(&told, &before.face) {
                // Somebody else has replaced it meanwhile.
                next.face = Arc::new(face(next.kinds(), &told));
            }
            let now = Arc::new(next);
            (Arc::clone(&now), core.snapshot.swap(now))
        };
        let is_other = !now.face.lists_as(&gone.face);
        let differ = [
            (Change::Tools, is_other || !now.listed_tools().lists_as(gone.listed_tools())),
            (Change::Prompts, is_other || !now.prompts.lists_as(&gone.prompts)),
            (Change::Resources, is_other || !lists_same_resources(&now, &gone)),
        ];
        for (what, differs) in differ {
            if differs {
                core.changes.publish(what);
            }
        }
        Ok(())
    }

    /// Swaps all resources and families of resources for others. Clients are told if the lists
    /// differ.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn replace_resources(
        &self,
        resources: Vec<Resource>,
        templates: Vec<ResourceTemplate>,
    ) -> Result<(), BuildError> {
        let (resources, templates) = registry::readable(resources, templates, &self.core.states)?;
        let (resources, templates) = (Arc::new(resources), Arc::new(templates));
        let act = |now: &mut Snapshot| {
            let is_same = resources.lists_as(&now.resources) && templates.lists_as(&now.templates);
            (now.resources, now.templates) = (resources, templates);
            Some(if is_same { None } else { Some(Change::Resources) })
        };
        self.change(act).map(|_| ())
    }

    /// Whether `act` has changed something; it says what clients are told. What it drops may hold
    /// handlers whose end calls the server: that is left for when the lock is open again.
    pub(crate) fn change(
        &self,
        act: impl FnOnce(&mut Snapshot) -> Option<Option<Change>>,
    ) -> Result<bool, BuildError> {
        let core = &self.core;
        let (changed, gone) = {
            let _changing = core.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let before = core.snapshot.load();
            let mut next = Snapshot::clone(&before);
            let changed = act(&mut next);
            if !Arc::ptr_eq(&before.tools, &next.tools) {
                next.search_again()?;
            }
            match (changed, lacking(&next)) {
                (None, _) => (Ok(None), Arc::new(next)),
                (_, Some(kind)) => (Err(BuildError::NotOffered { kind }), Arc::new(next)),
                (Some(what), None) => (Ok(Some(what)), core.snapshot.swap(Arc::new(next))),
            }
        };
        if let Ok(Some(Some(what))) = &changed {
            core.changes.publish(what.clone());
        }
        drop(gone);
        changed.map(|what| what.is_some())
    }
}

fn lists_same_resources(one: &Snapshot, other: &Snapshot) -> bool {
    one.resources.lists_as(&other.resources) && one.templates.lists_as(&other.templates)
}

/// What a snapshot has that clients were not told of.
fn lacking(snapshot: &Snapshot) -> Option<&'static str> {
    let needed = offers(snapshot.kinds(), Growth::Fixed);
    let offered = &snapshot.face.offers;
    let kinds = [
        ("resources", needed.resources, offered.resources),
        ("prompts", needed.prompts, offered.prompts),
        ("completions", needed.completions, offered.completions),
        ("tasks", needed.tasks, offered.tasks),
        ("user interfaces", needed.ui, offered.ui),
    ];
    let lacks = |(_, is_needed, is_offered): &(_, bool, bool)| *is_needed && !is_offered;
    kinds.into_iter().find(lacks).map(|(kind, ..)| kind)
}
