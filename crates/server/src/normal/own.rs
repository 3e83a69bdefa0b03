//! Schemas of this server's own, whoever wrote them: `true` and `false` are schemas to JSON Schema,
//! and to clients that want objects they spoil the list. Asked when a schema is taken up; one that
//! has neither, as nearly all, is not read.

use super::json::{Json, Members};
use super::keywords::{Form, form};

/// The same schema without booleans where clients want an object.
pub(crate) fn of_own(text: String) -> String {
    if !may_have_booleans(&text) {
        return text;
    }
    let Ok((mut json, _)) = Json::read(&text) else { return text };
    let mut is_changed = false;
    if let Json::Object(members) = &mut json {
        inside(members, &mut is_changed);
    }
    if is_changed { json.written() } else { text }
}

/// The keywords that have booleans most often, none of which is a schema to these clients.
const FLAGS: [&str; 2] = ["\"additionalProperties\"", "\"uniqueItems\""];

/// Whether `true` or `false` stands anywhere but behind one of these.
fn may_have_booleans(text: &str) -> bool {
    let is_other = |place: usize| {
        let before = text[..place].trim_end().strip_suffix(':').map(str::trim_end);
        !before.is_some_and(|before| FLAGS.iter().any(|flag| before.ends_with(flag)))
    };
    let stand = |word| text.match_indices(word).any(|(place, _)| is_other(place));
    stand("true") || stand("false")
}

fn inside(members: &mut Members<'_>, is_changed: &mut bool) {
    for (key, value) in members {
        match (form(key), value) {
            (Some(Form::SchemaOrFlag), value) if value.is_flag() => {}
            (Some(Form::Schema | Form::SchemaOrFlag | Form::Items), value @ Json::Object(_)) => {
                schema(value, is_changed);
            }
            (Some(Form::Schema | Form::Items), value) if value.is_flag() => {
                schema(value, is_changed);
            }
            (Some(Form::Schemas | Form::Items), Json::Array(items)) => {
                items.iter_mut().for_each(|item| schema(item, is_changed));
            }
            (
                Some(Form::SchemaByName | Form::SchemaByPattern | Form::Either),
                Json::Object(named),
            ) => named.iter_mut().for_each(|(_, value)| schema(value, is_changed)),
            _ => {}
        }
    }
}

fn schema(value: &mut Json<'_>, is_changed: &mut bool) {
    match value {
        Json::Object(members) => inside(members, is_changed),
        flag if flag.is_flag() => {
            let refuses = flag.is_plain("false").then(|| ("not".into(), Json::object()));
            *flag = Json::Object(refuses.into_iter().collect());
            *is_changed = true;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_objects_where_clients_want_those() {
        for (text, expected) in [
            (r#"{"properties":{"v":true}}"#, r#"{"properties":{"v":{}}}"#),
            (
                r#"{"properties":{"v":{"items":{"anyOf":[false]}}},"not":true}"#,
                r#"{"properties":{"v":{"items":{"anyOf":[{"not":{}}]}}},"not":{}}"#,
            ),
            (
                r#"{"dependencies":{"a":["true"],"b":true}}"#,
                r#"{"dependencies":{"a":["true"],"b":{}}}"#,
            ),
        ] {
            assert_eq!(of_own(text.to_owned()), expected);
        }
        for same in [
            r#"{"properties" : {"a":{"default":true,"const":false,"enum":[true]}}}"#,
            r#"{ "additionalProperties" : false, "x":[true], "description":"true" }"#,
            r#"{"properties":{"default":{"description":"or false"}}}"#,
            "no JSON true",
        ] {
            assert_eq!(of_own(same.to_owned()), same);
        }
    }

    #[test]
    fn a_schema_without_other_booleans_is_not_read() {
        assert!(!may_have_booleans(r#"{"additionalProperties": false,"a":{"uniqueItems":true}}"#));
        assert!(may_have_booleans(r#"{"properties":{"properties":true}}"#));
        let named = r#"{"properties":{"default":true}}"#;
        assert_eq!(of_own(named.to_owned()), r#"{"properties":{"default":{}}}"#);
    }
}
