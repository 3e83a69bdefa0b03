//! Notifications: how far a call has come, what it logs, what has changed.

use super::fields::implementation;
use super::object::Object;
use super::string;
use crate::envelope::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::method::Method;
use crate::spec::implementation::Implementation;
use crate::spec::level::Level;
use crate::version::Revision;

/// How far a call has come (Progress).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Rises with each notification.
    pub progress: f64,
    /// What it rises to, if that is known.
    pub total: Option<f64>,
    /// One line for a person (from 2025-03-26 on).
    pub message: Option<&'a str>,
}

/// Appends a notification with its parameters.
fn notice(out: &mut Vec<u8>, method: Method, params: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    string(out, method.name());
    out.extend_from_slice(br#","params":"#);
    let mut object = Object::open(out);
    params(&mut object);
    object.close();
    out.push(b'}');
}

/// Appends a progress notification for the request that gave `token`, which is raw JSON.
pub fn progress(out: &mut Vec<u8>, revision: Revision, token: &str, now: Progress<'_>) {
    notice(out, Method::Progress, |params| {
        params.raw("progressToken", token);
        params.some_number("progress", Some(now.progress));
        params.some_number("total", now.total);
        if let Some(message) = now.message.filter(|_| revision.has_progress_message()) {
            params.text("message", message);
        }
    });
}

/// Appends a log message; `data` is JSON text (Logging).
pub fn log(out: &mut Vec<u8>, level: Level, logger: Option<&str>, data: &str) {
    notice(out, Method::LogMessage, |params| {
        params.text("level", level.as_str());
        if let Some(logger) = logger {
            params.text("logger", logger);
        }
        params.raw("data", data);
    });
}

/// Appends that what a person was sent to an address for is done there; `id` is what the question
/// was called (2025-11-25, "Completion Notifications for URL Mode Elicitation").
pub fn elicitation_complete(out: &mut Vec<u8>, id: &str) {
    notice(out, Method::ElicitationComplete, |params| params.text("elicitationId", id));
}

/// Appends a notification of a change. `uri` is that of a resource that changed; `subscription` is
/// the id, as raw JSON, of the request whose stream this is told on (2026-07-28,
/// "Subscriptions").
pub fn change(out: &mut Vec<u8>, method: Method, uri: Option<&str>, subscription: Option<&str>) {
    notice(out, method, |params| {
        if let Some(uri) = uri {
            params.text("uri", uri);
        }
        subscribed(params, subscription);
    });
}

/// Appends the acknowledgement of a subscription: what of the wishes will be honoured.
pub fn listen_acknowledged<S: AsRef<str>>(out: &mut Vec<u8>, id: &str, honoured: &Wishes<S>) {
    notice(out, Method::ListenAcknowledged, |params| {
        let mut wishes = Object::open(params.key("notifications"));
        for (key, is_honoured) in [
            ("toolsListChanged", honoured.tools),
            ("promptsListChanged", honoured.prompts),
            ("resourcesListChanged", honoured.resources),
        ] {
            if is_honoured {
                wishes.flag(key, true);
            }
        }
        wishes.some_texts("resourceSubscriptions", &honoured.uris);
        wishes.some_texts("taskIds", &honoured.tasks);
        wishes.close();
        subscribed(params, Some(id));
    });
}

/// Appends the answer that ends a subscription.
pub fn listen_ended(out: &mut Vec<u8>, id: &str, server: &Implementation) {
    let mut object = Object::open(out);
    object.text("jsonrpc", "2.0");
    object.raw("id", id);
    let mut result = Object::open(object.key("result"));
    result.text("resultType", "complete");
    let mut meta = Object::open(result.key("_meta"));
    meta.raw(SUBSCRIPTION_ID, id);
    implementation(meta.key(SERVER_INFO), Revision::LATEST, server);
    meta.close();
    result.close();
    object.close();
}

/// What a client wants to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes<S> {
    /// That the list of tools has changed.
    pub tools: bool,
    /// That the list of prompts has changed.
    pub prompts: bool,
    /// That the list of resources or templates has changed.
    pub resources: bool,
    /// That one of these resources has changed.
    pub uris: Vec<S>,
    /// That one of these tasks has changed.
    pub tasks: Vec<S>,
}

pub(super) fn subscribed(params: &mut Object<'_>, subscription: Option<&str>) {
    if let Some(id) = subscription {
        let mut meta = Object::open(params.key("_meta"));
        meta.raw(SUBSCRIPTION_ID, id);
        meta.close();
    }
}
