//! The keywords of JSON Schema and what the value of each has to be, of all drafts that are in use.
//! Read by `schema`; what is no keyword is an annotation of somebody.

/// What a keyword's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// A regular expression.
    Pattern,
    /// Where another schema is.
    Reference,
    Flag,
    /// How many; no less than nothing.
    Count,
    Number,
    /// A number above zero.
    Step,
    /// A bound that is a number; in draft 4 whether another keyword's bound is meant without it.
    Beyond,
    /// One of the seven types, or several.
    Type,
    /// The values that there are.
    Choices,
    /// Any value, `null` too.
    Value,
    /// Any values.
    Values,
    /// Names of members.
    Names,
    /// Names of members, by names of members.
    NamesByName,
    Schema,
    /// A schema; clients know it as `true` and `false` too.
    SchemaOrFlag,
    /// A schema, or in old drafts one for each place.
    Items,
    Schemas,
    SchemaByName,
    SchemaByPattern,
    /// Schemas or names of members, by names of members.
    Either,
}

const KEYWORDS: [(&str, Form); 62] = [
    ("$anchor", Form::Text),
    ("$comment", Form::Text),
    ("$defs", Form::SchemaByName),
    ("$dynamicAnchor", Form::Text),
    ("$dynamicRef", Form::Reference),
    ("$id", Form::Text),
    ("$recursiveRef", Form::Reference),
    ("$ref", Form::Reference),
    ("$schema", Form::Text),
    ("additionalItems", Form::SchemaOrFlag),
    ("additionalProperties", Form::SchemaOrFlag),
    ("allOf", Form::Schemas),
    ("anyOf", Form::Schemas),
    ("const", Form::Value),
    ("contains", Form::Schema),
    ("contentEncoding", Form::Text),
    ("contentMediaType", Form::Text),
    ("contentSchema", Form::Schema),
    ("default", Form::Value),
    ("definitions", Form::SchemaByName),
    ("dependencies", Form::Either),
    ("dependentRequired", Form::NamesByName),
    ("dependentSchemas", Form::SchemaByName),
    ("deprecated", Form::Flag),
    ("description", Form::Text),
    ("else", Form::Schema),
    ("enum", Form::Choices),
    ("example", Form::Value),
    ("examples", Form::Values),
    ("exclusiveMaximum", Form::Beyond),
    ("exclusiveMinimum", Form::Beyond),
    ("format", Form::Text),
    ("if", Form::Schema),
    ("items", Form::Items),
    ("maxContains", Form::Count),
    ("maxItems", Form::Count),
    ("maxLength", Form::Count),
    ("maxProperties", Form::Count),
    ("maximum", Form::Number),
    ("minContains", Form::Count),
    ("minItems", Form::Count),
    ("minLength", Form::Count),
    ("minProperties", Form::Count),
    ("minimum", Form::Number),
    ("multipleOf", Form::Step),
    ("not", Form::Schema),
    ("nullable", Form::Flag),
    ("oneOf", Form::Schemas),
    ("pattern", Form::Pattern),
    ("patternProperties", Form::SchemaByPattern),
    ("prefixItems", Form::Schemas),
    ("properties", Form::SchemaByName),
    ("propertyNames", Form::Schema),
    ("readOnly", Form::Flag),
    ("required", Form::Names),
    ("then", Form::Schema),
    ("title", Form::Text),
    ("type", Form::Type),
    ("unevaluatedItems", Form::SchemaOrFlag),
    ("unevaluatedProperties", Form::SchemaOrFlag),
    ("uniqueItems", Form::Flag),
    ("writeOnly", Form::Flag),
];

/// What a keyword's value has to be; nothing, if it is none.
pub(super) fn form(keyword: &str) -> Option<Form> {
    let place = KEYWORDS.binary_search_by_key(&keyword, |(known, _)| known).ok()?;
    Some(KEYWORDS[place].1)
}

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// What languages call the types.
const MEANT: [(&str, &str); 15] = [
    ("bool", "boolean"),
    ("decimal", "number"),
    ("dict", "object"),
    ("double", "number"),
    ("float", "number"),
    ("int", "integer"),
    ("list", "array"),
    ("long", "integer"),
    ("map", "object"),
    ("none", "null"),
    ("nonetype", "null"),
    ("str", "string"),
    ("text", "string"),
    ("tuple", "array"),
    ("uuid", "string"),
];

/// The type that a word means; nothing, if it is every one or none that is known.
pub(super) fn type_meant(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let known = TYPES.into_iter().find(|known| *known == lower);
    known.or_else(|| MEANT.into_iter().find(|(said, _)| *said == lower).map(|(_, meant)| meant))
}

/// The dialects that clients know, without their scheme.
pub(super) const DIALECTS: [&str; 4] = [
    "//json-schema.org/draft/2020-12/schema",
    "//json-schema.org/draft/2019-09/schema",
    "//json-schema.org/draft-07/schema",
    "//json-schema.org/draft-06/schema",
];
/// Those that are brought to [`DRAFT_7`].
pub(super) const OLD_DIALECTS: [&str; 2] =
    ["//json-schema.org/draft-04/schema", "//json-schema.org/draft-03/schema"];
pub(super) const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found() {
        assert!(KEYWORDS.is_sorted_by_key(|(keyword, _)| keyword));
        assert_eq!(form("items"), Some(Form::Items));
        assert_eq!(form("x-mine"), None);
        assert_eq!(type_meant("STRING"), Some("string"));
        assert_eq!(type_meant("Any"), None);
    }
}
