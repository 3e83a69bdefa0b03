//! Whoever answers what a server asks back: a person, a model, a program. A caller implements
//! [`Answerer`] and puts it into the options; both eras ask it in the same way. Nothing here talks
//! to a server.

use crate::era::ServerInfo;
use crate::form::Form;
use crate::sampling::SampleRequest;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::pin::Pin;

/// An answer that takes its time. Dropping it takes the question back.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers a server's questions. Only what [`Answerer::offers`] names is ever asked; a server is
/// told at once that the rest is not to be had. Questions of one request come one after the other
/// in the modern era and may come at the same time in the legacy one.
///
/// ```
/// use haft_client::{Answerer, Answering, Asker, Elicited, Form, Offers};
///
/// /// Agrees to everything, with what the server itself proposes.
/// #[derive(Debug)]
/// struct Agreeable;
///
/// impl Answerer for Agreeable {
///     fn offers(&self) -> Offers {
///         Offers { forms: true, ..Offers::default() }
///     }
///     fn fill<'a>(&'a self, _: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
///         Box::pin(std::future::ready(Elicited::Accepted(form.defaults())))
///     }
/// }
/// ```
pub trait Answerer: Debug + Send + Sync {
    /// What it can answer. It is asked once, before the connection is made.
    fn offers(&self) -> Offers;

    /// A form is to be filled in (Elicitation, "Form Mode").
    fn fill<'a>(&'a self, asker: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
        _ = (asker, form);
        Box::pin(std::future::ready(Elicited::Declined))
    }

    /// A person is to visit an address (Elicitation, "URL Mode"). Agreeing does not mean that
    /// anything has been done there. The address must not be fetched, nor opened without consent.
    fn visit<'a>(&'a self, asker: &'a Asker, visit: &'a Visit) -> Answering<'a, Consent> {
        _ = (asker, visit);
        Box::pin(std::future::ready(Consent::Declined))
    }

    /// A person has agreed to a visit without which the server refuses the request; ends when they
    /// say that they are done, or never. What the server says of it is heard meanwhile. False
    /// gives the request up.
    fn visited<'a>(&'a self, asker: &'a Asker, visit: &'a Visit) -> Answering<'a, bool> {
        _ = (asker, visit);
        Box::pin(std::future::pending())
    }

    /// A model is to go on from some messages (Sampling). The answer is the JSON text of a
    /// `CreateMessageResult`; [`text_message`](crate::text_message) writes a simple one.
    fn sample<'a>(
        &'a self,
        asker: &'a Asker,
        request: &'a SampleRequest,
    ) -> Answering<'a, Result<Box<RawValue>, Declined>> {
        _ = (asker, request);
        Box::pin(std::future::ready(Err(Declined::by_user("no model is asked"))))
    }

    /// The directories that the server may work in (Roots).
    fn roots<'a>(&'a self, asker: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        _ = asker;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// What an [`Answerer`] can answer, and a server is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Forms are filled in.
    pub forms: bool,
    /// Addresses are visited.
    pub visits: bool,
    /// A model is asked.
    pub sampling: bool,
    /// The model may be given tools. Means nothing without `sampling`.
    pub sampling_tools: bool,
    /// Roots are named.
    pub roots: bool,
}

impl Offers {
    /// All there is.
    pub(crate) const ALL: Self =
        Self { forms: true, visits: true, sampling: true, sampling_tools: true, roots: true };
}

/// Who asks. A server's own words: nothing may be decided by them.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// Who the server says it is; empty before it has said so.
    pub server: ServerInfo,
}

/// What became of a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    /// It was filled in, with these values.
    Accepted(Map<String, Value>),
    /// It was put aside without a decision.
    Cancelled,
    /// It will not be filled in.
    Declined,
}

/// Whether somebody agrees to visit an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// They do.
    Accepted,
    /// They did not decide.
    Cancelled,
    /// They do not.
    Declined,
}

/// An address that a person is asked to visit, because what happens there is not for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Why, in the server's words.
    pub message: String,
    /// The address: `http://` or `https://`, printable ASCII.
    pub url: String,
    /// The host in it.
    pub host: String,
    /// What the server calls the visit, in the legacy era.
    pub id: Option<String>,
}

/// A directory that a server may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its `file://` address.
    pub uri: String,
    /// What people call it.
    pub name: Option<String>,
}

/// Why a question has no answer. A legacy server is told; a modern one is not asked again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Declined {
    /// A JSON-RPC code.
    pub code: i32,
    /// One line.
    pub message: String,
}

impl Declined {
    /// A person does not want it (Sampling, "Error Handling").
    pub fn by_user(message: impl Into<String>) -> Self {
        Self { code: -1, message: message.into() }
    }
}
