//! What the file says of a tool of an upstream, done: its definition is written anew once, when it
//! is known; the arguments of a call are spliced when it comes. Called by `made`; reads no value
//! that passes through.

use haft_manifest::ToolRule;
use haft_proto::encode;
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, member};
use haft_server::Relayed;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::schema::Schema;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// A tool as clients are told of it.
pub(crate) struct Shaped {
    pub(crate) definition: Box<RawValue>,
    /// What becomes of its arguments, if anything does.
    pub(crate) given: Option<Given>,
    /// Arguments that its own rule is about, and the tool has not.
    pub(crate) absent: Vec<String>,
    /// Hidden arguments that every call needs there.
    pub(crate) needed: Vec<String>,
    /// Arguments whose value the tool's schema refuses.
    pub(crate) unfit: Vec<String>,
}

/// The arguments of every call, as far as they are no business of who calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// JSON text of members: those that have a value.
    members: Box<str>,
    /// Those that a call must not bring: with a value, or hidden.
    withheld: Box<[Box<str>]>,
}

/// A tool of an upstream whose arguments are not all for clients to give.
pub(crate) struct Ruled {
    pub(crate) inner: Arc<dyn Handler>,
    pub(crate) given: Given,
    /// Its name here.
    pub(crate) name: Box<str>,
}

impl Handler for Ruled {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let arguments = match self.given.splice(call.arguments) {
            Ok(arguments) => arguments,
            // As with a tool of the file, so that a model can mend it.
            Err(why) => {
                let text = Given::refusal(&self.name, &why);
                let content = json!({"content": [{"type": "text", "text": text}], "isError": true});
                let result = Relayed::Whole(content.to_string().into());
                return Made::Relayed(Box::pin(std::future::ready(Ok(result))));
            }
        };
        self.inner.call(call.with_arguments(&arguments), answer)
    }

    fn withholds(&self, argument: &str) -> bool {
        self.given.withheld.iter().any(|one| **one == *argument) || self.inner.withholds(argument)
    }
}

impl Given {
    /// What whoever called the tool of that name is told.
    pub(crate) fn refusal(name: &str, why: &str) -> String {
        format!("Invalid arguments for `{name}`: {why}.")
    }

    /// The arguments as the upstream gets them.
    ///
    /// # Errors
    /// A clause about an argument that a call must not bring.
    pub(crate) fn splice<'a>(&self, arguments: &'a str) -> Result<Cow<'a, str>, String> {
        let no_object = |_| "they are no object".to_owned();
        let mut cursor = Cursor::new(arguments, DEPTH_MAX);
        let (mut is_first, mut is_empty) = (true, true);
        cursor.enter_object().map_err(no_object)?;
        let start = cursor.position();
        while let Some(key) = cursor.next_key(&mut is_first).map_err(no_object)? {
            let key = key.decode();
            if self.withheld.iter().any(|withheld| **withheld == *key) {
                return Err(format!("`{key}` is not for callers to give; leave it out"));
            }
            cursor.value().map_err(no_object)?;
            is_empty = false;
        }
        let rest = &arguments[start..];
        Ok(match (&*self.members, is_empty) {
            ("", _) => Cow::Borrowed(arguments),
            (members, true) => Cow::Owned(format!("{{{members}{rest}")),
            (members, false) => Cow::Owned(format!("{{{members},{rest}")),
        })
    }
}

