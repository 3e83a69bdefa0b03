//! What the answers of an operation look like: the kinds that are asked for, and a schema where the
//! document leaves no doubt. Called by `import`; clients check answers against it, so it says what
//! members there are and of which types, and never that one must be there.

use crate::openapi::body::is_json;
use crate::openapi::document::{Document, members};
use crate::openapi::schema::{Draft, Schemas};
use serde_json::Value;

/// The kind of JSON that is answered, if it is not the plain one.
pub(crate) fn accepted<'d>(document: &'d Document, operation: &'d Value) -> Option<&'d str> {
    let mut kinds = successes(document, operation)
        .filter_map(|response| members(response, "content"))
        .flat_map(|content| content.keys());
    let first = kinds.find(|kind| is_json(kind))?;
    let is_special = first != "application/json" && !first.contains('*');
    is_special.then_some(first)
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
