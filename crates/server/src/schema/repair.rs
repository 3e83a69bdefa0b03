//! Mends JSON text where a model sent a value in quotes, or a blank for what it left out. Called
//! when a check has failed. Changes nothing that the schema allows as it is, guesses nothing, and
//! keeps every byte outside of what it mends.

use super::limits::{FUEL, REPAIRS_MAX, REPAIRS_TOLD_MAX};
use super::outline::Outline;
use super::place::Place;
use super::view::{Member, OutOfFuel, Seen, View, Viewer};
use super::wording::one_line;
use haft_proto::error::Malformed;
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, Kind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// A text that fits now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// JSON text that fits the schema.
    pub text: String,
    /// How many spots were mended, at least one.
    pub count: usize,
    /// The first of them, eight at most.
    pub repairs: Vec<Repair>,
    /// How many there were of each kind.
    pub kinds: HashMap<RepairKind, usize>,
}

/// One mended spot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where, like `filter.tags[2]`; empty for the whole value.
    pub path: String,
    /// What was done.
    pub kind: RepairKind,
}

/// What was wrong, and is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// `""` stood for an optional property that is no string; it is now absent.
    EmptyForAbsent,
    /// `null` stood for an optional property, which is now absent.
    NullForAbsent,
    /// An array was in quotes.
    QuotedArray,
    /// `true` or `false` was in quotes.
    QuotedBoolean,
    /// `null` was in quotes.
    QuotedNull,
    /// A number was in quotes.
    QuotedNumber,
    /// An object was in quotes.
    QuotedObject,
}

