//! What is wrong with the members of an object: missing ones, unknown ones, too many of them.

use super::{Ended, Explainer};
use crate::schema::outline::{Id, Keyword, Properties};
use crate::schema::place::Place;
use crate::schema::wording::{shorten, unknown};
use serde_json::{Map, Value};
use std::collections::HashSet;

impl<'a> Explainer<'a> {
    pub(super) fn object(
        &mut self,
        id: Id,
        keyword: &'a Keyword,
        members: &Map<String, Value>,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        match keyword {
            Keyword::Properties(all) => self.members(all, members, place),
            Keyword::Required(names) => {
                let missing = names.iter().filter(|name| !members.contains_key(&***name));
                for name in missing {
                    let expected = self.property(id, name).and_then(|id| self.expected(id));
                    let expected = expected.unwrap_or_else(|| "given".to_owned());
                    let place = &Place::Key(place, name);
                    self.say(place, || format!("is missing; it must be {expected}"))?;
                }
                self.spend(names.len())
            }
            Keyword::DependentRequired(all) => {
                for (name, needed) in all.iter().filter(|(name, _)| members.contains_key(&**name)) {
                    self.spend(needed.len())?;
                    for missing in needed.iter().filter(|name| !members.contains_key(&***name)) {
                        let place = &Place::Key(place, missing);
                        self.say(place, || {
                            format!("is missing; it belongs to `{}`", shorten(name))
                        })?;
                    }
                }
                Ok(())
            }
            Keyword::DependentSchemas(all) => all
                .iter()
                .filter(|(name, _)| members.contains_key(&**name))
                .try_for_each(|(_, id)| self.visit(*id, value, place)),
            Keyword::PropertiesCount(bounds) => {
                let count = members.len() as u64;
                match bounds.broken_by(count) {
                    Some(expected) => {
                        self.say(place, || format!("must have {expected} properties, not {count}"))
                    }
                    None => Ok(()),
                }
            }
            Keyword::PropertyNames(names) => {
                for key in members.keys() {
                    if !self.fits(*names, &Value::String(key.clone()))? {
                        let place = &Place::Key(place, key);
                        self.say(place, || "is no allowed name of a property".to_owned())?;
                    }
                }
                Ok(())
            }
            Keyword::UnevaluatedProperties(others) => {
                self.unevaluated(id, *others, members, value, place)
            }
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        all: &'a Properties,
        members: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        for (key, value) in members {
            self.spend(all.patterns.len() + 1)?;
            let mut ids = Vec::new();
            all.apply(key, |id| ids.push(id));
            let place = &Place::Key(place, key);
            for id in ids {
                if self.outline.is_nothing(id) && all.others == Some(id) {
                    self.say_unknown(key, all.named.iter().map(|(name, _)| &**name), place)?;
                } else {
                    self.visit(id, value, place)?;
                }
            }
        }
        Ok(())
    }

    fn say_unknown<'n>(
        &mut self,
        key: &str,
        known: impl ExactSizeIterator<Item = &'n str> + Clone,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        self.say(place, || unknown(key, known))
    }

    /// The subschema of a property, if it stands beside `required`.
    fn property(&self, id: Id, name: &str) -> Option<Id> {
        self.outline.keywords(id).iter().find_map(|keyword| match keyword {
            Keyword::Properties(all) => all.find(name),
            _ => None,
        })
    }

    fn unevaluated(
        &mut self,
        id: Id,
        others: Id,
        members: &Map<String, Value>,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        let mut seen = Evaluated::default();
        self.evaluate(id, members, value, &mut seen)?;
        if seen.are_all {
            return Ok(());
        }
        for (key, value) in members.iter().filter(|(key, _)| !seen.keys.contains(&***key)) {
            let place = &Place::Key(place, key);
            if self.outline.is_nothing(others) {
                self.say_unknown(key, seen.known.iter().copied(), place)?;
            } else {
                self.visit(others, value, place)?;
            }
        }
        Ok(())
    }

    /// Finds the members that a subschema has an opinion on, itself or by others in its place.
    fn evaluate<'m>(
        &mut self,
        id: Id,
        members: &'m Map<String, Value>,
        value: &Value,
        seen: &mut Evaluated<'a, 'm>,
    ) -> Result<(), Ended> {
        self.spend(1)?;
        for keyword in self.outline.keywords(id) {
            match keyword {
                Keyword::Properties(all) => {
                    seen.known.extend(all.named.iter().map(|(name, _)| &**name));
                    for key in members.keys() {
                        self.spend(all.patterns.len() + 1)?;
                        all.apply(key, |_| _ = seen.keys.insert(key));
                    }
                }
                Keyword::AllOf(ids) => {
                    for id in ids {
                        self.evaluate(*id, members, value, seen)?;
                    }
                }
                Keyword::AnyOf(ids) | Keyword::OneOf(ids) => {
                    for id in ids {
                        if self.fits(*id, value)? {
                            self.evaluate(*id, members, value, seen)?;
                        }
                    }
                }
                // What these see is left to the check.
                Keyword::If { .. } | Keyword::DependentSchemas(_) | Keyword::Unknown(_) => {
                    seen.are_all = true;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What `unevaluatedProperties` does not apply to.
#[derive(Default)]
struct Evaluated<'a, 'm> {
    keys: HashSet<&'m str>,
    /// Names that the schema has, for hints.
    known: Vec<&'a str>,
    /// Nobody knows better.
    are_all: bool,
}
