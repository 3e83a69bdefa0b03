//! An entry of a list, member by member: what must be there is, and what may be there is what it
//! must be, or is not there. Called by `normal`; what schemas say is for `schema`.

use super::json::{Json, Members, get, remove};
use super::mends::{Mends, Place};
use super::schema;
use super::text::{is_visible, visible};
use super::values::number_in;
use std::ops::Range;
use time::{Date, Month};

/// What an entry is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Listed {
    Tool,
    Resource,
    Template,
    Prompt,
}

/// What a member's value is.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Count,
    /// Between nothing and one.
    Share,
    /// A time with its zone (RFC 3339).
    Time,
    /// Whom something is for.
    Roles,
    Word(&'static [&'static str]),
    Texts,
    Icons,
    Arguments,
    /// An object of which nothing else is known.
    Any,
    Of(&'static [(&'static str, Self)]),
    Schema,
}

const HINTS: &[(&str, Form)] = &[
    ("title", Form::Text),
    ("readOnlyHint", Form::Flag),
    ("destructiveHint", Form::Flag),
    ("idempotentHint", Form::Flag),
    ("openWorldHint", Form::Flag),
];
const EXECUTION: &[(&str, Form)] =
    &[("taskSupport", Form::Word(&["forbidden", "optional", "required"]))];
const ANNOTATIONS: &[(&str, Form)] =
    &[("audience", Form::Roles), ("priority", Form::Share), ("lastModified", Form::Time)];
const ICON: &[(&str, Form)] =
    &[("mimeType", Form::Text), ("sizes", Form::Texts), ("theme", Form::Word(&["light", "dark"]))];
const ARGUMENT: &[(&str, Form)] =
    &[("title", Form::Text), ("description", Form::Text), ("required", Form::Flag)];
const TOOL: &[(&str, Form)] = &[
    ("title", Form::Text),
    ("description", Form::Text),
    ("inputSchema", Form::Schema),
    ("outputSchema", Form::Schema),
    ("annotations", Form::Of(HINTS)),
    ("execution", Form::Of(EXECUTION)),
    ("icons", Form::Icons),
    ("_meta", Form::Any),
];
const RESOURCE: &[(&str, Form)] = &[
    ("name", Form::Text),
    ("title", Form::Text),
    ("description", Form::Text),
    ("mimeType", Form::Text),
    ("size", Form::Count),
    ("annotations", Form::Of(ANNOTATIONS)),
    ("icons", Form::Icons),
    ("_meta", Form::Any),
];
const PROMPT: &[(&str, Form)] = &[
    ("title", Form::Text),
    ("description", Form::Text),
    ("arguments", Form::Arguments),
    ("icons", Form::Icons),
    ("_meta", Form::Any),
];

impl Listed {
    /// What it is known by, and its other members.
    const fn table(self) -> (&'static str, &'static [(&'static str, Form)]) {
        match self {
            Self::Tool => ("name", TOOL),
            Self::Resource => ("uri", RESOURCE),
            Self::Template => ("uriTemplate", RESOURCE),
            Self::Prompt => ("name", PROMPT),
        }
    }
}

/// Mends an entry in place.
///
/// # Errors
/// A clause about what cannot be mended.
pub(super) fn mend(listed: Listed, json: &mut Json<'_>, mends: &mut Mends) -> Result<(), String> {
    let kind = json.kind();
    let Json::Object(members) = json else { return Err(format!("it is {kind}, and no object")) };
    let (key, table) = listed.table();
    let known_by = match get(members, key) {
        Some(Json::Text(text)) => text.clone().into_owned(),
        Some(other) => return Err(format!("its `{key}` is {}, and no text", other.kind())),
        None => return Err(format!("it has no `{key}`")),
    };
    if key != "name" && !is_visible(&known_by) {
        return Err(format!("its `{key}` has hidden characters"));
    }
    if listed == Listed::Tool {
        arguments_schema(members, mends)?;
    }
    of_table(members, table, None, mends);
    match listed {
        Listed::Tool => result_schema(members, mends),
        Listed::Resource | Listed::Template if get(members, "name").is_none() => {
            members.push(("name".into(), Json::text(name_of(&known_by).to_owned())));
            mends.say(&Place::new("name"), &format!("is made from its `{key}`"));
        }
        _ => {}
    }
    Ok(())
}

/// Mends the schema of arguments so far that it is one of an object.
fn arguments_schema(members: &mut Members<'_>, mends: &mut Mends) -> Result<(), String> {
    const KEY: &str = "inputSchema";
    let place = Place::new(KEY);
    let said = members.iter_mut().find(|(key, _)| key == KEY).map(|(_, value)| value);
    let Some(said) = said else {
        members.push((KEY.into(), typed(Vec::new())));
        mends.say(&place, "was not there");
        return Ok(());
    };
    match said {
        Json::Object(_) => {}
        Json::Array(items) if items.is_empty() => {
            *said = typed(Vec::new());
            mends.say(&place, "was an empty array");
        }
        Json::Plain(_) if said.is_null() || said.is_flag() => {
            let refuses = said.is_plain("false");
            let more = refuses.then(|| ("not".into(), Json::object()));
            mends.say(&place, &format!("was {}", said.kind()));
            *said = typed(more.into_iter().collect());
        }
        other => return Err(format!("its `{KEY}` is {}, and no schema", other.kind())),
    }
    let Json::Object(schema) = said else { return Ok(()) };
    let is_object = |kind: &Json<'_>| kind.as_text().is_some_and(|kind| kind == "object");
    match get(schema, "type") {
        Some(kind) if is_object(kind) => return Ok(()),
        Some(Json::Array(kinds)) if kinds.iter().any(is_object) => {}
        Some(kind) if kind.is_null() => {}
        None => {}
        Some(kind) => {
            let reason = format!("its `{KEY}` has the `type` {}", kind.written());
            return Err(format!("{reason}, and arguments are an object"));
        }
    }
    remove(schema, "type");
    schema.insert(0, ("type".into(), Json::text("object")));
    mends.say(&place.at("type"), "is \"object\" now");
    Ok(())
}

fn typed<'a>(more: Members<'a>) -> Json<'a> {
    let mut members = vec![("type".into(), Json::text("object"))];
    members.extend(more);
    Json::Object(members)
}

