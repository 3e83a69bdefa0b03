//! What to say of a value that none of several alternatives takes, or that takes one too many: if
//! one of them is clearly meant, what is wrong by that one.

use super::{Ended, Explainer};
use crate::schema::kind_set::Kinds;
use crate::schema::outline::{Id, Keyword};
use crate::schema::place::Place;
use crate::schema::wording::{any_of, shown};
use serde_json::{Map, Value};

/// How many alternatives are tried to find the nearest.
const TRIED_MAX: usize = 8;

/// How many references are followed to find out what is expected.
const HOPS_MAX: usize = 8;

impl<'a> Explainer<'a> {
    pub(super) fn any_of(
        &mut self,
        ids: &[Id],
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        for id in ids {
            if self.fits(*id, value)? {
                return Ok(());
            }
        }
        self.none_of(ids, value, place)
    }

    pub(super) fn one_of(
        &mut self,
        ids: &[Id],
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        let mut count = 0;
        for id in ids {
            count += usize::from(self.fits(*id, value)?);
        }
        match count {
            0 => self.none_of(ids, value, place),
            1 => Ok(()),
            count => self.say(place, || {
                format!("fits {count} of the {} forms it may have; make it fit just one", ids.len())
            }),
        }
    }

    pub(super) fn not(&mut self, id: Id, value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        // What is not outlined may be why it does not fit.
        let is_strange =
            |keyword: &Keyword| matches!(keyword, Keyword::UnevaluatedItems | Keyword::Unknown(_));
        if self.outline.keywords(id).iter().any(is_strange) || !self.fits(id, value)? {
            return Ok(());
        }
        let required = match self.outline.keywords(id) {
            [Keyword::Required(names)] => Some(names.join("` and `")),
            _ => None,
        };
        let refused = self.expected(id);
        self.say(place, || match (required, refused) {
            (Some(names), _) => format!("must not have `{names}`"),
            (None, Some(refused)) => format!("must not be {refused}"),
            (None, None) => "is of a form that is not allowed".to_owned(),
        })
    }

    /// No alternative fits.
    fn none_of(&mut self, ids: &[Id], value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        if self.is_quiet {
            return Err(Ended::Full);
        }
        let of_kind: Vec<Id> =
            ids.iter().copied().filter(|id| self.kinds(*id, 0).has_value(value)).collect();
        let is_scalar = !(value.is_object() || value.is_array());
        let is_one_of_kind = of_kind.len() == 1 && self.choice_of(of_kind[0]).is_none();
        if of_kind.is_empty() || is_scalar && !is_one_of_kind {
            return self.say_expected(ids, value, place);
        }
        let Value::Object(members) = value else {
            return self.say_nearest(&of_kind, value, place);
        };
        let mut tagged = Vec::new();
        for id in &of_kind {
            if self.has_its_tags(*id, members)? {
                tagged.push(*id);
            }
        }
        if tagged.is_empty()
            && let Some((name, values)) = self.common_tag(&of_kind)
        {
            let place = &Place::Key(place, name);
            return self.say(place, || match members.get(name) {
                Some(value) => format!("must be {}, not {}", any_of(&values), shown(value)),
                None => format!("is missing; it must be {}", any_of(&values)),
            });
        }
        let left = if tagged.is_empty() { of_kind } else { tagged };
        self.say_nearest(&left, value, place)
    }

    fn say_expected(&mut self, ids: &[Id], value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        let mut expected: Vec<String> = Vec::new();
        for id in ids.iter().take(TRIED_MAX) {
            if let Some(one) = self.expected(*id).filter(|one| !expected.contains(one)) {
                expected.push(one);
            }
        }
        self.say(place, || match &*expected {
            [] => format!("fits none of the {} forms it may have", ids.len()),
            expected => format!("must be {}, not {}", expected.join(" or "), shown(value)),
        })
    }

