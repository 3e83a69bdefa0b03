//! Questions to a client: the parameters of a request in the legacy era, and the result that asks
//! for input in the modern one (2026-07-28, "Multi Round-Trip Requests").

use super::content::content;
use super::fields::implementation;
use super::object::{Object, array};
use super::string;
use super::tools::tool;
use crate::envelope::SERVER_INFO;
use crate::spec::implementation::Implementation;
use crate::spec::question::{Preferences, Question, Sample, SampleContent, SampleMessage};
use crate::version::Revision;

/// Appends the parameters of a question.
pub fn question(out: &mut Vec<u8>, revision: Revision, question: &Question) {
    if let Question::Passed(passed) = question {
        return super::relay::question(out, revision, passed);
    }
    let mut object = Object::open(out);
    match question {
        Question::Form(form) => {
            if revision.has_elicitation_modes() {
                object.text("mode", "form");
            }
            object.text("message", &form.message);
            object.raw("requestedSchema", form.schema.get());
        }
        Question::Url(url) => {
            object.text("mode", "url");
            object.text("message", &url.message);
            object.text("url", &url.url);
            if revision.has_elicitation_id() {
                object.text("elicitationId", &url.id);
            }
        }
        Question::Sample(request) => sample(&mut object, revision, request),
        Question::Roots | Question::Passed(_) => {}
    }
    object.close();
}

fn sample(object: &mut Object<'_>, revision: Revision, request: &Sample) {
    object.array("messages", &request.messages, |out, message| {
        sample_message(out, revision, message);
    });
    object.integer("maxTokens", request.max_tokens);
    object.some_text("systemPrompt", request.system_prompt.as_ref());
    object.some_number("temperature", request.temperature);
    object.some_texts("stopSequences", &request.stop_sequences);
    if request.preferences != Preferences::default() {
        let mut inner = Object::open(object.key("modelPreferences"));
        let Preferences { hints, cost, speed, intelligence } = &request.preferences;
        if !hints.is_empty() {
            inner.array("hints", hints, |out, name| {
                let mut hint = Object::open(out);
                hint.text("name", name);
                hint.close();
            });
        }
        inner.some_number("costPriority", *cost);
        inner.some_number("speedPriority", *speed);
        inner.some_number("intelligencePriority", *intelligence);
        inner.close();
    }
    if revision.has_sampling_tools() {
        if !request.tools.is_empty() {
            object.array("tools", &request.tools, |out, one| tool(out, revision, one));
        }
        if let Some(choice) = request.tool_choice {
            let mut inner = Object::open(object.key("toolChoice"));
            inner.text("mode", choice.as_str());
            inner.close();
        }
    }
    if let Some(metadata) = &request.metadata {
        object.raw("metadata", metadata.get());
    }
}

fn sample_message(out: &mut Vec<u8>, revision: Revision, message: &SampleMessage) {
    let write = |out: &mut Vec<u8>, one: &SampleContent| match one {
        SampleContent::Content(one) => content(out, revision, one),
        SampleContent::Raw(json) => super::raw(out, json.get()),
    };
    let mut object = Object::open(out);
    object.text("role", message.role.as_str());
    match &*message.content {
        // Before lists of content, and where one is enough.
        [one] => write(object.key("content"), one),
        many => array(object.key("content"), many, write),
    }
    object.close();
}

/// Appends the result that asks for input: the questions by their keys, and the state to bring
/// back.
pub fn input_required<'a>(
    out: &mut Vec<u8>,
    revision: Revision,
    server: &Implementation,
    questions: impl IntoIterator<Item = (&'a str, &'a Question)>,
    state: &str,
) {
    let mut object = Object::open(out);
    object.text("resultType", "input_required");
    input_requests(object.key("inputRequests"), revision, questions);
    object.text("requestState", state);
    let mut meta = Object::open(object.key("_meta"));
    implementation(meta.key(SERVER_INFO), revision, server);
    meta.close();
    object.close();
}

/// Appends the object of questions by their keys.
pub fn input_requests<'a>(
    out: &mut Vec<u8>,
    revision: Revision,
    questions: impl IntoIterator<Item = (&'a str, &'a Question)>,
) {
    out.push(b'{');
    for (index, (key, asked)) in questions.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, key);
        out.push(b':');
        let mut inner = Object::open(out);
        inner.text("method", asked.method().name());
        question(inner.key("params"), revision, asked);
        inner.close();
    }
    out.push(b'}');
}
