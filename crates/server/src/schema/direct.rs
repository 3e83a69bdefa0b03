//! Common schemas, compiled, and what is wrong with a value, straight on JSON text. `schema` uses
//! it for schemas that have no other keywords than the ones here. A value is looked at by `fits`
//! first, which allocates nothing; only one that does not fit is read again here.

use super::Violation;
use super::bounds::{Bounds, Range};
use super::kind_set::Kinds;
use super::limits::VIOLATIONS_MAX;
use super::place::Place;
use super::view::is_same;
use super::wording::{any_of, choose, shorten, unknown};
use haft_proto::json::{Cursor, JsonStr, Kind};
use serde_json::{Map, Value};

/// A compiled schema, or a part of one. Most parts are a type and nothing else, so the rest is put
/// elsewhere: a server may have ten thousand of them.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) types: Option<Kinds>,
    details: Option<Box<Details>>,
    pub(super) items: Option<Box<Self>>,
    members: Option<Box<Members>>,
}

/// What is asked of values of a type.
#[derive(Debug)]
pub(super) struct Details {
    pub(super) allowed: Vec<Value>,
    pub(super) length: Bounds,
    pub(super) items_count: Bounds,
    pub(super) range: Range,
}

/// What is asked of objects.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) properties: Vec<Property>,
    /// Bit i: `properties[i]` must be there.
    pub(super) required: u64,
    pub(super) others: Others,
}

static NO_DETAILS: Details = Details {
    allowed: Vec::new(),
    length: Bounds { min: None, max: None },
    items_count: Bounds { min: None, max: None },
    range: Range { min: None, max: None, above: None, below: None },
};

static NO_MEMBERS: Members =
    Members { properties: Vec::new(), required: 0, others: Others::Anything };

#[derive(Debug)]
pub(super) struct Property {
    /// The name in quotes and a colon: as the key stands in most texts.
    token: Box<str>,
    /// Whether the name has characters that are escaped in a text.
    is_escaped: bool,
    pub(super) node: Node,
}

impl Property {
    fn new(name: &str, node: Node) -> Self {
        let is_escaped = name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
        Self { token: format!("\"{name}\":").into(), is_escaped, node }
    }

    pub(super) fn name(&self) -> &str {
        &self.token[1..self.token.len() - 2]
    }

    /// How the key begins a member if it is written as it is meant, and without white space;
    /// `None` if it cannot be.
    #[inline]
    pub(super) fn token(&self) -> Option<&str> {
        (!self.is_escaped).then_some(&*self.token)
    }
}

/// What may stand under keys that `properties` does not name.
#[derive(Debug, Default)]
pub(super) enum Others {
    #[default]
    Anything,
    Nothing,
    Fitting(Box<Node>),
}

/// Keywords that say nothing about validity, and are texts.
pub(super) const TEXTS: [&str; 5] = ["$comment", "$id", "description", "format", "title"];

/// Others that say nothing about validity.
pub(super) const SILENT: [&str; 2] = ["default", "example"];

/// How many values of an `enum` are compared here.
pub(super) const ALLOWED_MAX: usize = 64;

/// How deep a schema may nest to be checked here; the check recurses as deep as the schema does.
pub(super) const DEPTH_MAX: usize = 32;

/// How many properties it has: those that must be there are a set of bits.
pub(super) const PROPERTIES_MAX: usize = u64::BITS as usize;

impl Node {
    /// Compiles a schema, or says `None` if it has a keyword that is not handled here.
    pub(super) fn compile(schema: &Value) -> Option<Self> {
        Self::compile_at(schema, 0)
    }

    fn compile_at(schema: &Value, depth: usize) -> Option<Self> {
        let schema = match schema {
            Value::Bool(true) => return Some(Self::default()),
            Value::Object(schema) if depth < DEPTH_MAX => schema,
            _ => return None,
        };
        let mut node = Self::default();
        for (keyword, value) in schema {
            node.take(keyword, value, depth)?;
        }
        node.require(schema)?;
        Some(node)
    }

