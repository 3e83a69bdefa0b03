//! The wire of 2024-11-05, HTTP+SSE: a GET opens a stream whose first event says where messages are
//! posted to, and everything the server says comes on that stream. Made by `connect` where nothing
//! newer answers. The stream is the session: once it ends, nothing is asked over it any more.

use crate::auth::asking_nobody;
use crate::error::{ClientError, excerpt};
use crate::exchange::{Ended, Exchange, Inbox, Oddity};
use crate::http::Http;
use crate::limits::{ENDPOINT_BYTES_MAX, ENDPOINT_TIME_MAX};
use crate::message::{Ask, Listener};
use crate::reply::{self, Body, is_event_stream};
use crate::road::shown;
use haft_fetch::Url;
use haft_proto::sse::Reader;
use http::{StatusCode, Uri};
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A session of such a server.
#[derive(Debug)]
pub(crate) struct OldSse {
    http: Http,
    exchange: Arc<Exchange>,
    tasks: [JoinHandle<()>; 2],
}

impl OldSse {
    /// Opens a session at the address of `http`, which from then on is where messages are posted;
    /// `None` if no such server is there. Each step takes `limit` at most.
    ///
    /// # Errors
    /// [`ClientError::NoEndpoint`], [`ClientError::ForeignEndpoint`], or that access is refused.
    pub(crate) async fn open(http: &Http, limit: Duration) -> Result<Option<Self>, ClientError> {
        let patience = http.desk().patience();
        let wait = limit.min(ENDPOINT_TIME_MAX);
        let response = match patience.wait(wait, http.open_stream(None)).await {
            Some(Ok(response)) => response,
            Some(Err(error @ ClientError::Authorization(_))) => return Err(error),
            Some(Err(_)) | None => return Ok(None),
        };
        let status = response.status();
        if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status) {
            let (status, said) = (status.as_u16(), String::new());
            return Err(ClientError::AuthenticationNeeded { status, said });
        }
        if !status.is_success() || !is_event_stream(&response) {
            return Ok(None);
        }
        let mut events =
            Events { body: response.into_body(), reader: Reader::new(http.limits().message_bytes) };
        let none = |reason| ClientError::NoEndpoint { url: shown(&http.url()), reason };
        let named = match timeout(wait, events.endpoint()).await {
            Ok(named) => named.map_err(none)?,
            Err(_) => return Err(none(format!("none came within {wait:?}"))),
        };
        http.moved(endpoint(&http.url(), &named).map_err(|wrong| match wrong {
            Wrong::Foreign(to) => ClientError::ForeignEndpoint { to },
            Wrong::Unreadable(reason) => none(reason),
        })?);
        let (exchange, queue) = Exchange::new(Arc::clone(http.desk()), http.limits());
        let tasks = [
            tokio::spawn(post(http.clone(), queue, limit)),
            tokio::spawn(read(events, Arc::clone(&exchange))),
        ];
        Ok(Some(Self { http: http.clone(), exchange, tasks }))
    }

    /// Asks and waits for the answer. Dropping the future tells the server that nobody waits.
    pub(crate) async fn ask(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let mut call = self.exchange.begin(ask)?;
        self.check()?;
        call.sent(ask);
        // The answer may come before the response to what asked for it.
        let posted = tokio::select! {
            biased;
            reply = call.hear(listener) => Err(reply),
            posted = self.post(ask) => Ok(posted),
        };
        let reply = match posted {
            Ok(Ok(())) => call.hear(listener).await,
            Ok(Err(error)) => {
                call.refused();
                return Err(error);
            }
            Err(reply) => reply,
        };
        match reply {
            Some(reply) => reply.map_err(|reply| ask.refused(reply, None)),
            None => Err(self.why_unanswered(ask)),
        }
    }

    /// Sends a notification.
    pub(crate) async fn tell(&self, message: Vec<u8>) -> Result<(), ClientError> {
        self.check()?;
        tell(&self.http, message).await
    }

    /// Waits until nothing more can be read.
    pub(crate) async fn ended(&self) {
        self.exchange.ended().await;
    }

    /// Why nothing more can be read, once that is so.
    pub(crate) fn why_ended(&self) -> ClientError {
        match self.exchange.has_ended() {
            _ if self.exchange.is_closed() => ClientError::ConnectionClosed,
            Some(Ended::TooLarge) => self.too_large(),
            _ => ClientError::SessionLost,
        }
    }

    /// What may explain that no answer came.
    pub(crate) fn oddity(&self, ask: &Ask) -> Option<ClientError> {
        Some(match self.exchange.oddity()? {
            Oddity::Garbage(line) => {
                ClientError::GarbageInStream { method: ask.method.name(), line }
            }
            Oddity::OtherId(theirs) => {
                ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs }
            }
        })
    }

    /// Ends the session, by ending the stream.
    pub(crate) fn close(&self) {
        self.exchange.close();
        self.tasks.iter().for_each(JoinHandle::abort);
        self.exchange.end(Ended::AtMessageEnd, "it was closed");
    }

    /// A session that is over takes no more messages.
    fn check(&self) -> Result<(), ClientError> {
        match self.exchange.has_ended() {
            _ if self.exchange.is_closed() => Err(ClientError::ConnectionClosed),
            Some(_) => Err(ClientError::SessionLost),
            None => Ok(()),
        }
    }

    async fn post(&self, ask: &Ask) -> Result<(), ClientError> {
        let response = self.http.post(ask.method.name(), ask.message()).await?;
        match response.status() {
            StatusCode::NOT_FOUND if ask.is_cancellable() => Err(ClientError::SessionLost),
            status if status.is_success() => {
                // Read to its end, so that the connection can be used again.
                reply::beginning(response).await;
                Ok(())
            }
            _ => Err(reply::read_failure(ask, response).await),
        }
    }

    fn why_unanswered(&self, ask: &Ask) -> ClientError {
        match self.exchange.has_ended() {
            _ if self.exchange.is_closed() => ClientError::ConnectionClosed,
            Some(Ended::TooLarge) => self.too_large(),
            _ => ClientError::ClosedMidAnswer { method: ask.method.name() },
        }
    }

    fn too_large(&self) -> ClientError {
        ClientError::MessageTooLarge { limit: self.exchange.limits().message_bytes }
    }
}

