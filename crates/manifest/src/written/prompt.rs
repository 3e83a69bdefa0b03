//! A prompt as it is typed: its arguments as a mapping or a list, its messages in short or long
//! form.

use crate::place::Placed;
use crate::written::Scalar;
use crate::written::complete::Complete;
use crate::written::environ::Environ;
use crate::written::http::Http;
use crate::written::resource::Role;
use crate::written::shown::{Icon, Meta};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Messages that a person begins a conversation with. Templates write arguments as `{{ name }}`,
/// as those of tools do. Or a directory of prompts, each in a file of its own.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a prompt")]
#[schemars(rename = "Prompt")]
#[schemars(extend("anyOf" = [{ "required": ["name"] }, { "required": ["directory"] }]))]
pub(crate) struct Prompt {
    /// The name that programs use.
    pub(crate) name: Option<Placed<String>>,
    /// A directory, and no other key: each file in it that ends in `.md` is a prompt of that name.
    /// The file is the template for a message of the user. It may begin with YAML between two
    /// lines of `---` that has `title`, `description` and `arguments`; without `arguments`, all
    /// that the template names must be given.
    pub(crate) directory: Option<Placed<String>>,
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// What it does, for the person who chooses it.
    pub(crate) description: Option<Placed<String>>,
    /// Pictures that clients may show.
    #[serde(default)]
    pub(crate) icons: Vec<Icon>,
    /// `_meta` of its definition, passed on to clients.
    #[expect(dead_code, reason = "`shown` reads it from the tree")]
    pub(crate) meta: Option<Meta>,
    /// What it takes; all are texts. Like `{ code: What to review, "lang?": Its language }`, or a
    /// list of names. A `?` behind the name makes an argument optional.
    #[serde(default)]
    pub(crate) arguments: Arguments,
    /// What is said, in order. A message whose arguments leave nothing to say is left out.
    pub(crate) messages: Option<Placed<Vec<Placed<Message>>>>,
    /// A template for a single message of the user, instead of `messages`.
    pub(crate) text: Option<Placed<Scalar>>,
}

/// A message, in short form (`user` or `assistant` with a template) or with `text`, `file`,
/// `resource`, `image`, `command` or `http`.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a message")]
#[schemars(rename = "Message")]
pub(crate) struct Message {
    /// A template for what the user says.
    pub(crate) user: Option<Placed<Scalar>>,
    /// A template for what the assistant says.
    pub(crate) assistant: Option<Placed<Scalar>>,
    /// Who says what is not in short form; `user` without this key.
    pub(crate) role: Option<Role>,
    /// A template for what is said.
    pub(crate) text: Option<Placed<Scalar>>,
    /// A file with such a template, read when this file is; `${env:NAME}` is text in it.
    pub(crate) file: Option<Placed<String>>,
    /// The address of a resource of this file, no directory and without variables, whose content
    /// is sent.
    pub(crate) resource: Option<Placed<String>>,
    /// A file with a picture, which is sent.
    pub(crate) image: Option<Placed<String>>,
    /// The program and its arguments, as templates, each exactly one argument. What it prints is
    /// what is said; a program that prints nothing says nothing.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// A template for what the program reads; nothing without this key.
    pub(crate) stdin: Option<Placed<Scalar>>,
    /// Environment variables beside the few of haft that programs commonly need, as templates.
    /// Under `inherit`, a list of more variables of haft, or `all`.
    pub(crate) env: Option<Placed<Environ>>,
    /// The directory that the program runs in; without this key, that of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// The exit codes that are no failure; `[0]` without this key.
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    /// A request to a server with `get` or `post`. What it answers is what is said: a text, a
    /// picture or a sound.
    pub(crate) http: Option<Placed<Http>>,
    /// Only this part of the JSON that a program prints or a server answers, as a JSON Pointer
    /// like /items/0/name.
    pub(crate) pick: Option<Placed<String>>,
    /// The most bytes that a program prints or a server answers, like 64KiB; 2MiB without this key.
    pub(crate) limit: Option<Placed<Scalar>>,
    /// How long a program or server may take, like 500ms or 5s; 1m without this key, which
    /// is the most.
    pub(crate) timeout: Option<Placed<Scalar>>,
}

