//! One prompt, from as typed to as said: its arguments, its messages with every template compiled,
//! and what becomes of them for the arguments of one client. Called by `meant` for each prompt in
//! turn, and by `offer`. `page` has those that are files of a directory.

pub(crate) mod page;

use crate::arguments::Arguments;
use crate::complete::{self, Complete};
use crate::fault::Wrong;
use crate::feed::mistake::FeedMistake;
use crate::feed::{self, Feed};
use crate::fill::Surroundings;
use crate::limits::RESOURCE_BYTES;
use crate::media_type;
use crate::offer::Ways;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::resource::{Resource, Source, Stored};
use crate::shown;
use crate::template::{Compiler, Known, Template};
use crate::tool::{fixed_text, typed};
use crate::tree::Tree;
use crate::written::complete::Complete as Suggested;
use crate::written::feed::take_feed;
use crate::written::{Scalar, prompt as written};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::Meta;
use haft_proto::spec::content::{Body, Content, ResourceContents, Role};
use haft_proto::spec::icon::Icon;
use haft_proto::spec::prompt as spec;
use haft_server::nearest;
use minijinja::Environment;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A prompt, checked.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) name: Placed<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<Placed<String>>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) messages: Vec<Message>,
    /// It is a file of its own: but for that of its name, places are those in that file.
    pub(crate) is_page: bool,
}

/// An argument.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) place: Place,
    pub(crate) spec: spec::Argument,
    /// What is suggested for it.
    pub(crate) complete: Option<Complete>,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) said: Said,
}

/// What is said.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// What a program or a server says.
    Feed(Box<Feed>),
    /// A picture of a kind.
    Image(Stored, String),
    /// The content of a resource.
    Resource(Box<Resource>),
    /// A text.
    Text(Template),
}

