//! What a schema asks of one place of a value: the subschemas that all apply there, and the
//! alternatives of which some does. Made by repairs as they go through a value. It says too little
//! rather than too much: what it forbids is forbidden, what it allows need not fit.

use super::outline::{Id, Keyword, Outline};
use haft_proto::json::{JsonStr, Kind};
use serde_json::Value;

/// The subschemas for one place. Without any, everything is allowed.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    all: Vec<Id>,
    /// Of each of these, at least one.
    any: Vec<Vec<Self>>,
}

/// There is too much to look at.
#[derive(Debug)]
pub(super) struct OutOfFuel;

/// A value that is neither array nor object, or the kind of one that is.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) kind: Kind,
    /// Its JSON text; empty for an array or object, and for any string.
    pub(super) raw: &'a str,
}

impl Seen<'_> {
    /// Whether clients write this for a member that they leave out.
    pub(super) fn is_blank(self) -> bool {
        self.kind == Kind::Null || self.raw == "\"\""
    }
}

/// Looks things up in an outline, for so long.
pub(super) struct Viewer<'a> {
    outline: &'a Outline,
    fuel: usize,
}

impl View {
    pub(super) fn is_free(&self) -> bool {
        self.all.is_empty() && self.any.is_empty()
    }

    pub(super) fn has_alternatives(&self) -> bool {
        !self.any.is_empty()
    }

    /// This view and all those in the alternatives.
    fn branches(&self, each: &mut impl FnMut(Id)) {
        self.all.iter().copied().for_each(&mut *each);
        for view in self.any.iter().flatten() {
            view.branches(each);
        }
    }
}

