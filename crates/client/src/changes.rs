//! Changes at a server, as they are waited for: a mailbox for each listener, which holds each
//! change once however often it is told, and the hub that fills them. Fed by both wires, emptied
//! by [`Changes`](crate::Changes). No I/O.

use crate::absent;
use crate::error::ClientError;
use crate::limits::{CHANGE_URI_BYTES_MAX, CHANGES_WAITING_MAX};
use crate::message::quoted;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;

/// Something at the server is no longer as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Some changes were not told, or not kept: look at everything again.
    Missed,
    /// The list of prompts.
    Prompts,
    /// What is in a resource, which may be part of the one that was asked for.
    Resource(String),
    /// The list of resources.
    Resources,
    /// The list of tools.
    Tools,
}

/// What changes somebody wants to hear of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Interest {
    /// The list of prompts.
    #[serde(deserialize_with = "absent::or_null", rename = "promptsListChanged")]
    pub prompts: bool,
    /// The list of resources.
    #[serde(deserialize_with = "absent::or_null", rename = "resourcesListChanged")]
    pub resources: bool,
    /// The list of tools.
    #[serde(deserialize_with = "absent::or_null", rename = "toolsListChanged")]
    pub tools: bool,
    /// The content of these resources.
    #[serde(deserialize_with = "absent::or_null", rename = "resourceSubscriptions")]
    pub uris: Vec<String>,
}

