//! Streams of events over HTTP: the one that answers a request, and in the legacy era the one that
//! belongs to none. What comes on them is taken to whom it concerns; a legacy stream that breaks is
//! taken up again where it broke. Used by `reply` and `standing`; it sends through the HTTP wire.

use crate::changes::Change;
use crate::coded::unread;
use crate::error::{ClientError, excerpt};
use crate::flood::Flood;
use crate::http::Http;
use crate::limits::{LIVED, RETRY_DEFAULT, RETRY_MIN, RETURNS_MAX};
use crate::message::{Ask, Heard, Listener, Notice, hear, is_asked_in};
use crate::passing::Whom;
use crate::questions::OpenQuestions;
use crate::reply::{Body, is_event_stream};
use crate::unreadable;
use haft_fetch::CodingError;
use haft_proto::envelope::{self, Envelope, Incoming, Rejected};
use haft_proto::method::Method;
use haft_proto::sse::Reader;
use haft_proto::version::Era;
use http::StatusCode;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A stream, over one HTTP response or several.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    http: &'a Http,
    /// The request that it answers.
    ask: Option<&'a Ask>,
    questions: OpenQuestions,
    /// Where it can be taken up again.
    last_id: Option<String>,
    /// How long it must be left alone before.
    retry: Duration,
    /// How often in a row nothing came of that.
    failures: u32,
    /// Why the first event that was no message is none.
    stray: Option<String>,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(http: &'a Http, ask: Option<&'a Ask>) -> Self {
        Self {
            questions: OpenQuestions::new(Arc::clone(http.desk())),
            http,
            ask,
            last_id: None,
            retry: RETRY_DEFAULT,
            failures: 0,
            stray: None,
        }
    }

    /// Reads until the answer is there.
    pub(crate) async fn follow(
        &mut self,
        mut body: Body,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        loop {
            if let Some(result) = self.read(body, listener).await? {
                return Ok(result);
            }
            // In the modern era a broken stream is a lost request.
            if self.last_id.is_none() || !self.is_legacy() {
                return Err(self.closed());
            }
            body = self.come_back().await?;
        }
    }

    /// Reads a stream that belongs to no request, until it cannot be had any more.
    pub(crate) async fn stand(&mut self, mut body: Body, listener: Listener<'_>) -> ClientError {
        loop {
            if let Err(error) = self.read(body, listener).await {
                return error;
            }
            body = match self.come_back().await {
                Ok(body) => body,
                Err(error) => return error,
            };
            if self.last_id.is_none() {
                self.http.desk().hub().tell(None, &Change::Missed);
            }
        }
    }

    /// Takes what one body holds; the answer, if it is there.
    pub(crate) async fn take(
        &mut self,
        bytes: &[u8],
        listener: Listener<'_>,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        self.take_text(bytes, false, listener).await
    }

    /// The same of a body or an event.
    async fn take_text(
        &mut self,
        bytes: &[u8],
        is_event: bool,
        listener: Listener<'_>,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        let mut room = Vec::new();
        let messages = match envelope::read_with_halves(bytes, &mut room, self.http.limits()) {
            Ok(Incoming::One(message)) => vec![Ok(message)],
            Ok(Incoming::Batch(messages)) => messages,
            Err(rejected) => vec![Err(rejected)],
        };
        let mut result = None;
        for message in &messages {
            result = match message {
                Ok(message) => self.take_message(message, listener).await?.or(result),
                Err(rejected) if is_event && !self.is_awaited(rejected, bytes) => result,
                Err(rejected) => {
                    let (method, reason) = (self.method(), rejected.reason.to_string());
                    return Err(ClientError::NotJsonRpc { method, reason });
                }
            };
        }
        Ok(result)
    }

    /// Whether an event that cannot be read should have been the answer; others are none of our
    /// business, like a word that keeps the connection open.
    fn is_awaited(&mut self, rejected: &Rejected<'_>, bytes: &[u8]) -> bool {
        self.stray.get_or_insert_with(|| rejected.reason.to_string());
        let Some(ask) = self.ask else { return false };
        match rejected.id {
            Some(id) => id.raw() == ask.id,
            None => unreadable::is_answer(bytes),
        }
    }

    /// Reads one response to its end, or to the answer.
    async fn read(
        &mut self,
        mut body: Body,
        listener: Listener<'_>,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        let limit = self.http.limits().message_bytes;
        let mut reader = Reader::new(limit);
        let (began, mut flood) = (Instant::now(), Flood::new());
        loop {
            let frame = tokio::select! {
                frame = body.frame() => frame,
                error = self.questions.failed() => return Err(error),
            };
            let frame = match frame {
                Some(Ok(frame)) => frame,
                Some(Err(error)) if error.is::<CodingError>() => {
                    return Err(unread(self.method(), &*error));
                }
                Some(Err(_)) | None => break,
            };
            let Some(data) = frame.data_ref() else { continue };
            reader.feed(data).map_err(|_| ClientError::MessageTooLarge { limit })?;
            while let Some(event) = reader.next() {
                self.failures = 0;
                flood.count();
                if event.kind != "message" || event.data.is_empty() {
                    continue;
                }
                let taken = self.take_text(&event.data, true, listener).await.transpose();
                if let Some(answer) = taken {
                    body.leave();
                    return answer.map(Some);
                }
            }
            flood.ebb().await;
        }
        if began.elapsed() >= LIVED {
            self.failures = 0;
        }
        if let Some(id) = reader.last_id() {
            self.failures = 0;
            self.last_id = Some(id.to_owned()).filter(|id| !id.is_empty());
        }
        self.retry = reader.retry().unwrap_or(self.retry);
        Ok(None)
    }

    /// Opens the stream again, not before the server wants that, and later each time in vain.
    async fn come_back(&mut self) -> Result<Body, ClientError> {
        loop {
            if self.failures == RETURNS_MAX {
                return Err(self.closed());
            }
            let pause = self.retry.max(RETRY_MIN).saturating_mul(1 << self.failures);
            self.failures += 1;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                error = self.questions.failed() => return Err(error),
            }
            let response = match self.http.open_stream(self.last_id.as_deref()).await {
                Ok(response) => response,
                Err(ClientError::ClosedMidAnswer { .. } | ClientError::Unreachable { .. }) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let status = response.status();
            if status.is_success() && is_event_stream(&response) {
                return Ok(response.into_body());
            }
            if status == StatusCode::NOT_FOUND && self.http.has_session() {
                return Err(ClientError::SessionLost);
            }
            if !status.is_server_error() {
                return Err(self.closed());
            }
        }
    }

    async fn take_message(
        &mut self,
        message: &Envelope<'_>,
        listener: Listener<'_>,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        match hear(message) {
            // A modern server has no requests, and nobody to take an answer.
            Heard::Asked(asked) if self.is_legacy() => {
                let whom = self.http.desk().whom(self.ask);
                if let (Whom::Nobody, Some(method)) = (&whom, is_asked_in(&asked.method)) {
                    listener(Notice::Unasked { method });
                }
                let http = self.http.clone();
                let send = |answer| async move { http.tell(answer).await };
                if let Some(answer) = self.questions.take(asked, whom, send) {
                    self.http.tell(answer).await?;
                }
            }
            Heard::Asked(_) | Heard::Nothing => {}
            Heard::Notice(token, notice) => match self.ask {
                Some(ask) if token.as_ref().is_none_or(|token| *token == ask.id) => {
                    listener(notice);
                }
                Some(_) => {}
                None => self.http.pass_on(token.as_deref(), &notice),
            },
            Heard::Reply(theirs, outcome) => {
                // On a stream that belongs to no request there is nothing to answer.
                let Some(ask) = self.ask else { return Ok(None) };
                if let Some(theirs) = theirs.filter(|theirs| *theirs != ask.id) {
                    let theirs = excerpt(theirs.as_bytes());
                    return Err(ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs });
                }
                return outcome.map(Some).map_err(|reply| ask.refused(reply, Some(200)));
            }
            Heard::Acknowledged(subscription, interest) => {
                let subscription = self.subscription(subscription);
                self.http.desk().hub().acknowledge(subscription.as_deref(), &interest);
            }
            Heard::Changed(subscription, change) => {
                let subscription = self.subscription(subscription);
                self.http.desk().hub().tell(subscription.as_deref(), &change);
            }
            Heard::TakenBack(id) => self.questions.take_back(&id),
            Heard::VisitEnded(id) => self.http.desk().visit_ended(id),
        }
        Ok(None)
    }

    /// A stream that was asked for says by itself whose changes these are.
    fn subscription(&self, named: Option<String>) -> Option<String> {
        let listening = self.ask.filter(|ask| ask.method == Method::SubscriptionsListen);
        listening.map(|ask| ask.id.clone()).or(named)
    }

    fn is_legacy(&self) -> bool {
        self.ask.is_none_or(|ask| ask.revision.era() == Era::Legacy)
    }

    fn method(&self) -> &'static str {
        self.ask.map_or("GET", |ask| ask.method.name())
    }

    fn closed(&self) -> ClientError {
        let method = self.method();
        // While hands are shaken, what came in place of an answer tells more than that it ended.
        let is_begun = self.ask.is_none_or(Ask::is_cancellable);
        match self.stray.as_ref().filter(|_| !is_begun) {
            Some(reason) => ClientError::NotJsonRpc { method, reason: reason.clone() },
            None => ClientError::ClosedMidAnswer { method },
        }
    }
}
