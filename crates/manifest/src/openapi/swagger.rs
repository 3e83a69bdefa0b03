//! A document of Swagger 2.0 as one of OpenAPI 3.0, so that all else knows of one dialect: bodies,
//! forms, styles, servers and security schemes have other places and names. Called by `document`;
//! it follows references to parameters and answers, which change, and leaves those to schemas.

use crate::openapi::document::{members, text};
use crate::openapi::limits::{INLINED_MAX, REFERENCES_MAX};
use serde_json::{Map, Value, json};

/// A mapping of JSON.
type Object = Map<String, Value>;

/// What parameters say that is not said of their values.
const OF_PARAMETERS: [&str; 7] =
    ["allowEmptyValue", "collectionFormat", "description", "in", "name", "required", "schema"];
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

/// A document on its way.
struct Conversion<'r> {
    root: &'r Value,
    consumes: Vec<&'r str>,
    produces: Vec<&'r str>,
    /// Values that may still be written in the place of references.
    left: usize,
}

/// A parameter of a body or form, or one of another place, converted.
enum Parameter<'r> {
    Body(&'r Value),
    Field(&'r Value),
    Other(Value),
}

/// The document as OpenAPI 3.0 has it, or why there is none.
pub(crate) fn converted(mut root: Value) -> Result<Value, String> {
    let mut out = Object::new();
    let mut conversion = Conversion {
        root: &root,
        consumes: texts(root.get("consumes")),
        produces: texts(root.get("produces")),
        left: INLINED_MAX,
    };
    out.insert("openapi".to_owned(), "3.0.3".into());
    if let Some(servers) = servers(&root, root.get("schemes")) {
        out.insert("servers".to_owned(), servers);
    }
    let mut paths = Object::new();
    for (path, item) in members(&root, "paths").into_iter().flatten() {
        paths.insert(path.clone(), conversion.item(item)?);
    }
    out.insert("paths".to_owned(), Value::Object(paths));
    let mut schemes = Object::new();
    for (name, scheme) in members(&root, "securityDefinitions").into_iter().flatten() {
        schemes.insert(name.clone(), security_scheme(scheme));
    }
    let is_moved = has_other_references(&root);
    let mut components = Object::new();
    components.insert("securitySchemes".to_owned(), Value::Object(schemes));
    let definitions = root.as_object_mut().and_then(|members| members.remove("definitions"));
    components.insert("schemas".to_owned(), definitions.unwrap_or_default());
    out.insert("components".to_owned(), Value::Object(components));
    if let Value::Object(members) = root {
        for (key, value) in members {
            let is_kept = is_moved || KEPT.contains(&&*key) || key.starts_with("x-");
            if is_kept && !out.contains_key(&key) && key != "swagger" {
                out.insert(key, value);
            } else if is_moved && key == "paths" {
                out.insert(PATHS.to_owned(), value);
            }
        }
    }
    let mut out = Value::Object(out);
    settle(&mut out);
    Ok(out)
}

/// What is the same, or is referred to as a schema at times.
const KEPT: [&str; 4] = ["info", "parameters", "responses", "security"];
/// Where the paths of 2.0 are kept for those who refer to parts of them.
const PATHS: &str = "x-paths-2";

/// Texts of a list.
fn texts(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether a reference leads to a place of the document that has another name afterwards.
fn has_other_references(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_other_references),
        Value::Object(members) => {
            let leads_elsewhere = |to: &str| {
                let known = ["#/definitions/", "#/parameters/", "#/responses/", "#/x-"];
                to.starts_with("#/") && !known.iter().any(|start| to.starts_with(start))
            };
            members.get("$ref").and_then(Value::as_str).is_some_and(leads_elsewhere)
                || members.values().any(has_other_references)
        }
        _ => false,
    }
}

/// What schemas say otherwise, wherever they stand.
fn settle(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref") {
                if let Some(rest) = to.strip_prefix("#/definitions/") {
                    *to = format!("#/components/schemas/{rest}");
                } else if let Some(rest) = to.strip_prefix("#/paths/") {
                    *to = format!("#/{PATHS}/{rest}");
                }
            }
            if members.get("type").is_some_and(|kind| kind == "file") {
                members.insert("type".to_owned(), "string".into());
                members.insert("format".to_owned(), "binary".into());
            }
            if members.get("x-nullable") == Some(&Value::Bool(true)) {
                members.insert("nullable".to_owned(), true.into());
            }
            members.values_mut().for_each(settle);
        }
        _ => {}
    }
}

/// The addresses that a document or operation is served at, those that nobody overhears first.
fn servers(root: &Value, schemes: Option<&Value>) -> Option<Value> {
    let (host, path) = (text(root, "host"), text(root, "basePath").unwrap_or_default());
    let path =
        if path.is_empty() || path.starts_with('/') { path.into() } else { format!("/{path}") };
    let Some(host) = host.filter(|host| !host.is_empty()) else {
        return (!path.is_empty()).then(|| json!([{ "url": path }]));
    };
    let mut schemes = texts(schemes);
    schemes.retain(|scheme| matches!(*scheme, "http" | "https"));
    schemes.sort_by_key(|scheme| *scheme != "https");
    if schemes.is_empty() {
        // It is the one that the document is asked for by.
        return Some(json!([{ "url": format!("//{host}{path}") }]));
    }
    let url = |scheme: &&str| json!({ "url": format!("{scheme}://{host}{path}") });
    Some(schemes.iter().map(url).collect())
}