/// A schema of results that says what an object has is one of objects; who says nothing of them
/// has none.
fn result_schema(members: &mut Members<'_>, mends: &mut Mends) {
    const KEY: &str = "outputSchema";
    const OF_OBJECTS: [&str; 4] =
        ["properties", "required", "additionalProperties", "patternProperties"];
    let place = Place::new(KEY);
    let said = members.iter_mut().find(|(key, _)| key == KEY).map(|(_, value)| value);
    let Some(Json::Object(schema)) = said else { return };
    if schema.is_empty() {
        remove(members, KEY);
        mends.say(&place, "says nothing, and is left out");
    } else if get(schema, "type").is_none()
        && schema.iter().any(|(key, _)| OF_OBJECTS.contains(&&**key))
    {
        schema.insert(0, ("type".into(), Json::text("object")));
        mends.say(&place.at("type"), "is \"object\" now");
    }
}

/// Mends the members that a table knows; what it does not know stays.
fn of_table(
    members: &mut Members<'_>,
    table: &[(&str, Form)],
    place: Option<&Place<'_>>,
    mends: &mut Mends,
) {
    members.retain_mut(|(key, value)| {
        let Some((_, form)) = table.iter().find(|(known, _)| known == key) else { return true };
        if value.is_null() {
            mends.quietly();
            return false;
        }
        let place = place.map_or_else(|| Place::new(key), |place| place.at(key));
        member(*form, value, &place, mends) || {
            mends.say(&place, "is left out, as it is not what it must be");
            false
        }
    });
}

/// Mends one; whether it stays.
fn member(form: Form, value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) -> bool {
    match form {
        Form::Text => text(value, place, mends),
        Form::Flag => flag(value, place, mends),
        Form::Count => count(value, place, mends),
        Form::Share => share(value, place, mends),
        Form::Time => value.as_text().is_some_and(is_time),
        Form::Word(words) => value.as_text().is_some_and(|word| words.contains(&word)),
        Form::Roles => texts(value, place, mends, |role| matches!(role, "user" | "assistant")),
        Form::Texts => texts(value, place, mends, |_| true),
        Form::Icons => each(value, place, mends, |icon, place, mends| {
            let is_one = matches!(get(icon, "src"), Some(Json::Text(src)) if is_visible(src));
            of_table(icon, ICON, Some(place), mends);
            is_one
        }),
        Form::Arguments => each(value, place, mends, |argument, place, mends| {
            let is_one =
                matches!(get(argument, "name"), Some(Json::Text(name)) if is_visible(name));
            of_table(argument, ARGUMENT, Some(place), mends);
            is_one
        }),
        Form::Any => matches!(value, Json::Object(_)),
        Form::Of(table) => match value {
            Json::Object(members) => {
                of_table(members, table, Some(place), mends);
                true
            }
            _ => false,
        },
        Form::Schema => match value {
            Json::Object(_) => {
                schema::mend(value, place, mends);
                true
            }
            _ => false,
        },
    }
}