/// Does what a rule says to the definition of a tool. `own` is the part that names the tool: what
/// only patterns say is about arguments that the tool has.
pub(crate) fn shape(rule: &ToolRule, own: Option<&ToolRule>, definition: &RawValue) -> Shaped {
    let fixed = rule.fixed.iter().map(|(name, _)| name);
    let withheld: HashSet<&str> = fixed.chain(&rule.hidden).map(String::as_str).collect();
    let schema = member(definition.get(), "inputSchema").unwrap_or("{}");
    let mut text = Rewriting { withheld: &withheld, found: HashSet::new() };
    let shown = text.schema(schema);
    let required = member(schema, "required").and_then(items).unwrap_or_default();
    let is_needed = |name: &&String| {
        let is_it = |item: &&str| string(item).is_some_and(|item| item == **name);
        required.iter().any(is_it)
    };
    let is_named = |name: &str| {
        let has = |own: &ToolRule| {
            own.hidden.iter().chain(own.fixed.iter().map(|(fixed, _)| fixed)).any(|one| one == name)
        };
        own.is_some_and(has)
    };
    let is_absent = |name: &&&str| !text.found.contains(**name) && is_named(name);
    let absent = withheld.iter().filter(is_absent).map(|name| (*name).to_owned());
    let mut absent: Vec<String> = absent.collect();
    absent.sort();
    let is_sent = |name: &str| text.found.contains(name) || is_named(name);
    let needed = rule.hidden.iter().filter(is_needed).cloned().collect();
    let description = rule.description.as_ref().map(|text| {
        let mut written = Vec::new();
        encode::string(&mut written, text);
        String::from_utf8(written).expect("encoders write UTF-8")
    });
    let changed =
        [("inputSchema", (!withheld.is_empty()).then_some(shown)), ("description", description)];
    let definition = RawValue::from_string(with_members(definition.get(), changed));
    Shaped {
        definition: definition.expect("it is made of JSON"),
        given: (!withheld.is_empty()).then(|| Given::new(rule, is_sent)),
        absent,
        needed,
        unfit: unfit(rule, schema),
    }
}

/// What of a schema says what each argument is, and what that refers to.
const OF_ARGUMENTS: [&str; 5] = ["$schema", "$id", "$defs", "definitions", "properties"];

/// Arguments whose value is none that they have by the schema, in the order of the rule. What it
/// says of several together is not looked at, and a schema that is none refuses nothing.
fn unfit(rule: &ToolRule, schema: &str) -> Vec<String> {
    let members = members(schema).unwrap_or_default();
    let kept = members.iter().filter(|(key, _)| OF_ARGUMENTS.contains(&&*key.decode()));
    let kept = object_of(kept.map(|(key, value)| (key.raw(), *value)));
    let Some(schema) = (!rule.fixed.is_empty()).then(|| Schema::compile(&kept).ok()).flatten()
    else {
        return Vec::new();
    };
    let is_unfit = |(name, value): &&(String, String)| {
        let mut arguments = b"{".to_vec();
        encode::string(&mut arguments, name);
        arguments.push(b':');
        arguments.extend_from_slice(value.as_bytes());
        arguments.push(b'}');
        let arguments = String::from_utf8(arguments).expect("encoders write UTF-8");
        schema.check(&arguments).is_err()
    };
    rule.fixed.iter().filter(is_unfit).map(|(name, _)| name.clone()).collect()
}

impl Given {
    fn new(rule: &ToolRule, is_sent: impl Fn(&str) -> bool) -> Self {
        let mut members = Vec::new();
        for (name, value) in rule.fixed.iter().filter(|(name, _)| is_sent(name)) {
            if !members.is_empty() {
                members.push(b',');
            }
            encode::string(&mut members, name);
            members.push(b':');
            members.extend_from_slice(value.as_bytes());
        }
        let fixed = rule.fixed.iter().map(|(name, _)| name);
        Self {
            members: String::from_utf8(members).expect("encoders write UTF-8").into(),
            withheld: fixed.chain(&rule.hidden).map(|name| name.as_str().into()).collect(),
        }
    }
}

/// An object with other members of these names, in place of what they were or at its end.
pub(crate) fn with_members<const N: usize>(
    object: &str,
    changed: [(&str, Option<String>); N],
) -> String {
    let mut changed: Vec<_> =
        changed.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let kept = members(object).unwrap_or_default();
    let mut kept: Vec<(String, String)> =
        kept.into_iter().map(|(key, value)| (key.raw().to_owned(), value.to_owned())).collect();
    for (key, value) in &mut kept {
        if let Some(place) = changed.iter().position(|(name, _)| name == key) {
            *value = changed.swap_remove(place).1;
        }
    }
    kept.extend(changed.into_iter().map(|(key, value)| (key.to_owned(), value)));
    object_of(kept.iter().map(|(key, value)| (&**key, &**value)))
}

