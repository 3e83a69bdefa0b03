//! The answers that turn a request away: each an error of JSON-RPC with the status that it has.

use super::answer::{self, Answer};
use super::coding;
use super::request::Accepts;
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::{Outcome, Reply};
use haft_proto::version::Era;
use http::{HeaderValue, Response, StatusCode, header};

/// A refusal of the request itself, before its message was read.
pub(super) fn refused(status: StatusCode, refusal: &Refusal) -> Response<Answer> {
    let mut message = Vec::new();
    encode::error(&mut message, None, refusal);
    answer::json(status, message)
}

/// A refusal of a message.
pub(super) fn refused_to(id: Option<Id<'_>>, era: Era, refusal: &Refusal) -> Response<Answer> {
    let mut message = Vec::new();
    encode::error(&mut message, id, refusal);
    let accepts = Accepts { json: true, events: false };
    let outcome = Outcome::Refused(refusal.mistake);
    answer::now(Reply::new(message, outcome), era, accepts)
}

/// There is no room for the request now.
pub(super) fn try_again(id: Option<Id<'_>>, era: Era, refusal: &Refusal) -> Response<Answer> {
    let mut response = refused_to(id, era, refusal);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The verb is wrong here.
pub(super) fn method_not_allowed(message: &'static str) -> Response<Answer> {
    let refusal = Refusal::new(Mistake::InvalidRequest, message);
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, &refusal);
    response.headers_mut().insert(header::ALLOW, VERBS);
    response
}

/// The verbs of the endpoint.
pub(super) const VERBS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");

/// There is more in front of the body than is looked at.
pub(super) fn headers_too_long(limits: &Limits) -> Response<Answer> {
    let limit = limits.header_bytes;
    let message = format!("Headers too long: they may have {limit} bytes together");
    let refusal = Refusal::new(Mistake::InvalidRequest, message);
    refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &refusal)
}

/// The body is not said to be JSON.
pub(super) fn unsupported_media_type() -> Response<Answer> {
    let refusal = Refusal::new(
        Mistake::InvalidRequest,
        "Unsupported media type: `Content-Type` must be `application/json`",
    );
    refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &refusal)
}

/// The body is compressed in a way that is not read.
pub(super) fn unsupported_coding() -> Response<Answer> {
    let refusal = Refusal::new(
        Mistake::InvalidRequest,
        "Unsupported media type: `Content-Encoding` must be `gzip` or `deflate`, or not be there",
    );
    let mut response = refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &refusal);
    response.headers_mut().insert(header::ACCEPT_ENCODING, coding::READ);
    response
}

/// The body is not what its coding says.
pub(super) fn broken_coding() -> Response<Answer> {
    let message =
        "Parse error: the body is not compressed as `Content-Encoding` says, or cut short";
    refused(StatusCode::BAD_REQUEST, &Refusal::new(Mistake::Parse, message))
}

/// The client does not take what it would be answered with.
pub(super) fn not_acceptable(message: &'static str) -> Response<Answer> {
    refused(StatusCode::NOT_ACCEPTABLE, &Refusal::new(Mistake::InvalidRequest, message))
}

/// A GET is answered with a stream, and the client takes none.
pub(super) fn get_not_acceptable() -> Response<Answer> {
    not_acceptable(
        "Not acceptable: GET is answered with a stream; `Accept` must list `text/event-stream`",
    )
}