impl RepairKind {
    /// One word for logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyForAbsent => "empty_for_absent",
            Self::NullForAbsent => "null_for_absent",
            Self::QuotedArray => "quoted_array",
            Self::QuotedBoolean => "quoted_boolean",
            Self::QuotedNull => "quoted_null",
            Self::QuotedNumber => "quoted_number",
            Self::QuotedObject => "quoted_object",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}` ", self.path)?;
        }
        f.write_str(match self.kind {
            RepairKind::EmptyForAbsent => "was an empty string and is left out",
            RepairKind::NullForAbsent => "was null and is left out",
            RepairKind::QuotedArray => "was an array in quotes",
            RepairKind::QuotedBoolean => "was true or false in quotes",
            RepairKind::QuotedNull => "was null in quotes",
            RepairKind::QuotedNumber => "was a number in quotes",
            RepairKind::QuotedObject => "was an object in quotes",
        })
    }
}

/// Mends what can be mended. The outcome is better than `text`, but may still not fit.
pub(super) fn mend(outline: &Outline, text: &str) -> Option<Repaired> {
    let mut viewer = Viewer::new(outline, FUEL + text.len());
    let view = viewer.root().ok()?;
    let (edits, repairs) = (Vec::new(), Vec::new());
    let mut mender = Mender { viewer, depth: 0, edits, count: 0, repairs, kinds: HashMap::new() };
    mender.visit(&mut Cursor::new(text, DEPTH_MAX), &view, &Place::Root).ok()?;
    let Mender { edits, count, repairs, kinds, .. } = mender;
    (count > 0).then(|| Repaired { text: splice(text, &edits), count, repairs, kinds })
}

/// A part of a text, and what takes its place.
struct Edit<'a> {
    at: Range<usize>,
    with: Cow<'a, str>,
}

fn splice(text: &str, edits: &[Edit<'_>]) -> String {
    let mut spliced = String::with_capacity(text.len());
    let mut copied = 0;
    for Edit { at, with } in edits {
        spliced.push_str(&text[copied..at.start]);
        spliced.push_str(with);
        copied = at.end;
    }
    spliced.push_str(&text[copied..]);
    spliced
}

/// Nothing that is known here makes the value fit.
struct Hopeless;

impl From<OutOfFuel> for Hopeless {
    fn from(_: OutOfFuel) -> Self {
        Self
    }
}

impl From<Malformed> for Hopeless {
    fn from(_: Malformed) -> Self {
        Self
    }
}

struct Mender<'o> {
    viewer: Viewer<'o>,
    /// How many arrays and objects are open, those in quotes too.
    depth: usize,
    /// In the text that is being visited, in order.
    edits: Vec<Edit<'static>>,
    count: usize,
    repairs: Vec<Repair>,
    kinds: HashMap<RepairKind, usize>,
}

impl Mender<'_> {
    /// Mends the value at the cursor and leaves the cursor behind it.
    fn visit(
        &mut self,
        cursor: &mut Cursor<'_>,
        view: &View,
        place: &Place<'_>,
    ) -> Result<(), Hopeless> {
        let kind = cursor.kind()?;
        if view.is_free() {
            cursor.value()?;
            return Ok(());
        }
        self.viewer.spend(1)?;
        if let Kind::Array | Kind::Object = kind {
            return self.visit_container(cursor, kind, view, place);
        }
        let start = cursor.position();
        let seen = Seen { kind, raw: cursor.value()? };
        if self.viewer.allows(view, seen)? {
            return Ok(());
        }
        let text = JsonStr::from_raw(seen.raw).ok_or(Hopeless)?.decode();
        self.unquote(start..cursor.position(), &text, view, place)
    }

    /// Puts what a string says in the place of the string.
    fn unquote(
        &mut self,
        at: Range<usize>,
        text: &str,
        view: &View,
        place: &Place<'_>,
    ) -> Result<(), Hopeless> {
        // Together they may nest as deep as a message.
        let depth = DEPTH_MAX - self.depth;
        let inside = quoted(text, depth).ok_or(Hopeless)?;
        if !self.viewer.allows(view, inside)? {
            return Err(Hopeless);
        }
        let kind = match inside.kind {
            Kind::Array => RepairKind::QuotedArray,
            Kind::Bool => RepairKind::QuotedBoolean,
            Kind::Null => RepairKind::QuotedNull,
            Kind::Number => RepairKind::QuotedNumber,
            Kind::Object => RepairKind::QuotedObject,
            Kind::String => return Err(Hopeless),
        };
        self.tell(place, kind)?;
        let with = if inside.raw.is_empty() {
            let outer = std::mem::take(&mut self.edits);
            self.visit(&mut Cursor::new(text, depth), view, place)?;
            let inner = std::mem::replace(&mut self.edits, outer);
            splice(text, &inner)
        } else {
            inside.raw.to_owned()
        };
        self.edits.push(Edit { at, with: Cow::Owned(with) });
        Ok(())
    }

    fn visit_container(
        &mut self,
        cursor: &mut Cursor<'_>,
        kind: Kind,
        view: &View,
        place: &Place<'_>,
    ) -> Result<(), Hopeless> {
        let seen = Seen { kind, raw: "" };
        if !self.viewer.allows(view, seen)? {
            return Err(Hopeless);
        }
        let narrowed;
        let view = if view.has_alternatives() {
            let members =
                if kind == Kind::Object { self.members(cursor.clone())? } else { Vec::new() };
            narrowed = self.viewer.narrow(view, seen, &members, &is_possible)?.ok_or(Hopeless)?;
            &narrowed
        } else {
            view
        };
        self.depth += 1;
        match kind {
            Kind::Object => self.visit_object(cursor, view, place)?,
            _ => self.visit_array(cursor, view, place)?,
        }
        self.depth -= 1;
        Ok(())
    }

    /// All members of an object, by key.
    fn members<'t>(&mut self, mut cursor: Cursor<'t>) -> Result<Vec<Member<'t>>, Hopeless> {
        let mut members = Vec::new();
        let mut is_first = true;
        cursor.enter_object()?;
        while let Some(key) = cursor.next_key(&mut is_first)? {
            let kind = cursor.kind()?;
            let raw = cursor.value()?;
            self.viewer.spend(raw.len() / 16 + 1)?;
            let raw = if matches!(kind, Kind::Array | Kind::Object) { "" } else { raw };
            members.push(Member { key: key.decode(), seen: Seen { kind, raw } });
        }
        members.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(members)
    }

    fn visit_array(
        &mut self,
        cursor: &mut Cursor<'_>,
        view: &View,
        place: &Place<'_>,
    ) -> Result<(), Hopeless> {
        cursor.enter_array()?;
        let mut index = 0;
        let mut is_first = true;
        let mut item = View::default();
        let mut is_rest = false;
        while cursor.next_item(&mut is_first)? {
            if !is_rest {
                item = self.viewer.item(view, index)?;
                is_rest = self.viewer.is_uniform_from(view, index);
            }
            self.visit(cursor, &item, &Place::Index(place, index))?;
            index += 1;
        }
        Ok(())
    }

    fn visit_object(
        &mut self,
        cursor: &mut Cursor<'_>,
        view: &View,
        place: &Place<'_>,
    ) -> Result<(), Hopeless> {
        cursor.enter_object()?;
        let mut is_first = true;
        // Behind the bracket or the comma before the member that comes.
        let mut start = cursor.position();
        let mut has_kept = false;
        // Where members begin that go with the comma behind them, as nothing is before them.
        let mut going = None;
        while let Some(key) = cursor.next_key(&mut is_first)? {
            if let Some(from) = going.take() {
                self.edits.push(Edit { at: from..start, with: Cow::Borrowed("") });
            }
            let key = key.decode();
            let place = &Place::Key(place, &key);
            let before = if has_kept { start - 1 } else { start };
            let below = self.viewer.key(view, &key)?;
            if let Some(kind) = self.blank(cursor.clone(), view, &below, &key)? {
                cursor.value()?;
                self.tell(place, kind)?;
                if has_kept {
                    let at = before..cursor.position();
                    self.edits.push(Edit { at, with: Cow::Borrowed("") });
                } else {
                    going = Some(before);
                }
            } else {
                self.visit(cursor, &below, place)?;
                has_kept = true;
            }
            let end = cursor.position();
            cursor.peek_token();
            start = cursor.position() + 1;
            if let (Some(from), true) = (going, cursor.peek_token() == Some(b'}')) {
                self.edits.push(Edit { at: from..end, with: Cow::Borrowed("") });
                going = None;
            }
        }
        Ok(())
    }

    /// Which blank the member at the cursor is, if it means that it is not there.
    fn blank(
        &mut self,
        mut cursor: Cursor<'_>,
        view: &View,
        below: &View,
        key: &str,
    ) -> Result<Option<RepairKind>, Hopeless> {
        let what = match cursor.kind()? {
            Kind::Null => RepairKind::NullForAbsent,
            Kind::String => RepairKind::EmptyForAbsent,
            _ => return Ok(None),
        };
        let seen = Seen { kind: cursor.kind()?, raw: cursor.value()? };
        Ok(self.viewer.may_leave_out(view, below, key, seen)?.then_some(what))
    }

    fn tell(&mut self, place: &Place<'_>, kind: RepairKind) -> Result<(), Hopeless> {
        if self.count == REPAIRS_MAX {
            return Err(Hopeless);
        }
        self.count += 1;
        *self.kinds.entry(kind).or_default() += 1;
        if self.repairs.len() < REPAIRS_TOLD_MAX {
            self.repairs.push(Repair { path: one_line(&place.path()), kind });
        }
        Ok(())
    }
}

/// Whether a member fits under its key, perhaps without its quotes.
fn is_possible(
    viewer: &mut Viewer<'_>,
    view: &View,
    member: &Member<'_>,
) -> Result<bool, OutOfFuel> {
    if viewer.allows(view, member.seen)? {
        return Ok(true);
    }
    let Some(text) = JsonStr::from_raw(member.seen.raw) else { return Ok(false) };
    viewer.spend(member.seen.raw.len() / 16)?;
    match quoted(&text.decode(), DEPTH_MAX) {
        Some(inside) => viewer.allows(view, inside),
        None => Ok(false),
    }
}

/// The value that a text is the JSON of, to the byte for a number or a word.
fn quoted(text: &str, depth: usize) -> Option<Seen<'_>> {
    let mut cursor = Cursor::new(text, depth);
    let kind = cursor.kind().ok()?;
    let is_exact = cursor.position() == 0;
    let raw = cursor.value().ok()?;
    let is_exact = is_exact && raw.len() == text.len();
    cursor.end().ok()?;
    match kind {
        Kind::Array | Kind::Object => Some(Seen { kind, raw: "" }),
        Kind::String => None,
        // A number that no reader can hold is none.
        Kind::Number if !raw.parse::<f64>().is_ok_and(f64::is_finite) => None,
        Kind::Bool | Kind::Null | Kind::Number => is_exact.then_some(Seen { kind, raw }),
    }
}
