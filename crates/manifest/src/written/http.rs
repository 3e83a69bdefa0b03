//! A tool that asks a server, as it is typed: the keys of `http`. Read by `http`.

use crate::place::Placed;
use crate::tool::typed;
use crate::written::Scalar;
use crate::written::shape::Shape;
use crate::written::tool::Env;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A request to a server: one of `get`, `head`, `post`, `put`, `patch` and `delete` with the
/// address, a template whose values are escaped: no value can leave its place in path or query.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`http`")]
#[schemars(rename = "Http")]
pub(crate) struct Http {
    /// The address to read from, like `https://api.example.com/v1/cities/{{ city }}`. Scheme, host
    /// and port are fixed; `${env:BASE}/v1` is, too. In the path, `{{ path | safe }}` lets slashes
    /// pass.
    pub(crate) get: Option<Placed<Scalar>>,
    /// The address whose headers are the answer.
    pub(crate) head: Option<Placed<Scalar>>,
    /// The address to send to.
    pub(crate) post: Option<Placed<Scalar>>,
    /// The address to put something at.
    pub(crate) put: Option<Placed<Scalar>>,
    /// The address of what is changed.
    pub(crate) patch: Option<Placed<Scalar>>,
    /// The address of what is deleted.
    pub(crate) delete: Option<Placed<Scalar>>,
    /// Parameters for the query, as templates. One whose arguments are all absent is left out; one
    /// that is just `{{ name }}` with a list is there once for each item.
    pub(crate) query: Option<Placed<Env>>,
    /// Headers, as templates; left out like parameters. A value with a line end is refused.
    pub(crate) headers: Option<Placed<Env>>,
    /// Who asks. It is sent to this server only, never where a redirect leads beyond it.
    pub(crate) auth: Option<Placed<Auth>>,
    /// The body as JSON: any value whose texts are templates. A text that is just `{{ name }}`
    /// becomes the argument as it is, a number or a list too; a member whose arguments are all
    /// absent is left out.
    pub(crate) json: Option<Placed<Shape>>,
    /// The body as the fields of a form, as templates; left out like parameters.
    pub(crate) form: Option<Placed<Env>>,
    /// The body as `multipart/form-data`: fields, as templates, and files.
    pub(crate) multipart: Option<Placed<Parts>>,
    /// The body as a text, as a template. Its kind is `text/plain` unless `headers` say otherwise.
    pub(crate) body: Option<Placed<Scalar>>,
    /// The statuses that are no failure, like `[2xx, 404]`; `[2xx]` without this key.
    pub(crate) ok_status: Option<Placed<Vec<Placed<Scalar>>>>,
    /// How many redirects are followed, from 0 to 20; 5 without this key.
    pub(crate) redirects: Option<Placed<u32>>,
    /// Let arguments choose the host, like `https://{{ region }}.example.com/` or `{{ url }}`.
    #[serde(default)]
    pub(crate) allow_dynamic_host: bool,
    /// Reach this machine and private networks too: `true`, or a list of hosts, addresses and
    /// networks, like `[localhost, 10.0.0.0/8]`. Without this key only addresses of the internet
    /// are reached, whatever a name or a redirect leads to. A proxy finds names by itself: of
    /// those, only what this machine knows is checked.
    pub(crate) allow_private: Option<Placed<AllowPrivate>>,
}

/// Who asks: one of these. Nothing in it is a template.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`auth`")]
#[schemars(rename = "Auth")]
pub(crate) struct Auth {
    /// A token for `Authorization: Bearer`, like `${env:API_TOKEN}`.
    pub(crate) bearer: Option<Placed<Scalar>>,
    /// A user and a password for `Authorization: Basic`.
    pub(crate) basic: Option<Placed<Basic>>,
    /// A header with a key.
    pub(crate) header: Option<Placed<Key>>,
    /// A parameter of the query with a key, where a server knows nothing better.
    pub(crate) query: Option<Placed<Key>>,
    /// An access token by OAuth client credentials, fetched when it is needed, kept and renewed.
    pub(crate) oauth: Option<Placed<OAuth>>,
}

/// A user and a password.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`basic`")]
#[schemars(rename = "Basic")]
pub(crate) struct Basic {
    /// The name of the user.
    pub(crate) user: Placed<Scalar>,
    /// The password, like `${env:API_PASSWORD}`.
    pub(crate) password: Placed<Scalar>,
}

/// A key by which a server knows who asks: the name and the value of a header, or of a parameter
/// of the query.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a key")]
#[schemars(rename = "Key")]
pub(crate) struct Key {
    /// The name of the header or parameter, like x-api-key.
    pub(crate) name: Placed<String>,
    /// The key, like `${env:API_KEY}`.
    pub(crate) value: Placed<Scalar>,
}

