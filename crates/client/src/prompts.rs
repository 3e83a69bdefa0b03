//! The prompts of a server: the list of them, one with its arguments filled in, and how an argument
//! may go on.

use crate::absent;
use crate::client::Client;
use crate::error::ClientError;
use crate::message::{Listener, quoted};
use crate::pages::{Listing, malformed, read_page};
use crate::rounds::Subject;
use crate::sampling::Message;
use crate::wire::{Question, nobody};
use haft_proto::method::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A prompt as a server describes it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What is filled in.
    pub arguments: Vec<PromptArgument>,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// An argument of a prompt; its value is a text.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(default, deserialize_with = "absent::or_empty", rename = "required")]
    pub is_required: bool,
}

/// A prompt with its arguments filled in.
#[derive(Clone, Debug)]
pub struct PromptResult {
    /// What it is for.
    pub description: Option<String>,
    /// What the model is told.
    pub messages: Vec<Message>,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// What an argument belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompleteFor<'a> {
    /// A prompt, by its name.
    Prompt(&'a str),
    /// A resource template, by its form.
    Template(&'a str),
}

/// How an argument may go on.
#[derive(Clone, Debug)]
pub struct Completion {
    /// What fits, the best first.
    pub values: Vec<String>,
    /// How much fits in all, if that is known.
    pub total: Option<u64>,
    /// Whether more fits than came.
    pub has_more: bool,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

impl Client {
    /// All prompts, from all pages; none if it has none.
    ///
    /// # Errors
    /// A [`ClientError`]; [`ClientError::ListWithoutEnd`] if the pages do not end.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, ClientError> {
        let method = Method::PromptsList;
        let read = |raw| read_prompt(raw).map_err(|error| error.to_string());
        self.list(method, "prompts", |raw| read_page(raw, method, "prompts", read)).await
    }

    /// Fills in a prompt. `arguments` are names and texts. `listener` hears progress and log
    /// messages until the answer is there; what the server asks meanwhile goes to
    /// [`Options::answerer`](crate::Options::answerer).
    ///
    /// # Errors
    /// A [`ClientError`]. That there is no such prompt is [`ClientError::Refused`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        listener: Listener<'_>,
    ) -> Result<PromptResult, ClientError> {
        let (quoted, arguments) = (quoted(name), object(arguments));
        let subject = Subject {
            method: Method::PromptsGet,
            revision: self.handshake().revision,
            target: name,
            members: &[("name", &quoted), ("arguments", &arguments)],
            headers: Vec::new(),
            passing: None,
        };
        read_messages(self.ask_rounds(&subject, listener).await?)
    }

    /// Asks how `typed` may go on, the beginning of the argument `argument`. `others` are
    /// arguments that are filled in already; the oldest revisions do not look at them.
    ///
    /// # Errors
    /// A [`ClientError`], for instance because the server completes nothing.
    pub async fn complete(
        &self,
        target: CompleteFor<'_>,
        argument: &str,
        typed: &str,
        others: &[(&str, &str)],
    ) -> Result<Completion, ClientError> {
        let target = match target {
            CompleteFor::Prompt(name) => object(&[("type", "ref/prompt"), ("name", name)]),
            CompleteFor::Template(uri) => object(&[("type", "ref/resource"), ("uri", uri)]),
        };
        let argument = object(&[("name", argument), ("value", typed)]);
        let context = format!(r#"{{"arguments":{}}}"#, object(others));
        let mut members = vec![("ref", &*target), ("argument", &*argument)];
        if !others.is_empty() {
            members.push(("context", &*context));
        }
        let question = Question::new(Method::Complete, self.handshake().revision, &members);
        read_completion(self.wire().ask(question, &mut nobody).await?)
    }
}

/// JSON text of an object of texts.
fn object(members: &[(&str, &str)]) -> String {
    let member = |(name, value): &(&str, &str)| format!("{}:{}", quoted(name), quoted(value));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
}

fn read_prompt(raw: Box<RawValue>) -> Result<Prompt, serde_json::Error> {
    #[derive(Deserialize)]
    struct Written {
        name: String,
        title: Option<String>,
        description: Option<String>,
        arguments: Option<Vec<PromptArgument>>,
    }
    let Written { name, title, description, arguments } = serde_json::from_str(raw.get())?;
    Ok(Prompt { name, title, description, arguments: arguments.unwrap_or_default(), raw })
}

fn read_messages(raw: Box<RawValue>) -> Result<PromptResult, ClientError> {
    #[derive(Deserialize)]
    struct Written {
        description: Option<String>,
        messages: Vec<Value>,
    }
    let method = Method::PromptsGet;
    let written: Written =
        serde_json::from_str(raw.get()).map_err(|error| malformed(method, &error.to_string()))?;
    let messages: Option<Vec<Message>> = written.messages.iter().map(Message::read).collect();
    let messages = messages.ok_or_else(|| malformed(method, "a message needs a `role`"))?;
    Ok(PromptResult { description: written.description, messages, raw })
}

fn read_completion(raw: Box<RawValue>) -> Result<Completion, ClientError> {
    #[derive(Deserialize)]
    struct Written {
        completion: Values,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Values {
        values: Vec<String>,
        #[serde(default, deserialize_with = "absent::or_empty")]
        total: Option<u64>,
        #[serde(default, deserialize_with = "absent::or_empty")]
        has_more: Option<bool>,
    }
    let written: Written = serde_json::from_str(raw.get())
        .map_err(|error| malformed(Method::Complete, &error.to_string()))?;
    let Values { values, total, has_more } = written.completion;
    Ok(Completion { values, total, has_more: has_more.unwrap_or_default(), raw })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn a_prompt_has_arguments_or_none() {
        let prompt = read_prompt(raw(r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#));
        let arguments = prompt.expect("a prompt").arguments;
        assert_eq!((&*arguments[0].name, arguments[0].is_required), ("a", true));
        assert!(read_prompt(raw(r#"{"name":"p"}"#)).expect("a prompt").arguments.is_empty());
    }

    #[test]
    fn a_filled_in_prompt_has_messages() {
        let filled = r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#;
        assert_eq!(read_messages(raw(filled)).expect("a message").messages[0].role, "user");
        for wrong in ["{}", r#"{"messages":[7]}"#] {
            assert!(read_messages(raw(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_completion_has_values() {
        let found = read_completion(raw(r#"{"completion":{"values":["a"],"total":9}}"#));
        let found = found.expect("values");
        assert_eq!(
            (&*found.values, found.total, found.has_more),
            (&["a".to_owned()][..], Some(9), false)
        );
        assert!(read_completion(raw(r#"{"values":["a"]}"#)).is_err());
    }
}
