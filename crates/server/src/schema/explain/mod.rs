//! Says what is wrong with a value that the general check has refused: where, what was expected and
//! what came, in the words of the direct check. Its work is bounded; when that is not enough, or a
//! keyword is too strange, it says less. It never decides whether a value fits.

mod alternatives;
mod objects;

use super::Violation;
use super::budget::with_budget;
use super::limits::{EXPLAIN_DEPTH_MAX, FUEL, VIOLATIONS_MAX};
use super::outline::{Id, Keyword, Outline};
use super::place::Place;
use super::view::is_same;
use super::wording::{choose, one_line, shorten, shown};
use serde_json::Value;
use std::collections::HashSet;

/// What does not fit: at least one violation, eight at most. `bytes` is the length of the value's
/// text.
pub(super) fn explain(outline: &Outline, value: &Value, bytes: usize) -> Vec<Violation> {
    let mut explainer = Explainer {
        outline,
        fuel: FUEL + bytes,
        depth: 0,
        found: Vec::new(),
        room: VIOLATIONS_MAX,
        is_quiet: false,
    };
    // Whatever ends it, what was found until then is true.
    _ = with_budget(bytes, || explainer.visit(Outline::ROOT, value, &Place::Root));
    if explainer.found.is_empty() {
        let problem = "does not fit the schema".to_owned();
        return vec![Violation { path: String::new(), problem }];
    }
    explainer.found
}

/// Why an explanation ends before the value does.
enum Ended {
    /// Enough was found.
    Full,
    /// It took too long.
    OutOfFuel,
}

struct Explainer<'a> {
    outline: &'a Outline,
    fuel: usize,
    depth: usize,
    found: Vec<Violation>,
    /// How many may be found.
    room: usize,
    /// The first violation ends the visit and is not written down.
    is_quiet: bool,
}

