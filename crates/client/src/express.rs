//! The short way of a request that is passed on to a server over a lane: written once, from the
//! bytes that came; the answer is read once, and its result handed over as it is in the buffer that
//! it was read into. What is no plain answer goes the long way, through `reply` and `rounds`. Made
//! by `client` once hands are shaken.

use crate::coded::decoding;
use crate::error::ClientError;
use crate::http::{Http, lock};
use crate::lane::{Answer, Lane, Unread, write_line};
use crate::limits::LONG_BYTES;
use crate::long::{LongResult, Passed, Source};
use crate::message::{Ask, Listener};
use crate::reply;
use crate::road::unasked;
use crate::rounds::Subject;
use crate::wire::Wire;
use bytes::Bytes;
use bytestring::ByteString;
use haft_proto::envelope::{self, Incoming, Kind};
use haft_proto::json::member;
use haft_proto::long;
use haft_proto::mirror::{METHOD_HEADER, NAME_HEADER, encode};
use haft_proto::version::{Era, Revision};
use http::StatusCode;
use http::header::CONTENT_LENGTH;
use serde_json::value::RawValue;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::time::timeout;

/// What all requests of one connection have in common.
#[derive(Debug)]
pub(crate) struct Express {
    http: Http,
    lane: Arc<Lane>,
    /// The head, but for what differs.
    head: Box<[u8]>,
    /// The server has moved its endpoint since.
    has_moved: AtomicBool,
    /// What `_meta` begins with, if it has anything else than a token.
    meta: Box<str>,
}

/// What became of a request.
pub(crate) enum Expressed {
    /// It has its result.
    Complete(Passed),
    /// Nothing: it must be sent the long way.
    Elsewhere,
    /// It has an answer that must be looked into.
    Open(Result<Box<RawValue>, ClientError>),
}

impl Express {
    /// `None` if the server is not reached by a lane, or wants a token.
    pub(crate) fn new(wire: &Wire, revision: Revision) -> Option<Self> {
        let http = wire.http()?;
        let (lane, head) = http.express(revision)?;
        let meta = match revision.era() {
            Era::Legacy => Box::default(),
            Era::Modern => wire.meta(revision, None).into(),
        };
        Some(Self { http: http.clone(), lane, head, has_moved: AtomicBool::new(false), meta })
    }

    /// Asks, once.
    pub(crate) async fn ask(
        &self,
        wire: &Wire,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        if self.has_moved.load(Ordering::Relaxed) {
            return Ok(Expressed::Elsewhere);
        }
        let id = &*wire.next_id().to_string();
        wire.desk().allow_questions();
        if subject.revision.era() == Era::Modern {
            return self.ask_within(id, wire, subject, listener).await;
        }
        let listener = Mutex::new(listener);
        let mut here = |notice| lock(&listener)(notice);
        let answer = pin!(self.ask_within(id, wire, subject, &mut here));
        self.http.attend(id, answer, &listener).await
    }

    /// As long as the options say; the time rests while somebody is asked.
    async fn ask_within(
        &self,
        id: &str,
        wire: &Wire,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        let inquirer = subject.passing.and_then(|passing| passing.inquirer);
        let patience = match inquirer {
            Some(inquirer) => Some(&inquirer.patience),
            None => wire.desk().answers().then(|| wire.desk().patience()),
        };
        let (limit, method) = (wire.timeout(), subject.method.name());
        let asking = pin!(self.ask_until_done(id, wire, subject, listener));
        let done = match patience {
            Some(patience) => Box::pin(patience.wait(limit, asking)).await,
            None => timeout(limit, asking).await.ok(),
        };
        done.unwrap_or(Err(ClientError::TimedOut { method, after: limit }))
    }

    async fn ask_until_done(
        &self,
        id: &str,
        wire: &Wire,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        let answer = match self.ask_lane(id, wire, subject).await? {
            Asked::Elsewhere => return Ok(Expressed::Elsewhere),
            Asked::Long(long) => return Ok(Expressed::Complete(Passed::Long(long))),
            Asked::Whole(body) => match complete(&body, id, subject.revision) {
                Some(result) => return Ok(Expressed::Complete(Passed::Whole(result))),
                None => Reading::Body(body),
            },
            Asked::Answer(answer) => Reading::Answer(answer),
        };
        let ask = Ask {
            id: id.to_owned(),
            method: subject.method,
            params: String::new(),
            revision: subject.revision,
            target: None,
            headers: Vec::new(),
            inquirer: subject.passing.and_then(|passing| passing.inquirer.cloned()),
        };
        let reading = Box::pin(async {
            match answer {
                Reading::Body(body) => {
                    let answer = reply::read_body(&self.http, &ask, &body, listener).await;
                    self.http.doubt(&ask, answer).await
                }
                Reading::Answer(answer) => {
                    let limit = self.http.limits().message_bytes;
                    let response = decoding(reply::Body::response(*answer), limit);
                    self.http.hear(&ask, response, listener).await
                }
            }
        });
        Ok(Expressed::Open(reading.await))
    }