/// Checks a prompt. `tree` is the same prompt in the file.
pub(crate) fn check(
    written: written::Prompt,
    tree: &Tree,
    resources: &[Resource],
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Prompt, Wrong> {
    let Some(name) = &written.name else {
        let problem = Problem::MissingKey { owner: "a prompt".to_owned(), key: "name".to_owned() };
        return Err(Wrong::new(tree.place, problem));
    };
    let name = shown::name(name, surroundings)?;
    let names = names(&written.arguments.0);
    let known = Known { names: &names, is_open: false, none: NO_ARGUMENTS };
    let arguments = arguments(written.arguments.0, known, surroundings, compiler)?;
    let messages = match (written.messages, &written.text) {
        (Some(_), Some(_)) => {
            let place = tree.entry("text").map_or(name.place, |entry| entry.key_place);
            let problem = Problem::TwoOfOne { key: "text", other: "messages" };
            return Err(Wrong::new(place, problem));
        }
        (None, None) => {
            let what = format!("the prompt `{}` says nothing", name.value);
            let help = "give it `messages`, or a `text` if it is a single one";
            return Err(Wrong::new(name.place, Problem::KindMissing { what, help }));
        }
        (None, Some(text)) => {
            vec![Message {
                role: Role::User,
                said: Said::Text(compiler.compile(typed(text), known)?),
            }]
        }
        (Some(list), None) if list.value.is_empty() => {
            let help = "say something: - user: TEXT";
            return Err(Wrong::new(list.place, Problem::EmptyList { key: "messages", help }));
        }
        (Some(list), None) => {
            let mut checking = Checking { known, resources, surroundings, compiler };
            list.value
                .into_iter()
                .map(|message| checking.message(message))
                .collect::<Result<_, _>>()?
        }
    };
    Ok(Prompt {
        name,
        title: shown::text(written.title.as_ref(), surroundings)?.map(|title| title.value),
        description: shown::text(written.description.as_ref(), surroundings)?,
        icons: shown::icons(&written.icons, surroundings)?,
        meta: shown::meta(tree, surroundings)?,
        arguments,
        messages,
        is_page: false,
    })
}

/// What to do about a name in a template where there are no arguments.
const NO_ARGUMENTS: &str = "the prompt takes no arguments; name them in `arguments`";

/// What arguments are called, without the mark of those that may be absent.
fn names(written: &[written::Argument]) -> Vec<String> {
    let name = |argument: &written::Argument| {
        let name = &argument.name.value;
        name.strip_suffix('?').unwrap_or(name).to_owned()
    };
    written.iter().map(name).collect()
}

fn arguments(
    written: Vec<written::Argument>,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<Argument>, Wrong> {
    let mut arguments: Vec<Argument> = Vec::new();
    for written::Argument { name, about } in written {
        let (place, name) = (name.place, &*name.value);
        let (name, is_optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.trim().is_empty() {
            return Err(Wrong::new(place, Problem::NoValue { key: "name".to_owned() }));
        }
        if arguments.iter().any(|known| known.spec.name == name) {
            return Err(Wrong::new(place, Problem::DuplicateKey { key: name.to_owned() }));
        }
        if let Some(required) = about.required.as_ref().filter(|it| it.value && is_optional) {
            let problem = Problem::OptionalAndRequired { argument: name.to_owned() };
            return Err(Wrong::new(required.place, problem));
        }
        let filled = |text: &Option<Placed<String>>| {
            shown::text(text.as_ref(), surroundings).map(|text| text.map(|text| text.value))
        };
        let complete = match (about.values, about.complete) {
            (values, Some(complete)) if !values.is_empty() => {
                let problem = Problem::TwoOfOne { key: "complete", other: "values" };
                return Err(Wrong::new(complete.place, problem));
            }
            (_, Some(complete)) => Some(complete),
            (values, None) if values.is_empty() => None,
            (values, None) => Some(Placed::new(place, Suggested::Values(values))),
        };
        let complete = complete
            .map(|complete| complete::check(name, complete, known, surroundings, compiler))
            .transpose()?;
        arguments.push(Argument {
            place,
            spec: spec::Argument {
                name: name.to_owned(),
                title: filled(&about.title)?,
                description: filled(&about.description)?,
                required: about.required.as_ref().map_or(!is_optional, |required| required.value),
            },
            complete,
        });
    }
    Ok(arguments)
}

/// What messages are checked with.
struct Checking<'c, 's, 't> {
    known: Known<'c>,
    resources: &'c [Resource],
    surroundings: &'c Surroundings<'s>,
    compiler: &'c mut Compiler<'t>,
}

/// What a message is made of.
enum Part<'w> {
    Feed(Place),
    File(&'w Placed<String>),
    Image(&'w Placed<String>),
    Resource(&'w Placed<String>),
    Text(&'w Placed<Scalar>),
}

impl Part<'_> {
    fn place(&self) -> Place {
        match self {
            Self::Feed(place) => *place,
            Self::File(text) | Self::Image(text) | Self::Resource(text) => text.place,
            Self::Text(text) => text.place,
        }
    }
}

impl Checking<'_, '_, '_> {
    fn message(&mut self, written: Placed<written::Message>) -> Result<Message, Wrong> {
        let Placed { place, value: mut written } = written;
        let feed = take_feed!(written);
        let written::Message { user, assistant, role, text, file, resource, image, .. } = &written;
        let parts = [
            ("user", user.as_ref().map(Part::Text)),
            ("assistant", assistant.as_ref().map(Part::Text)),
            ("text", text.as_ref().map(Part::Text)),
            ("file", file.as_ref().map(Part::File)),
            ("resource", resource.as_ref().map(Part::Resource)),
            ("image", image.as_ref().map(Part::Image)),
            ("command", feed.command.as_ref().map(|command| Part::Feed(command.place))),
            ("http", feed.http.as_ref().map(|http| Part::Feed(http.place))),
        ];
        let mut parts = parts.into_iter().filter_map(|(key, part)| Some((key, part?)));
        let Some((key, part)) = parts.next() else {
            let what = "the message says nothing".to_owned();
            let help = "write `user: TEXT` or `assistant: TEXT`, or give it a `file`, a \
                        `resource`, an `image`, a `command` or an `http`";
            return Err(Wrong::new(place, Problem::KindMissing { what, help }));
        };
        if let Some((second, part)) = parts.next() {
            let problem = Problem::TwoOfOne { key: second, other: key };
            return Err(Wrong::new(part.place(), problem));
        }
        let role = match (key, role) {
            ("user" | "assistant", Some(_)) => {
                return Err(Wrong::new(place, Problem::TwoOfOne { key: "role", other: key }));
            }
            ("assistant", None) => Role::Assistant,
            (_, None) => Role::User,
            (_, Some(role)) => shown::role(*role),
        };
        let (surroundings, known) = (self.surroundings, self.known);
        let feed = feed::check(feed, "messages", known, surroundings, self.compiler)?;
        let said = match part {
            Part::Feed(_) => {
                Said::Feed(Box::new(feed.expect("it has one of the keys that make a feed")))
            }
            Part::File(path) => self.file(path)?,
            Part::Image(path) => self.image(path)?,
            Part::Resource(uri) => Said::Resource(Box::new(self.resource(uri)?)),
            Part::Text(text) => Said::Text(self.compiler.compile(typed(text), self.known)?),
        };
        Ok(Message { role, said })
    }

    fn file(&mut self, written: &Placed<String>) -> Result<Said, Wrong> {
        let reason = "what is said stands in it, and is read once";
        let path = fixed_text(written, "file", reason, self.surroundings)?;
        let text = self.surroundings.read(&path.value).map_err(|reason| {
            let path = written.value.clone();
            Wrong::new(written.place, Problem::UnreadableFill { path, reason })
        })?;
        let compiled = self.compiler.compile_file(written, (&text, 0), self.known);
        compiled.map(Said::Text).map_err(|wrong| wrong.in_file(path.value.as_ref(), &text))
    }

    fn resource(&self, uri: &Placed<String>) -> Result<Resource, Wrong> {
        let filled = self.surroundings.fill(uri)?;
        let Some(found) = self.resources.iter().find(|known| known.uri.value == filled.value)
        else {
            let known = self.resources.iter().map(|known| known.typed_uri.clone());
            let known: Vec<_> = known.collect();
            let nearest = nearest(&uri.value, known.iter().map(String::as_str)).map(str::to_owned);
            let problem = Problem::UnknownResource { uri: uri.value.clone(), nearest, known };
            return Err(Wrong::new(uri.place, problem));
        };
        match &found.source {
            Source::Directory(_) => {
                Err(Wrong::new(uri.place, Problem::NotEmbeddable { uri: uri.value.clone() }))
            }
            Source::Feed(fed) if !fed.variables.is_empty() => {
                let mistake = FeedMistake::Family { uri: uri.value.clone() };
                Err(Wrong::new(uri.place, Problem::Feed(mistake)))
            }
            Source::Feed(_) | Source::File(_) | Source::Text(_) => Ok(found.clone()),
        }
    }

    fn image(&self, written: &Placed<String>) -> Result<Said, Wrong> {
        let reason = "what a caller may read is said here";
        let path = fixed_text(written, "image", reason, self.surroundings)?;
        let kind = media_type::of_name(&path.value).filter(|kind| kind.starts_with("image/"));
        let Some(kind) = kind.filter(|_| !path.value.contains('\0')) else {
            let problem = Problem::NotAPicture { path: written.value.clone() };
            return Err(Wrong::new(written.place, problem));
        };
        let path = Placed::new(path.place, self.surroundings.directory.join(path.value));
        Ok(Said::Image(Stored { path, limit: RESOURCE_BYTES }, kind.to_owned()))
    }
}

impl Prompt {
    /// The messages for these arguments.
    pub(crate) async fn messages(
        &self,
        given: BTreeMap<String, String>,
        ways: &Ways,
    ) -> Result<Vec<spec::Message>, Refusal> {
        let is_known = |name: &str| self.arguments.iter().any(|known| known.spec.name == name);
        let given: BTreeMap<_, _> = given.into_iter().filter(|(name, _)| is_known(name)).collect();
        let text_of =
            |(name, text): (&String, &String)| (name.clone(), Value::String(text.clone()));
        let values: Map<_, _> = given.iter().map(text_of).collect();
        let arguments = Arguments::new(values);
        let mut messages = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let content = match &message.said {
                Said::Text(template) => match text(template, ways.feeding.templates(), &arguments)?
                {
                    Some(text) => Content::Text(text),
                    None => continue,
                },
                Said::Feed(feed) => {
                    let said = feed.contents(given.clone(), None, &ways.feeding).await;
                    match content(said.map_err(|unfed| unfed.refusal("message"))?)? {
                        Some(content) => content,
                        None => continue,
                    }
                }
                Said::Resource(resource) => {
                    let read = resource.read(BTreeMap::new(), ways).await;
                    let read = read.map_err(|refusal| refusal.message.into_owned());
                    Content::Embedded(there(read, &resource.uri.value)?)
                }
                Said::Image(stored, kind) => {
                    let read = stored.bytes(&ways.readings).await;
                    let read = read.map_err(|unread| unread.to_string());
                    Content::image(there(read, "the picture")?, kind)
                }
            };
            messages.push(spec::Message { role: message.role, content });
        }
        Ok(messages)
    }
}

/// The text for these arguments, or nothing if they leave nothing to say.
fn text(
    template: &Template,
    templates: &Environment<'_>,
    arguments: &Arguments,
) -> Result<Option<String>, Refusal> {
    let mut text = template.render(templates, arguments).map_err(|error| {
        let message = format!("Invalid params: a message of the prompt cannot be filled: {error}");
        Refusal::new(Mistake::InvalidParams, message)
    })?;
    if !template.variables.is_empty() && text.trim().is_empty() {
        return Ok(None);
    }
    // A block of text in YAML ends with a line end that nobody means.
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(Some(text))
}

/// What a program or a server said, or nothing if it said nothing.
fn content(said: ResourceContents) -> Result<Option<Content>, Refusal> {
    let kind = said.mime_type.unwrap_or_default();
    match said.body {
        Body::Text(text) if text.trim().is_empty() => Ok(None),
        Body::Text(text) => Ok(Some(Content::Text(text.trim_end_matches(['\n', '\r']).to_owned()))),
        Body::Blob(bytes) if kind.starts_with("image/") => Ok(Some(Content::image(bytes, kind))),
        Body::Blob(bytes) if kind.starts_with("audio/") => Ok(Some(Content::audio(bytes, kind))),
        Body::Blob(_) => {
            let message = format!(
                "Internal error: a message of the prompt is no text, picture or sound, but {kind}"
            );
            Err(Refusal::new(Mistake::Internal, message))
        }
    }
}

/// What a message cannot do without.
fn there<T>(read: Result<Option<T>, String>, what: &str) -> Result<T, Refusal> {
    let refuse = |reason: &str| {
        let message = format!("Internal error: a part of the prompt is missing: {what}: {reason}");
        Refusal::new(Mistake::Internal, message)
    };
    match read {
        Ok(Some(there)) => Ok(there),
        Ok(None) => Err(refuse("The file is not there.")),
        Err(reason) => Err(refuse(&reason)),
    }
}
