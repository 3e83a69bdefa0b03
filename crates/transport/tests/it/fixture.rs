//! A server of a few tools on a free port, for one test. It never outlives its test.

use crate::asking_tools::{asking_tools, waiting_tools};
use crate::hook::{Hook, Hooked};
use haft_proto::limits::Limits;
use haft_proto::service::{Ask, Service};
use haft_proto::spec::tool_result::ToolResult;
use haft_server::{Server, Tool, handler};
use haft_transport::http::{Listener, Options, Tls};
use haft_transport::stop::Stop;
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// A running server.
pub(crate) struct Fixture {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) gate: Arc<Gate>,
    /// Which server a client may trust, if it speaks TLS.
    pub(crate) certificate: Option<CertificateDer<'static>>,
    pub(crate) tls: Option<Tls>,
    stop: Option<oneshot::Sender<Stop>>,
    serving: JoinHandle<()>,
}

/// What the tool `wait` waits for, and what became of its calls.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) open: Notify,
    pub(crate) began: Notify,
    pub(crate) ended: Notify,
    begun: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Gate {
    /// How many calls have begun.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// How many calls were dropped before their end.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }
}

/// Counts a call that is dropped before its end.
struct Inside(Arc<Gate>, bool);

impl Drop for Inside {
    fn drop(&mut self) {
        if !self.1 {
            self.0.cancelled.fetch_add(1, Ordering::SeqCst);
        }
        self.0.ended.notify_one();
    }
}

/// No arguments.
#[derive(Deserialize)]
pub(crate) struct Nothing {}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default(), Options::default()).await
    }

    pub(crate) async fn with(limits: Limits, options: Options) -> Self {
        let gate = Arc::new(Gate::default());
        let server = server(&gate, limits.clone());
        Self::serving(Arc::new(server), gate, limits, (options, None)).await
    }

    /// The same server with a hook before it.
    pub(crate) async fn hooked(limits: Limits, hook: impl Hook) -> Self {
        Self::hooked_with(limits, hook, Options::default()).await
    }

    pub(crate) async fn hooked_with(limits: Limits, hook: impl Hook, options: Options) -> Self {
        let gate = Arc::new(Gate::default());
        let server = Hooked { server: server(&gate, limits.clone()), hook };
        Self::serving(Arc::new(server), gate, limits, (options, None)).await
    }

    /// The same over TLS, and HTTP/3.
    pub(crate) async fn secured(limits: Limits, options: Options) -> Self {
        Self::secured_hooked(limits, |_: &Ask<'_>, _: &mut Vec<u8>| None, options).await
    }

    pub(crate) async fn secured_hooked(limits: Limits, hook: impl Hook, options: Options) -> Self {
        let gate = Arc::new(Gate::default());
        let service = Arc::new(Hooked { server: server(&gate, limits.clone()), hook });
        Self::serving(service, gate, limits, (options, Some(own_certificate()))).await
    }

    async fn serving(
        service: Arc<dyn Service>,
        gate: Arc<Gate>,
        limits: Limits,
        (options, secured): (Options, Option<(Tls, CertificateDer<'static>)>),
    ) -> Self {
        let any = "127.0.0.1:0".parse().expect("an address");
        let mut listener = Listener::bind(any, options).await.expect("a free port");
        let (tls, certificate) = secured.unzip();
        if let Some(tls) = tls.clone() {
            listener = listener.over_tls(tls).await.expect("a free port");
        }
        let url = listener.url();
        let address = url.split('/').nth(2).and_then(|host| host.parse().ok()).expect("a URL");
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stop = async { stopped.await.unwrap_or(Stop::AtOnce) };
            listener.serve(service, &limits, stop).await;
        });
        Self { address, gate, certificate, tls, stop: Some(stop), serving }
    }

    /// Tells the server to stop and waits until it has.
    pub(crate) async fn stop(mut self, how: Stop) {
        let stop = self.stop.take().expect("it stops once");
        stop.send(how).expect("the server listens");
        self.serving.await.expect("the server does not panic");
    }
}

/// A certificate of a server on this machine, and its key.
fn own_certificate() -> (Tls, CertificateDer<'static>) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let own = rcgen::generate_simple_self_signed(names).expect("a certificate is made");
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).expect("they belong together");
    (tls, own.cert.der().clone())
}

pub(crate) fn server(gate: &Arc<Gate>, limits: Limits) -> Server {
    let waiting = Arc::clone(gate);
    let text = r#"{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}},
        "required":["text"],"additionalProperties":false}"#;
    let builder = Server::builder("fixture", "1.0.0")
        .fixed()
        .limits(limits)
        .tool(Tool::new("hello", handler::function(|Nothing {}| "hello")))
        .tool(Tool::new("echo", handler::function(|echo: Echo| echo.text)).input_schema(text))
        .tool(Tool::new(
            "wait",
            handler::future(move |Nothing {}, _| {
                let gate = Arc::clone(&waiting);
                async move {
                    let mut inside = Inside(Arc::clone(&gate), false);
                    gate.begun.fetch_add(1, Ordering::SeqCst);
                    gate.began.notify_one();
                    gate.open.notified().await;
                    inside.1 = true;
                    "waited"
                }
            }),
        ))
        .tool(Tool::new(
            "progress",
            handler::future(|Nothing {}, context| async move {
                for step in 1..=3 {
                    context.progress(f64::from(step), Some(3.0), Some("step"));
                    tokio::task::yield_now().await;
                }
                "done"
            }),
        ))
        .tool(Tool::new(
            "say",
            handler::future(|Nothing {}, context| async move {
                for step in 1..=3 {
                    context.progress(f64::from(step), None, Some("at once"));
                }
                "done"
            }),
        ))
        .tool(Tool::new(
            "far",
            handler::future(|Nothing {}, context| async move {
                (1..=1000).for_each(|step| context.progress(f64::from(step), None, None));
                "done"
            }),
        ))
        .tool(Tool::new("panic", handler::function(|Nothing {}| -> &str { panic!("on purpose") })))
        .tool(
            Tool::new(
                "endless",
                handler::future(|Nothing {}, _| std::future::pending::<ToolResult>()),
            )
            .timeout(Duration::from_millis(50)),
        )
        .tool(Tool::new("large", handler::function(|Nothing {}| "x".repeat(16 * 1024 * 1024))));
    let builder = builder.tool(large_later(gate));
    waiting_tools(asking_tools(builder, gate), gate).build().expect("the fixture is right")
}

fn large_later(gate: &Arc<Gate>) -> Tool {
    let waiting = Arc::clone(gate);
    let handler = handler::future(move |Nothing {}, _| {
        let gate = Arc::clone(&waiting);
        async move {
            gate.open.notified().await;
            "x".repeat(2 * 1024 * 1024)
        }
    });
    Tool::new("large_later", handler)
}
