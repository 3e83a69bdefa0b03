//! What is different between two readings of a file. Made by `live`, told by the command line.

use crate::meant::Meant;
use crate::upstream::Upstream;
use crate::view::View;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What an edit has changed of what is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Who the server is: its name, instructions, caching and the like.
    pub server: bool,
    /// The tools, by name.
    pub tools: Difference,
    /// The resources, by address.
    pub resources: Difference,
    /// The prompts, by name.
    pub prompts: Difference,
    /// The upstreams that speak MCP, by name. The tools of others are among the tools.
    pub upstreams: Difference,
    /// The views, by name. What they have of what is above is not told again.
    pub views: Difference,
    /// State is kept elsewhere, or otherwise, than the file says, until the server starts again.
    pub state: bool,
    /// What the file says of where to listen or where to keep state is not what it said.
    pub(super) places: bool,
    /// How long it took to read, check, compile and swap.
    pub took: Duration,
}

/// What has changed among things of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Those that were not there.
    pub added: Vec<String>,
    /// Those that are typed otherwise, or read something else.
    pub changed: Vec<String>,
    /// Those that are there no more.
    pub removed: Vec<String>,
    /// The order in which they are listed.
    pub order: bool,
}

impl Edit {
    pub(super) fn between(old: &Meant, new: &Meant) -> Self {
        let tools = |meant: &Meant| {
            let names = meant.tools.iter().map(|tool| tool.name.value.clone());
            names.zip(meant.prints.tools.iter().copied()).collect::<Vec<_>>()
        };
        let resources = |meant: &Meant| {
            let uris = meant.resources.iter().map(|resource| resource.typed_uri.clone());
            uris.zip(meant.prints.resources.iter().copied()).collect::<Vec<_>>()
        };
        let prompts = |meant: &Meant| {
            let names = meant.prompts.iter().map(|prompt| prompt.name.value.clone());
            names.zip(meant.prints.prompts.iter().copied()).collect::<Vec<_>>()
        };
        Self {
            server: old.prints.server != new.prints.server,
            tools: Difference::between(&tools(old), &tools(new)),
            resources: Difference::between(&resources(old), &resources(new)),
            prompts: Difference::between(&prompts(old), &prompts(new)),
            upstreams: Difference::between(&upstreams(old), &upstreams(new)),
            views: Difference::between(&views(old), &views(new)),
            state: false,
            places: old.listeners != new.listeners || !old.state.is_same(&new.state),
            took: Duration::ZERO,
        }
    }

    /// Whether nothing in the file is different but comments and where things stand.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { took: self.took, state: self.state, ..Self::default() }
    }
}

/// Those that speak MCP, which are compared as they are meant.
fn upstreams(meant: &Meant) -> Vec<(String, &Upstream)> {
    meant.upstreams.iter().map(|one| (one.name.clone(), one)).collect()
}

fn views(meant: &Meant) -> Vec<(String, &View)> {
    meant.views.iter().map(|one| (one.name.clone(), one)).collect()
}

impl Difference {
    fn between<P: PartialEq>(old: &[(String, P)], new: &[(String, P)]) -> Self {
        let known: BTreeMap<_, _> = old.iter().map(|(name, print)| (name, print)).collect();
        let kept: BTreeMap<_, _> = new.iter().map(|(name, print)| (name, print)).collect();
        let names = |list: &[(String, P)], wanted: &dyn Fn(&String, &P) -> bool| {
            let wanted = list.iter().filter(|(name, print)| wanted(name, print));
            wanted.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let both = |name: &String, _: &P| known.contains_key(name) && kept.contains_key(name);
        Self {
            added: names(new, &|name, _| !known.contains_key(name)),
            changed: names(new, &|name, print| known.get(name).is_some_and(|old| *old != print)),
            removed: names(old, &|name, _| !kept.contains_key(name)),
            order: names(old, &both) != names(new, &both),
        }
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The most names that are told of each kind; of others, how many they are.
const NAMES_TOLD: usize = 8;

/// `+ a, b; ~ c; - d`, for people.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("+", &self.added), ("~", &self.changed), ("-", &self.removed)];
        let mut said = false;
        for (sign, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
            let told = names[..names.len().min(NAMES_TOLD)].join(", ");
            write!(f, "{}{sign} {told}", if said { "; " } else { "" })?;
            match names.len() - names.len().min(NAMES_TOLD) {
                0 => {}
                more => write!(f, " and {more} more")?,
            }
            said = true;
        }
        match self.order && !said {
            true => f.write_str("in another order"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::live::Edit;
    use crate::load::parse;
    use std::path::Path;

    const FILE: &str = "server: { name: s }
tools:
  - { name: a, text: A }
  - { name: b, text: B }
prompts:
  - { name: p, text: P }
";

    fn edit(new: &str) -> Edit {
        let read = |text: &str| parse(Path::new("haft.yaml"), text).expect("it is right");
        Edit::between(&read(FILE).meant, &read(new).meant)
    }

    #[test]
    fn an_edit_says_what_is_different() {
        let moved = FILE.replace("tools:", "# What it can do.\n\ntools:");
        assert!(edit(&moved).is_empty());
        let new = "server: { name: s, title: S }
listen: [{ http: 7400 }]
tools:
  - { name: b, text: C }
  - { name: c, text: C }
";
        let edit = edit(new);
        assert_eq!(edit.tools.to_string(), "+ c; ~ b; - a");
        assert_eq!(edit.prompts.to_string(), "- p");
        assert!(edit.server && edit.places && edit.resources.is_empty());
    }

    #[test]
    fn another_order_is_an_edit() {
        let (a, b) = ("  - { name: a, text: A }\n", "  - { name: b, text: B }\n");
        let edit = edit(&FILE.replace(&format!("{a}{b}"), &format!("{b}{a}")));
        assert_eq!(edit.tools.to_string(), "in another order");
        assert!(!edit.is_empty());
    }
}
