//! What all upstreams have, under names of this server: prefixed, short enough for every client,
//! and the same whatever other upstreams there are and whether they are there. Resources keep their
//! addresses. What cannot be served is left out alone, with the reason. Put together by `gateway`
//! when an upstream has something else than before; of others, what was made stays.

use crate::altered::altered;
use crate::made::{Made, Thing};
use crate::ownership::{Families, Prefixes};
use crate::told::{LeftOuts, Line, Told, Whose};
use crate::upstream::Upstream;
use haft_manifest::{Guest, Guests, Owned, Rules};
use haft_server::{Missing, Prompt, Resource, ResourceTemplate, Tool};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// What one upstream has, as it says it: names or addresses, and definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Listed>,
    /// Calls may become tasks.
    pub(crate) has_tasks: bool,
    /// It is of this gateway itself.
    pub(crate) is_own: bool,
    /// How many things have been here before, and are not served again.
    pub(crate) returned: usize,
    /// What cannot be used of its lists, and lists that cannot be had: what each is, its name, and
    /// why.
    pub(crate) dropped: Vec<(&'static str, String, String)>,
    /// A list could not be had.
    pub(crate) is_partial: bool,
    /// How long all lists stay as they are, if somebody says so.
    pub(crate) ttl: Option<Duration>,
    pub(crate) resources: Vec<Listed>,
    pub(crate) templates: Vec<Listed>,
    pub(crate) prompts: Vec<Listed>,
}

pub(crate) type Listed = (String, Box<RawValue>);

/// What was made of what upstreams have, by their names, also of those that are down: their names
/// stay theirs.
#[derive(Default)]
pub(crate) struct Catalogue(HashMap<String, Known>);

/// What an upstream had when it last said it.
struct Known {
    upstream: Arc<Upstream>,
    rules: Arc<Rules>,
    offer: Arc<Offer>,
    made: Made,
}

/// An upstream of the file, as it is now.
pub(crate) struct Now {
    pub(crate) name: String,
    /// What names of its tools and prompts begin with.
    pub(crate) prefix: String,
    pub(crate) rules: Arc<Rules>,
    pub(crate) there: Result<(Arc<Upstream>, Arc<Offer>), Missing>,
}

impl Offer {
    /// Whether the other says the same, to the letter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = |one: &[Listed], other: &[Listed]| {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(a, b)| a.0 == b.0 && a.1.get() == b.1.get())
        };
        self.dropped == other.dropped
            && self.returned == other.returned
            && is_same(&self.tools, &other.tools)
            && is_same(&self.resources, &other.resources)
            && is_same(&self.templates, &other.templates)
            && is_same(&self.prompts, &other.prompts)
    }
}

impl Catalogue {
    /// Puts together what there is, in the order of the file. Of two things with one name the first
    /// is served, and `own` is what the file has itself.
    pub(crate) fn gather(&mut self, all: Vec<Now>, own: &Owned) -> (Guests, Told) {
        let names: HashSet<&str> = all.iter().map(|now| now.name.as_str()).collect();
        self.0.retain(|name, _| names.contains(name.as_str()));
        let prefixes: Vec<(&str, Arc<str>)> =
            all.iter().map(|now| (now.prefix.as_str(), now.name.as_str().into())).collect();
        let prefixes = Prefixes::new(&prefixes);
        let mut gathering = Gathering {
            guests: Guests::default(),
            told: Told::default(),
            tools: Names::new("tool", &own.tools, prefixes.clone()),
            resources: Names::new("resource", &own.resources, Prefixes::default()),
            templates: Names::new("resource template", &own.templates, Prefixes::default()),
            prompts: Names::new("prompt", &own.prompts, prefixes),
            families: Families::new(&own.templates),
        };
        for Now { name, rules, .. } in &all {
            let named = rules.tools.iter().filter_map(|(_, rule)| rule.name.as_deref());
            named.for_each(|given| gathering.tools.give(given, &name.as_str().into()));
        }
        for Now { name, rules, there, .. } in all {
            let of: Arc<str> = name.as_str().into();
            match there {
                Ok((upstream, offer)) => {
                    let before =
                        self.0.get(&name).filter(|known| !Arc::ptr_eq(&known.offer, &offer));
                    let altered = before.map(|known| altered(&name, &known.offer, &offer));
                    gathering.told.altered.extend(altered.unwrap_or_default());
                    self.make(&name, upstream, rules, offer);
                    gathering.take(&of, &self.0[&name].made);
                }
                Err(missing) => {
                    if let Some(known) = self.0.get(&name) {
                        gathering.reserve(&of, &known.made);
                    }
                    // Names that the file gives have no prefix.
                    let named = rules.tools.iter().filter_map(|(_, rule)| rule.name.as_deref());
                    let mut missing = vec![missing];
                    missing.extend(named.map(|name| missing[0].of(name)).collect::<Vec<_>>());
                    gathering.guests.of.push(Guest { upstream: name, missing, ..Guest::default() });
                }
            }
        }
        (gathering.guests, gathering.told)
    }