fn security_scheme(scheme: &Value) -> Value {
    match text(scheme, "type") {
        Some("basic") => json!({ "type": "http", "scheme": "basic" }),
        Some("oauth2") => {
            let flow = match text(scheme, "flow").unwrap_or_default() {
                "application" => "clientCredentials",
                "accessCode" => "authorizationCode",
                other => other,
            };
            let said = |key: &str| scheme.get(key).cloned().unwrap_or_default();
            let flows = json!({ flow: {
                "authorizationUrl": said("authorizationUrl"),
                "tokenUrl": said("tokenUrl"),
                "scopes": said("scopes"),
            } });
            json!({ "type": "oauth2", "flows": flows })
        }
        _ => scheme.clone(),
    }
}

impl<'r> Conversion<'r> {
    /// What is really there. What cannot be followed stays a reference, whose reader says so.
    fn resolved(&self, value: &'r Value) -> &'r Value {
        let mut found = value;
        for _ in 0..REFERENCES_MAX {
            let to = text(found, "$ref").and_then(|to| to.strip_prefix('#'));
            let Some(next) = to.and_then(|pointer| self.root.pointer(&unescaped(pointer))) else {
                return found;
            };
            found = next;
        }
        value
    }

    /// A copy of what may be written several times.
    fn copy(&mut self, value: &Value) -> Result<Value, String> {
        let count = size(value);
        self.left = self.left.checked_sub(count).ok_or_else(|| {
            "what its operations share is too much to be written for each of them".to_owned()
        })?;
        Ok(value.clone())
    }

    fn item(&mut self, item: &'r Value) -> Result<Value, String> {
        let Value::Object(members) = self.resolved(item) else { return Ok(item.clone()) };
        let mut shared = Vec::new();
        for value in members.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            shared.push(self.parameter(value)?);
        }
        let mut out = Object::new();
        for (key, value) in members {
            let converted = match &**key {
                "parameters" => {
                    let others = shared.iter().filter_map(|one| match one {
                        Parameter::Other(value) => Some(value.clone()),
                        _ => None,
                    });
                    others.collect()
                }
                key if METHODS.contains(&key) => self.operation(value, &shared)?,
                _ => self.copy(value)?,
            };
            out.insert(key.clone(), converted);
        }
        Ok(Value::Object(out))
    }