    fn take(&mut self, keyword: &str, value: &Value, depth: usize) -> Option<()> {
        let deeper = |schema: &Value| Self::compile_at(schema, depth + 1);
        match keyword {
            "type" => self.types = Some(Kinds::compile(value)?),
            "enum" => self.allow(scalars(value.as_array()?)?)?,
            "const" => self.allow(scalars(std::slice::from_ref(value))?)?,
            "minLength" => self.details_mut().length.min = Some(value.as_u64()?),
            "maxLength" => self.details_mut().length.max = Some(value.as_u64()?),
            "minItems" => self.details_mut().items_count.min = Some(value.as_u64()?),
            "maxItems" => self.details_mut().items_count.max = Some(value.as_u64()?),
            "minimum" => self.details_mut().range.min = Some(value.as_f64()?),
            "maximum" => self.details_mut().range.max = Some(value.as_f64()?),
            "exclusiveMinimum" => self.details_mut().range.above = Some(value.as_f64()?),
            "exclusiveMaximum" => self.details_mut().range.below = Some(value.as_f64()?),
            "items" => self.items = Some(Box::new(deeper(value)?)),
            "properties" => {
                let all = value.as_object()?.iter();
                let all = all.map(|(name, schema)| Some(Property::new(name, deeper(schema)?)));
                let all = all.collect::<Option<Vec<_>>>()?;
                (all.len() <= PROPERTIES_MAX).then_some(())?;
                self.members_mut().properties = all;
            }
            "required" => {}
            // Within, it could name another dialect.
            "$schema" => _ = value.as_str().filter(|_| depth == 0)?,
            "additionalProperties" => {
                self.members_mut().others = match value {
                    Value::Bool(true) => Others::Anything,
                    Value::Bool(false) => Others::Nothing,
                    schema => Others::Fitting(Box::new(deeper(schema)?)),
                }
            }
            "examples" => _ = value.as_array()?,
            "deprecated" | "readOnly" | "writeOnly" => _ = value.as_bool()?,
            keyword if TEXTS.contains(&keyword) => _ = value.as_str()?,
            keyword if SILENT.contains(&keyword) || keyword.starts_with("x-") => {}
            _ => return None,
        }
        Some(())
    }

    /// Keeps what is allowed, if that is said once: what both `const` and `enum` allow, others find
    /// out.
    fn allow(&mut self, values: Vec<Value>) -> Option<()> {
        let allowed = &mut self.details_mut().allowed;
        allowed.is_empty().then(|| *allowed = values)
    }

    /// After all properties are known. A required key without a property is not handled here.
    fn require(&mut self, schema: &Map<String, Value>) -> Option<()> {
        let Some(required) = schema.get("required") else { return Some(()) };
        let members = self.members_mut();
        for name in required.as_array()? {
            let mut known = members.properties.iter();
            let index = known.position(|property| Some(property.name()) == name.as_str())?;
            members.required |= 1 << index;
        }
        Some(())
    }

    fn details_mut(&mut self) -> &mut Details {
        let none = Details { allowed: Vec::new(), ..NO_DETAILS };
        self.details.get_or_insert_with(|| Box::new(none))
    }

    fn members_mut(&mut self) -> &mut Members {
        let none = || Members { properties: Vec::new(), required: 0, others: Others::Anything };
        self.members.get_or_insert_with(|| Box::new(none()))
    }

