//! What a server answered to one request of a test, and how to look at it. What the test did not
//! expect is a panic with the whole answer in it.

use super::ask::{Answered, is_log, is_progress};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked, for the panics.
    asked: String,
    message: Value,
    notifications: Vec<Value>,
}

/// How far a call said that it had come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How far.
    pub progress: f64,
    /// What it rises to, if that is known.
    pub total: Option<f64>,
    /// One line for a person.
    pub message: Option<String>,
}

impl Answer {
    pub(super) fn new(asked: String, answer: Answered) -> Self {
        let Answered { message, notifications } = answer;
        Self { asked, message, notifications }
    }

    /// The text of the answer: of a tool's content, a resource's contents or a prompt's messages;
    /// several are joined by line breaks.
    ///
    /// # Panics
    /// The server refused, or the tool failed.
    #[must_use]
    #[track_caller]
    pub fn text(&self) -> String {
        let result = self.result();
        assert!(!self.is_failure(), "{} failed: {}", self.asked, text_of(result));
        text_of(result)
    }

    /// The structured content of a tool's answer.
    ///
    /// # Panics
    /// There is none, it is no `T`, or the tool failed.
    #[must_use]
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        let result = self.result();
        assert!(!self.is_failure(), "{} failed: {}", self.asked, text_of(result));
        let Some(structured) = result.get("structuredContent") else {
            panic!("{} has no structured content: {result:#}", self.asked)
        };
        match serde_json::from_value(structured.clone()) {
            Ok(value) => value,
            Err(error) => panic!("{} answered another type: {error}: {structured:#}", self.asked),
        }
    }

    /// What the tool says about its failure.
    ///
    /// # Panics
    /// It did not fail, or the server did not even call it.
    #[must_use]
    #[track_caller]
    pub fn failure(&self) -> String {
        let result = self.result();
        assert!(self.is_failure(), "{} did not fail: {result:#}", self.asked);
        text_of(result)
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.message["result"]["isError"] == true
    }

    /// Whether the server answered with an error.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.message.get("error").is_some()
    }

    /// The message of the error that the server answered with.
    ///
    /// # Panics
    /// It answered with a result.
    #[must_use]
    #[track_caller]
    pub fn refusal(&self) -> String {
        match &self.message["error"]["message"] {
            Value::String(message) => message.clone(),
            _ => panic!("{} was not refused: {:#}", self.asked, self.message),
        }
    }

    /// The whole result.
    ///
    /// # Panics
    /// The server answered with an error.
    #[must_use]
    #[track_caller]
    pub fn result(&self) -> &Value {
        match self.message.get("result") {
            Some(result) => result,
            None => panic!("{} was refused: {:#}", self.asked, self.message["error"]),
        }
    }

    /// What the call said of its progress, in order.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        let told = self.notifications.iter().filter(|told| is_progress(told));
        told.map(|told| Progress {
            progress: told["params"]["progress"].as_f64().unwrap_or_default(),
            total: told["params"]["total"].as_f64(),
            message: told["params"]["message"].as_str().map(str::to_owned),
        })
        .collect()
    }

    /// The data of all log messages, in order.
    #[must_use]
    pub fn logs(&self) -> Vec<Value> {
        let told = self.notifications.iter().filter(|told| is_log(told));
        told.map(|told| told["params"]["data"].clone()).collect()
    }

    /// Every notification that came before the answer, as it was sent.
    #[must_use]
    pub fn notifications(&self) -> &[Value] {
        &self.notifications
    }

    /// The whole message, as it was sent.
    #[must_use]
    pub fn message(&self) -> &Value {
        &self.message
    }
}

/// The texts of a result, whichever it is.
fn text_of(result: &Value) -> String {
    let list = |key: &str| result[key].as_array().into_iter().flatten();
    let content = list("content").chain(list("contents")).map(|piece| &piece["text"]);
    let messages = list("messages").map(|message| &message["content"]["text"]);
    let texts: Vec<&str> = content.chain(messages).filter_map(Value::as_str).collect();
    texts.join("\n")
}
