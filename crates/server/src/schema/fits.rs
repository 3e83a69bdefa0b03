//! Whether a value fits a common schema, straight on its text, and no word about why not: for the
//! calls that are right, which are nearly all. `direct` decides about those that are not, and says
//! what is wrong with them.

use super::bounds::Bounds;
use super::direct::{Details, Members, Node, Others};
use super::kind_set::Kinds;
use super::view::is_same;
use haft_proto::json::{Cursor, JsonStr, Kind};

impl Node {
    /// Whether the value at the cursor fits, which is then behind it. Where it does not, or is no
    /// JSON, the cursor is anywhere.
    pub(super) fn fits(&self, cursor: &mut Cursor<'_>) -> bool {
        match cursor.peek_token() {
            Some(b'"') => self.string(cursor).is_some(),
            Some(b'{') => self.fits_object(cursor),
            Some(b'[') => self.fits_array(cursor),
            Some(b't' | b'f' | b'n') => self.plain(cursor).is_some(),
            Some(_) => self.integer(cursor).is_some() || self.plain(cursor).is_some(),
            None => false,
        }
    }

    /// The string at the cursor if it fits.
    #[inline]
    pub(super) fn string<'t>(&self, cursor: &mut Cursor<'t>) -> Option<JsonStr<'t>> {
        if !self.takes(Kind::String) {
            return None;
        }
        let text = match cursor.plain_string() {
            Some(text) => text,
            None => cursor.string().ok()?,
        };
        match self.own_details() {
            Some(details) => details.takes_string(text).then_some(text),
            None => Some(text),
        }
    }

    /// The integer at the cursor if it is written as most are and fits; else the cursor stays.
    #[inline]
    pub(super) fn integer(&self, cursor: &mut Cursor<'_>) -> Option<i64> {
        let mut ahead = cursor.clone();
        let integer = ahead.short_integer()?;
        let has_type = self.types.is_none_or(Kinds::has_integers);
        // As near as its text would be: both are rounded to the nearest.
        let is_within =
            |details: &Details| details.allowed.is_empty() && details.range.has(integer as f64);
        (has_type && self.own_details().is_none_or(is_within)).then(|| {
            *cursor = ahead;
            integer
        })
    }

    /// The text of the number or word at the cursor if it fits.
    pub(super) fn plain<'t>(&self, cursor: &mut Cursor<'t>) -> Option<&'t str> {
        let raw = cursor.value().ok()?;
        let kind = match raw.as_bytes().first()? {
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        };
        let fits = self.types.is_none_or(|types| types.has(kind, raw))
            && self.own_details().is_none_or(|details| details.takes(raw));
        fits.then_some(raw)
    }

    fn takes(&self, kind: Kind) -> bool {
        self.types.is_none_or(|types| types.has(kind, ""))
    }

    /// Whether an array or object may be here. What is allowed is always a scalar, where only some
    /// values are.
    pub(super) fn is_open_to(&self, kind: Kind) -> bool {
        let is_open = self.own_details().is_none_or(|details| details.allowed.is_empty());
        is_open && self.takes(kind)
    }

    fn fits_object(&self, cursor: &mut Cursor<'_>) -> bool {
        if !self.is_open_to(Kind::Object) {
            return false;
        }
        let Some(members) = self.own_members() else { return cursor.value().is_ok() };
        let mut walk = Walk::default();
        if cursor.enter_object().is_err() {
            return false;
        }
        loop {
            match walk.next(members, cursor) {
                Step::Known { node, .. } | Step::Other { node: Some(node), .. } => {
                    if !node.fits(cursor) {
                        return false;
                    }
                }
                Step::Other { node: None, .. } => {
                    if cursor.value().is_err() {
                        return false;
                    }
                }
                Step::End => return true,
                Step::Misfit => return false,
            }
        }
    }

    fn fits_array(&self, cursor: &mut Cursor<'_>) -> bool {
        if !self.is_open_to(Kind::Array) || cursor.enter_array().is_err() {
            return false;
        }
        let mut row = Row::of(self);
        loop {
            let fits = match row.next(cursor) {
                RowStep::Item(Some(node)) => node.fits(cursor),
                RowStep::Item(None) => cursor.value().is_ok(),
                RowStep::End => return true,
                RowStep::Misfit => return false,
            };
            if !fits {
                return false;
            }
        }
    }
}

impl Details {
    fn takes_string(&self, text: JsonStr<'_>) -> bool {
        let Self { allowed, length, .. } = self;
        if allowed.is_empty() && !text.is_escaped() {
            return length.has_characters_of(text.raw());
        }
        let meant = text.decode();
        let is_allowed =
            allowed.is_empty() || allowed.iter().any(|allowed| allowed.as_str() == Some(&*meant));
        is_allowed && length.has_characters_of(&meant)
    }

    fn takes(&self, raw: &str) -> bool {
        let Self { allowed, range, .. } = self;
        if !allowed.is_empty() && !allowed.iter().any(|allowed| is_same(allowed, raw)) {
            return false;
        }
        range.is_open() || number(raw).is_none_or(|number| range.has(number))
    }
}

/// Up to so many digits a number is an `f64` without rounding.
const EXACT_DIGITS_MAX: usize = 15;

/// What a text is as a number.
fn number(raw: &str) -> Option<f64> {
    short_decimal(raw.as_bytes()).or_else(|| raw.parse().ok())
}