    /// Says what is wrong by the only alternative, or by the one with the least that is wrong.
    fn say_nearest(&mut self, ids: &[Id], value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        if let [only] = ids {
            return self.visit(*only, value, place);
        }
        let mut nearest = Vec::new();
        for id in ids.iter().take(TRIED_MAX) {
            let (found, room, depth) = (std::mem::take(&mut self.found), self.room, self.depth);
            self.room = 4;
            let outcome = self.visit(*id, value, place);
            let of_this = std::mem::replace(&mut self.found, found);
            self.room = room;
            self.depth = depth;
            if let Err(Ended::OutOfFuel) = outcome {
                return Err(Ended::OutOfFuel);
            }
            let is_nearer = nearest.is_empty() || of_this.len() < nearest.len();
            if is_nearer && !of_this.is_empty() {
                nearest = of_this;
            }
        }
        self.say(place, || {
            let told: Vec<_> = nearest.iter().take(2).map(ToString::to_string).collect();
            format!(
                "fits none of the {} forms it may have; the nearest one says: {}",
                ids.len(),
                told.join(", ")
            )
        })
    }

    /// Whether no member says that another alternative is meant.
    fn has_its_tags(&mut self, id: Id, members: &Map<String, Value>) -> Result<bool, Ended> {
        for (name, allowed) in self.tags(id) {
            self.spend(allowed.len() / 32 + 1)?;
            if members.get(name).is_some_and(|value| !allowed.contains(value)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The properties of which an alternative lists the values.
    fn tags(&self, id: Id) -> Vec<(&'a str, &'a [Value])> {
        let mut tags = Vec::new();
        self.each_in_place(id, 0, &mut |keyword| {
            let Keyword::Properties(all) = keyword else { return };
            for (name, id) in &all.named {
                for keyword in self.outline.keywords(*id) {
                    if let Keyword::Enum(allowed) = keyword {
                        tags.push((&**name, &**allowed));
                    }
                }
            }
        });
        tags
    }

    /// A property by which all these alternatives are told apart, and all its values.
    fn common_tag(&self, ids: &[Id]) -> Option<(&'a str, Vec<Value>)> {
        let (first, rest) = ids.split_first()?;
        let all: Vec<_> = rest.iter().map(|id| self.tags(*id)).collect();
        self.tags(*first).into_iter().find_map(|(name, values)| {
            let mut values = values.to_vec();
            for tags in &all {
                let (_, more) = tags.iter().find(|(other, _)| *other == name)?;
                values.extend(
                    more.iter()
                        .filter(|value| !values.contains(value))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
            Some((name, values))
        })
    }

    /// The types that a subschema allows.
    fn kinds(&self, id: Id, hops: usize) -> Kinds {
        let mut kinds = Kinds::ALL;
        for keyword in self.outline.keywords(id) {
            let of_keyword = match keyword {
                Keyword::Kinds(kinds) => *kinds,
                Keyword::Nothing => Kinds::NONE,
                Keyword::Enum(allowed) => {
                    allowed.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or)
                }
                Keyword::AllOf(ids) if hops < HOPS_MAX => {
                    ids.iter().map(|id| self.kinds(*id, hops + 1)).fold(Kinds::ALL, Kinds::and)
                }
                Keyword::AnyOf(ids) | Keyword::OneOf(ids) if hops < HOPS_MAX => {
                    ids.iter().map(|id| self.kinds(*id, hops + 1)).fold(Kinds::NONE, Kinds::or)
                }
                _ => Kinds::ALL,
            };
            kinds = kinds.and(of_keyword);
        }
        kinds
    }

    /// What a value must be, as far as a few words say it.
    pub(super) fn expected(&self, id: Id) -> Option<String> {
        self.choice_of(id).map(any_of).or_else(|| {
            let kinds = self.kinds(id, 0);
            (kinds != Kinds::ALL && kinds != Kinds::NONE).then(|| kinds.describe())
        })
    }

    /// The values that a subschema lists.
    fn choice_of(&self, id: Id) -> Option<&'a [Value]> {
        let mut choice = None;
        self.each_in_place(id, 0, &mut |keyword| {
            if let Keyword::Enum(allowed) = keyword {
                choice = Some(&**allowed);
            }
        });
        choice
    }

    /// The keywords of a subschema and of those that it refers to.
    fn each_in_place(&self, id: Id, hops: usize, each: &mut impl FnMut(&'a Keyword)) {
        for keyword in self.outline.keywords(id) {
            match keyword {
                Keyword::AllOf(ids) if hops < HOPS_MAX => {
                    ids.iter()
                        .take(TRIED_MAX)
                        .for_each(|id| self.each_in_place(*id, hops + 1, each));
                }
                keyword => each(keyword),
            }
        }
    }
}
