//! What all upstreams have, under names of this server: prefixed, short enough for every client,
//! and the same whatever other upstreams there are and whether they are there. Resources keep their
//! addresses. What cannot be served is left out alone, with the reason. Put together by `gateway`
//! when an upstream has something else than before; of others, what was made stays.

use crate::circle::Gateways;
use crate::limits::LEFT_OUT_MAX;
use crate::made::{Made, Thing};
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
    /// The gateways that it came through.
    pub(crate) through: Gateways,
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
    pub(crate) rules: Arc<Rules>,
    pub(crate) there: Result<(Arc<Upstream>, Arc<Offer>), Missing>,
}

/// What is told of it all to whoever runs it.
#[derive(Clone, Default)]
pub(crate) struct Told {
    /// Tools, resources, templates and prompts.
    pub(crate) served: [Vec<Line>; 4],
    /// As many as are kept.
    pub(crate) left_out: Vec<LeftOut>,
    /// How many more there are.
    pub(crate) left_out_more: usize,
    pub(crate) odd: Vec<Odd>,
}

/// Something that is served.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) upstream: Arc<str>,
    pub(crate) here: Box<str>,
    pub(crate) there: Box<str>,
}

/// Something that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// "tool", say.
    pub(crate) kind: &'static str,
    pub(crate) upstream: Arc<str>,
    /// Its name there.
    pub(crate) name: Box<str>,
    pub(crate) reason: String,
}

/// A rule of the file that does nothing, or not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odd {
    pub(crate) whose: Whose,
    pub(crate) what: String,
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Upstream(Arc<str>),
    View(Arc<str>),
}

impl Offer {
    /// Whether the other says the same, to the letter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = |one: &[Listed], other: &[Listed]| {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(a, b)| a.0 == b.0 && a.1.get() == b.1.get())
        };
        self.dropped == other.dropped
            && self.through == other.through
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
        let mut gathering = Gathering {
            guests: Guests::default(),
            told: Told::default(),
            tools: Names::new("tool", &own.tools),
            resources: Names::new("resource", &own.resources),
            templates: Names::new("resource template", &own.templates),
            prompts: Names::new("prompt", &own.prompts),
        };
        for Now { name, rules, there } in all {
            let of: Arc<str> = name.as_str().into();
            match there {
                Ok((upstream, offer)) => {
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
        let Gathering { mut guests, told, tools, .. } = gathering;
        for (name, owner) in tools.reserved() {
            let guest = guests.of.iter_mut().find(|guest| guest.upstream == *owner);
            guest.expect("it is listed").reserved.push(name);
        }
        (guests, told)
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
}

/// Whose each name of one kind is.
struct Names {
    kind: &'static str,
    owners: HashMap<String, Owner>,
}

#[derive(Clone)]
enum Owner {
    File,
    Upstream(Arc<str>),
    /// One that is not there now.
    Away(Arc<str>),
}

impl Names {
    fn new(kind: &'static str, own: &HashSet<String>) -> Self {
        Self { kind, owners: own.iter().map(|name| (name.clone(), Owner::File)).collect() }
    }

    /// Takes a name for an upstream.
    fn take(&mut self, name: &str, upstream: &Arc<str>) -> Result<(), String> {
        let owner = match self.owners.get(name) {
            None => {
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

    /// Those that are kept, and for whom.
    fn reserved(self) -> impl Iterator<Item = (String, Arc<str>)> {
        self.owners.into_iter().filter_map(|(name, owner)| match owner {
            Owner::Away(upstream) => Some((name, upstream)),
            Owner::File | Owner::Upstream(_) => None,
        })
    }

    /// Keeps names for an upstream that is not there now.
    fn reserve<T>(&mut self, things: &[Thing<T>], name: impl Fn(&T) -> &str, upstream: &Arc<str>) {
        for thing in things.iter().filter_map(|thing| thing.made.as_ref().ok()) {
            let owner = || Owner::Away(Arc::clone(upstream));
            self.owners.entry(name(thing).to_owned()).or_insert_with(owner);
        }
    }
}

impl Gathering {
    fn take(&mut self, upstream: &Arc<str>, made: &Made) {
        let Self { told, tools, resources, templates, prompts, .. } = self;
        let [told_tools, told_resources, told_templates, told_prompts] = &mut told.served;
        let not = |(kind, name, reason): &(&'static str, Box<str>, String)| LeftOut {
            kind,
            upstream: Arc::clone(upstream),
            name: name.clone(),
            reason: reason.clone(),
        };
        let mut left_out: Vec<_> = made.dropped.iter().map(not).collect();
        let guest = Guest {
            upstream: String::from(&**upstream),
            tools: taken(tools, &made.tools, Tool::name, (upstream, told_tools, &mut left_out)),
            resources: taken(
                resources,
                &made.resources,
                Resource::uri,
                (upstream, told_resources, &mut left_out),
            ),
            templates: taken(
                templates,
                &made.templates,
                ResourceTemplate::uri_template,
                (upstream, told_templates, &mut left_out),
            ),
            prompts: taken(
                prompts,
                &made.prompts,
                Prompt::name,
                (upstream, told_prompts, &mut left_out),
            ),
            missing: Vec::new(),
            reserved: Vec::new(),
        };
        self.guests.of.push(guest);
        let room = LEFT_OUT_MAX - told.left_out.len();
        told.left_out_more += left_out.len().saturating_sub(room);
        told.left_out.extend(left_out.into_iter().take(room));
        let odd = made.odd.iter().map(|what| (Whose::Upstream(Arc::clone(upstream)), what.clone()));
        told.odd.extend(odd.map(|(whose, what)| Odd { whose, what }));
    }

    fn reserve(&mut self, upstream: &Arc<str>, made: &Made) {
        self.tools.reserve(&made.tools, Tool::name, upstream);
        self.resources.reserve(&made.resources, Resource::uri, upstream);
        self.templates.reserve(&made.templates, ResourceTemplate::uri_template, upstream);
        self.prompts.reserve(&made.prompts, Prompt::name, upstream);
    }
}

/// Those of an upstream whose names are free, and which are told of; others are left out.
fn taken<T: Clone>(
    names: &mut Names,
    things: &[Thing<T>],
    name: impl Fn(&T) -> &str,
    (upstream, told, left_out): (&Arc<str>, &mut Vec<Line>, &mut Vec<LeftOut>),
) -> Vec<T> {
    let mut taken = Vec::with_capacity(things.len());
    for Thing { there, made } in things {
        let (upstream, there) = (Arc::clone(upstream), there.clone());
        let made = made.as_ref().map_err(Clone::clone);
        let free = made.and_then(|made| names.take(name(made), &upstream).map(|()| made));
        match free {
            Ok(made) => {
                told.push(Line { upstream, here: name(made).into(), there });
                taken.push(made.clone());
            }
            Err(reason) => {
                left_out.push(LeftOut { kind: names.kind, upstream, name: there, reason });
            }
        }
    }
    taken
}

impl Told {
    /// A line for each thing that whoever runs it should know of.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let left_out = self.left_out.iter().map(|LeftOut { kind, upstream, name, reason }| {
            format!("the {kind} `{name}` of the upstream `{upstream}` is left out: {reason}")
        });
        let odd = self.odd.iter().map(|Odd { whose, what }| match whose {
            Whose::Upstream(name) => format!("the upstream `{name}`: {what}"),
            Whose::View(name) => format!("the view `{name}`: {what}"),
        });
        left_out.chain(odd)
    }
}