impl Interest {
    /// JSON text of the filter that a modern server is sent.
    pub(crate) fn filter(&self) -> String {
        let Self { prompts, resources, tools, uris } = self;
        let uris: Vec<String> = uris.iter().map(|uri| quoted(uri)).collect();
        let uris = format!(r#""resourceSubscriptions":[{}]"#, uris.join(","));
        let members = [
            (*prompts, r#""promptsListChanged":true"#),
            (*resources, r#""resourcesListChanged":true"#),
            (*tools, r#""toolsListChanged":true"#),
            (!self.uris.is_empty(), &uris),
        ];
        let members = members.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, text)| *text);
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    fn covers(&self, change: &Change) -> bool {
        match change {
            Change::Missed => true,
            Change::Prompts => self.prompts,
            // Which of them a part belongs to is the server's business.
            Change::Resource(_) => !self.uris.is_empty(),
            Change::Resources => self.resources,
            Change::Tools => self.tools,
        }
    }
}

/// Changes that wait for one listener.
#[derive(Debug)]
pub(crate) struct Mailbox {
    interest: Interest,
    /// The id of the request that asked for them, as JSON text; the legacy era has none.
    subscription: Option<String>,
    inside: Mutex<Inside>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    waiting: VecDeque<Change>,
    acknowledged: Option<Interest>,
    /// Why nothing more will come; nothing, if the server said that it is over.
    end: Option<Option<ClientError>>,
}

impl Mailbox {
    pub(crate) fn new(interest: Interest, subscription: Option<String>) -> Arc<Self> {
        let inside = Mutex::default();
        Arc::new(Self { interest, subscription, inside, filled: Notify::new() })
    }

    /// What the server will tell of, once it has said so; an error if it ended instead.
    pub(crate) async fn acknowledged(&self) -> Result<Interest, ClientError> {
        self.wait(|inside| {
            if let Some(interest) = inside.acknowledged.take() {
                return Some(Ok(interest));
            }
            inside.end.take().map(|end| Err(end.unwrap_or(ClientError::ConnectionClosed)))
        })
        .await
    }

    /// The next change; nothing once they are over.
    pub(crate) async fn next(&self) -> Option<Result<Change, ClientError>> {
        self.wait(|inside| match (inside.waiting.pop_front(), &mut inside.end) {
            (Some(change), _) => Some(Some(Ok(change))),
            (None, Some(end)) => Some(end.take().map(Err)),
            (None, None) => None,
        })
        .await
    }

    /// Nothing more will come.
    pub(crate) fn end(&self, why: Option<ClientError>) {
        self.inside().end.get_or_insert(why);
        self.filled.notify_one();
    }

    fn put(&self, change: Change) {
        if !self.interest.covers(&change) {
            return;
        }
        let is_long = matches!(&change, Change::Resource(uri) if uri.len() > CHANGE_URI_BYTES_MAX);
        let mut inside = self.inside();
        let has_room = inside.waiting.len() < CHANGES_WAITING_MAX;
        let change = if is_long || !has_room { Change::Missed } else { change };
        if !inside.waiting.contains(&change) {
            inside.waiting.push_back(change);
        }
        drop(inside);
        self.filled.notify_one();
    }

    fn acknowledge(&self, interest: Interest) {
        self.inside().acknowledged = Some(interest);
        self.filled.notify_one();
    }

    /// There is one listener, so that one who waits is enough.
    async fn wait<T>(&self, mut look: impl FnMut(&mut Inside) -> Option<T>) -> T {
        loop {
            if let Some(found) = look(&mut self.inside()) {
                return found;
            }
            self.filled.notified().await;
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

/// All mailboxes of one connection.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Vec<Weak<Mailbox>>>);

impl Hub {
    pub(crate) fn add(&self, mailbox: &Arc<Mailbox>) {
        let mut all = lock(&self.0);
        all.retain(|mailbox| mailbox.strong_count() > 0);
        all.push(Arc::downgrade(mailbox));
    }

    /// A change that belongs to a subscription, or in the legacy era to whoever listens.
    pub(crate) fn tell(&self, subscription: Option<&str>, change: &Change) {
        for mailbox in self.find(subscription) {
            mailbox.put(change.clone());
        }
    }

    /// The server will tell of these.
    pub(crate) fn acknowledge(&self, subscription: Option<&str>, interest: &Interest) {
        for mailbox in self.find(subscription) {
            mailbox.acknowledge(interest.clone());
        }
    }

    /// Nothing more will come to those that belong to no request.
    pub(crate) fn end(&self, reason: &str) {
        for mailbox in self.find(None) {
            mailbox.end(Some(ClientError::ChangesEnded { reason: reason.to_owned() }));
        }
    }

    fn find(&self, subscription: Option<&str>) -> Vec<Arc<Mailbox>> {
        let all = lock(&self.0);
        let all = all.iter().filter_map(Weak::upgrade);
        all.filter(|mailbox| mailbox.subscription.as_deref() == subscription).collect()
    }
}

/// A thread that panicked left the data whole: no lock is held across anything that can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Interest {
        Interest { prompts: true, resources: true, tools: true, uris: vec!["x:\"1\"".to_owned()] }
    }

    /// What waits, without waiting.
    async fn taken(mailbox: &Mailbox) -> Vec<Change> {
        mailbox.end(None);
        let mut changes = Vec::new();
        while let Some(change) = mailbox.next().await {
            changes.push(change.expect("a clean end"));
        }
        changes
    }

    #[test]
    fn a_filter_names_what_is_wanted_and_nothing_else() {
        assert_eq!(Interest::default().filter(), "{}");
        let text = all().filter();
        assert_eq!(serde_json::from_str::<Interest>(&text).expect("JSON"), all());
        let tools = Interest { tools: true, ..Interest::default() };
        assert_eq!(tools.filter(), r#"{"toolsListChanged":true}"#);
    }

    #[tokio::test]
    async fn a_change_waits_once_and_only_for_who_wants_it() {
        let (hub, mailbox) = (Hub::default(), Mailbox::new(all(), Some("3".to_owned())));
        hub.add(&mailbox);
        for _ in 0..10_000 {
            hub.tell(Some("3"), &Change::Tools);
            hub.tell(Some("3"), &Change::Resource("x:1".to_owned()));
            hub.tell(Some("4"), &Change::Prompts);
            hub.tell(None, &Change::Prompts);
        }
        let expected = [Change::Tools, Change::Resource("x:1".to_owned())];
        assert_eq!(taken(&mailbox).await, expected);
        let incurious = Mailbox::new(Interest::default(), None);
        hub.add(&incurious);
        hub.tell(None, &Change::Tools);
        assert_eq!(taken(&incurious).await, []);
    }

    #[tokio::test]
    async fn changes_that_find_no_room_are_missed() {
        let (hub, mailbox) = (Hub::default(), Mailbox::new(all(), None));
        hub.add(&mailbox);
        (0..2 * CHANGES_WAITING_MAX)
            .for_each(|n| hub.tell(None, &Change::Resource(format!("x:{n}"))));
        let changes = taken(&mailbox).await;
        assert_eq!(changes.len(), CHANGES_WAITING_MAX + 1);
        assert_eq!(changes.last(), Some(&Change::Missed));
        let mailbox = Mailbox::new(all(), None);
        hub.add(&mailbox);
        hub.tell(None, &Change::Resource("x".repeat(CHANGE_URI_BYTES_MAX + 1)));
        assert_eq!(taken(&mailbox).await, [Change::Missed]);
    }

    #[tokio::test]
    async fn an_end_comes_after_what_waits_and_is_told_once() {
        let (hub, mailbox) = (Hub::default(), Mailbox::new(all(), None));
        hub.add(&mailbox);
        hub.tell(None, &Change::Tools);
        hub.end("gone");
        assert_eq!(mailbox.next().await.expect("a change").expect("no end"), Change::Tools);
        assert!(mailbox.next().await.expect("an end").is_err());
        assert!(mailbox.next().await.is_none());
        assert!(mailbox.next().await.is_none());
    }
}