/// The same of one with few digits and a point, which is cheaper: both parts of the division are
/// exact, so that it is rounded once, as a parse rounds.
fn short_decimal(raw: &[u8]) -> Option<f64> {
    let (mut digits, mut scale, mut has_point) = (0_u64, 1_u64, false);
    if raw.len() > EXACT_DIGITS_MAX {
        return None;
    }
    for byte in raw {
        match byte {
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' if !has_point => has_point = true,
            _ => return None,
        }
        if has_point && *byte != b'.' {
            scale *= 10;
        }
    }
    has_point.then(|| digits as f64 / scale as f64)
}

/// Which members of an object have been there. What is asked of an object as a whole is asked here,
/// for whoever reads it.
pub(super) struct Walk {
    is_first: bool,
    /// Bit i: `properties[i]` was there.
    seen: u64,
    /// The property that is expected: most objects are written in the order of their schema.
    next: usize,
}

/// What comes next in an object. The cursor is behind its key.
pub(super) enum Step<'n, 't> {
    /// A property, and what its value has to be.
    Known { key: &'t str, node: &'n Node },
    /// A key of no property, if it has no escapes, and what its value has to be, if that is said.
    Other { key: Option<&'t str>, node: Option<&'n Node> },
    /// Nothing, and nothing is missing.
    End,
    /// Something that may not be there, or nothing where something must be, or no JSON.
    Misfit,
}

impl Default for Walk {
    fn default() -> Self {
        Self { is_first: true, seen: 0, next: 0 }
    }
}

impl Walk {
    #[inline]
    pub(super) fn next<'n, 't>(
        &mut self,
        members: &'n Members,
        cursor: &mut Cursor<'t>,
    ) -> Step<'n, 't> {
        if let Some(property) = members.properties.get(self.next)
            && let Some(token) = property.token()
            && let Some(key) = cursor.next_key_if(&mut self.is_first, token)
        {
            return self.known(members, self.next, key);
        }
        if cursor.leave_object() {
            return self.end(members);
        }
        self.next_of_any(members, cursor)
    }

    #[inline]
    fn known<'n, 't>(&mut self, members: &'n Members, at: usize, key: &'t str) -> Step<'n, 't> {
        let bit = 1 << at;
        if self.seen & bit != 0 {
            return Step::Misfit;
        }
        self.seen |= bit;
        self.next = at + 1;
        Step::Known { key, node: &members.properties[at].node }
    }

    #[inline]
    fn end<'n, 't>(&self, members: &Members) -> Step<'n, 't> {
        if members.required & !self.seen == 0 { Step::End } else { Step::Misfit }
    }

    #[inline(never)]
    fn next_of_any<'n, 't>(
        &mut self,
        members: &'n Members,
        cursor: &mut Cursor<'t>,
    ) -> Step<'n, 't> {
        let key = match cursor.next_key(&mut self.is_first) {
            Ok(Some(key)) => key,
            Ok(None) => return self.end(members),
            Err(_) => return Step::Misfit,
        };
        let name = key.decode();
        match members.properties.iter().position(|property| *property.name() == *name) {
            Some(at) if !key.is_escaped() => self.known(members, at, key.raw()),
            // Few write keys that way; `direct` reads them.
            Some(_) => Step::Misfit,
            None => {
                let key = (!key.is_escaped()).then(|| key.raw());
                match &members.others {
                    Others::Anything => Step::Other { key, node: None },
                    Others::Fitting(node) => Step::Other { key, node: Some(node) },
                    Others::Nothing => Step::Misfit,
                }
            }
        }
    }
}

/// How many items of an array have been there. What is asked of an array as a whole is asked here,
/// for whoever reads it.
pub(super) struct Row<'n> {
    node: Option<&'n Node>,
    bounds: Bounds,
    is_first: bool,
    count: u64,
}

/// What comes next in an array.
pub(super) enum RowStep<'n> {
    /// An item, which the cursor stands before, and what it has to be, if that is said.
    Item(Option<&'n Node>),
    /// Nothing, and there were enough.
    End,
    /// One item too many, or nothing where one must be, or no JSON.
    Misfit,
}

impl<'n> Row<'n> {
    #[inline]
    pub(super) fn of(array: &'n Node) -> Self {
        let bounds = array.own_details().map(|details| details.items_count).unwrap_or_default();
        Self { node: array.items.as_deref(), bounds, is_first: true, count: 0 }
    }

    /// An item beyond the last that may be there is refused before it is read.
    #[inline]
    pub(super) fn next(&mut self, cursor: &mut Cursor<'_>) -> RowStep<'n> {
        match cursor.next_item(&mut self.is_first) {
            Ok(true) if self.bounds.max != Some(self.count) => {
                self.count += 1;
                RowStep::Item(self.node)
            }
            Ok(false) if self.bounds.has(self.count) => RowStep::End,
            _ => RowStep::Misfit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::short_decimal;
    use proptest::prelude::*;

    #[test]
    fn other_forms_are_parsed() {
        for raw in ["1", "-1.5", "1e2", "1.5e2", "true", "null", "0.12345678901234567", "1.2.3"] {
            assert_eq!(short_decimal(raw.as_bytes()), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_short_decimal_is_what_a_parse_makes_of_it(raw in "[0-9]{1,13}[.][0-9]{1,13}") {
            let short = short_decimal(raw.as_bytes());
            prop_assert_eq!(short.is_some(), raw.len() <= 15);
            if let Some(short) = short {
                prop_assert_eq!(raw.parse(), Ok(short), "{}", raw);
            }
        }
    }
}
