//! What a server asks its client while a call runs, and what a test lets the client answer: the
//! same in both eras.

use serde_json::{Value, json};
use std::sync::Arc;

/// A question: a form or an address for a person, something for a model, or where to work.
#[derive(Clone, Debug)]
pub struct Question {
    method: String,
    params: Value,
}

/// What a client answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Nothing: a legacy client answers with an error of this message, a modern one with less than
    /// it was asked for.
    Refused(String),
    /// This result, whatever it is.
    Result(Value),
}

/// What answers the questions of a test.
pub(super) type Answering = Arc<dyn Fn(&Question) -> Reply + Send + Sync>;

impl Question {
    pub(super) fn new(method: &str, params: Value) -> Self {
        Self { method: method.to_owned(), params }
    }

    /// The method, like `elicitation/create`.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// What a person is told, of a form or an address; empty for others.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    /// All that is asked, as it was sent.
    #[must_use]
    pub fn params(&self) -> &Value {
        &self.params
    }
}

impl Reply {
    /// The person filled in the form, or agreed to visit the address (with `json!({})`).
    #[must_use]
    pub fn accept(content: Value) -> Self {
        Self::Result(json!({ "action": "accept", "content": content }))
    }

    /// The person said no.
    #[must_use]
    pub fn decline() -> Self {
        Self::Result(json!({ "action": "decline" }))
    }

    /// The person closed it.
    #[must_use]
    pub fn cancel() -> Self {
        Self::Result(json!({ "action": "cancel" }))
    }

    /// The model said this.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Result(json!({
            "role": "assistant",
            "content": { "type": "text", "text": text.into() },
            "model": "haft::testing",
            "stopReason": "endTurn",
        }))
    }

    /// The server may work here.
    #[must_use]
    pub fn roots<U: Into<String>>(uris: impl IntoIterator<Item = U>) -> Self {
        let roots: Vec<Value> = uris.into_iter().map(|uri| json!({ "uri": uri.into() })).collect();
        Self::Result(json!({ "roots": roots }))
    }

    pub(super) fn result(self) -> Option<Value> {
        match self {
            Self::Refused(_) => None,
            Self::Result(result) => Some(result),
        }
    }
}