/// OAuth client credentials (RFC 6749, 4.4).
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`oauth`")]
#[schemars(rename = "OAuth")]
pub(crate) struct OAuth {
    /// Where tokens are granted.
    pub(crate) token_url: Placed<Scalar>,
    /// The client's name there.
    pub(crate) client_id: Placed<Scalar>,
    /// Its secret, like `${env:CLIENT_SECRET}`.
    pub(crate) client_secret: Placed<Scalar>,
    /// What the token is to allow, as words.
    pub(crate) scope: Option<Placed<Scalar>>,
    /// Whom the token is for, where the authorization server asks.
    pub(crate) audience: Option<Placed<Scalar>>,
    /// Where name and secret are sent: in the header (`basic`) or in the `body`; `basic` without
    /// this key.
    #[serde(default)]
    pub(crate) send: Send,
}

/// Where name and secret are sent.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Send {
    /// In the header.
    #[default]
    Basic,
    /// In the body.
    Body,
}

/// The parts of a `multipart/form-data` body, in order.
#[derive(Debug)]
pub(crate) struct Parts(pub(crate) Vec<(Placed<String>, Placed<Part>)>);

impl Http {
    /// Every text that is sent behind the address, and the key that it belongs to.
    pub(crate) fn texts(&self) -> Vec<(&'static str, Placed<String>)> {
        let mut texts = Vec::new();
        let mut add = |key, text: &Placed<Scalar>| texts.push((key, typed(text)));
        for (key, pairs) in
            [("`headers`", &self.headers), ("`query`", &self.query), ("`form`", &self.form)]
        {
            let pairs = pairs.iter().flat_map(|pairs| &pairs.value.0);
            pairs.for_each(|(_, value)| add(key, value));
        }
        self.body.iter().for_each(|text| add("`body`", text));
        for (_, part) in self.multipart.iter().flat_map(|parts| &parts.value.0) {
            match &part.value {
                Part::Field(text) => {
                    texts.push(("`multipart`", Placed::new(part.place, text.0.clone())));
                }
                Part::File(file) => {
                    texts.extend(
                        [&file.content, &file.filename].map(|text| ("`multipart`", typed(text))),
                    );
                    texts.extend(file.mime_type.iter().map(|kind| ("`multipart`", kind.clone())));
                }
            }
        }
        let mut waiting: Vec<_> = self.json.iter().collect();
        while let Some(shape) = waiting.pop() {
            match &shape.value {
                Shape::Text(text) => texts.push(("`json`", Placed::new(shape.place, text.clone()))),
                Shape::List(items) => waiting.extend(items),
                Shape::Map(entries) => waiting.extend(entries.iter().map(|(_, value)| value)),
                Shape::Bool(_) | Shape::Null | Shape::Number(_) => {}
            }
        }
        texts
    }
}

/// A part of a body.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Part {
    /// A template for a field.
    Field(Scalar),
    /// A file.
    File(File),
}

/// A file in a body.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a file")]
#[schemars(rename = "PartFile")]
pub(crate) struct File {
    /// A template for what is in it.
    pub(crate) content: Placed<Scalar>,
    /// A template for its name.
    pub(crate) filename: Placed<Scalar>,
    /// What kind of data, like text/csv; application/octet-stream without this key.
    pub(crate) mime_type: Option<Placed<String>>,
    /// The content is Base64, and is sent as the bytes that it stands for.
    #[serde(default)]
    pub(crate) base64: bool,
}

/// What of private networks may be reached.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub(crate) enum AllowPrivate {
    /// All or nothing.
    All(bool),
    /// These hosts, addresses and networks.
    Listed(Vec<Placed<String>>),
}

impl<'de> Deserialize<'de> for AllowPrivate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AllowVisitor)
    }
}

struct AllowVisitor;

impl<'de> Visitor<'de> for AllowVisitor {
    type Value = AllowPrivate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a list")
    }

    fn visit_bool<E>(self, all: bool) -> Result<AllowPrivate, E> {
        Ok(AllowPrivate::All(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<AllowPrivate, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(AllowPrivate::Listed)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a mapping")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Part, E> {
        Ok(Part::Field(Scalar(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Part, E> {
        Ok(Part::Field(Scalar(value.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Part, E> {
        Ok(Part::Field(Scalar(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Part, E> {
        Ok(Part::Field(Scalar(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Part, E> {
        Ok(Part::Field(Scalar(number.to_string())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Part, A::Error> {
        File::deserialize(MapAccessDeserializer::new(map)).map(Part::File)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Parts(pairs))
    }
}

impl JsonSchema for Parts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Parts".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<Part>();
        schemars::json_schema!({ "type": "object", "additionalProperties": value })
    }
}
