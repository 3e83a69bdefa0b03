//! One connection of HTTP/3: each request on a task of its own, answered by the endpoint that
//! answers the other kinds of HTTP. Ends with its client, or when the server stops.

use super::body::{self, Received};
use super::limits::{PARTING, PIECE_BYTES};
use super::quic::{Next, Quic};
use super::sending::Sending;
use crate::bounds::Bound;
use crate::http::endpoint::Endpoint;
use crate::http::timed::Departures;
use crate::http::unread::Sent;
use bytes::Bytes;
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What the requests of one connection share.
struct Shared {
    endpoint: Arc<Endpoint>,
    unread: Arc<Bound>,
    departures: Departures,
}

/// Serves one to its end. `unfinished` is what all hold of headers that are not whole.
pub(super) async fn serve(
    endpoint: Arc<Endpoint>,
    connection: quinn::Connection,
    unfinished: Arc<Bound>,
) {
    let limits = Arc::clone(&endpoint.limits);
    let (quic, mut builder) = (connection.clone(), h3::server::builder());
    builder.max_field_section_size(limits.header_bytes as u64).send_grease(false);
    let opening = builder.build(Quic::new(connection, limits.header_bytes, unfinished));
    let mut stopped = endpoint.stopping.wait();
    let opened = tokio::select! {
        opened = timeout(limits.header_timeout, opening) => opened,
        () = poll_fn(|cx| stopped.poll(cx)) => return,
    };
    let Ok(Ok(mut http)) = opened else { return };
    // Whether more requests are taken, and whether the client says that more may come.
    let (mut is_ending, mut is_open) = (false, true);
    let unread = Bound::new(limits.output_bytes);
    let shared = Arc::new(Shared { endpoint, unread, departures: Departures::default() });
    let mut requests = JoinSet::new();
    while !(is_ending && requests.is_empty()) {
        let is_idle = requests.is_empty();
        let leave = async {
            tokio::select! {
                () = poll_fn(|cx| stopped.poll(cx)) => {}
                // As a connection over TCP that asks nothing.
                () = sleep(limits.header_timeout), if is_idle => {}
            }
        };
        tokio::select! {
            biased;
            () = leave, if !is_ending => {
                is_ending = true;
                // The request after the last is the first that is not answered.
                http.inner.conn.refuse_rest();
                let told = timeout(limits.write_stall, http.shutdown(1)).await;
                if !matches!(told, Ok(Ok(()))) {
                    return;
                }
            }
            Some(_) = requests.join_next() => {}
            accepted = http.accept(), if is_open => match accepted {
                Ok(Some(resolver)) => {
                    let Some(next) = http.inner.conn.take_next() else { return };
                    requests.spawn(answer(Arc::clone(&shared), resolver, next));
                }
                // The client asks no more, and waits for what it has asked.
                Ok(None) => (is_ending, is_open) = (true, false),
                // Whatever ends a connection, there is nobody to tell.
                Err(_) => return,
            },
        }
    }
    if is_open {
        // Until the client has heard that: a connection that ends sends nothing more.
        _ = timeout(PARTING, quic.closed()).await;
    }
}

/// Reads a request and answers it, unless its client goes before that.
async fn answer(shared: Arc<Shared>, resolver: RequestResolver<Quic, Bytes>, next: Next) {
    let Next { mut gone, come } = next;
    let limits = &shared.endpoint.limits;
    let resolved = timeout(limits.header_timeout, resolver.resolve_request()).await;
    let Ok(Ok((request, stream))) = resolved else { return };
    let answering = async {
        let trip = shared.departures.begin();
        let (mut sending, receiving) = stream.split();
        let Ok(length) = body::length(request.headers()) else {
            sending.stop_stream(Code::H3_MESSAGE_ERROR);
            return sending;
        };
        // What a client waits for that asks before it sends (RFC 9110, 10.1.1).
        let expects = request.headers().get(header::EXPECT).map(HeaderValue::as_bytes);
        if expects.is_some_and(|it| it.eq_ignore_ascii_case(b"100-continue")) {
            let mut go_on = Response::new(());
            *go_on.status_mut() = StatusCode::CONTINUE;
            if !is_taken(limits.write_stall, sending.send_response(go_on)).await {
                sending.stop_stream(Code::H3_REQUEST_CANCELLED);
                return sending;
            }
        }
        let body = Received::new(receiving, length, come);
        let is_head = request.method() == Method::HEAD;
        let departure = shared.departures.of(trip.clone());
        let request = request.map(|()| body);
        let answered = shared.endpoint.answer(request, &shared.unread, &trip, departure).await;
        send(&mut sending, (answered, is_head), limits.write_stall).await;
        shared.departures.end();
        sending
    };
    let sent = tokio::select! {
        () = gone.as_mut() => return,
        sent = answering => sent,
    };
    // Until the client has all of it: a connection that ends sends nothing more. For `h3` it is
    // over when this is dropped, and whoever says goodbye is told then that it was not begun.
    _ = timeout(limits.write_stall, gone).await;
    drop(sent);
}

/// Sends an answer, to its end or until its client does not take it; of one to HEAD, what is said
/// about it.
async fn send(
    to: &mut RequestStream<Sending, Bytes>,
    (answer, is_head): (Response<Sent>, bool),
    patience: Duration,
) {
    let (mut parts, body) = answer.into_parts();
    let has_length = parts.status != StatusCode::NO_CONTENT;
    if let Some(length) = body.size_hint().exact().filter(|_| has_length) {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    // hyper says the same over the other kinds.
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now())) {
        parts.headers.insert(header::DATE, date);
    }
    let head = Response::from_parts(parts, ());
    if !is_taken(patience, to.send_response(head)).await {
        return to.stop_stream(Code::H3_REQUEST_CANCELLED);
    }
    let mut body = pin!(body);
    while let Some(frame) = if is_head { None } else { body.frame().await } {
        let Ok(frame) = frame else { return to.stop_stream(Code::H3_INTERNAL_ERROR) };
        let mut data = frame.into_data().unwrap_or_default();
        while !data.is_empty() {
            let piece = data.split_to(data.len().min(PIECE_BYTES));
            if !is_taken(patience, to.send_data(piece)).await {
                return to.stop_stream(Code::H3_REQUEST_CANCELLED);
            }
        }
    }
    // One that has ended meanwhile needs no end.
    _ = to.finish().await;
}

/// Whether the client takes something in time.
async fn is_taken(
    patience: Duration,
    sending: impl Future<Output = Result<(), StreamError>>,
) -> bool {
    matches!(timeout(patience, sending).await, Ok(Ok(())))
}
