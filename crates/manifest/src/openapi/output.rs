//! What the answers of an operation look like: the kinds that are asked for, and a schema where the
//! document leaves no doubt. Called by `import`; clients check answers against it, so it says what
//! members there are and of which types, and never that one must be there.

use crate::media_type::{self, essence};
use crate::openapi::body::{self, is_json};
use crate::openapi::document::{Document, members};
use crate::openapi::limits::ACCEPTED_MAX;
use crate::openapi::schema::{Draft, Schemas};
use serde_json::{Map, Value};

/// What is asked for: the kinds of a good answer, of which models read JSON best and texts better
/// than bytes, and whatever else comes, as an error has a kind of its own.
pub(crate) fn accepted(document: &Document, operation: &Value) -> Option<String> {
    let mut responses: Vec<&Value> = successes(document, operation).collect();
    if responses.is_empty() {
        let default = operation.get("responses").and_then(|responses| responses.get("default"));
        responses.extend(default.and_then(|default| document.resolve(default).ok()));
    }
    let contents = responses.iter().filter_map(|response| members(response, "content"));
    let mut kinds: Vec<&str> = Vec::new();
    for kind in contents.flat_map(Map::keys) {
        // A range is one too, with any name in place of its star.
        if media_type::is_one(&kind.replace('*', "x"))
            && essence(kind) != "*/*"
            && !kinds.contains(&&**kind)
        {
            kinds.push(kind);
        }
    }
    kinds.sort_by_key(|kind| (body::kind(kind), essence(kind) != "application/json"));
    kinds.truncate(ACCEPTED_MAX);
    let (first, others) = kinds.split_first()?;
    let mut accepted = (*first).to_owned();
    for kind in others {
        // Equals would be the server's choice.
        accepted.push_str(&format!(", {kind};q=0.9"));
    }
    accepted.push_str(", */*;q=0.5");
    Some(accepted)
}

/// The schema of the one answer that there is, if it is an object.
pub(crate) fn schema<'d>(
    document: &'d Document,
    operation: &'d Value,
    schemas: &mut Schemas<'d>,
) -> Option<Draft> {
    let mut all = successes(document, operation);
    let (only, None) = (all.next()?, all.next()) else { return None };
    let content = members(only, "content")?;
    let mut kinds = content.iter();
    let ((kind, media), None) = (kinds.next()?, kinds.next()) else { return None };
    let schema = media.get("schema").filter(|_| is_json(kind))?;
    let gathered = schemas.gather(schema).ok()??;
    let is_object = gathered.types() == ["object"] && !gathered.properties().is_empty();
    let is_plain = gathered.choices("oneOf").is_empty() && gathered.choices("anyOf").is_empty();
    (is_object && is_plain).then(|| schemas.answer(&gathered))
}

fn successes<'d>(document: &'d Document, operation: &'d Value) -> impl Iterator<Item = &'d Value> {
    let responses = members(operation, "responses").into_iter().flatten();
    let good = responses.filter(|(status, _)| status.starts_with('2'));
    good.filter_map(|(_, response)| document.resolve(response).ok())
}