    async fn ask_lane(
        &self,
        id: &str,
        wire: &Wire,
        subject: &Subject<'_>,
    ) -> Result<Asked, ClientError> {
        let method = subject.method.name();
        let body = self.body(id, wire, subject);
        let head = self.head(subject, body.len());
        let asked = self.lane.ask([&head, &body]).await;
        let answer = asked.map_err(|why| unasked(method, &self.http.url(), &why))?;
        match answer.head.status {
            StatusCode::OK if answer.head.is_json && !answer.head.is_coded => {
                let limit = self.http.limits().message_bytes;
                let (mut body, mut begun) = (answer.body, Bytes::new());
                let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
                if body.len().is_some_and(|length| (LONG_BYTES..=limit_bytes).contains(&length)) {
                    begun = poll_fn(|cx| body.poll_piece(cx))
                        .await
                        .and_then(Result::ok)
                        .ok_or(ClientError::ClosedMidAnswer { method })?;
                    let start = long::result_begins(&begun, id);
                    let long = start.map(|start| begun.slice(start..));
                    // What is not so plain is looked at as a whole.
                    body = match long {
                        Some(of_result) => match LongResult::new(
                            of_result,
                            Source::Lane(Box::new(body)),
                            (method, wire.timeout()),
                        ) {
                            Ok(long) => return Ok(Asked::Long(Box::new(long))),
                            Err(Source::Lane(body)) => *body,
                            Err(Source::Carried(_)) => unreachable!("it is of a lane"),
                        },
                        None => body,
                    };
                }
                let body = body.whole(begun, limit).await.map_err(|unread| match unread {
                    Unread::TooLong => ClientError::MessageTooLarge { limit },
                    Unread::Faulty(_) => ClientError::ClosedMidAnswer { method },
                })?;
                Ok(Asked::Whole(body))
            }
            // Nothing was done where it was sent. Others may redirect after they have done it.
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                self.has_moved.store(true, Ordering::Relaxed);
                Ok(Asked::Elsewhere)
            }
            _ => Ok(Asked::Answer(Box::new(answer))),
        }
    }

    /// The head of a request.
    fn head(&self, subject: &Subject<'_>, length: usize) -> Vec<u8> {
        const REST: usize = 160;
        let mut out = Vec::with_capacity(self.head.len() + subject.target.len() + REST);
        out.extend_from_slice(&self.head);
        if subject.revision.era() == Era::Modern {
            // What `encode` returns is visible ASCII.
            write_line(&mut out, METHOD_HEADER, subject.method.name().as_bytes());
            write_line(&mut out, NAME_HEADER, encode(subject.target).as_bytes());
            for (name, value) in &subject.headers {
                write_line(&mut out, name.as_str(), value.as_bytes());
            }
        }
        write_line(&mut out, CONTENT_LENGTH.as_str(), length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
        out
    }

    /// The message.
    fn body(&self, id: &str, wire: &Wire, subject: &Subject<'_>) -> Vec<u8> {
        const REST: usize = 128;
        let of_theirs = |passing| wire.meta(subject.revision, Some(passing));
        let theirs = subject.passing.map(of_theirs);
        let meta = theirs.as_deref().unwrap_or(&self.meta);
        let of_member = |(key, value): &(&str, &str)| key.len() + value.len() + 4;
        let members: usize = subject.members.iter().map(of_member).sum();
        let mut out = Vec::with_capacity(members + meta.len() + REST);
        let mut write = |parts: &[&str]| {
            parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        };
        let method = subject.method.name();
        write(&[r#"{"jsonrpc":"2.0","id":"#, id, r#","method":""#, method, r#"","params":{"#]);
        for (key, value) in subject.members {
            write(&["\"", key, "\":", value, ","]);
        }
        write(&["\"_meta\":{"]);
        if !meta.is_empty() {
            write(&[meta, ","]);
        }
        write(&[r#""progressToken":"#, id, "}}}"]);
        out
    }
}

/// What a lane brought.
enum Asked {
    Answer(Box<Answer>),
    Elsewhere,
    Long(Box<LongResult>),
    Whole(Bytes),
}

/// What must be read the long way.
enum Reading {
    Answer(Box<Answer>),
    Body(Bytes),
}

/// The result of a plain answer.
fn complete(body: &Bytes, id: &str, revision: Revision) -> Option<ByteString> {
    let Ok(Incoming::One(message)) = envelope::read(body, &haft_proto::limits::Limits::default())
    else {
        return None;
    };
    let is_ours = message.id.is_some_and(|theirs| theirs.raw() == id);
    let result = message.result.filter(|_| is_ours && message.kind == Kind::Response)?;
    let kind = member(result, "resultType").filter(|_| revision.era() == Era::Modern);
    let is_complete = kind.is_none_or(|kind| kind == r#""complete""#);
    if !is_complete || !result.starts_with('{') {
        return None;
    }
    ByteString::try_from(body.slice_ref(result.as_bytes())).ok()
}

#[cfg(test)]
mod tests {
    use crate::client::Client;
    use crate::message::Listener;

    #[test]
    fn a_request_on_its_way_is_small() {
        fn size<F: Future>(_: impl FnOnce(&'static Client, Listener<'static>) -> F) -> usize {
            size_of::<F>()
        }
        let size = size(|client, listener| client.call_tool_raw("a", "{}", listener));
        assert!(size < 4096, "{size} bytes");
    }
}
