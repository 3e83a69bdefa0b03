//! Constant answers on hyper and tokio, as cheap as hyper lets them be: what the stack costs
//! without anything on it, timeouts included. It is HTTP/1.1 alone.

use crate::answers::{Answers, Constant, Digits, ID_DIGITS, SESSION, SESSION_HEADER, Which};
use crate::limits::COPY_BYTES;
use bytes::{Buf, Bytes, buf::Chain};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use tokio::net::TcpListener;

/// A short answer is all in the first piece; of a long one, the second is not copied.
type Pieces = Full<Chain<Bytes, Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Serves until the process ends.
///
/// # Errors
/// Connections cannot be accepted any more.
pub async fn serve(answers: Answers, listener: TcpListener) -> io::Result<()> {
    // Nobody counts who refers to it.
    let answers: &'static Answers = Box::leak(Box::new(answers));
    let builder = http1::Builder::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service =
            service_fn(|request| async { Ok::<_, Infallible>(answer(answers, request).await) });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // Whatever ends a connection, its client has noticed already.
            let _ = connection.await;
        });
    }
}

async fn answer(answers: &Answers, request: Request<Incoming>) -> Response<Pieces> {
    let (head, mut body) = request.into_parts();
    let mut found = None;
    let mut is_first = true;
    // The id is in the first piece; the others are read, as they would be by anybody.
    while !body.is_end_stream() {
        let Some(Ok(frame)) = body.frame().await else { break };
        if let (true, Some(data)) = (is_first, frame.data_ref()) {
            found = answers.to(data);
            is_first = false;
        }
    }
    // The request's own map is used again: hyper takes it back with its room.
    let mut headers = head.headers;
    headers.clear();
    let (status, body) = match found {
        Some((which, digits)) => {
            headers.insert(header::CONTENT_TYPE, JSON);
            if which == Which::Greeting {
                let session = HeaderValue::from_static(SESSION);
                headers.insert(HeaderName::from_static(SESSION_HEADER), session);
            }
            (StatusCode::OK, pieces(answers.constant(which), &digits))
        }
        // A session ends.
        None if head.method == Method::DELETE => (StatusCode::OK, nothing()),
        None => (StatusCode::ACCEPTED, nothing()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn nothing() -> Chain<Bytes, Bytes> {
    Bytes::new().chain(Bytes::new())
}

fn pieces(constant: &Constant, digits: &Digits) -> Chain<Bytes, Bytes> {
    let is_short = constant.len() <= COPY_BYTES;
    let copied =
        constant.before.len() + ID_DIGITS + if is_short { constant.after.len() } else { 0 };
    let mut first = Vec::with_capacity(copied);
    first.extend_from_slice(&constant.before);
    first.extend_from_slice(digits);
    if is_short {
        first.extend_from_slice(&constant.after);
        return Bytes::from(first).chain(Bytes::new());
    }
    Bytes::from(first).chain(constant.after.clone())
}