impl<'a> Viewer<'a> {
    pub(super) fn new(outline: &'a Outline, fuel: usize) -> Self {
        Self { outline, fuel }
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), OutOfFuel> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(OutOfFuel)?;
        Ok(())
    }

    pub(super) fn root(&mut self) -> Result<View, OutOfFuel> {
        self.expand(vec![Outline::ROOT])
    }

    /// Follows what applies to the same value.
    fn expand(&mut self, mut waiting: Vec<Id>) -> Result<View, OutOfFuel> {
        let mut view = View::default();
        while let Some(id) = waiting.pop() {
            self.spend(1)?;
            if view.all.contains(&id) {
                continue;
            }
            let keywords = self.outline.keywords(id);
            if keywords.is_empty() {
                continue;
            }
            view.all.push(id);
            for keyword in keywords {
                match keyword {
                    Keyword::AllOf(ids) => waiting.extend(ids),
                    Keyword::AnyOf(ids) | Keyword::OneOf(ids) => {
                        let alternatives = ids
                            .iter()
                            .map(|id| self.expand(vec![*id]))
                            .collect::<Result<_, _>>()?;
                        add_any(&mut view, alternatives);
                    }
                    Keyword::If { then: Some(then), otherwise: Some(otherwise), .. } => {
                        let pair = vec![self.expand(vec![*then])?, self.expand(vec![*otherwise])?];
                        add_any(&mut view, pair);
                    }
                    _ => {}
                }
            }
        }
        Ok(view)
    }

    /// What holds under a key.
    pub(super) fn key(&mut self, view: &View, key: &str) -> Result<View, OutOfFuel> {
        self.step(view, &|keyword, found| match keyword {
            Keyword::Properties(all) => {
                all.apply(key, |id| found.push(id));
                all.patterns.len()
            }
            _ => 0,
        })
    }

    /// What holds for an item of an array.
    pub(super) fn item(&mut self, view: &View, index: u64) -> Result<View, OutOfFuel> {
        self.step(view, &|keyword, found| {
            if let Keyword::Items { first, rest } = keyword {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                found.extend(first.get(index).copied().or(*rest));
            }
            0
        })
    }

    /// Goes one step into the value. `apply` finds the subschemas and says what that cost.
    fn step(
        &mut self,
        view: &View,
        apply: &impl Fn(&Keyword, &mut Vec<Id>) -> usize,
    ) -> Result<View, OutOfFuel> {
        let mut found = Vec::new();
        for id in &view.all {
            for keyword in self.outline.keywords(*id) {
                let cost = apply(keyword, &mut found);
                self.spend(cost + 1)?;
            }
        }
        let mut below = self.expand(found)?;
        for alternatives in &view.any {
            let views = alternatives.iter().map(|view| self.step(view, apply));
            add_any(&mut below, views.collect::<Result<_, _>>()?);
        }
        Ok(below)
    }

    /// Whether all items from `index` on are looked at alike.
    pub(super) fn is_uniform_from(&self, view: &View, index: u64) -> bool {
        let mut is_uniform = true;
        view.branches(&mut |id| {
            for keyword in self.outline.keywords(id) {
                if let Keyword::Items { first, .. } = keyword {
                    is_uniform &= index >= first.len() as u64;
                }
            }
        });
        is_uniform
    }

    /// Whether `properties` names the key somewhere.
    pub(super) fn names(&self, view: &View, key: &str) -> bool {
        self.some(view, &|keyword| match keyword {
            Keyword::Properties(all) => all.find(key).is_some(),
            _ => false,
        })
    }

    /// Whether the key must be there, or may have to be.
    pub(super) fn requires(&self, view: &View, key: &str) -> bool {
        let has = |names: &[Box<str>]| names.iter().any(|name| **name == *key);
        self.some(view, &|keyword| match keyword {
            Keyword::Required(names) => has(names),
            Keyword::DependentRequired(all) => all.iter().any(|(_, names)| has(names)),
            _ => false,
        })
    }

    fn some(&self, view: &View, is_it: &impl Fn(&Keyword) -> bool) -> bool {
        let mut found = false;
        view.branches(&mut |id| found |= self.outline.keywords(id).iter().any(is_it));
        found
    }

    /// Whether the value may be there, as far as types and lists of values tell.
    pub(super) fn allows(&mut self, view: &View, seen: Seen<'_>) -> Result<bool, OutOfFuel> {
        for id in &view.all {
            self.spend(1)?;
            for keyword in self.outline.keywords(*id) {
                if !self.keyword_allows(keyword, seen)? {
                    return Ok(false);
                }
            }
        }
        for alternatives in &view.any {
            let mut has_one = false;
            for view in alternatives {
                has_one = has_one || self.allows(view, seen)?;
            }
            if !has_one {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn keyword_allows(&mut self, keyword: &Keyword, seen: Seen<'_>) -> Result<bool, OutOfFuel> {
        Ok(match keyword {
            Keyword::Nothing => false,
            Keyword::Kinds(kinds) => kinds.has(seen.kind, seen.raw),
            Keyword::Enum(allowed) => {
                self.spend(allowed.len() / 32)?;
                allowed.iter().any(|allowed| match seen.kind {
                    Kind::Array => allowed.is_array(),
                    Kind::Object => allowed.is_object(),
                    Kind::String if seen.raw.is_empty() => allowed.is_string(),
                    _ => is_same(allowed, seen.raw),
                })
            }
            _ => true,
        })
    }

    /// Whether a member is a blank that cannot be meant, and need not be there. An empty string is
    /// meant where there are strings, also if this one is wrong.
    pub(super) fn may_leave_out(
        &mut self,
        view: &View,
        below: &View,
        key: &str,
        seen: Seen<'_>,
    ) -> Result<bool, OutOfFuel> {
        let raw = if seen.kind == Kind::String { "" } else { seen.raw };
        Ok(seen.is_blank()
            && !self.allows(below, Seen { kind: seen.kind, raw })?
            && self.names(view, key)
            && !self.requires(view, key))
    }

    /// The view without the alternatives that an array or object of these members cannot be meant
    /// by. `is_possible` says whether a member can be made to fit under its key. `None` if nothing
    /// is left of some alternatives.
    pub(super) fn narrow(
        &mut self,
        view: &View,
        seen: Seen<'_>,
        members: &[Member<'_>],
        is_possible: &impl Fn(&mut Self, &View, &Member<'_>) -> Result<bool, OutOfFuel>,
    ) -> Result<Option<View>, OutOfFuel> {
        let mut narrowed = View { all: view.all.clone(), any: Vec::new() };
        for alternatives in &view.any {
            let mut left = Vec::new();
            for alternative in alternatives {
                if !self.is_excluded(alternative, seen, members, is_possible)? {
                    left.extend(self.narrow(alternative, seen, members, is_possible)?);
                }
            }
            match left.len() {
                0 => return Ok(None),
                1 => {
                    let only = left.remove(0);
                    narrowed.all.extend(only.all);
                    narrowed.any.extend(only.any);
                }
                _ => narrowed.any.push(left),
            }
        }
        Ok(Some(narrowed))
    }

    /// Looks at one level only, or alternatives within alternatives would take for ever.
    fn is_excluded(
        &mut self,
        view: &View,
        seen: Seen<'_>,
        members: &[Member<'_>],
        is_possible: &impl Fn(&mut Self, &View, &Member<'_>) -> Result<bool, OutOfFuel>,
    ) -> Result<bool, OutOfFuel> {
        if !self.allows(view, seen)? {
            return Ok(true);
        }
        if seen.kind == Kind::Object && self.lacks(view, members)? {
            return Ok(true);
        }
        let alone = View { all: view.all.clone(), any: Vec::new() };
        for member in members {
            let below = self.key(&alone, &member.key)?;
            if !below.is_free()
                && !is_possible(self, &below, member)?
                && !self.may_leave_out(&alone, &below, &member.key, member.seen)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a member is missing that must be there.
    fn lacks(&mut self, view: &View, members: &[Member<'_>]) -> Result<bool, OutOfFuel> {
        let is_there =
            |name: &str| members.binary_search_by(|member| (*member.key).cmp(name)).is_ok();
        for id in &view.all {
            for keyword in self.outline.keywords(*id) {
                if let Keyword::Required(names) = keyword {
                    self.spend(names.len())?;
                    if !names.iter().all(|name| is_there(name)) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// A member of an object, as alternatives are told apart by it.
pub(super) struct Member<'a> {
    pub(super) key: std::borrow::Cow<'a, str>,
    pub(super) seen: Seen<'a>,
}

/// Adds alternatives, unless one of them allows everything.
fn add_any(view: &mut View, alternatives: Vec<View>) {
    if !alternatives.iter().any(View::is_free) {
        view.any.push(alternatives);
    }
}

/// Whether a listed value is the one of this text, which is neither array nor object.
pub(super) fn is_same(allowed: &Value, raw: &str) -> bool {
    match allowed {
        Value::String(text) => JsonStr::from_raw(raw).is_some_and(|raw| raw.decode() == *text),
        Value::Number(number) => {
            !raw.starts_with('"') && raw.parse::<f64>().ok() == number.as_f64()
        }
        Value::Bool(true) => raw == "true",
        Value::Bool(false) => raw == "false",
        Value::Null => raw == "null",
        Value::Array(_) | Value::Object(_) => false,
    }
}