/// A schema on its way to one that does not know some arguments. What is not about them stays as it
/// is typed, to the letter of its numbers.
struct Rewriting<'r> {
    withheld: &'r HashSet<&'r str>,
    /// Those that it had.
    found: HashSet<String>,
}

impl Rewriting<'_> {
    /// The same for the schema of an object and those that it is put together of.
    fn schema(&mut self, schema: &str) -> String {
        let Some(members) = members(schema) else { return schema.to_owned() };
        let rewritten: Vec<_> = members
            .into_iter()
            .map(|(key, value)| {
                let value = match &*key.decode() {
                    "properties" => self.named(value, true),
                    "dependentSchemas" | "dependencies" => self.named(value, false),
                    "dependentRequired" => self.dependent(value),
                    "required" => self.list(value),
                    "allOf" | "anyOf" | "oneOf" => match items(value) {
                        Some(schemas) => array_of(schemas.iter().map(|one| self.schema(one))),
                        None => value.to_owned(),
                    },
                    "then" | "else" => self.schema(value),
                    _ => value.to_owned(),
                };
                (key.raw(), value)
            })
            .collect();
        object_of(rewritten.iter().map(|(key, value)| (*key, &**value)))
    }

    /// A mapping from arguments to something, without those.
    fn named(&mut self, named: &str, is_of_properties: bool) -> String {
        let Some(members) = members(named) else { return named.to_owned() };
        let kept = members.into_iter().filter(|(key, _)| {
            let key = key.decode();
            let is_withheld = self.withheld.contains(&*key);
            if is_withheld && is_of_properties {
                self.found.insert(key.into_owned());
            }
            !is_withheld
        });
        object_of(kept.map(|(key, value)| (key.raw(), value)).collect::<Vec<_>>())
    }

    fn dependent(&mut self, named: &str) -> String {
        let without = self.named(named, false);
        let Some(members) = members(&without) else { return without };
        let lists: Vec<_> =
            members.into_iter().map(|(key, list)| (key.raw(), self.list(list))).collect();
        object_of(lists.iter().map(|(key, list)| (*key, &**list)))
    }

    /// A list of names, without those.
    fn list(&self, list: &str) -> String {
        let Some(items) = items(list) else { return list.to_owned() };
        let is_kept = |item: &&str| string(item).is_none_or(|name| !self.withheld.contains(&*name));
        array_of(items.into_iter().filter(is_kept))
    }
}

fn string(raw: &str) -> Option<Cow<'_, str>> {
    JsonStr::from_raw(raw).map(JsonStr::decode)
}

/// The members of an object; `None` if it is none.
fn members(object: &str) -> Option<Vec<(JsonStr<'_>, &str)>> {
    let mut cursor = Cursor::new(object, DEPTH_MAX);
    cursor.enter_object().ok()?;
    let (mut members, mut is_first) = (Vec::new(), true);
    while let Some(key) = cursor.next_key(&mut is_first).ok()? {
        members.push((key, cursor.value().ok()?));
    }
    Some(members)
}

/// The items of an array; `None` if it is none.
fn items(array: &str) -> Option<Vec<&str>> {
    let mut cursor = Cursor::new(array, DEPTH_MAX);
    cursor.enter_array().ok()?;
    let (mut items, mut is_first) = (Vec::new(), true);
    while cursor.next_item(&mut is_first).ok()? {
        items.push(cursor.value().ok()?);
    }
    Some(items)
}

/// Keys are as they stand between quotes.
fn object_of<'m>(members: impl IntoIterator<Item = (&'m str, &'m str)>) -> String {
    let member = |(key, value)| format!("\"{key}\":{value}");
    format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
}

