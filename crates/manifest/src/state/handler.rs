//! A call of a tool that keeps state: its key is filled with the arguments, and what comes of it is
//! told as JSON. What is kept is JSON text.

use crate::arguments::Arguments;
use crate::kind::Setting;
use crate::state::{Action, Operation};
use crate::template::RenderError;
use crate::template::value::Expression;
use haft_proto::spec::tool_result::ToolResult;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_store::limits::KEYS_MAX;
use haft_store::{Store, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Looks into the state, or changes it, for each call.
pub(crate) struct StateHandler {
    pub(crate) operation: Arc<Operation>,
    pub(crate) setting: Setting,
    pub(crate) store: Store,
}

/// What to do, with everything filled in.
enum Filled {
    Add(i64),
    Delete,
    Set(String),
}

impl Handler for StateHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        match self.begin(call.arguments) {
            Err(reason) => {
                answer.result(&ToolResult::error(reason));
                Made::Now
            }
            Ok((_, Begun::Found(kept))) => {
                match Found::read(kept.as_deref()) {
                    Ok(found) => answer.json(&found),
                    Err(reason) => answer.result(&ToolResult::error(reason)),
                }
                Made::Now
            }
            Ok((key, Begun::Find)) => {
                let store = self.store.clone();
                Made::Later(Box::pin(async move {
                    Ok(match store.find(&key).await {
                        Ok(kept) => found(kept.as_deref()),
                        Err(error) => ToolResult::error(sentence(&error)),
                    })
                }))
            }
            Ok((prefix, Begun::List)) => {
                let store = self.store.clone();
                Made::Later(Box::pin(async move {
                    Ok(match store.keys(&prefix, None, KEYS_MAX).await {
                        Ok(keys) => {
                            let more = keys.len() == KEYS_MAX;
                            let listed = json!({ "keys": keys, "more": more });
                            ToolResult::json(&listed.to_string())
                        }
                        Err(error) => ToolResult::error(sentence(&error)),
                    })
                }))
            }
            Ok((key, Begun::Change(change))) => {
                let (store, ttl) = (self.store.clone(), self.operation.ttl);
                Made::Later(Box::pin(async move {
                    Ok(match made(&store, &key, change, ttl).await {
                        Ok(value) => ToolResult::json(&value.to_string()),
                        Err(error) => ToolResult::error(sentence(&error)),
                    })
                }))
            }
        }
    }
}

/// What has come of a call so far.
enum Begun {
    /// Something is kept under the key, or nothing.
    Found(Option<Vec<u8>>),
    /// It looks for what is kept under the key, on a disk.
    Find,
    /// It lists the keys that begin like it.
    List,
    /// It goes on.
    Change(Filled),
}

impl StateHandler {
    fn begin(&self, arguments: &str) -> Result<(String, Begun), String> {
        let arguments = self.setting.arguments(arguments)?;
        let key = self.operation.key.render(&self.setting.templates, &arguments);
        let key = key.map_err(|error| cannot_fill("key", &error))?;
        let begun = match &self.operation.action {
            Action::Get if self.store.is_in_file() => Begun::Find,
            Action::Get => Begun::Found(self.store.get(&key).map_err(|error| sentence(&error))?),
            Action::Keys => Begun::List,
            Action::Delete => Begun::Change(Filled::Delete),
            Action::Set(value) => {
                let value = self.value(value, &arguments, "value")?;
                Begun::Change(Filled::Set(value.to_string()))
            }
            Action::Add(by) => {
                let by = match by {
                    Some(by) => whole(&self.value(by, &arguments, "by")?)?,
                    None => 1,
                };
                Begun::Change(Filled::Add(by))
            }
        };
        Ok((key, begun))
    }

    fn value(
        &self,
        expression: &Expression,
        arguments: &Arguments,
        part: &str,
    ) -> Result<Value, String> {
        let value = expression.value(&self.setting.templates, arguments.context());
        let value = value.map_err(|error| cannot_fill(part, &error))?;
        serde_json::to_value(value).map_err(|error| format!("The {part} is not JSON: {error}"))
    }
}

async fn made(
    store: &Store,
    key: &str,
    change: Filled,
    ttl: Option<Duration>,
) -> Result<Value, StoreError> {
    Ok(match change {
        Filled::Add(by) => json!({ "value": store.add(key, by, ttl).await? }),
        Filled::Delete => json!({ "deleted": store.delete(key).await? }),
        Filled::Set(value) => {
            store.set(key, value.as_bytes(), ttl).await?;
            json!({ "key": key })
        }
    })
}

/// What is kept, as it is answered: the JSON text as it was written.
#[derive(Serialize)]
struct Found<'k> {
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'k RawValue>,
}

impl<'k> Found<'k> {
    /// What is kept is JSON, unless somebody else has written into the file.
    fn read(kept: Option<&'k [u8]>) -> Result<Self, &'static str> {
        let value = kept.map(serde_json::from_slice::<&RawValue>).transpose();
        let value = value.map_err(|_| "What is kept under this key is not JSON.")?;
        Ok(Self { found: value.is_some(), value })
    }
}

/// The same as a result.
fn found(kept: Option<&[u8]>) -> ToolResult {
    let text = Found::read(kept).and_then(|found| {
        serde_json::to_string(&found).map_err(|_| "What is kept under this key is not JSON.")
    });
    text.map_or_else(ToolResult::error, |text| ToolResult::json(&text))
}

/// A whole number, or a text that is one.
fn whole(value: &Value) -> Result<i64, String> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    };
    number.ok_or_else(|| "Only whole numbers can be added.".to_owned())
}

fn cannot_fill(part: &str, error: &RenderError) -> String {
    format!("The template of the {part} cannot be filled: {error}")
}

/// An error as a sentence for the model.
fn sentence(error: &StoreError) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", characters.as_str())
}
