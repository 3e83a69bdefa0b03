//! A JSON Schema as the strictest client reads it: what is a schema is an object, what a keyword
//! must be it is, and what refers to something finds it. Called by `entry` for what others wrote,
//! and for schemas of this server's own.

use super::json::{Json, Members, get, remove};
use super::keywords::{DIALECTS, DRAFT_7, Form, OLD_DIALECTS, form, type_meant};
use super::mends::{Mends, Place};
use super::reference;
use super::text::{is_visible, visible};
use super::values::{clean, is_clean, number_in};
use crate::schema::{PATTERNS_MAX, is_pattern};
use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::take;

const BOOLEAN: &str = "was a boolean, and is written as an object";

/// Mends the schema that stands there, in place.
pub(super) fn mend(schema: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) {
    let mut mending = Mending { mends, has_lists: false, refers: false, patterns: 0 };
    mending.dialect(schema, place);
    mending.schema(schema, place);
    if mending.refers {
        reference::mend(schema, place, mends);
    }
}

struct Mending<'m> {
    mends: &'m mut Mends,
    /// The dialect is one whose `items` may be a list.
    has_lists: bool,
    /// Something refers to something.
    refers: bool,
    /// How many regular expressions there were.
    patterns: usize,
}

impl Mending<'_> {
    /// What `$schema` says, and whether that is an old one.
    fn dialect(&mut self, schema: &mut Json<'_>, place: &Place<'_>) {
        let Json::Object(members) = schema else { return };
        let Some(Json::Text(named)) = get(members, "$schema") else { return };
        let bare = named.trim_end_matches('#');
        let bare = bare.strip_prefix("https:").or_else(|| bare.strip_prefix("http:"));
        let bare = bare.unwrap_or_default();
        self.has_lists = bare != DIALECTS[0];
        if DIALECTS.contains(&bare) {
            return;
        }
        let place = place.at("$schema");
        if OLD_DIALECTS.contains(&bare) {
            self.mends.say(&place, "is brought to draft 7");
            let named = members.iter_mut().find(|(key, _)| key == "$schema");
            named.into_iter().for_each(|(_, value)| *value = Json::text(DRAFT_7));
        } else {
            self.mends.say(&place, "names a dialect that no client knows, and is left out");
            remove(members, "$schema");
            self.has_lists = false;
        }
    }

    /// Whatever stands where a schema has to.
    fn schema<'a>(&mut self, schema: &mut Json<'a>, place: &Place<'_>) {
        match schema {
            Json::Object(members) => self.object(members, place),
            _ if schema.is_plain("true") => self.instead(schema, Json::object(), place, BOOLEAN),
            _ if schema.is_plain("false") => {
                let nothing = Json::Object(vec![("not".into(), Json::object())]);
                self.instead(schema, nothing, place, BOOLEAN);
            }
            // What PHP writes for an object without members.
            Json::Array(items) if items.is_empty() => {
                self.instead(schema, Json::object(), place, "was an empty array");
            }
            Json::Text(word) if type_meant(word).is_some() => {
                let kind = Json::text(type_meant(word).unwrap_or_default());
                let typed = Json::Object(vec![("type".into(), kind)]);
                self.instead(schema, typed, place, "was the name of a type");
            }
            Json::Plain(_) if schema.is_null() => {
                *schema = Json::object();
                self.mends.quietly();
            }
            _ => {
                let what = format!("was {}, and takes any value now", schema.kind());
                self.instead(schema, Json::object(), place, &what);
            }
        }
    }

    fn instead<'a>(&mut self, one: &mut Json<'a>, other: Json<'a>, place: &Place<'_>, what: &str) {
        *one = other;
        self.mends.say(place, what);
    }

    fn object(&mut self, members: &mut Members<'_>, place: &Place<'_>) {
        let mut required = Vec::new();
        for (key, value) in members.iter_mut() {
            if key == "properties"
                && let Json::Object(named) = value
            {
                self.lift(named, &mut required, &place.at(key));
            }
        }
        self.old_keywords(members, place);
        members.retain_mut(|(key, value)| {
            let place = place.at(key);
            match form(key) {
                Some(form) => self.keyword(form, value, &place),
                None if !is_visible(key) => {
                    self.mends.say(&place, "has a name with hidden characters, and is left out");
                    false
                }
                None => {
                    clean(value, &place, self.mends);
                    true
                }
            }
        });
        if !required.is_empty() {
            require(members, required);
        }
    }

    /// In draft 3 a property says of itself that it is required, and people still write it.
    fn lift<'a>(
        &mut self,
        named: &mut Members<'a>,
        required: &mut Vec<Cow<'a, str>>,
        place: &Place<'_>,
    ) {
        for (name, schema) in named {
            let Json::Object(members) = schema else { continue };
            let Some(said) = get(members, "required").filter(|said| said.is_flag()) else {
                continue;
            };
            if said.is_plain("true") {
                required.push(name.clone());
            }
            self.mends.say(&place.at(name), "says itself whether it is required");
            remove(members, "required");
        }
    }

    /// What only means something together with its neighbours.
    fn old_keywords(&mut self, members: &mut Members<'_>, place: &Place<'_>) {
        for (beyond, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some(said) = get(members, beyond).filter(|said| said.is_flag()) else { continue };
            let is_meant = said.is_plain("true");
            remove(members, beyond);
            if is_meant && let Some(limit) = remove(members, bound) {
                members.push((beyond.into(), limit));
            }
            self.mends.say(&place.at(beyond), "was a boolean, as in draft 4");
        }
        if matches!(get(members, "id"), Some(Json::Text(_))) {
            remove(members, "id");
            self.mends.say(&place.at("id"), "is of draft 4, and is left out");
        }
        let is_listed =
            matches!(get(members, "items"), Some(Json::Array(items)) if !items.is_empty());
        if is_listed && !self.has_lists {
            let rest = remove(members, "additionalItems");
            let listed = remove(members, "items");
            members.extend(listed.map(|listed| ("prefixItems".into(), listed)));
            members.extend(rest.map(|rest| ("items".into(), rest)));
            self.mends.say(&place.at("items"), "was a list, and is `prefixItems` now");
        }
        let has_type = get(members, "type").is_some_and(|kind| !kind.is_null());
        if get(members, "nullable").is_some_and(|said| !has_type || !said.is_plain("true")) {
            remove(members, "nullable");
            self.mends.say(&place.at("nullable"), "says nothing here, and is left out");
        }
    }

    /// Mends the value of a keyword; whether the keyword stays.
    fn keyword(&mut self, form: Form, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        if value.is_null() && form != Form::Value {
            self.mends.quietly();
            return false;
        }
        match form {
            Form::Schema => self.schema(value, place),
            Form::SchemaOrFlag if value.is_flag() => {}
            Form::SchemaOrFlag => self.schema(value, place),
            Form::Items => match value {
                Json::Array(items) if !items.is_empty() => return self.schemas(value, place),
                _ => self.schema(value, place),
            },
            Form::Schemas => return self.schemas(value, place),
            Form::SchemaByName => {
                return self.named(value, place, |mending, schema, place| {
                    mending.schema(schema, place);
                    true
                });
            }
            Form::SchemaByPattern => {
                return self.named(value, place, |mending, schema, place| {
                    mending.schema(schema, place);
                    mending.pattern(place.key(), place)
                });
            }
            Form::Either => {
                return self.named(value, place, |mending, value, place| match value {
                    Json::Array(_) => mending.names(value, place),
                    _ => {
                        mending.schema(value, place);
                        true
                    }
                });
            }
            Form::NamesByName => {
                return self
                    .named(value, place, |mending, value, place| mending.names(value, place));
            }
            Form::Names => return self.names(value, place),
            Form::Type => return self.types(value, place),
            Form::Choices => return self.choices(value, place),
            Form::Value | Form::Values => return self.values(form, value, place),
            Form::Text | Form::Pattern | Form::Reference => {
                return self.text(form, value, place);
            }
            Form::Flag | Form::Count | Form::Number | Form::Step | Form::Beyond => {
                return self.scalar(form, value, place);
            }
        }
        true
    }

    fn left_out(&mut self, place: &Place<'_>, why: &str) -> bool {
        self.mends.say(place, &format!("{why}, and is left out"));
        false
    }

    fn schemas(&mut self, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        if matches!(value, Json::Object(_)) {
            *value = Json::Array(vec![take_json(value)]);
            self.mends.say(place, "was no list");
        }
        let Json::Array(items) = value else {
            return self.left_out(place, &format!("was {}", value.kind()));
        };
        let count = items.len();
        items.retain(|item| !item.is_null());
        if items.len() < count {
            self.mends.quietly();
        }
        for (number, item) in items.iter_mut().enumerate() {
            // Which one is only told of the first few; their names are short.
            self.schema(item, &place.at(&number.to_string()));
        }
        !items.is_empty() || self.left_out(place, "was empty")
    }

    /// Values by names, each of which `each` mends or refuses.
    fn named(
        &mut self,
        value: &mut Json<'_>,
        place: &Place<'_>,
        mut each: impl FnMut(&mut Self, &mut Json<'_>, &Place<'_>) -> bool,
    ) -> bool {
        if matches!(value, Json::Array(items) if items.is_empty()) {
            *value = Json::object();
            self.mends.say(place, "was an empty array");
        }
        let Json::Object(members) = value else {
            return self.left_out(place, &format!("was {}", value.kind()));
        };
        members.retain_mut(|(name, value)| {
            let place = place.at(name);
            if !is_visible(name) {
                return self.left_out(&place, "has a name with hidden characters");
            }
            each(self, value, &place)
        });
        true
    }

    fn names(&mut self, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        if matches!(value, Json::Text(_)) {
            *value = Json::Array(vec![take_json(value)]);
            self.mends.say(place, "was no list");
        }
        let Json::Array(items) = value else {
            return self.left_out(place, &format!("was {}", value.kind()));
        };
        let count = items.len();
        items.retain(|item| item.as_text().is_some_and(is_visible));
        unique(items);
        if items.len() < count {
            self.mends.say(place, "had what is no name, or one twice");
        }
        true
    }

    fn types(&mut self, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        match value {
            Json::Text(word) => match type_meant(word) {
                Some(meant) if meant == *word => {}
                Some(meant) => self.instead(value, Json::text(meant), place, "was no type"),
                None => return self.left_out(place, "was no type"),
            },
            Json::Array(items) if !items.is_empty() => {
                let meant = |item: &Json<'_>| item.as_text().and_then(type_meant);
                let Some(types) = items.iter().map(meant).collect::<Option<Vec<_>>>() else {
                    return self.left_out(place, "had what is no type");
                };
                let mut types: Vec<_> = types.into_iter().map(Json::text).collect();
                unique(&mut types);
                if types != *items {
                    self.instead(
                        value,
                        Json::Array(types),
                        place,
                        "had what is no type, or one twice",
                    );
                }
            }
            _ => return self.left_out(place, "was no type"),
        }
        true
    }

    fn choices(&mut self, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        let Json::Array(items) = value else {
            return self.left_out(place, &format!("was {}", value.kind()));
        };
        let count = items.len();
        items.retain(is_clean);
        unique(items);
        if items.len() < count {
            self.mends.say(place, "had a value twice, or one with hidden characters");
        }
        !items.is_empty() || self.left_out(place, "has no values")
    }

    fn values(&mut self, form: Form, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        if form == Form::Values && !matches!(value, Json::Array(_)) {
            *value = Json::Array(vec![take_json(value)]);
            self.mends.say(place, "was no list");
        }
        is_clean(value) || self.left_out(place, "had hidden characters")
    }

    fn text(&mut self, form: Form, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        let Json::Text(text) = value else {
            return self.left_out(place, &format!("was {}", value.kind()));
        };
        self.refers |= form == Form::Reference;
        match form {
            Form::Pattern => {
                let text = take(text);
                let stays = self.pattern(&text, place);
                *value = Json::Text(text);
                return stays;
            }
            Form::Text if !is_visible(text) => {
                *text = visible(text).into_owned().into();
                self.mends.say(place, "had hidden characters");
            }
            _ => {}
        }
        true
    }

    fn pattern(&mut self, text: &str, place: &Place<'_>) -> bool {
        self.patterns += 1;
        // Of too many, the schema is refused as a whole.
        self.patterns > PATTERNS_MAX
            || is_visible(text) && is_pattern(text)
            || self.left_out(place, "is no regular expression")
    }

    fn scalar(&mut self, form: Form, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        if let Some(inside) = value.as_text().and_then(|text| unquoted(form, text)) {
            *value = inside;
            self.mends.say(place, "was in quotes");
        }
        let number = value.number();
        match form {
            Form::Flag if value.is_flag() => return true,
            Form::Count => {
                // `3.0` is a count to JSON Schema, and not to every client.
                let is_whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
                if number.is_some_and(|number| is_whole(&number)) {
                    return self.whole(value, place);
                }
            }
            Form::Step if number.is_some_and(|number| number > 0.0) => return true,
            Form::Number | Form::Beyond if number.is_some() => return true,
            _ => {}
        }
        let what = format!("was {}", value.kind());
        self.left_out(place, &what)
    }

    /// A whole number without a fraction.
    fn whole(&mut self, value: &mut Json<'_>, place: &Place<'_>) -> bool {
        let Json::Plain(digits) = &*value else { return true };
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return true;
        }
        match digits.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => {
                let whole = Json::Plain(whole.trim_start_matches('-').to_owned().into());
                self.instead(value, whole, place, "had a fraction");
                true
            }
            _ => self.left_out(place, "is no count"),
        }
    }
}

