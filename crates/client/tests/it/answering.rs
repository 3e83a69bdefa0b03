//! Answerers for tests: one that agrees to everything and counts, one that never comes to an end.

use haft_client::{
    Answerer, Answering, Asker, Consent, Declined, Elicited, Form, Offers, Options, Root,
    SampleRequest, Visit, text_message,
};
use serde_json::value::RawValue;
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

const ALL: Offers =
    Offers { forms: true, visits: true, sampling: true, sampling_tools: true, roots: true };

/// Fills forms with what servers propose, goes wherever it is sent, echoes, and has one root.
#[derive(Debug, Default)]
pub(crate) struct Agreeable {
    /// How many questions it was asked.
    pub(crate) asked: AtomicUsize,
    /// Whether it says itself when a visit is over, instead of waiting for the server.
    pub(crate) ends_visits: Option<bool>,
}

impl Agreeable {
    pub(crate) fn count(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn now<'a, T: Send + 'a>(&self, answer: T) -> Answering<'a, T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(answer))
    }
}

impl Answerer for Agreeable {
    fn offers(&self) -> Offers {
        ALL
    }

    fn fill<'a>(&'a self, _: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
        self.now(Elicited::Accepted(form.defaults()))
    }

    fn visit<'a>(&'a self, _: &'a Asker, _: &'a Visit) -> Answering<'a, Consent> {
        self.now(Consent::Accepted)
    }

    fn visited<'a>(&'a self, _: &'a Asker, _: &'a Visit) -> Answering<'a, bool> {
        match self.ends_visits {
            Some(goes_on) => Box::pin(ready(goes_on)),
            None => Box::pin(pending()),
        }
    }

    fn sample<'a>(
        &'a self,
        asker: &'a Asker,
        _: &'a SampleRequest,
    ) -> Answering<'a, Result<Box<RawValue>, Declined>> {
        self.now(Ok(text_message("echo", &asker.server.name)))
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        self.now(Ok(vec![Root { uri: "file:///x".to_owned(), name: None }]))
    }
}

/// Thinks for ever, and tells when it is interrupted.
#[derive(Debug, Default)]
pub(crate) struct Thinker {
    pub(crate) begins: Notify,
    pub(crate) is_interrupted: Notify,
}

struct Thought<'a>(&'a Thinker);

impl Drop for Thought<'_> {
    fn drop(&mut self) {
        self.0.is_interrupted.notify_one();
    }
}

impl Answerer for Thinker {
    fn offers(&self) -> Offers {
        ALL
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        Box::pin(async {
            let _thought = Thought(self);
            self.begins.notify_one();
            pending().await
        })
    }
}

/// The options with an answerer.
pub(crate) fn answered_by(answerer: &Arc<impl Answerer + 'static>, options: Options) -> Options {
    let answerer: Arc<dyn Answerer> = Arc::clone(answerer) as Arc<dyn Answerer>;
    Options { answerer: Some(answerer), ..options }
}