    /// Makes what is not made yet.
    fn make(&mut self, name: &str, upstream: Arc<Upstream>, rules: Arc<Rules>, offer: Arc<Offer>) {
        let is_made = self.0.get(name).is_some_and(|known| {
            Arc::ptr_eq(&known.upstream, &upstream)
                && Arc::ptr_eq(&known.offer, &offer)
                && known.rules == rules
        });
        if !is_made {
            let made = Made::new(&upstream, &rules, &offer);
            self.0.insert(name.to_owned(), Known { upstream, rules, offer, made });
        }
    }
}

struct Gathering {
    guests: Guests,
    told: Told,
    tools: Names,
    resources: Names,
    templates: Names,
    prompts: Names,
    /// Of those before.
    families: Families,
}

/// Whose each name of one kind is.
struct Names {
    kind: &'static str,
    owners: HashMap<String, Owner>,
    prefixes: Prefixes,
}

#[derive(Clone)]
enum Owner {
    File,
    Upstream(Arc<str>),
    /// One of whose tools the file calls so.
    Given(Arc<str>),
    /// One that is not there now.
    Away(Arc<str>),
}

impl Names {
    fn new(kind: &'static str, own: &HashSet<String>, prefixes: Prefixes) -> Self {
        let owners = own.iter().map(|name| (name.clone(), Owner::File)).collect();
        Self { kind, owners, prefixes }
    }

    /// Takes a name for an upstream.
    fn take(&mut self, name: &str, upstream: &Arc<str>) -> Result<(), String> {
        // What the file calls so is its upstream's, however it begins.
        let is_given =
            matches!(self.owners.get(name), Some(Owner::Given(owner)) if owner == upstream);
        if !is_given && let Some((prefix, owner)) = self.prefixes.other(name, upstream) {
            let whose = format!("names that begin with `{prefix}` are those of `{owner}`");
            return Err(format!("`{name}` is none that it can have: {whose}; set `prefix`"));
        }
        let owner = match self.owners.get(name) {
            Some(Owner::Given(owner)) if owner != upstream => {
                format!("the upstream `{owner}`, as the file calls it")
            }
            None | Some(Owner::Given(_)) => {
                self.owners.insert(name.to_owned(), Owner::Upstream(Arc::clone(upstream)));
                return Ok(());
            }
            Some(Owner::File) => "this server's file".to_owned(),
            Some(Owner::Upstream(owner)) => format!("the upstream `{owner}`"),
            Some(Owner::Away(owner)) => format!("the upstream `{owner}`, which is away"),
        };
        let help = if self.kind.starts_with("resource") { "" } else { "; set `prefix`" };
        Err(format!("`{name}` is the name of a {} of {owner}{help}", self.kind))
    }

    /// Keeps a name for an upstream whose file gives it, before any that upstreams say.
    fn give(&mut self, name: &str, upstream: &Arc<str>) {
        let owner = || Owner::Given(Arc::clone(upstream));
        self.owners.entry(name.to_owned()).or_insert_with(owner);
    }

