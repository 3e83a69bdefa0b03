//! One connection of HTTP/3: each request on a task of its own, answered by the endpoint that
//! answers the other kinds of HTTP. Ends with its client, or when the server stops.

use super::body::Received;
use super::limits::PIECE_BYTES;
use super::quic::{Gone, Quic, Sending};
use crate::bounds::Bound;
use crate::http::endpoint::Endpoint;
use crate::http::timed::Departures;
use crate::http::unread::Sent;
use bytes::Bytes;
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderValue, Response, header};
use http_body::Body;
use http_body_util::BodyExt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What the requests of one connection share.
struct Shared {
    endpoint: Arc<Endpoint>,
    unread: Arc<Bound>,
    departures: Departures,
}

/// Serves one to its end.
pub(super) async fn serve(endpoint: Arc<Endpoint>, connection: quinn::Connection) {
    let limits = Arc::clone(&endpoint.limits);
    let mut builder = h3::server::builder();
    builder.max_field_section_size(limits.header_bytes as u64).send_grease(false);
    let opening = builder.build(Quic::new(connection, limits.header_bytes));
    let Ok(Ok(mut http)) = timeout(limits.header_timeout, opening).await else { return };
    let mut stopped = endpoint.stopping.wait();
    let mut is_stopping = false;
    let unread = Bound::new(limits.output_bytes);
    let shared = Arc::new(Shared { endpoint, unread, departures: Departures::default() });
    let mut requests = JoinSet::new();
    while !(is_stopping && requests.is_empty()) {
        tokio::select! {
            biased;
            () = poll_fn(|cx| stopped.poll(cx)), if !is_stopping => {
                is_stopping = true;
                // The request after the last is the first that is not answered.
                let told = timeout(limits.write_stall, http.shutdown(1)).await;
                if !matches!(told, Ok(Ok(()))) {
                    return;
                }
            }
            Some(_) = requests.join_next() => {}
            accepted = http.accept() => {
                // Whatever ends a connection, there is nobody to tell.
                let Ok(Some(resolver)) = accepted else { return };
                let Some(gone) = http.inner.conn.take_gone() else { return };
                requests.spawn(answer(Arc::clone(&shared), resolver, gone));
            }
        }
    }
}

/// Reads a request and answers it, unless its client goes before that.
async fn answer(shared: Arc<Shared>, resolver: RequestResolver<Quic, Bytes>, mut gone: Gone) {
    let limits = &shared.endpoint.limits;
    let resolved = timeout(limits.header_timeout, resolver.resolve_request()).await;
    let Ok(Ok((request, stream))) = resolved else { return };
    let answering = async {
        let trip = shared.departures.begin();
        let (sending, receiving) = stream.split();
        let body = Received::new(receiving, request.headers());
        let departure = shared.departures.of(trip.clone());
        let request = request.map(|()| body);
        let answered = shared.endpoint.answer(request, &shared.unread, &trip, departure).await;
        send(sending, answered, limits.write_stall).await;
        shared.departures.end();
    };
    tokio::select! {
        () = gone.as_mut() => return,
        () = answering => {}
    }
    // Until the client has all of it: a connection that ends sends nothing more.
    _ = timeout(limits.write_stall, gone).await;
}

/// Sends an answer, to its end or until its client does not take it.
async fn send(mut to: RequestStream<Sending, Bytes>, answer: Response<Sent>, patience: Duration) {
    let (mut parts, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact() {
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
    while let Some(frame) = body.frame().await {
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