fn array_of<T: AsRef<str>>(items: impl Iterator<Item = T>) -> String {
    let mut text = String::from("[");
    for (place, item) in items.enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(item.as_ref());
    }
    text + "]"
}

/// What a rule says of arguments and cannot be meant.
pub(crate) fn doubts(name: &str, shaped: &Shaped) -> Vec<String> {
    let absent = shaped.absent.iter().map(|argument| no_such(name, argument));
    let needed = shaped.needed.iter().map(|argument| {
        format!("`tools` hides the argument `{argument}` of `{name}`, which every call needs there")
    });
    // The value may be a secret.
    let unfit = shaped.unfit.iter().map(|argument| {
        format!(
            "`tools` gives the argument `{argument}` of `{name}` a value that its schema refuses"
        )
    });
    absent.chain(needed).chain(unfit).collect()
}

/// What is said of an argument that a tool has not.
pub(crate) fn no_such(name: &str, argument: &str) -> String {
    format!("`tools` names the argument `{argument}` of `{name}`, which has no such")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(fixed: &[(&str, &str)], hidden: &[&str]) -> ToolRule {
        let text = |text: &&str| (*text).to_owned();
        ToolRule {
            fixed: fixed.iter().map(|(name, value)| (text(name), text(value))).collect(),
            hidden: hidden.iter().map(text).collect(),
            ..ToolRule::default()
        }
    }

    fn shaped(rule: &ToolRule, definition: &str) -> Shaped {
        let definition = RawValue::from_string(definition.to_owned()).expect("JSON");
        shape(rule, Some(rule), &definition)
    }

    #[test]
    fn a_schema_loses_what_callers_may_not_give_and_nothing_else() {
        let rule = rule(&[("owner", "1")], &["as user"]);
        let check = |schema: &str, expected: &str| {
            let definition = format!(r#"{{"name":"t","inputSchema":{schema},"x":1.50}}"#);
            let shaped = shaped(&rule, &definition);
            let expected = format!(r#"{{"name":"t","inputSchema":{expected},"x":1.50}}"#);
            assert_eq!(shaped.definition.get(), expected);
        };
        check(
            r#"{"type":"object","properties":{"owner":{"type":"string"},"n":{"maximum":1e400},
            "as\u0020user":{}},"required":["owner","n"],"additionalProperties":false}"#,
            concat!(
                r#"{"type":"object","properties":{"n":{"maximum":1e400}},"#,
                r#""required":["n"],"additionalProperties":false}"#
            ),
        );
        check(
            r#"{"allOf":[{"required":["owner"]},true],"oneOf":7,"anyOf":[{"properties":
            {"owner":1}}]}"#,
            r#"{"allOf":[{"required":[]},true],"oneOf":7,"anyOf":[{"properties":{}}]}"#,
        );
        check(
            r#"{"dependentRequired":{"owner":["a"],"a":["owner","b"]},"then":{"required":["owner"]},
            "dependentSchemas":{"owner":{},"b":{}},"if":{"required":["owner"]}}"#,
            concat!(
                r#"{"dependentRequired":{"a":["b"]},"then":{"required":[]},"#,
                r#""dependentSchemas":{"b":{}},"if":{"required":["owner"]}}"#
            ),
        );
        check(r#"{"properties":[]}"#, r#"{"properties":[]}"#);
    }

    #[test]
    fn what_the_tool_has_not_or_cannot_do_without_is_noticed() {
        let definition = r#"{"inputSchema":{"properties":{"a":{},"b":{}},"required":["b"]}}"#;
        let shaped = shaped(&rule(&[("a", "1"), ("c", "1")], &["b", "d"]), definition);
        assert_eq!(shaped.absent, ["c", "d"]);
        assert_eq!(shaped.needed, ["b"]);
    }

    #[test]
    fn a_value_that_the_schema_refuses_is_noticed_and_not_told() {
        let schema = r##"{"$defs":{"n":{"type":"integer"}},"required":["z"],"properties":{
            "a":{"type":"integer"},"b":{"$ref":"#/$defs/n"},"c":{"enum":["x","y"]},"e":{}}}"##;
        let check = |fixed: &[(&str, &str)], unfit: &[&str]| {
            let shaped = shaped(&rule(fixed, &[]), &format!(r#"{{"inputSchema":{schema}}}"#));
            assert_eq!(shaped.unfit, unfit, "{fixed:?}");
            let doubts = doubts("t", &shaped).concat();
            assert!(!doubts.contains("secret"), "{doubts}");
        };
        check(&[("a", "1"), ("b", "2"), ("c", r#""x""#), ("e", "[1]")], &[]);
        check(&[("a", r#""secret""#), ("b", "2")], &["a"]);
        check(&[("a", "1"), ("b", r#""secret""#), ("c", r#""secret""#)], &["b", "c"]);
        check(&[("none", "1")], &[]);
        let no_schema = shaped(&rule(&[("a", "1")], &[]), r#"{"inputSchema":{"properties":7}}"#);
        assert_eq!(no_schema.unfit, [""; 0]);
    }

    #[test]
    fn what_only_a_pattern_gives_is_given_to_tools_that_have_it() {
        let whole = rule(&[("a", "1"), ("b", "2"), ("c", "3")], &[]);
        let own = rule(&[("c", "3")], &[]);
        let definition = r#"{"inputSchema":{"properties":{"a":{}}}}"#.to_owned();
        let definition = RawValue::from_string(definition).expect("JSON");
        let shaped = shape(&whole, Some(&own), &definition);
        assert_eq!(shaped.absent, ["c"]);
        let given = shaped.given.expect("it gives something");
        assert_eq!(given.splice("{}").as_deref(), Ok(r#"{"a":1,"c":3}"#));
        assert!(given.splice(r#"{"b":2}"#).is_err());
        let shaped = shape(&whole, None, &definition);
        assert_eq!(shaped.absent, [""; 0]);
    }

    #[test]
    fn a_description_takes_the_place_of_another_or_of_none() {
        let rule = ToolRule { description: Some("a \"tool\"".to_owned()), ..ToolRule::default() };
        for (before, after) in [
            (
                r#"{"description":"old","inputSchema":{ }}"#,
                r#"{"description":"a \"tool\"","inputSchema":{ }}"#,
            ),
            (r#"{"name":"t"}"#, r#"{"name":"t","description":"a \"tool\""}"#),
        ] {
            let shaped = shaped(&rule, before);
            assert_eq!(shaped.definition.get(), after);
            assert_eq!(shaped.given, None);
        }
    }

    #[test]
    fn arguments_get_what_is_fixed_and_keep_what_they_are() {
        let given = Given::new(&rule(&[("owner", r#""a\"b""#), ("n", "[1]")], &["x"]), |_| true);
        let check = |arguments: &str, expected: &str| {
            assert_eq!(given.splice(arguments).as_deref(), Ok(expected));
        };
        check("{}", r#"{"owner":"a\"b","n":[1]}"#);
        check(" { } ", r#"{"owner":"a\"b","n":[1] } "#);
        check(r#"{"a":1.50 }"#, r#"{"owner":"a\"b","n":[1],"a":1.50 }"#);
        check(r#"{"a":{"owner":1,"x":2}}"#, r#"{"owner":"a\"b","n":[1],"a":{"owner":1,"x":2}}"#);
        let hidden = Given::new(&rule(&[], &["x"]), |_| true);
        assert!(matches!(hidden.splice(r#"{"a":1}"#), Ok(Cow::Borrowed(r#"{"a":1}"#))));
    }

    #[test]
    fn an_argument_that_is_withheld_is_refused_however_it_is_spelled() {
        let given = Given::new(&rule(&[("owner", "1")], &["x"]), |_| true);
        for arguments in [r#"{"owner":1}"#, r#"{"a":{},"\u006fwner":2}"#, r#"{"x":null}"#, "[1]"] {
            assert!(given.splice(arguments).is_err(), "{arguments}");
        }
    }
}