    /// Keeps names for an upstream that is not there now.
    fn reserve<T>(&mut self, things: &[Thing<T>], name: impl Fn(&T) -> &str, upstream: &Arc<str>) {
        for thing in things.iter().filter_map(|thing| thing.made.as_ref().ok()) {
            // It could not have it if it were there.
            if self.prefixes.other(name(thing), upstream).is_some() {
                continue;
            }
            let owner = || Owner::Away(Arc::clone(upstream));
            self.owners.entry(name(thing).to_owned()).or_insert_with(owner);
        }
    }
}

/// What says whether a name is free, and takes it then.
trait Free {
    fn kind(&self) -> &'static str;
    fn take(&mut self, name: &str, upstream: &Arc<str>) -> Result<(), String>;
}

impl Free for &mut Names {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn take(&mut self, name: &str, upstream: &Arc<str>) -> Result<(), String> {
        Names::take(self, name, upstream)
    }
}

/// Addresses of resources, which are not free where they are of a family of somebody before.
impl Free for (&mut Names, &Families) {
    fn kind(&self) -> &'static str {
        self.0.kind
    }

    fn take(&mut self, name: &str, upstream: &Arc<str>) -> Result<(), String> {
        self.1.check(name, upstream)?;
        Names::take(self.0, name, upstream)
    }
}

impl Gathering {
    fn take(&mut self, upstream: &Arc<str>, made: &Made) {
        let Self { told, tools, resources, templates, prompts, families, .. } = self;
        let [told_tools, told_resources, told_templates, told_prompts] = &mut told.served;
        let left_out = &mut told.left_out;
        for (kind, name, reason) in &made.dropped {
            left_out.push(kind, upstream, (name, reason));
        }
        let guest = Guest {
            upstream: String::from(&**upstream),
            tools: taken(&made.tools, Tool::name, (upstream, told_tools, left_out), tools),
            resources: taken(
                &made.resources,
                Resource::uri,
                (upstream, told_resources, left_out),
                (resources, &*families),
            ),
            templates: taken(
                &made.templates,
                ResourceTemplate::uri_template,
                (upstream, told_templates, left_out),
                templates,
            ),
            prompts: taken(
                &made.prompts,
                Prompt::name,
                (upstream, told_prompts, left_out),
                prompts,
            ),
            missing: Vec::new(),
        };
        families.add(upstream, guest.templates.iter().map(ResourceTemplate::uri_template));
        self.guests.of.push(guest);
        let whose = Whose::Upstream(Arc::clone(upstream));
        made.odd.iter().for_each(|what| told.odd.push(&whose, what));
    }

    fn reserve(&mut self, upstream: &Arc<str>, made: &Made) {
        self.tools.reserve(&made.tools, Tool::name, upstream);
        self.resources.reserve(&made.resources, Resource::uri, upstream);
        self.templates.reserve(&made.templates, ResourceTemplate::uri_template, upstream);
        self.prompts.reserve(&made.prompts, Prompt::name, upstream);
        let families = made.templates.iter().filter_map(|thing| thing.made.as_ref().ok());
        self.families.add(upstream, families.map(ResourceTemplate::uri_template));
    }
}

/// Those of an upstream whose names are free, and which are told of; others are left out.
fn taken<T: Clone>(
    things: &[Thing<T>],
    name: impl Fn(&T) -> &str,
    (upstream, told, left_out): (&Arc<str>, &mut Vec<Line>, &mut LeftOuts),
    names: impl Free,
) -> Vec<T> {
    let mut names = names;
    let mut taken = Vec::with_capacity(things.len());
    for Thing { there, made } in things {
        let made = made.as_ref().map_err(Clone::clone);
        let free = made.and_then(|made| names.take(name(made), upstream).map(|()| made));
        match free {
            Ok(made) => {
                let (upstream, there) = (Arc::clone(upstream), there.clone());
                told.push(Line { upstream, here: name(made).into(), there });
                taken.push(made.clone());
            }
            Err(reason) => left_out.push(names.kind(), upstream, (there, &reason)),
        }
    }
    taken
}