impl<'a> Explainer<'a> {
    fn spend(&mut self, steps: usize) -> Result<(), Ended> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(Ended::OutOfFuel)?;
        Ok(())
    }

    fn say(&mut self, place: &Place<'_>, problem: impl FnOnce() -> String) -> Result<(), Ended> {
        if self.is_quiet {
            return Err(Ended::Full);
        }
        let violation = Violation { path: one_line(&place.path()), problem: problem() };
        // Several subschemas may say the same of one place.
        if !self.found.contains(&violation) {
            self.found.push(violation);
        }
        if self.found.len() < self.room { Ok(()) } else { Err(Ended::Full) }
    }

    /// Whether a value fits a subschema, as far as is known here.
    fn fits(&mut self, id: Id, value: &Value) -> Result<bool, Ended> {
        let (was_quiet, depth) = (self.is_quiet, self.depth);
        self.is_quiet = true;
        let outcome = self.visit(id, value, &Place::Root);
        self.is_quiet = was_quiet;
        self.depth = depth;
        match outcome {
            Ok(()) => Ok(true),
            Err(Ended::Full) => Ok(false),
            Err(Ended::OutOfFuel) => Err(Ended::OutOfFuel),
        }
    }

    fn visit(&mut self, id: Id, value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        self.spend(1)?;
        if self.depth == EXPLAIN_DEPTH_MAX {
            return Ok(());
        }
        self.depth += 1;
        for keyword in self.outline.keywords(id) {
            if let Keyword::Kinds(kinds) = keyword
                && !kinds.has_value(value)
            {
                self.say(place, || format!("must be {}, not {}", kinds.describe(), shown(value)))?;
                // The rest would only repeat it.
                break;
            }
            self.keyword(id, keyword, value, place)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn keyword(
        &mut self,
        id: Id,
        keyword: &'a Keyword,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        match keyword {
            Keyword::AllOf(ids) => ids.iter().try_for_each(|id| self.visit(*id, value, place)),
            Keyword::AnyOf(ids) => self.any_of(ids, value, place),
            Keyword::OneOf(ids) => self.one_of(ids, value, place),
            Keyword::Not(id) => self.not(*id, value, place),
            Keyword::If { condition, then, otherwise } => {
                let next = if self.fits(*condition, value)? { then } else { otherwise };
                next.map_or(Ok(()), |id| self.visit(id, value, place))
            }
            Keyword::Nothing => self.say(place, || "is not allowed here".to_owned()),
            Keyword::Enum(allowed) => self.choice(allowed, value, place),
            keyword => match value {
                Value::Array(items) => self.array(keyword, items, place),
                Value::Number(number) => self.number(keyword, number, place),
                Value::Object(members) => self.object(id, keyword, members, value, place),
                Value::String(text) => self.text(keyword, text, place),
                Value::Bool(_) | Value::Null => Ok(()),
            },
        }
    }

    fn choice(&mut self, allowed: &[Value], value: &Value, place: &Place<'_>) -> Result<(), Ended> {
        self.spend(allowed.len() / 32)?;
        let is_allowed = match value {
            Value::Number(number) => {
                let raw = number.to_string();
                allowed.iter().any(|allowed| is_same(allowed, &raw))
            }
            value => allowed.contains(value),
        };
        if is_allowed {
            return Ok(());
        }
        self.say(place, || choose(allowed, value.as_str(), &shown(value)))
    }

    fn number(
        &mut self,
        keyword: &Keyword,
        number: &serde_json::Number,
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        let Some(float) = number.as_f64() else { return Ok(()) };
        let expected = match keyword {
            Keyword::Range(range) => range.broken_by(float),
            Keyword::MultipleOf(step) if !is_multiple(float, *step) => {
                Some(format!("a multiple of {step}"))
            }
            _ => None,
        };
        match expected {
            Some(expected) => self.say(place, || format!("must be {expected}, not {number}")),
            None => Ok(()),
        }
    }

    fn text(&mut self, keyword: &Keyword, text: &str, place: &Place<'_>) -> Result<(), Ended> {
        match keyword {
            Keyword::Length(bounds) => {
                let count = text.chars().count() as u64;
                match bounds.broken_by(count) {
                    Some(expected) => {
                        self.say(place, || format!("must have {expected} characters, not {count}"))
                    }
                    None => Ok(()),
                }
            }
            Keyword::Pattern(pattern) if pattern.is_match(text) == Some(false) => {
                self.say(place, || {
                    let (pattern, came) = (shorten(pattern.text()), shown(&text.into()));
                    format!("must match the pattern `{pattern}`, not {came}")
                })
            }
            _ => Ok(()),
        }
    }

    fn array(
        &mut self,
        keyword: &Keyword,
        items: &[Value],
        place: &Place<'_>,
    ) -> Result<(), Ended> {
        match keyword {
            Keyword::Items { first, rest } => {
                for (index, item) in items.iter().enumerate() {
                    let Some(id) = first.get(index).copied().or(*rest) else { break };
                    let place = &Place::Index(place, index as u64);
                    if self.outline.is_nothing(id) {
                        let most = first.len();
                        return self.say(place, || format!("is one too many; send {most} at most"));
                    }
                    self.visit(id, item, place)?;
                }
                Ok(())
            }
            Keyword::ItemsCount(bounds) => {
                let count = items.len() as u64;
                match bounds.broken_by(count) {
                    Some(expected) => {
                        self.say(place, || format!("must have {expected} items, not {count}"))
                    }
                    None => Ok(()),
                }
            }
            Keyword::Contains { item, count: bounds } => {
                let mut count = 0;
                for value in items {
                    count += u64::from(self.fits(*item, value)?);
                }
                let Some(expected) = bounds.broken_by(count) else { return Ok(()) };
                let item = self.expected(*item);
                self.say(place, || match item {
                    Some(item) => format!("must have {expected} of this: {item}; it has {count}"),
                    None => format!("must have {expected} items that fit, not {count}"),
                })
            }
            Keyword::UniqueItems => {
                let mut seen = HashSet::new();
                for (index, item) in items.iter().enumerate() {
                    let text = item.to_string();
                    self.spend(text.len() / 16 + 1)?;
                    if !seen.insert(text) {
                        let place = &Place::Index(place, index as u64);
                        return self.say(place, || "is there twice; send it once".to_owned());
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Near enough for a message; the verdict is not made here.
fn is_multiple(number: f64, step: f64) -> bool {
    let times = number / step;
    (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
}
