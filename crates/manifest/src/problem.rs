//! Everything that can be wrong with a manifest: one variant for each mistake, its sentence, and
//! what to do about it. Drawn by `fault`. No sentence holds a value that was filled in from the
//! environment or from a file.

use crate::amount::{DURATION_EXAMPLES, SIZE_EXAMPLES};
use crate::around::Mistake;
use crate::feed::mistake::FeedMistake;
use crate::hints;
use crate::http::mistake::HttpMistake;
use crate::limits::{DEPTH_MAX, FILE_BYTES_MAX, FILLED_BYTES_MAX};
use crate::openapi::mistake::OpenApiMistake;
use crate::pipeline::mistake;
use crate::upstream::mistake::UpstreamMistake;
use crate::view::mistake::ViewMistake;
use haft_proto::authority::Unmatchable;

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum Problem {
    /// What stands around a tool.
    Around(Mistake),
    /// A listener's address.
    BadAddress { shown: String },
    /// A default that the argument's own schema refuses.
    BadDefault { argument: String, reason: String },
    /// A length of time.
    BadDuration { key: &'static str, shown: String },
    /// The name of an environment variable.
    BadEnvName { name: String },
    /// The address of a picture.
    BadIcon { shown: String },
    /// The size of a picture.
    BadIconSize { shown: String },
    /// A kind of data.
    BadMimeType { shown: String },
    /// The path of the endpoint.
    BadPath { shown: String },
    /// A JSON Schema where arguments are named.
    SchemaAsInput,
    /// A JSON Schema.
    BadSchema { key: String, reason: String },
    /// A number of bytes.
    BadSize { key: &'static str, shown: String },
    /// A template.
    BadTemplate { reason: String },
    /// A time.
    BadTime { key: &'static str, shown: String },
    /// A type of the short form of `input`.
    BadType { argument: String, word: String, nearest: Option<&'static str> },
    /// A tool's name.
    BadToolName { name: String },
    /// The address of a resource.
    BadUri { shown: String },
    /// The address of a directory's files.
    BadUriTemplate { shown: String },
    /// The same key twice in a mapping.
    DuplicateKey { key: String },
    /// Two listeners of one address.
    DuplicateListener { address: String, first_line: usize },
    /// Two of one kind and name.
    DuplicateName { kind: &'static str, name: String, first_line: usize },
    /// Two resources of one address.
    DuplicateUri { uri: String, first_line: usize },
    /// A file without content.
    Empty,
    /// A list that must not be empty.
    EmptyList { key: &'static str, help: &'static str },
    /// Something of a program or server that contents come from.
    Feed(FeedMistake),
    /// A substitution within a template's own code.
    FilledInsideTag { source: String },
    /// A template where the text must be fixed.
    FixedText { key: &'static str, reason: &'static str },
    /// Something of a request to a server.
    Http(HttpMistake),
    /// The path is a directory.
    IsDirectory,
    /// A key that has no meaning without another one.
    KeyBelongsTo { key: &'static str, owners: &'static str, other: String },
    /// A mapping or list as a key.
    KeyIsNoText { looks_like_template: bool },
    /// A tool that does nothing, a resource or message with nothing in it.
    KindMissing { what: String, help: &'static str },
    /// A key that must be there.
    MissingKey { owner: String, key: String },
    /// An environment variable that is not set.
    MissingVariable { name: String },
    /// A key without a value.
    NoValue { key: String },
    /// The state cannot be opened.
    NoState { reason: String },
    /// The file does not exist.
    NotThere,
    /// The file is not UTF-8.
    NotUtf8,
    /// The YAML cannot be read.
    NotYaml { reason: String },
    /// A file that is no picture.
    NotAPicture { path: String },
    /// A resource that cannot be put into a message.
    NotEmbeddable { uri: String },
    /// Something of a document that describes an API.
    OpenApi(OpenApiMistake),
    /// An argument that is optional by its name and required by its key.
    OptionalAndRequired { argument: String },
    /// A number outside of what is allowed.
    OutOfRange { key: &'static str, allowed: String },
    /// A mistake in a pipeline.
    Pipeline(mistake::Mistake),
    /// A second YAML document.
    SecondDocument,
    /// The file is too large.
    TooLarge,
    /// Lists and mappings inside of each other without end.
    TooDeep,
    /// More values than a manifest can mean, by aliases mostly.
    TooMuchYaml,
    /// Two keys of which only one may be there.
    TwoOfOne { key: &'static str, other: &'static str },
    /// A template's variable that is no argument.
    UnknownArgument {
        name: String,
        nearest: Option<String>,
        known: Vec<String>,
        none: &'static str,
    },
    /// A key that nothing reads.
    UnknownKey { key: String, owner: String, nearest: Option<String>, known: Vec<String> },
    /// A resource that the file does not have.
    UnknownResource { uri: String, nearest: Option<String>, known: Vec<String> },
    /// A host or origin that no request can have.
    Unmatchable { key: &'static str, shown: String, why: Unmatchable },
    /// `${word:…}` with another word than `env` and `file`.
    UnknownSubstitution { word: String, nearest: &'static str },
    /// A word that is none of those that the key takes.
    UnknownWord { key: String, word: String, nearest: Option<String>, known: Vec<String> },
    /// A server behind this one.
    Upstream(UpstreamMistake),
    /// A file that `${file:PATH}` names.
    UnreadableFill { path: String, reason: String },
    /// The file cannot be read.
    Unreadable { reason: String },
    /// Something of another endpoint.
    View(ViewMistake),
    /// A secret that can be guessed.
    WeakKey,
    /// A value of another type than the key takes.
    WrongType {
        key: String,
        is_item: bool,
        expected: String,
        found: String,
        example: Option<String>,
    },
}

impl Problem {
    /// One line: what is wrong.
    #[must_use]
    pub fn message(&self) -> String {
        match (self, self.not_one()) {
            (Self::Around(mistake), _) => mistake.message(),
            (Self::Unmatchable { key, shown, .. }, _) => {
                format!("`{key}`: no request can have {shown}")
            }
            (Self::NoState { reason }, _) => reason.clone(),
            (Self::Http(mistake), _) => mistake.message(),
            (Self::Feed(mistake), _) => mistake.message(),
            (Self::OpenApi(mistake), _) => mistake.message(),
            (Self::Pipeline(mistake), _) => mistake.message(),
            (Self::Upstream(mistake), _) => mistake.message(),
            (Self::View(mistake), _) => mistake.message(),
            (_, Some((shown, noun))) => format!("{shown} is no {noun}"),
            (_, None) => self.sentence(),
        }
    }

    /// What was typed, and what it is not.
    fn not_one(&self) -> Option<(&str, &'static str)> {
        Some(match self {
            Self::BadAddress { shown } => (shown, "address to listen on"),
            Self::BadIcon { shown } => (shown, "address of a picture"),
            Self::BadIconSize { shown } => (shown, "size of a picture"),
            Self::BadMimeType { shown } => (shown, "kind of data"),
            Self::BadPath { shown } => (shown, "path of an endpoint"),
            Self::BadUri { shown } => (shown, "address of a resource"),
            Self::BadUriTemplate { shown } => (shown, "address of the files below a directory"),
            _ => return None,
        })
    }

    fn sentence(&self) -> String {
        match self {
            Self::BadDefault { argument, reason } => {
                format!("the default of `{argument}` does not fit its own schema: {reason}")
            }
            Self::BadDuration { key, shown } => format!("`{key}`: {shown} is no length of time"),
            Self::BadEnvName { name } => {
                format!("{name:?} cannot be the name of an environment variable")
            }
            Self::BadSchema { key, reason } => format!("`{key}` is no usable schema: {reason}"),
            Self::BadSize { key, shown } => format!("`{key}`: {shown} is no number of bytes"),
            Self::BadTemplate { reason } => format!("the template cannot be used: {reason}"),
            Self::BadTime { key, shown } => format!("`{key}`: {shown} is no time"),
            Self::BadType { argument, word, .. } => {
                format!("`{word}` is no type for the argument `{argument}`")
            }
            Self::BadToolName { name } => format!("{name:?} is no name for a tool"),
            Self::DuplicateKey { key } => format!("`{key}` is there twice"),
            Self::DuplicateListener { address, first_line } => {
                format!("line {first_line} listens on {address} already")
            }
            Self::DuplicateName { kind, name, first_line } => {
                format!("the {kind} of line {first_line} is called `{name}` already")
            }
            Self::DuplicateUri { uri, first_line } => {
                format!("the resource of line {first_line} has the address `{uri}` already")
            }
            Self::EmptyList { key, .. } => format!("`{key}` is an empty list"),
            Self::FilledInsideTag { source } => {
                format!("{source} stands inside of a template's `{{{{ … }}}}` or `{{% … %}}`")
            }
            Self::FixedText { key, reason } => format!("`{key}` cannot be a template: {reason}"),
            Self::KeyBelongsTo { key, owners, other } => {
                format!("`{key}` belongs to {owners} with `{other}`")
            }
            Self::KindMissing { what, .. } => what.clone(),
            Self::MissingKey { owner, key } => format!("{owner} needs `{key}`"),
            Self::MissingVariable { name } => {
                format!("the environment variable `{name}` is not set")
            }
            Self::NoValue { key } => format!("`{key}` has no value"),
            Self::NotAPicture { path } => format!("{path:?} is no file with a picture"),
            Self::NotEmbeddable { uri } => format!("`{uri}` is a directory, not a text or file"),
            Self::NotYaml { reason } => format!("this is not YAML: {reason}"),
            Self::OptionalAndRequired { argument } => {
                format!("`{argument}?` is optional by its `?`, and `required` says that it is not")
            }
            Self::OutOfRange { key, allowed } => format!("`{key}` must be {allowed}"),
            Self::TooLarge => format!("the file is larger than {FILE_BYTES_MAX} bytes"),
            Self::TooDeep => format!("lists and mappings nest deeper than {DEPTH_MAX}"),
            Self::TwoOfOne { key, other } => format!("`{key}` and `{other}` exclude each other"),
            Self::UnknownArgument { name, .. } => format!("there is no argument `{name}`"),
            Self::UnknownKey { key, owner, .. } => format!("`{key}` is no known key of {owner}"),
            Self::UnknownResource { uri, .. } => format!("the file has no resource `{uri}`"),
            Self::UnknownSubstitution { word, .. } => {
                format!("`${{{word}:…}}` is no known substitution")
            }
            Self::UnknownWord { key, word, .. } => format!("`{key}` cannot be {word:?}"),
            Self::UnreadableFill { path, reason } => format!("cannot read {path:?}: {reason}"),
            Self::Unreadable { reason } => format!("cannot read the file: {reason}"),
            Self::WrongType { key, expected, found, .. } if key.is_empty() => {
                format!("the file must be {expected}, not {found}")
            }
            Self::WrongType { key, is_item, expected, found, .. } => {
                let part = if *is_item { "an item of " } else { "" };
                format!("{part}`{key}` must be {expected}, not {found}")
            }
            problem => problem.fixed_message().to_owned(),
        }
    }

    fn fixed_message(&self) -> &'static str {
        match self {
            Self::Empty => "there is nothing in the file",
            Self::IsDirectory => "it is a directory, not a file",
            Self::KeyIsNoText { .. } => "a key must be text",
            Self::NotThere => "there is no such file",
            Self::NotUtf8 => "the file is not UTF-8",
            Self::SchemaAsInput => "this is a JSON Schema, and `input` names the arguments",
            Self::SecondDocument => "a second YAML document begins here",
            Self::TooMuchYaml => "this is more YAML than is read",
            Self::WeakKey => "a state key has fewer than 16 characters",
            _ => "this is wrong",
        }
    }

    /// One line: what to do, where that is not plain from the message.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownArgument { nearest, known, none, .. } => {
                Some(suggest(nearest.as_deref(), known, "arguments", none))
            }
            Self::UnknownKey { key, owner, .. } if hints::of_key(key, owner).is_some() => {
                hints::of_key(key, owner).map(str::to_owned)
            }
            Self::UnknownKey { nearest, known, .. } => {
                Some(suggest(nearest.as_deref(), known, "keys", "remove it"))
            }
            Self::UnknownResource { nearest, known, .. } => {
                let none = "add it to `resources`, with a `text` or a `file`";
                Some(suggest(nearest.as_deref(), known, "resources", none))
            }
            Self::UnknownWord { nearest, known, .. } => {
                Some(suggest(nearest.as_deref(), known, "words", "remove it"))
            }
            Self::Unmatchable { why, .. } => Some(why.to_string()),
            Self::Http(mistake) => Some(mistake.help()),
            Self::Feed(mistake) => Some(mistake.help()),
            Self::OpenApi(mistake) => Some(mistake.help()),
            Self::BadType { nearest: Some(nearest), .. } => Some(did_you_mean(nearest)),
            // YAML reads `-d:` and `{x}` as mappings.
            Self::WrongType { expected, found, .. }
                if expected == "text" && found == "a mapping" =>
            {
                Some("text with `:` or `{` in it needs quotes".to_owned())
            }
            Self::Around(mistake) => mistake.help().map(str::to_owned),
            Self::WrongType { key, example: Some(example), .. } => {
                Some(hints::of_type(key, example).unwrap_or_else(|| example.clone()))
            }
            Self::WrongType { .. } => None,
            Self::BadSchema { reason, .. } => hints::of_schema(reason).map(str::to_owned),
            Self::EmptyList { help, .. } | Self::KindMissing { help, .. } => {
                Some((*help).to_owned())
            }
            Self::UnknownSubstitution { nearest, .. } => {
                Some(format!("did you mean `${{{nearest}:…}}`? `$${{` writes `${{` itself"))
            }
            Self::Pipeline(mistake) => mistake.help(),
            Self::Upstream(mistake) => Some(mistake.help()),
            Self::View(mistake) => Some(mistake.help()),
            Self::NotYaml { reason } => quoting(reason).map(str::to_owned),
            problem => problem.fixed_help().map(str::to_owned),
        }
    }

    fn fixed_help(&self) -> Option<&'static str> {
        Some(match self {
            Self::KeyBelongsTo { key: "allow_private", .. } => {
                "only documents and their calls are kept from private addresses; take it out"
            }
            Self::SchemaAsInput => "call it `input_schema`, or write `input: { name: string }`",
            Self::BadAddress { .. } => {
                "write an IP address and a port, like 127.0.0.1:7300 or [::1]:7300"
            }
            Self::BadDuration { .. } => DURATION_EXAMPLES,
            Self::BadEnvName { .. } => "a name has no `=` and is not empty",
            Self::BadIcon { .. } => "begin with `https:` or `data:`",
            Self::BadIconSize { .. } => "write it like 48x48, or `any`",
            Self::BadMimeType { .. } => "write it like text/markdown",
            Self::BadPath { .. } => "begin with `/`, without `?`, `#` or spaces, like /mcp",
            Self::BadSize { .. } => SIZE_EXAMPLES,
            Self::BadTime { .. } => "write it like 2026-07-28 or 2026-07-28T12:00:00Z",
            Self::BadToolName { .. } => "use 1 to 128 letters, digits, `_`, `-` or `.`",
            Self::BadType { .. } => {
                "types are string, integer, number, boolean, array, object, and lists like string[]"
            }
            Self::BadUri { .. } => {
                "begin with a word and a colon: notes://style; only a `directory` takes {+path}"
            }
            Self::BadUriTemplate { .. } => "let it end in a variable for the path: docs://{+path}",
            Self::DuplicateKey { .. } | Self::OptionalAndRequired { .. } => "keep one of them",
            Self::DuplicateListener { .. } => "keep one, or choose another port",
            Self::DuplicateName { .. } => "rename one of them",
            Self::DuplicateUri { .. } => "give one of them another address",
            Self::Empty => "`haft new` writes a file to begin with",
            Self::FilledInsideTag { .. } => "put it beside the braces: {{ name }}${env:NAME}",
            Self::IsDirectory => "name the file in it",
            Self::KeyIsNoText { looks_like_template: true } => {
                "put a template in quotes: \"{{ name }}\""
            }
            Self::MissingVariable { .. } => "set it before haft starts; `$${` writes `${` itself",
            Self::NoValue { .. } => "give it one, or remove the line",
            Self::NotAPicture { .. } => "name one that ends in .png, .jpg, .gif, .webp or .svg",
            Self::NotEmbeddable { .. } => "give the file that is meant a resource of its own",
            Self::NotThere => "`haft new` writes a file to begin with",
            Self::NotUtf8 => "save it as UTF-8",
            Self::SecondDocument => "remove the `---`: a manifest is one document",
            Self::TooLarge => "split it, or move long texts to files: ${file:PATH}",
            Self::TooMuchYaml => "use fewer aliases",
            Self::TwoOfOne { .. } => "keep one of them",
            Self::WeakKey => "use one that nobody can guess: openssl rand -hex 32",
            Self::UnreadableFill { .. } => "the path is relative to the manifest's directory",
            _ => return None,
        })
    }
}

/// Why a file to fill in was refused for its size.
pub(crate) fn too_large_to_fill() -> String {
    format!("it is larger than {FILLED_BYTES_MAX} bytes")
}

fn did_you_mean(nearest: &str) -> String {
    format!("did you mean `{nearest}`?")
}

fn suggest(nearest: Option<&str>, known: &[String], noun: &str, none: &str) -> String {
    match (nearest, known) {
        (Some(nearest), _) => did_you_mean(nearest),
        (None, []) => none.to_owned(),
        (None, known) => format!("known {noun} are {}", known.join(", ")),
    }
}

/// Most of what the scanner stumbles over is text that looks like YAML.
fn quoting(reason: &str) -> Option<&'static str> {
    const QUOTABLE: [&str; 3] =
        ["unexpected character", "mapping values are not allowed", "unknown escape character"];
    if reason.contains("tabs") || reason.contains("a tab") {
        return Some("indent with spaces");
    }
    if reason.contains("unknown escape") {
        return Some("write a backslash twice between double quotes, or use single quotes");
    }
    QUOTABLE
        .iter()
        .any(|phrase| reason.contains(phrase))
        .then_some("put text with special characters in quotes")
}
