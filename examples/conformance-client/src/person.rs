//! Whoever sits in front of this client: agrees to everything, with what the server proposes, and
//! with something that fits where it proposes nothing. Asked by `haft-client`.

use haft_client::{
    Answerer, Answering, Asker, Consent, Declined, Elicited, Field, FieldKind, Form, Offers, Root,
    SampleRequest, Visit, text_message,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::future::ready;

/// The person.
#[derive(Debug)]
pub(crate) struct Person;

impl Answerer for Person {
    fn offers(&self) -> Offers {
        Offers { forms: true, visits: true, sampling: true, sampling_tools: true, roots: true }
    }

    fn fill<'a>(&'a self, _: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
        let fields = form.fields.iter();
        let filled = fields.map(|field| (field.name.clone(), fill(field))).collect();
        Box::pin(ready(Elicited::Accepted(filled)))
    }

    fn visit<'a>(&'a self, _: &'a Asker, _: &'a Visit) -> Answering<'a, Consent> {
        Box::pin(ready(Consent::Accepted))
    }

    fn sample<'a>(
        &'a self,
        _: &'a Asker,
        _: &'a SampleRequest,
    ) -> Answering<'a, Result<Box<RawValue>, Declined>> {
        Box::pin(ready(Ok(text_message("haft-conformance-client", "yes"))))
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        Box::pin(ready(Ok(vec![Root { uri: "file:///".to_owned(), name: None }])))
    }
}

fn fill(field: &Field) -> Value {
    if let Some(default) = &field.default {
        return default.clone();
    }
    match &field.kind {
        FieldKind::Boolean => json!(true),
        FieldKind::Choice(choices) => json!(choices.first().map(|choice| &choice.value)),
        FieldKind::Choices { options, min, .. } => {
            json!(options.iter().take(*min).map(|choice| &choice.value).collect::<Vec<_>>())
        }
        FieldKind::Number { min, .. } => json!(min.unwrap_or(1.0)),
        FieldKind::Text { min, .. } => json!("x".repeat(*min.max(&1))),
    }
}