impl Drop for OldSse {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The stream.
#[derive(Debug)]
struct Events {
    body: Body,
    reader: Reader,
}

impl Events {
    /// Takes some more bytes; false at the end. What is too long ends it too.
    async fn more(&mut self) -> Result<bool, Ended> {
        loop {
            let Some(Ok(frame)) = self.body.frame().await else { return Ok(false) };
            if let Some(data) = frame.data_ref() {
                return self.reader.feed(data).map(|()| true).map_err(|_| Ended::TooLarge);
            }
        }
    }

    /// The data of the first `endpoint` event, or why there is none.
    async fn endpoint(&mut self) -> Result<String, String> {
        let too_long = || format!("it is longer than {ENDPOINT_BYTES_MAX} bytes");
        loop {
            while let Some(event) = self.reader.next() {
                match event.kind.as_str() {
                    "endpoint" if event.data.len() > ENDPOINT_BYTES_MAX => return Err(too_long()),
                    "endpoint" => {
                        let data = String::from_utf8(event.data);
                        return data.map_err(|_| "it is not UTF-8".to_owned());
                    }
                    _ => {}
                }
            }
            match self.more().await {
                Ok(true) => {}
                Ok(false) => return Err("the stream ended before".to_owned()),
                Err(_) => return Err(too_long()),
            }
        }
    }
}

/// Why messages cannot be posted where the server wants them.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    /// Another server is there, of this scheme, host and port.
    Foreign(String),
    Unreadable(String),
}

