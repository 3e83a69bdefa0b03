//! What an upstream says of a thing that it had before, and said otherwise: a tool that was looked
//! at once may be another one by now. Asked by `catalogue` where an upstream has something else
//! than before; `gateway` says it in the log.

use crate::catalogue::{Listed, Offer};
use crate::limits::{ALTERED_CHARS_MAX, ALTERED_MAX};
use haft_proto::json::member;
use haft_server::visible;
use serde_json::Value;
use std::collections::HashMap;

/// The members of a definition that say what a thing is. Gateways on the way write into `_meta`.
const MEMBERS: [&str; 8] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "arguments",
    "mimeType",
    "icons",
];

/// A line for each thing of the upstream of that name that is other now, and what of it; of too
/// many, how many more.
pub(crate) fn altered(upstream: &str, before: &Offer, now: &Offer) -> Vec<String> {
    let kinds = [
        ("tool", &before.tools, &now.tools),
        ("prompt", &before.prompts, &now.prompts),
        ("resource", &before.resources, &now.resources),
        ("resource template", &before.templates, &now.templates),
    ];
    let (mut lines, mut more) = (Vec::new(), 0);
    for (kind, before, now) in kinds {
        let known: HashMap<&str, &Listed> =
            before.iter().map(|listed| (listed.0.as_str(), listed)).collect();
        for (name, told) in now {
            let Some((_, before)) = known.get(name.as_str()) else { continue };
            let Some(what) = difference(before.get(), told.get()) else { continue };
            if lines.len() == ALTERED_MAX {
                more += 1;
                continue;
            }
            let name = shown(name);
            lines.push(format!("the upstream `{upstream}` has altered the {kind} {name}: {what}"));
        }
    }
    lines.extend(
        (more > 0).then(|| {
            format!("the upstream `{upstream}` has altered {more} more of its definitions")
        }),
    );
    lines
}

/// What is other in a definition; nothing, if it says the same.
fn difference(before: &str, now: &str) -> Option<String> {
    if before == now {
        return None;
    }
    let value = |text, key| -> Option<Value> { serde_json::from_str(member(text, key)?).ok() };
    let differs = |key: &&str| member(before, key) != member(now, key);
    let clauses: Vec<String> = MEMBERS
        .into_iter()
        .filter(differs)
        .filter_map(|key| {
            let (before, now) = (value(before, key), value(now, key));
            match (&before, &now) {
                _ if before == now => None,
                (_, Some(Value::String(text))) => Some(format!("`{key}` is {} now", shown(text))),
                (None, _) => Some(format!("`{key}` was not there")),
                (_, None) => Some(format!("`{key}` is gone")),
                _ => Some(format!("`{key}` is another")),
            }
        })
        .collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// The beginning of a text in quotes, on one line.
fn shown(text: &str) -> String {
    let text = visible(text);
    let mut start: String = text.chars().take(ALTERED_CHARS_MAX).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn offer(tools: &[(&str, &str)]) -> Offer {
        let tools = tools.iter().map(|(name, told)| {
            let told = RawValue::from_string((*told).to_owned()).expect("JSON");
            ((*name).to_owned(), told)
        });
        Offer { tools: tools.collect(), ..Offer::default() }
    }

    #[test]
    fn what_is_other_is_told_and_what_only_looks_so_is_not() {
        let before = r#"{"name":"t","description":"Reads.","inputSchema":{"type":"object"}}"#;
        for (now, expected) in [
            (before, None),
            (r#"{"inputSchema":{"type": "object"},"name":"t","description":"Reads."}"#, None),
            (
                r#"{"name":"t","description":"Deletes \u001b[1mall\u202e.",
                "inputSchema":{"type":"object"}}"#,
                Some("`description` is \"Deletes [1mall.\" now"),
            ),
            (
                r#"{"name":"t","inputSchema":{"type":"object","required":["a"]},"annotations":{}}"#,
                Some(
                    "`description` is gone, `inputSchema` is another, `annotations` was not there",
                ),
            ),
        ] {
            let lines = altered("u", &offer(&[("t", before)]), &offer(&[("t", now), ("new", now)]));
            let expected =
                expected.map(|what| format!("the upstream `u` has altered the tool \"t\": {what}"));
            assert_eq!(lines, Vec::from_iter(expected), "{now}");
        }
    }

    #[test]
    fn of_many_the_first_are_told_and_the_others_counted() {
        let names: Vec<String> = (0..ALTERED_MAX + 3).map(|number| format!("t{number}")).collect();
        let all = |told: &str| {
            let tools: Vec<_> = names.iter().map(|name| (name.as_str(), told)).collect();
            offer(&tools)
        };
        let lines = altered("u", &all(r#"{"title":"a"}"#), &all(r#"{"title":"b"}"#));
        assert_eq!(lines.len(), ALTERED_MAX + 1);
        assert!(lines[ALTERED_MAX].ends_with("3 more of its definitions"), "{lines:?}");
        let long = difference(r#"{"title":"a"}"#, &format!(r#"{{"title":"{}"}}"#, "é".repeat(999)));
        assert!(long.is_some_and(|line| line.len() < 300 && line.contains('…')));
    }
}
