//! A real HTTP server on this machine that remembers what it was asked. Used by the tests here and
//! by those of `haft-manifest`.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A server that lives as long as the test's runtime.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    gone: Arc<Notify>,
}

/// What a request said.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query; a proxy sees all of the address.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// What is answered.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

enum Body {
    Bytes(Vec<u8>),
    /// The same bytes again and again.
    Endless,
    /// A body that never comes, after the head.
    Silent,
    /// No answer at all.
    Never,
}

impl Reply {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::status(200).with("content-type", "text/plain").body(text.into())
    }

    pub(crate) fn json(json: impl ToString) -> Self {
        Self::status(200).with("content-type", "application/json").body(json.to_string())
    }

    pub(crate) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::status(status).with("location", location)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Bytes(Vec::new()) }
    }

    pub(crate) fn endless() -> Self {
        Self { body: Body::Endless, ..Self::status(200) }
    }

    pub(crate) fn silent() -> Self {
        Self { body: Body::Silent, ..Self::status(200) }
    }

    pub(crate) fn never() -> Self {
        Self { body: Body::Never, ..Self::status(200) }
    }

    /// The same with another status.
    pub(crate) fn status_is(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Bytes(body.into());
        self
    }
}

impl Origin {
    /// A server on a free port that answers so.
    pub(crate) async fn serve(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let (seen, connections) = (Arc::default(), Arc::default());
        let gone = Arc::new(Notify::new());
        let origin = Self { address, seen, connections, gone };
        let (seen, connections) = (Arc::clone(&origin.seen), Arc::clone(&origin.connections));
        let (gone, answer) = (Arc::clone(&origin.gone), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::Relaxed);
                let (seen, answer, gone) =
                    (Arc::clone(&seen), Arc::clone(&answer), Arc::clone(&gone));
                let service = service_fn(move |request| {
                    reply(request, Arc::clone(&seen), Arc::clone(&answer))
                });
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    _ = server.serve_connection(TokioIo::new(stream), service).await;
                    gone.notify_one();
                });
            }
        });
        origin
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panics with it").clone()
    }

    /// The only request that it got.
    #[track_caller]
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    /// How many connections were made to it.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// When a connection has ended.
    pub(crate) async fn gone(&self) {
        self.gone.notified().await;
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("it is ASCII"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("it is UTF-8")
    }
}

async fn reply(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Seen>>>,
    answer: Arc<impl Fn(&Seen) -> Reply>,
) -> Result<Response<Chunks>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let (method, target) = (parts.method.to_string(), parts.uri.to_string());
    let request = Seen { method, target, headers: parts.headers, body };
    let reply = answer(&request);
    seen.lock().expect("nobody panics with it").push(request);
    if let Body::Never = reply.body {
        std::future::pending::<()>().await;
    }
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Chunks(reply.body)).expect("the test's answer is right"))
}

/// A body in pieces.
pub(crate) struct Chunks(Body);

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Body::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes).into())))),
            Body::Endless => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 65536]))))),
            Body::Silent | Body::Never => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Body::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