/// The address that an `endpoint` event names, seen from that of the stream.
fn endpoint(stream: &Uri, named: &str) -> Result<Uri, Wrong> {
    let unreadable = |error: haft_fetch::BadUrl| Wrong::Unreadable(error.to_string());
    let stream = Url::parse(&stream.to_string()).map_err(unreadable)?;
    let url = stream.join(named.trim()).map_err(unreadable)?;
    if !stream.is_same_origin(&url) {
        return Err(Wrong::Foreign(url.origin()));
    }
    // Written as the stream has it, where it is written in several ways.
    let url = format!("{}{}", stream.origin(), url.path_and_query());
    url.parse().map_err(|_| Wrong::Unreadable("it cannot be read".to_owned()))
}

/// Posts what nobody waits for: answers to the server's questions, and that nobody waits.
async fn post(http: Http, mut queue: mpsc::Receiver<Vec<u8>>, limit: Duration) {
    while let Some(message) = queue.recv().await {
        // A server that does not take it has its stream ended, or waits in vain.
        _ = timeout(limit, asking_nobody(tell(&http, message))).await;
    }
}

async fn tell(http: &Http, message: Vec<u8>) -> Result<(), ClientError> {
    let method = "notification";
    let response = http.post(method, message).await?;
    let status = response.status();
    // Read to its end, so that the connection can be used again.
    let said = reply::beginning(response).await;
    if status.is_success() {
        return Ok(());
    }
    Err(ClientError::HttpStatus { method, status: status.as_u16(), said: excerpt(&said) })
}

async fn read(mut events: Events, exchange: Arc<Exchange>) {
    let mut inbox = Inbox::new(&exchange);
    let ended = loop {
        while let Some(event) = events.reader.next() {
            if event.kind == "message" && !inbox.take(&event.data) {
                exchange.note(Oddity::Garbage(excerpt(&event.data)));
            }
        }
        inbox.ebb().await;
        match events.more().await {
            Ok(true) => {}
            Ok(false) => break Ended::MidMessage,
            Err(_) if exchange.take_long_reply(events.reader.begun()) => break Ended::MidMessage,
            Err(ended) => break ended,
        }
    };
    exchange.end(ended, "its stream of events has ended");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_server_that_says_where_and_to_no_other() {
        let stream: Uri = "http://a.example:8000/x/sse?key=1".parse().expect("an address");
        let check = |named: &str, expected: &str| {
            let found = endpoint(&stream, named).map(|url| url.to_string());
            assert_eq!(found.as_deref(), Ok(expected), "{named}");
        };
        check("/messages/?session_id=1f", "http://a.example:8000/messages/?session_id=1f");
        check("messages?s=1", "http://a.example:8000/x/messages?s=1");
        check("../m", "http://a.example:8000/m");
        check("?s=2", "http://a.example:8000/x/sse?s=2");
        check("http://A.EXAMPLE:8000/m", "http://a.example:8000/m");
        check(" /m\r", "http://a.example:8000/m");
        for foreign in [
            "http://b.example:8000/m",
            "//b.example:8000/m",
            "http://a.example/m",
            "https://a.example:8000/m",
            "http://a.example:8001/m",
        ] {
            let found = endpoint(&stream, foreign);
            assert!(matches!(found, Err(Wrong::Foreign(_))), "{foreign}: {found:?}");
        }
        for bad in ["http://u:p@a.example:8000/m", "file:///m", "http:///m", "/a b", "/\\m"] {
            let found = endpoint(&stream, bad);
            assert!(matches!(found, Err(Wrong::Unreadable(_))), "{bad}: {found:?}");
        }
        let secure: Uri = "https://a.example/sse".parse().expect("an address");
        assert!(endpoint(&secure, "https://a.example:443/m").is_ok(), "the port of the scheme");
        assert!(endpoint(&secure, "http://a.example/m").is_err(), "TLS is not left");
    }
}