/// The value that stands in quotes.
fn unquoted(form: Form, text: &str) -> Option<Json<'static>> {
    match form {
        Form::Flag => ["true", "false"].into_iter().find(|word| *word == text).map(Cow::Borrowed),
        _ => number_in(text).map(|number| Cow::Owned(number.to_owned())),
    }
    .map(Json::Plain)
}

/// Adds names to those that are required.
fn require<'a>(members: &mut Members<'a>, names: Vec<Cow<'a, str>>) {
    let names = names.into_iter().filter(|name| is_visible(name)).map(Json::Text);
    let known = members.iter_mut().find(|(key, _)| key == "required");
    match known {
        Some((_, Json::Array(known))) => {
            known.extend(names);
            unique(known);
        }
        _ => members.push(("required".into(), Json::Array(names.collect()))),
    }
}

/// Takes out what is there twice.
fn unique(items: &mut Vec<Json<'_>>) {
    let mut known = HashSet::with_capacity(items.len());
    items.retain(|item| known.insert(item.canonical()));
}

fn take_json<'a>(value: &mut Json<'a>) -> Json<'a> {
    match value {
        Json::Object(members) => Json::Object(take(members)),
        Json::Array(items) => Json::Array(take(items)),
        Json::Plain(text) => Json::Plain(take(text)),
        Json::Text(text) => Json::Text(take(text)),
    }
}