/// What a prompt in a file of its own may begin with.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "the head of a prompt")]
pub(crate) struct Head {
    pub(crate) title: Option<Placed<String>>,
    pub(crate) description: Option<Placed<String>>,
    pub(crate) arguments: Option<Arguments>,
}

/// Arguments, in order.
#[derive(Debug, Default)]
pub(crate) struct Arguments(pub(crate) Vec<Argument>);

/// An argument: its name, perhaps with a `?`, and what is said of it.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: Placed<String>,
    pub(crate) about: About,
}

/// What is said of an argument.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "an argument")]
#[schemars(rename = "PromptArgument")]
pub(crate) struct About {
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// What to give.
    pub(crate) description: Option<Placed<String>>,
    /// Whether it must be given; yes without this key, unless its name ends in `?`.
    pub(crate) required: Option<Placed<bool>>,
    /// Values that clients suggest; others may be given too.
    #[serde(default)]
    pub(crate) values: Vec<Placed<Scalar>>,
    /// Where else suggestions come from, instead of `values`.
    pub(crate) complete: Option<Placed<Complete>>,
}

/// An argument that says its name itself.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "an argument")]
#[schemars(rename = "NamedPromptArgument")]
struct Named {
    /// The name that programs use; a `?` behind it makes the argument optional.
    name: Placed<String>,
    /// The name that people read.
    title: Option<Placed<String>>,
    /// What to give.
    description: Option<Placed<String>>,
    /// Whether it must be given; yes without this key, unless its name ends in `?`.
    required: Option<Placed<bool>>,
    /// Values that clients suggest; others may be given too.
    #[serde(default)]
    values: Vec<Placed<Scalar>>,
    /// Where else suggestions come from, instead of `values`.
    complete: Option<Placed<Complete>>,
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
        let mut arguments = Vec::new();
        while let Some((name, Described(about))) = map.next_entry()? {
            arguments.push(Argument { name, about });
        }
        Ok(Arguments(arguments))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Arguments, A::Error> {
        let mut arguments = Vec::new();
        while let Some(Placed { place, value }) = items.next_element::<Placed<Item>>()? {
            arguments.push(match value {
                Item::Name(name) => {
                    Argument { name: Placed::new(place, name), about: About::default() }
                }
                Item::Named(Named { name, title, description, required, values, complete }) => {
                    let about = About { title, description, required, values, complete };
                    Argument { name, about }
                }
            });
        }
        Ok(Arguments(arguments))
    }
}

/// A description, or all that is said.
struct Described(About);

impl<'de> Deserialize<'de> for Described {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Placed { place, value } = Placed::<Item<About>>::deserialize(deserializer)?;
        Ok(Self(match value {
            Item::Name(text) => {
                About { description: Some(Placed::new(place, text)), ..About::default() }
            }
            Item::Named(about) => about,
        }))
    }
}

/// A text, or a mapping.
enum Item<T = Named> {
    Name(String),
    Named(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor(std::marker::PhantomData))
    }
}

struct ItemVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemVisitor<T> {
    type Value = Item<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a mapping")
    }

    fn visit_str<E>(self, text: &str) -> Result<Item<T>, E> {
        Ok(Item::Name(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Item::Named)
    }
}

impl JsonSchema for Arguments {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let about = generator.subschema_for::<About>();
        let named = generator.subschema_for::<Named>();
        let description = "What to give.";
        json_schema!({
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": {
                        "anyOf": [{ "type": "string", "description": description }, about]
                    }
                },
                {
                    "type": "array",
                    "items": {
                        "anyOf": [{ "type": "string", "description": "Its name." }, named]
                    }
                }
            ]
        })
    }
}
