//! What an HTTP response holds: the answer as JSON, the answer at the end of a stream of events, or
//! a failure. Called by the HTTP wire for each request; bounded by the limit of a message.

use crate::error::{ClientError, excerpt};
use crate::http::Http;
use crate::message::{Ask, Heard, Listener, ReplyError, hear};
use crate::sse::Reader;
use haft_proto::envelope::{self, Incoming};
use haft_proto::version::Era;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::value::RawValue;
use std::time::Duration;

/// The body of a response.
pub(crate) type Body = hyper::body::Incoming;

/// How much of a failure's body is looked at.
const FAILURE_BYTES_MAX: usize = 64 * 1024;
/// How often one broken stream is taken up again, and how long that may be put off.
const RETURNS_MAX: usize = 16;
const RETRY_DEFAULT_MS: u64 = 1000;
const RETRY_MS_MAX: u64 = 30_000;

/// Reads the answer to `ask` from a response whose status says success.
pub(crate) async fn read(
    http: &Http,
    ask: &Ask,
    response: Response<Body>,
    listener: Listener<'_>,
) -> Result<Box<RawValue>, ClientError> {
    let method = ask.method.name();
    if is_event_stream(&response) {
        return read_events(http, ask, response.into_body(), listener).await;
    }
    let kind = content_type(&response);
    if response.status() == StatusCode::ACCEPTED || !is_json(&kind) {
        return Err(ClientError::UnknownContentType { method, found: excerpt(kind.as_bytes()) });
    }
    let limit = http.limits().message_bytes;
    let body = match Limited::new(response.into_body(), limit).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(ClientError::MessageTooLarge { limit });
        }
        Err(_) => return Err(ClientError::ClosedMidAnswer { method }),
    };
    match take(http, ask, &body, listener).await? {
        Some(result) => Ok(result),
        None => Err(ClientError::NotJsonRpc { method, reason: "it is no answer".to_owned() }),
    }
}

/// What a response says whose status says failure.
pub(crate) async fn read_failure(ask: &Ask, response: Response<Body>) -> ClientError {
    let method = ask.method.name();
    let status = response.status();
    let body = beginning(response).await;
    let error = rpc_error(&body);
    match (status, error) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, error) => {
            let said = match error {
                Some(ReplyError::Rpc(error)) => error.message,
                _ => String::new(),
            };
            let said = excerpt(said.as_bytes());
            ClientError::AuthenticationNeeded { status: status.as_u16(), said }
        }
        (_, Some(error)) => ask.refused(error, Some(status.as_u16())),
        (_, None) => {
            let said = excerpt(&body);
            // A page for a browser says nothing in one line.
            let said = if said.starts_with('<') { String::new() } else { said };
            ClientError::HttpStatus { method, status: status.as_u16(), said }
        }
    }
}

/// The beginning of a body, which may be cut off or broken.
pub(crate) async fn beginning(response: Response<Body>) -> Vec<u8> {
    let mut body = response.into_body();
    let mut begun = Vec::new();
    while begun.len() < FAILURE_BYTES_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Some(data) = frame.data_ref() {
            let room = FAILURE_BYTES_MAX - begun.len();
            begun.extend_from_slice(data.get(..room).unwrap_or(data));
        }
    }
    begun
}

/// Whether a response is a stream of events.
pub(crate) fn is_event_stream<T>(response: &Response<T>) -> bool {
    content_type(response) == "text/event-stream"
}

async fn read_events(
    http: &Http,
    ask: &Ask,
    mut body: Body,
    listener: Listener<'_>,
) -> Result<Box<RawValue>, ClientError> {
    let closed = || ClientError::ClosedMidAnswer { method: ask.method.name() };
    let mut last_id = None;
    let mut retry_ms = RETRY_DEFAULT_MS;
    for _ in 0..=RETURNS_MAX {
        let limit = http.limits().message_bytes;
        let mut reader = Reader::new(limit);
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else { continue };
            reader.feed(data).map_err(|_| ClientError::MessageTooLarge { limit })?;
            while let Some(event) = reader.next() {
                if event.kind == "message"
                    && !event.data.is_empty()
                    && let Some(result) = take(http, ask, &event.data, listener).await?
                {
                    return Ok(result);
                }
            }
        }
        // From 2025-11-25 on a server may hang up and expect to be called again; in the modern era
        // a broken stream is a lost request.
        last_id = reader.last_id().map(str::to_owned).or(last_id);
        retry_ms = reader.retry_ms().unwrap_or(retry_ms).min(RETRY_MS_MAX);
        let Some(last_id) = last_id.as_deref().filter(|_| ask.revision.era() == Era::Legacy) else {
            return Err(closed());
        };
        tokio::time::sleep(Duration::from_millis(retry_ms)).await;
        let response = http.come_back(ask, last_id).await?;
        if !response.status().is_success() || !is_event_stream(&response) {
            return Err(closed());
        }
        body = response.into_body();
    }
    Err(closed())
}

/// Takes what one body or event holds; the answer, if it is there.
async fn take(
    http: &Http,
    ask: &Ask,
    bytes: &[u8],
    listener: Listener<'_>,
) -> Result<Option<Box<RawValue>>, ClientError> {
    let method = ask.method.name();
    let messages = match envelope::read(bytes, http.limits()) {
        Ok(Incoming::One(message)) => vec![message],
        Ok(Incoming::Batch(messages)) => messages.into_iter().flatten().collect(),
        Err(rejected) => {
            return Err(ClientError::NotJsonRpc { method, reason: rejected.reason.to_string() });
        }
    };
    let mut result = None;
    for message in &messages {
        match hear(message) {
            Heard::Answer(answer) => http.tell(answer).await?,
            Heard::Nothing => {}
            Heard::Notice(token, notice) => {
                if token.is_none_or(|token| token == ask.id) {
                    listener(notice);
                }
            }
            Heard::Reply(Some(theirs), _) if theirs != ask.id => {
                let theirs = excerpt(theirs.as_bytes());
                return Err(ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs });
            }
            Heard::Reply(_, outcome) => {
                result = Some(outcome.map_err(|reply| ask.refused(reply, Some(200)))?);
            }
        }
    }
    Ok(result)
}

/// The JSON-RPC error that a body holds.
fn rpc_error(body: &[u8]) -> Option<ReplyError> {
    let limits = haft_proto::limits::Limits::default();
    match envelope::read(body, &limits) {
        Ok(Incoming::One(message)) => match hear(&message) {
            Heard::Reply(_, Err(error)) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

fn content_type<T>(response: &Response<T>) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind.ends_with("+json")
}
