//! A prompt as clients see it, and what it becomes (Server Features, "Prompts").

use super::Meta;
use super::content::{Content, Role};
use super::icon::Icon;

/// What a client is told of a prompt.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The name that programs use, unique in its server.
    pub name: String,
    /// The name that people read (from 2025-06-18 on).
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes. All arguments are strings.
    pub arguments: Vec<Argument>,
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
    /// `_meta` (from 2025-06-18 on).
    pub meta: Option<Meta>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    /// The name that programs use.
    pub name: String,
    /// The name that people read (from 2025-06-18 on).
    pub title: Option<String>,
    /// What to give.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
}

/// The answer of `prompts/get`.
#[derive(Clone, Debug, Default)]
pub struct PromptResult {
    /// What the messages are about.
    pub description: Option<String>,
    /// What to say to the model.
    pub messages: Vec<Message>,
}

/// One message of a conversation.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl Message {
    /// The person says so.
    #[must_use]
    pub fn user(content: Content) -> Self {
        Self { role: Role::User, content }
    }

    /// The model says so.
    #[must_use]
    pub fn assistant(content: Content) -> Self {
        Self { role: Role::Assistant, content }
    }
}
