//! What several schemas say of one value together: members that only servers send, wherever that is
//! said, and an object that is closed although another schema names further members. Used by
//! `convert` and by those who look into a body.

use crate::openapi::schema::{Gathered, Schemas};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// How deep schemas of schemas are looked into for what is said of a member.
const LOOKS_MAX: usize = 4;

/// What stands beside a schema that is one of several for the same value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside<'d> {
    /// Members that nobody sends.
    pub(super) unseen: HashSet<&'d str>,
    /// Members that others name.
    pub(super) names: Vec<&'d str>,
    /// There may be more of them.
    pub(super) is_open: bool,
}

impl<'d> Beside<'d> {
    /// Whether a schema means something else here than elsewhere.
    pub(super) fn changes(&self, gathered: &Gathered<'d>) -> bool {
        gathered.required().iter().any(|name| self.unseen.contains(name))
            || gathered.says("additionalProperties", false) && !self.is_covered(gathered)
    }

    /// Whether a schema names all members that the others name.
    pub(super) fn is_covered(&self, gathered: &Gathered<'d>) -> bool {
        let own: HashSet<_> = gathered.properties().iter().map(|(name, _)| *name).collect();
        !self.is_open && self.names.iter().all(|name| own.contains(name))
    }
}

impl<'d> Schemas<'d> {
    /// Whether a member with this schema is not sent: it says so itself, or what it refers to, a
    /// part of it or all of its choices do.
    pub(crate) fn is_unseen(&self, schema: &'d Value) -> bool {
        self.is_unseen_within(schema, LOOKS_MAX)
    }

    fn is_unseen_within(&self, schema: &'d Value, looks: usize) -> bool {
        let keyword = if self.is_sent { "readOnly" } else { "writeOnly" };
        let Value::Object(members) = schema else { return false };
        if members.get(keyword) == Some(&Value::Bool(true)) {
            return true;
        }
        if looks == 0 || !is_combined(members) {
            return false;
        }
        let Ok(Some(all)) = self.gather(schema) else { return false };
        let all_unseen = |choices: &Vec<Value>| {
            !choices.is_empty() && choices.iter().all(|one| self.is_unseen_within(one, looks - 1))
        };
        all.says(keyword, true)
            || ["oneOf", "anyOf"]
                .iter()
                .any(|keyword| all.choices(keyword).into_iter().any(all_unseen))
    }

    /// The members of a value that nobody sends, those of its choices included.
    pub(crate) fn unseen(&self, gathered: &Gathered<'d>) -> HashSet<&'d str> {
        let of = |gathered: &Gathered<'d>| {
            let members = gathered.properties().into_iter();
            members.filter(|(_, schema)| self.is_unseen(schema)).map(|(name, _)| name).collect()
        };
        let mut found: HashSet<&'d str> = of(gathered);
        if !gathered.required().is_empty() {
            for choice in all_choices(gathered) {
                let Ok(Some(choice)) = self.gather(choice) else { continue };
                found.extend(of(&choice));
            }
        }
        found
    }

    /// What is said to each choice of a value of what stands beside it.
    pub(super) fn beside(
        &self,
        gathered: &Gathered<'d>,
        unseen: HashSet<&'d str>,
        above: Option<Beside<'d>>,
    ) -> Beside<'d> {
        let mut beside = above.unwrap_or_default();
        let names = gathered.properties().into_iter().map(|(name, _)| name);
        beside.names.extend(names.filter(|name| !unseen.contains(name)));
        beside.unseen.extend(unseen);
        let groups = gathered.choices("anyOf").len() + gathered.choices("oneOf").len();
        beside.is_open |= groups > 1;
        beside
    }

    /// Whether some choice of a value names members that it does not name itself.
    pub(super) fn has_further(&self, gathered: &Gathered<'d>) -> bool {
        let own: HashSet<_> = gathered.properties().iter().map(|(name, _)| *name).collect();
        self.has_further_within(gathered, &own, LOOKS_MAX)
    }

    fn has_further_within(
        &self,
        gathered: &Gathered<'d>,
        own: &HashSet<&'d str>,
        looks: usize,
    ) -> bool {
        all_choices(gathered).any(|choice| match self.gather(choice) {
            Ok(Some(choice)) => {
                looks == 0
                    || choice.properties().iter().any(|(name, _)| !own.contains(name))
                    || self.has_further_within(&choice, own, looks - 1)
            }
            _ => true,
        })
    }
}

fn is_combined(members: &Map<String, Value>) -> bool {
    ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| members.contains_key(*keyword))
}

fn all_choices<'d>(gathered: &Gathered<'d>) -> impl Iterator<Item = &'d Value> {
    let (any, one) = (gathered.choices("anyOf"), gathered.choices("oneOf"));
    any.into_iter().chain(one).flatten()
}
