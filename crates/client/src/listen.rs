//! Listening for changes, in both eras by one call: in the modern era a request that stays open, in
//! the legacy one subscriptions and, over HTTP, the stream of events that belongs to no request.

use crate::changes::{Change, Interest, Mailbox};
use crate::client::Client;
use crate::error::ClientError;
use crate::message::quoted;
use crate::standing::Standing;
use crate::wire::{Question, Wire, nobody};
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Changes at a server, one after the other, as long as this lives. The connection lives at least
/// as long. A listener who is slow hears each change once, however often it came.
#[derive(Debug)]
pub struct Changes {
    mailbox: Arc<Mailbox>,
    honoured: Interest,
    _line: Line,
}

/// What keeps changes coming.
#[derive(Debug)]
enum Line {
    Modern { _asking: Asking },
    Legacy { _standing: Option<Arc<Standing>>, _subscribed: Subscribed },
}

impl Changes {
    /// The next change; nothing once the server has said that it is over. After an error it is
    /// over as well: listen again, and look at everything again.
    pub async fn next(&mut self) -> Option<Result<Change, ClientError>> {
        self.mailbox.next().await
    }

    /// What the server tells of, which may be less than was asked for.
    #[must_use]
    pub fn honoured(&self) -> &Interest {
        &self.honoured
    }
}

impl Client {
    /// Begins to listen for changes. Dropping what comes back ends it at the server.
    ///
    /// ```no_run
    /// # async fn run(client: &haft_client::Client) -> Result<(), haft_client::ClientError> {
    /// use haft_client::{Change, Interest};
    /// let mut changes = client.listen(Interest { tools: true, ..Interest::default() }).await?;
    /// while let Some(change) = changes.next().await {
    ///     if let Change::Tools | Change::Missed = change? {
    ///         println!("{} tools", client.list_tools().await?.tools.len());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`ClientError`]: the server does not let anybody listen, or knows a resource not.
    pub async fn listen(&self, interest: Interest) -> Result<Changes, ClientError> {
        match self.handshake().era {
            Era::Legacy => self.listen_legacy(interest).await,
            Era::Modern => self.listen_modern(interest).await,
        }
    }

    async fn listen_modern(&self, interest: Interest) -> Result<Changes, ClientError> {
        let wire = Arc::clone(self.wire());
        let (filter, method) = (interest.filter(), Method::SubscriptionsListen);
        let members = [("notifications", &*filter)];
        let ask = wire.make(Question::new(method, self.handshake().revision, &members));
        let mailbox = Mailbox::new(interest, Some(ask.id.clone()));
        wire.desk().hub().add(&mailbox);
        let limit = wire.timeout();
        let asking = Asking(tokio::spawn({
            let mailbox = Arc::clone(&mailbox);
            async move { mailbox.end(wire.ask_without_limit(&ask, &mut nobody).await.err()) }
        }));
        let late = ClientError::TimedOut { method: method.name(), after: limit };
        let honoured = timeout(limit, mailbox.acknowledged()).await.unwrap_or(Err(late))?;
        Ok(Changes { mailbox, honoured, _line: Line::Modern { _asking: asking } })
    }

    async fn listen_legacy(&self, interest: Interest) -> Result<Changes, ClientError> {
        let wire = self.wire();
        let is_on = |capability: &str, option: &str| {
            self.handshake().capabilities.pointer(&format!("/{capability}/{option}"))
                == Some(&serde_json::Value::Bool(true))
        };
        let honoured = Interest {
            prompts: interest.prompts && is_on("prompts", "listChanged"),
            resources: interest.resources && is_on("resources", "listChanged"),
            tools: interest.tools && is_on("tools", "listChanged"),
            uris: if is_on("resources", "subscribe") { interest.uris } else { Vec::new() },
        };
        let mailbox = Mailbox::new(honoured.clone(), None);
        wire.desk().hub().add(&mailbox);
        let standing = wire.standing().await?;
        let revision = self.handshake().revision;
        let mut subscribed = Subscribed { wire: Arc::clone(wire), revision, uris: Vec::new() };
        for uri in &honoured.uris {
            subscribed.add(uri).await?;
        }
        let line = Line::Legacy { _standing: standing, _subscribed: subscribed };
        Ok(Changes { mailbox, honoured, _line: line })
    }
}

/// A task that asks for ever; dropping it takes the request back.
#[derive(Debug)]
struct Asking(JoinHandle<()>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Subscriptions of the legacy era; dropping them ends those that nobody else has.
#[derive(Debug)]
struct Subscribed {
    wire: Arc<Wire>,
    revision: Revision,
    uris: Vec<String>,
}

impl Subscribed {
    async fn add(&mut self, uri: &str) -> Result<(), ClientError> {
        // First this: if it fails, or is not waited for, it is ended all the same.
        self.uris.push(uri.to_owned());
        let is_first = self.wire.subscriptions().begin(uri);
        if is_first {
            ask(&self.wire, Method::ResourcesSubscribe, self.revision, uri).await?;
        }
        Ok(())
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let mut last = std::mem::take(&mut self.uris);
        last.retain(|uri| self.wire.subscriptions().end(uri));
        if last.is_empty() {
            return;
        }
        let (wire, revision) = (Arc::clone(&self.wire), self.revision);
        self.wire.farewells().say(async move {
            for uri in last {
                ask(&wire, Method::ResourcesUnsubscribe, revision, &uri).await?;
            }
            Ok::<_, ClientError>(())
        });
    }
}

async fn ask(
    wire: &Wire,
    method: Method,
    revision: Revision,
    uri: &str,
) -> Result<(), ClientError> {
    let uri = quoted(uri);
    wire.ask(Question::new(method, revision, &[("uri", &uri)]), &mut nobody).await.map(|_| ())
}