fn text(value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) -> bool {
    let Json::Text(text) = value else { return false };
    if !is_visible(text) {
        *text = visible(text).into_owned().into();
        mends.say(place, "had hidden characters");
    }
    true
}

fn flag(value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) -> bool {
    let word = value.as_text().and_then(|text| {
        ["true", "false"].into_iter().find(|word| text.eq_ignore_ascii_case(word))
    });
    if let Some(word) = word {
        *value = Json::Plain(word.into());
        mends.say(place, "was in quotes");
    }
    value.is_flag()
}

fn count(value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) -> bool {
    if let Some(number) = value.as_text().and_then(number_in) {
        *value = Json::Plain(number.to_owned().into());
        mends.say(place, "was in quotes");
    }
    let Json::Plain(digits) = &*value else { return false };
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let whole = digits.split_once('.').filter(|(whole, fraction)| {
        let is_digits = whole.bytes().all(|byte| byte.is_ascii_digit());
        is_digits && fraction.bytes().all(|byte| byte == b'0')
    });
    let whole = whole.map(|(whole, _)| whole.to_owned());
    let Some(whole) = whole else { return false };
    *value = Json::Plain(whole.into());
    mends.say(place, "had a fraction");
    true
}

fn share(value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) -> bool {
    if let Some(number) = value.as_text().and_then(number_in) {
        *value = Json::Plain(number.to_owned().into());
        mends.say(place, "was in quotes");
    }
    let Some(number) = value.number() else { return false };
    if !(0.0..=1.0).contains(&number) {
        *value = Json::Plain(if number < 0.0 { "0" } else { "1" }.into());
        mends.say(place, "is between 0 and 1 now");
    }
    true
}

/// A list of texts, of which one alone may stand without a list.
fn texts(
    value: &mut Json<'_>,
    place: &Place<'_>,
    mends: &mut Mends,
    is_one: impl Fn(&str) -> bool,
) -> bool {
    if let Json::Text(text) = value {
        *value = Json::Array(vec![Json::Text(std::mem::take(text))]);
        mends.say(place, "was no list");
    }
    let Json::Array(items) = value else { return false };
    let before = items.len();
    items.retain(|item| item.as_text().is_some_and(|text| is_visible(text) && is_one(text)));
    if items.len() < before {
        mends.say(place, "had what is none of them");
    }
    before == 0 || !items.is_empty()
}

/// A list of objects; those that are none are left out.
fn each(
    value: &mut Json<'_>,
    place: &Place<'_>,
    mends: &mut Mends,
    mut is_one: impl FnMut(&mut Members<'_>, &Place<'_>, &mut Mends) -> bool,
) -> bool {
    let Json::Array(items) = value else { return false };
    let before = items.len();
    items.retain_mut(|item| match item {
        Json::Object(members) => is_one(members, place, mends),
        _ => false,
    });
    if items.len() < before {
        mends.say(place, "had what is none of them");
    }
    before == 0 || !items.is_empty()
}

/// What people may call what is at an address: its last part that says something.
fn name_of(address: &str) -> &str {
    let bare = address.split(['?', '#']).next().unwrap_or(address);
    let last = bare.rsplit(['/', ':']).find(|part| !part.is_empty());
    last.unwrap_or(address)
}

/// Whether a text is a time of RFC 3339 with its zone, which is what clients check.
fn is_time(text: &str) -> bool {
    let number = |range: Range<usize>| -> Option<u8> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let bytes = text.as_bytes();
    let has = |place: usize, expected: u8| bytes.get(place) == Some(&expected);
    let is_day = || {
        let year = text.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()))?;
        let month = Month::try_from(number(5..7)?).ok()?;
        Date::from_calendar_date(year.parse().ok()?, month, number(8..10)?).ok()
    };
    let parts = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let is_clock = |at: usize| {
        number(at..at + 2).is_some_and(|hour| hour < 24)
            && number(at + 3..at + 5).is_some_and(|minute| minute < 60)
    };
    let fraction = text.get(19..).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let zone = 19 + if digits > 0 { digits + 1 } else { 0 };
    let is_zone = match text.get(zone..) {
        Some("Z") => true,
        Some(offset) => {
            let is_signed = offset.starts_with(['+', '-']);
            is_signed && offset.len() == 6 && has(zone + 3, b':') && is_clock(zone + 1)
        }
        None => false,
    };
    let is_second = number(17..19).is_some_and(|second| second < 60);
    parts.into_iter().all(|(place, expected)| has(place, expected))
        && is_day().is_some()
        && is_clock(11)
        && is_second
        && is_zone
}