    pub(super) fn details(&self) -> &Details {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    /// The same of nodes that have some.
    #[inline]
    pub(super) fn own_details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    #[inline]
    pub(super) fn own_members(&self) -> Option<&Members> {
        self.members.as_deref()
    }

    pub(super) fn members(&self) -> &Members {
        self.members.as_deref().unwrap_or(&NO_MEMBERS)
    }

    /// Checks the value at the cursor and leaves the cursor behind it.
    pub(super) fn check(&self, cursor: &mut Cursor<'_>) -> Result<(), Vec<Violation>> {
        let mut ahead = cursor.clone();
        if self.fits(&mut ahead) {
            *cursor = ahead;
            return Ok(());
        }
        let mut found = Found::default();
        // The text was read before, so its grammar holds; a failure would only end the check.
        if let Err(Ended::NotJson) = self.visit(cursor, &Place::Root, &mut found) {
            let problem = "is not JSON".to_owned();
            found.0.push(Violation { path: String::new(), problem });
        }
        if found.0.is_empty() { Ok(()) } else { Err(found.0) }
    }

    fn visit(
        &self,
        cursor: &mut Cursor<'_>,
        place: &Place<'_>,
        found: &mut Found,
    ) -> Result<(), Ended> {
        let kind = cursor.kind()?;
        if let Some(types) = self.types {
            let mut ahead = cursor.clone();
            let raw = if kind == Kind::Number { ahead.value()? } else { "" };
            if !types.has(kind, raw) {
                let raw = cursor.value()?;
                let expected = types.describe();
                return found.say(place, format!("must be {expected}, not {}", shorten(raw)));
            }
        }
        let is_open = self.details.as_ref().is_none_or(|details| details.allowed.is_empty());
        match kind {
            Kind::Object if is_open => self.visit_object(cursor, place, found),
            Kind::Array if is_open => self.visit_array(cursor, place, found),
            _ => {
                let raw = cursor.value()?;
                self.check_scalar(raw, place, found)
            }
        }
    }

    fn visit_object(
        &self,
        cursor: &mut Cursor<'_>,
        place: &Place<'_>,
        found: &mut Found,
    ) -> Result<(), Ended> {
        cursor.enter_object()?;
        let Members { properties, required, .. } = self.members();
        let mut seen: u64 = 0;
        let (mut is_first, mut room) = (true, String::new());
        while let Some(key) = cursor.next_name(&mut is_first, &mut room)? {
            let place = &Place::Key(place, key);
            match properties.iter().position(|property| *property.name() == *key) {
                Some(index) => {
                    if seen & 1 << index != 0 {
                        found.say(place, "is there twice; send it once".to_owned())?;
                    }
                    seen |= 1 << index;
                    properties[index].node.visit(cursor, place, found)?;
                }
                None => self.visit_other(key, cursor, place, found)?,
            }
        }
        let missing = required & !seen;
        for (index, property) in properties.iter().enumerate() {
            if missing & 1 << index != 0 {
                let place = &Place::Key(place, property.name());
                let expected = property.node.describe();
                found.say(place, format!("is missing; it must be {expected}"))?;
            }
        }
        Ok(())
    }

    fn visit_other(
        &self,
        key: &str,
        cursor: &mut Cursor<'_>,
        place: &Place<'_>,
        found: &mut Found,
    ) -> Result<(), Ended> {
        let Members { properties, others, .. } = self.members();
        match others {
            Others::Fitting(node) => return node.visit(cursor, place, found),
            Others::Anything => {}
            Others::Nothing => {
                let problem = unknown(key, properties.iter().map(Property::name));
                found.say(place, problem)?;
            }
        }
        cursor.value()?;
        Ok(())
    }

    fn visit_array(
        &self,
        cursor: &mut Cursor<'_>,
        place: &Place<'_>,
        found: &mut Found,
    ) -> Result<(), Ended> {
        cursor.enter_array()?;
        let mut count = 0;
        let mut is_first = true;
        while cursor.next_item(&mut is_first)? {
            match &self.items {
                Some(items) => {
                    items.visit(cursor, &Place::Index(place, count), found)?;
                }
                None => {
                    cursor.value()?;
                }
            }
            count += 1;
        }
        if let Some(expected) = self.details().items_count.broken_by(count) {
            found.say(place, format!("must have {expected} items, not {count}"))?;
        }
        Ok(())
    }

    fn check_scalar(&self, raw: &str, place: &Place<'_>, found: &mut Found) -> Result<(), Ended> {
        let Some(Details { allowed, length, range, .. }) = self.details.as_deref() else {
            return Ok(());
        };
        if !allowed.is_empty() && !allowed.iter().any(|allowed| is_same(allowed, raw)) {
            let text = JsonStr::from_raw(raw).map(JsonStr::decode);
            found.say(place, choose(allowed, text.as_deref(), &shorten(raw)))?;
        }
        if raw.starts_with('"') {
            if (length.min.is_some() || length.max.is_some())
                && let Some(text) = JsonStr::from_raw(raw)
            {
                let count = text.decode().chars().count() as u64;
                if let Some(expected) = length.broken_by(count) {
                    found.say(place, format!("must have {expected} characters, not {count}"))?;
                }
            }
        } else if let Ok(number) = raw.parse::<f64>()
            && let Some(expected) = range.broken_by(number)
        {
            found.say(place, format!("must be {expected}, not {}", shorten(raw)))?;
        }
        Ok(())
    }

    /// What a value must be, as far as a few words say it.
    fn describe(&self) -> String {
        match (&*self.details().allowed, self.types) {
            ([], Some(types)) => types.describe(),
            ([], None) => "given".to_owned(),
            (allowed, _) => any_of(allowed),
        }
    }
}

/// Why a check ends before the value does.
enum Ended {
    /// Enough was found.
    Full,
    /// The text was not JSON after all.
    NotJson,
}

impl From<haft_proto::error::Malformed> for Ended {
    fn from(_: haft_proto::error::Malformed) -> Self {
        Self::NotJson
    }
}

/// What does not fit so far.
#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    /// Keeps a violation. When there are enough the check ends: a peer that sends a million bad
    /// values is told of a few, and nothing behind those is looked at.
    fn say(&mut self, place: &Place<'_>, problem: String) -> Result<(), Ended> {
        self.0.push(Violation { path: place.path(), problem });
        if self.0.len() < VIOLATIONS_MAX { Ok(()) } else { Err(Ended::Full) }
    }
}

fn scalars(values: &[Value]) -> Option<Vec<Value>> {
    let are_scalars = values.iter().all(|value| !value.is_array() && !value.is_object());
    // They are compared one by one.
    let are_few = (1..=ALLOWED_MAX).contains(&values.len());
    (are_scalars && are_few).then(|| values.to_vec())
}

#[cfg(test)]
mod tests;