    fn operation(&mut self, value: &'r Value, shared: &[Parameter<'r>]) -> Result<Value, String> {
        let Value::Object(members) = self.resolved(value) else { return Ok(value.clone()) };
        let (mut bodies, mut fields) = (Vec::new(), Vec::new());
        let mut others = Vec::new();
        for value in members.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            match self.parameter(value)? {
                Parameter::Body(value) => bodies.push(value),
                Parameter::Field(value) => fields.push(value),
                Parameter::Other(value) => others.push(value),
            }
        }
        for one in shared {
            let is_new = |own: &[&Value], value: &Value| {
                !own.iter().any(|own| text(own, "name") == text(value, "name"))
            };
            match one {
                Parameter::Body(value) if bodies.is_empty() => bodies.push(value),
                Parameter::Field(value) if is_new(&fields, value) => fields.push(value),
                _ => {}
            }
        }
        let own = |key: &str, all: &[&'r str]| match members.get(key) {
            Some(own) => texts(Some(own)),
            None => all.to_vec(),
        };
        let consumes = own("consumes", &self.consumes);
        let produces = own("produces", &self.produces);
        let mut out = Object::new();
        for (key, value) in members {
            match &**key {
                "consumes" | "parameters" | "produces" | "schemes" => {}
                "responses" => {
                    let responses = self.responses(value, &produces)?;
                    out.insert(key.clone(), responses);
                }
                _ => _ = out.insert(key.clone(), self.copy(value)?),
            }
        }
        if !others.is_empty() {
            out.insert("parameters".to_owned(), Value::Array(others));
        }
        if let Some(body) = self.body(&bodies, &fields, &consumes)? {
            out.insert("requestBody".to_owned(), body);
        }
        let schemes = members.get("schemes").filter(|_| self.root.get("host").is_some());
        if let Some(servers) = schemes.and_then(|schemes| servers(self.root, Some(schemes))) {
            out.insert("servers".to_owned(), servers);
        }
        Ok(Value::Object(out))
    }

    fn parameter(&mut self, value: &'r Value) -> Result<Parameter<'r>, String> {
        let found = self.resolved(value);
        match text(found, "in") {
            Some("body") => return Ok(Parameter::Body(found)),
            Some("formData") => return Ok(Parameter::Field(found)),
            _ => {}
        }
        let Value::Object(members) = self.copy(found)? else {
            return Ok(Parameter::Other(found.clone()));
        };
        if members.contains_key("$ref") {
            return Ok(Parameter::Other(Value::Object(members)));
        }
        let (mut out, mut schema) = (Object::new(), Object::new());
        for (key, value) in members {
            match OF_PARAMETERS.contains(&&*key) || key.starts_with("x-") {
                true => out.insert(key, value),
                false => schema.insert(key, value),
            };
        }
        if text(found, "type") == Some("array") {
            style(found, &mut out);
        }
        out.remove("collectionFormat");
        out.entry("schema").or_insert(Value::Object(schema));
        Ok(Parameter::Other(Value::Object(out)))
    }

    /// The body of an operation, of what it is made of and the kinds that it may be.
    fn body(
        &mut self,
        bodies: &[&'r Value],
        fields: &[&'r Value],
        consumes: &[&str],
    ) -> Result<Option<Value>, String> {
        if let [body, ..] = bodies {
            let schema = self.copy(body.get("schema").unwrap_or(&Value::Null))?;
            let media = if schema.is_null() { json!({}) } else { json!({ "schema": schema }) };
            let kinds = if consumes.is_empty() { &["application/json"][..] } else { consumes };
            let mut content = Object::new();
            for kind in kinds {
                content.insert((*kind).to_owned(), self.copy(&media)?);
            }
            let mut out = json!({
                "required": body.get("required") == Some(&Value::Bool(true)),
                "content": content,
            });
            if let Some(words) = body.get("description") {
                out["description"] = words.clone();
            }
            return Ok(Some(out));
        }
        if fields.is_empty() {
            return Ok(None);
        }
        let has_file = fields.iter().any(|field| text(field, "type") == Some("file"));
        let is = |kind: &str| consumes.iter().any(|known| known.starts_with(kind));
        let is_multipart = has_file || is(MULTIPART) && !is(FORM);
        let (mut properties, mut required, mut encoding) =
            (Object::new(), Vec::new(), Object::new());
        for field in fields {
            let (Some(name), Value::Object(members)) = (text(field, "name"), self.copy(field)?)
            else {
                continue;
            };
            if members.get("required") == Some(&Value::Bool(true)) {
                required.push(name);
            }
            let is_schema = |key: &String| key == "description" || !OF_PARAMETERS.contains(&&**key);
            let schema: Object = members.into_iter().filter(|(key, _)| is_schema(key)).collect();
            properties.insert(name.to_owned(), Value::Object(schema));
            let mut written = Object::new();
            style(field, &mut written);
            if text(field, "type") == Some("array") && !is_multipart {
                encoding.insert(name.to_owned(), Value::Object(written));
            }
        }
        let is_required = !required.is_empty();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let kind = if is_multipart { MULTIPART } else { FORM };
        let media = json!({ "schema": schema, "encoding": encoding });
        Ok(Some(json!({ "required": is_required, "content": { kind: media } })))
    }

    fn responses(&mut self, value: &'r Value, produces: &[&str]) -> Result<Value, String> {
        let Value::Object(members) = value else { return Ok(value.clone()) };
        let mut out = Object::new();
        for (status, response) in members {
            let mut response = self.copy(self.resolved(response))?;
            if let Value::Object(members) = &mut response
                && let Some(schema) = members.remove("schema")
            {
                let kinds = if produces.is_empty() { &["application/json"][..] } else { produces };
                let mut content = Object::new();
                for kind in kinds {
                    let schema = self.copy(&schema)?;
                    content.insert((*kind).to_owned(), json!({ "schema": schema }));
                }
                members.insert("content".to_owned(), Value::Object(content));
            }
            out.insert(status.clone(), response);
        }
        Ok(Value::Object(out))
    }
}

const MULTIPART: &str = "multipart/form-data";
const FORM: &str = "application/x-www-form-urlencoded";

/// How a list is written: without a word about it, with commas.
fn style(parameter: &Value, out: &mut Object) {
    let is_in_query = matches!(text(parameter, "in"), Some("query" | "formData"));
    let (style, explode) = match text(parameter, "collectionFormat") {
        Some("multi") => ("form", true),
        Some("pipes") => ("pipeDelimited", false),
        Some("ssv") => ("spaceDelimited", false),
        Some("tsv") => ("tabDelimited", false),
        _ => ("form", false),
    };
    if is_in_query {
        out.insert("style".to_owned(), style.into());
        out.insert("explode".to_owned(), explode.into());
    }
}

/// A pointer of an address as one of JSON.
fn unescaped(pointer: &str) -> String {
    let token = |token: &str| {
        let token = crate::openapi::document::token_of(token);
        token.replace('~', "~0").replace('/', "~1")
    };
    pointer.split('/').map(token).collect::<Vec<_>>().join("/")
}

/// How many values something is made of.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        Value::String(text) => text.len() / 64,
        _ => 0,
    }
}
