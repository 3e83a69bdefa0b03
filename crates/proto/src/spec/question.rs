//! What a server may ask its client: to fill in a form or visit an address (Client Features,
//! "Elicitation"), to ask a model ("Sampling"), and where it may work ("Roots"). Written by
//! `encode`, as a request in the legacy era and as an input request in the modern one.

use super::content::Content;
use super::content::Role;
use super::tool::Tool;
use crate::json::member;
use crate::method::Method;
use serde_json::value::RawValue;

/// A question to a client.
#[derive(Clone, Debug)]
pub enum Question {
    /// Fill in a form.
    Form(Form),
    /// Visit an address.
    Url(Url),
    /// Ask a model.
    Sample(Box<Sample>),
    /// Say where the server may work.
    Roots,
    /// What another server asks, who is behind this one.
    Passed(Box<Passed>),
}

/// A question of another server, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// What is asked.
    pub method: Method,
    /// The parameters: JSON text of an object.
    pub params: Box<str>,
    /// What `notifications/elicitation/complete` calls it, if it is an address to visit (2025-11-25
    /// only).
    pub id: String,
}

impl Passed {
    /// Whether an address is to be visited.
    #[must_use]
    pub fn is_visit(&self) -> bool {
        self.method == Method::Elicit && member(&self.params, "mode") == Some(r#""url""#)
    }
}

/// A form for a person.
#[derive(Clone, Debug)]
pub struct Form {
    /// What it is for.
    pub message: String,
    /// JSON Schema of a flat object whose properties are strings, numbers, booleans or choices.
    pub schema: Box<RawValue>,
}

/// An address for a person to visit; what happens there is not seen by the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// What it is for.
    pub message: String,
    /// The address, without secrets.
    pub url: String,
    /// What `notifications/elicitation/complete` calls it (2025-11-25 only).
    pub id: String,
}

/// A conversation for a model to go on with.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What was said so far.
    pub messages: Vec<SampleMessage>,
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// What the model is told before.
    pub system_prompt: Option<String>,
    /// How freely the model chooses.
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    pub stop_sequences: Vec<String>,
    /// Which model would be good.
    pub preferences: Preferences,
    /// Tools that the model may use (from 2025-11-25 on, where the client can).
    pub tools: Vec<Tool>,
    /// Whether it should use them.
    pub tool_choice: Option<ToolChoice>,
    /// JSON text of an object for the provider of the model.
    pub metadata: Option<Box<RawValue>>,
}

/// One message for a model.
#[derive(Clone, Debug)]
pub struct SampleMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Vec<SampleContent>,
}

/// One piece of a message for a model.
#[derive(Clone, Debug)]
pub enum SampleContent {
    /// Text, picture or sound.
    Content(Content),
    /// Raw JSON of a `tool_use` or `tool_result` block, as the client sent it or as it should be.
    Raw(Box<RawValue>),
}

/// Which model would be good; clients may think otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// Parts of names of models, best first.
    pub hints: Vec<String>,
    /// How much cost matters, 0 to 1.
    pub cost: Option<f64>,
    /// How much speed matters, 0 to 1.
    pub speed: Option<f64>,
    /// How much ability matters, 0 to 1.
    pub intelligence: Option<f64>,
}

/// Whether a model should use tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not.
    None,
    /// At least one.
    Required,
}

impl ToolChoice {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Required => "required",
        }
    }
}

impl Question {
    /// The method that asks it.
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Self::Form(_) | Self::Url(_) => Method::Elicit,
            Self::Sample(_) => Method::CreateMessage,
            Self::Roots => Method::RootsList,
            Self::Passed(passed) => passed.method,
        }
    }
}

impl Sample {
    /// A conversation that begins with one text of a person.
    #[must_use]
    pub fn text(text: impl Into<String>, max_tokens: u64) -> Self {
        let content = vec![SampleContent::Content(Content::text(text))];
        Self {
            messages: vec![SampleMessage { role: Role::User, content }],
            max_tokens,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            preferences: Preferences::default(),
            tools: Vec::new(),
            tool_choice: None,
            metadata: None,
        }
    }
}
