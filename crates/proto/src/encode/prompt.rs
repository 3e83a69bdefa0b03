//! Prompts, what getting one answers, and suggestions for arguments.

use super::content::{content, meta_of};
use super::fields::icons;
use super::object::{Object, array};
use super::string;
use crate::spec::completion::{Completion, VALUES_MAX};
use crate::spec::prompt::{Argument, Prompt, PromptResult};
use crate::version::Revision;

/// Appends a prompt as a list has it.
pub fn prompt(out: &mut Vec<u8>, revision: Revision, prompt: &Prompt) {
    let mut object = Object::open(out);
    object.text("name", &prompt.name);
    if revision.has_structured_output() {
        object.some_text("title", prompt.title.as_ref());
    }
    object.some_text("description", prompt.description.as_ref());
    if !prompt.arguments.is_empty() {
        object.array("arguments", &prompt.arguments, |out, one| argument(out, revision, one));
    }
    icons(&mut object, revision, &prompt.icons);
    meta_of(&mut object, revision, prompt.meta.as_ref());
    object.close();
}

fn argument(out: &mut Vec<u8>, revision: Revision, argument: &Argument) {
    let mut object = Object::open(out);
    object.text("name", &argument.name);
    if revision.has_structured_output() {
        object.some_text("title", argument.title.as_ref());
    }
    object.some_text("description", argument.description.as_ref());
    if argument.required {
        object.flag("required", true);
    }
    object.close();
}

/// Appends the answer of `prompts/get`. `fields` is what
/// [`result_fields`](super::fields::result_fields) wrote for this revision.
pub fn prompt_result(out: &mut Vec<u8>, revision: Revision, fields: &[u8], result: &PromptResult) {
    out.push(b'{');
    if let Some(description) = &result.description {
        out.extend_from_slice(br#""description":"#);
        string(out, description);
        out.push(b',');
    }
    out.extend_from_slice(br#""messages":"#);
    array(out, &result.messages, |out, message| {
        let mut object = Object::open(out);
        object.text("role", message.role.as_str());
        content(object.key("content"), revision, &message.content);
        object.close();
    });
    out.extend_from_slice(fields);
    out.push(b'}');
}

/// Appends the answer of `completion/complete`: a hundred values at most.
pub fn completion(out: &mut Vec<u8>, fields: &[u8], completion: &Completion) {
    let values = &completion.values[..completion.values.len().min(VALUES_MAX)];
    out.extend_from_slice(br#"{"completion":"#);
    let mut object = Object::open(out);
    object.array("values", values, |out, value| string(out, value));
    if let Some(total) = completion.total {
        object.integer("total", total);
    }
    if completion.has_more || values.len() < completion.values.len() {
        object.flag("hasMore", true);
    }
    object.close();
    out.extend_from_slice(fields);
    out.push(b'}');
}
