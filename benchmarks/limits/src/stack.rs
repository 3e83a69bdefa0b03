//! Constant answers on hyper and tokio, configured as haft configures them: what the stack costs
//! without anything on it.

use crate::answers::{Answers, Constant, Digits};
use bytes::{Buf, Bytes, buf::Chain};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Either, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::io::{self, Cursor};
use std::sync::Arc;
use tokio::net::TcpListener;

/// The pieces of a constant, which are not copied.
type Pieces = Chain<Chain<Bytes, Cursor<Digits>>, Bytes>;
type Body = Either<Full<Pieces>, Empty<Pieces>>;

/// Serves until the process ends.
///
/// # Errors
/// Connections cannot be accepted any more.
pub async fn serve(answers: Answers, listener: TcpListener) -> io::Result<()> {
    let (answers, builder) = (Arc::new(answers), builder());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = Arc::clone(&answers);
        let service = service_fn(move |request| {
            let answers = Arc::clone(&answers);
            async move { Ok::<_, Infallible>(answer(&answers, request).await) }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        tokio::spawn(async move {
            // Whatever ends a connection, its client has noticed already.
            let _ = connection.await;
        });
    }
}

/// As `haft-transport` does it.
fn builder() -> Builder<TokioExecutor> {
    let limits = haft_proto::limits::Limits::default();
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.header_bytes.max(8192));
    builder
}

async fn answer(answers: &Answers, request: Request<Incoming>) -> Response<Body> {
    let mut body = request.into_body();
    let mut found = None;
    let mut is_first = true;
    // The id is in the first piece; the others are read, as they would be by anybody.
    while let Some(Ok(frame)) = body.frame().await {
        if let (true, Some(data)) = (is_first, frame.data_ref()) {
            found = answers.to(data);
            is_first = false;
        }
    }
    match found {
        Some((constant, digits)) => answered(constant, digits),
        None => {
            let mut response = Response::new(Either::Right(Empty::new()));
            *response.status_mut() = StatusCode::ACCEPTED;
            response
        }
    }
}

fn answered(constant: &Constant, digits: Digits) -> Response<Body> {
    let pieces = constant.before.clone().chain(Cursor::new(digits)).chain(constant.after.clone());
    let mut response = Response::new(Either::Left(Full::new(pieces)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
