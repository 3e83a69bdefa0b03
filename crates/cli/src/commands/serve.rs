//! `haft serve`: a file becomes a server, over stdio or over HTTP, until a signal or the end of its
//! client. Calls the manifest, the server and the wires; answers nothing itself. `dev` serves in
//! the same way.

use crate::admin_client::{AdminAddress, admin_address};
use crate::agents::{self, Agents, AgentsArgs};
use crate::behind;
use crate::edits::{self, Hangups, Places, Teller};
use crate::exit::{Exit, Failure};
use crate::guardian;
use crate::metrics;
use crate::print::{NAME, Printer};
use crate::profile::Profiling;
use crate::secure::{Certificate, TlsArgs};
use crate::{inside, instruments, views};
use haft_gateway::limits::{EARLY, EARLY_ALONE};
use haft_manifest::{Adoption, Listen, Live, Reading};
use haft_proto::limits::Limits;
use haft_proto::service::Service;
use haft_server::Server;
use haft_transport::http::{self, Listener, Options, Threads, TwoPaths};
use haft_transport::stdio;
use haft_transport::stop::{self, Orders, Stop};
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Serve the tools of a file, over HTTP or to the client that started this
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  haft serve                                the haft.yaml of this directory
  haft serve tools.yaml                     where the file says, or http://127.0.0.1:7300/mcp
  haft serve haft.yaml --http :8080         at another port of this machine
  haft serve --tls-cert cert.pem --tls-key key.pem  over HTTPS, and HTTP/3 at the same port
  haft serve haft.yaml --stdio              to the client that started this, on stdin and stdout
  kill -HUP PID                             read the file again; a bad one changes nothing")]
pub(crate) struct Args {
    /// The file
    #[arg(default_value = "haft.yaml")]
    pub(crate) file: PathBuf,
    /// Serve the client that started this, over stdin and stdout
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Serve this view of the file, and not everything
    #[arg(long, value_name = "NAME", requires = "stdio")]
    pub(crate) view: Option<String>,
    /// Listen here instead of every address of `listen`: 127.0.0.1:7300, :7300 or 7300; port 0 is
    /// any free one. What else the first `listen` says holds: path, hosts, origins, sse
    #[arg(long, value_name = "ADDRESS", value_parser = http::address)]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Count and time requests, and tell Prometheus at this address, under /metrics
    #[arg(long, value_name = "ADDRESS", value_parser = http::address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Say what upstreams do, and take orders about them, as JSON under /admin/v1: at this address
    /// of this machine, or at a socket that only you can open (unix:PATH); may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = admin_address)]
    pub(crate) admin: Vec<AdminAddress>,
    #[command(flatten)]
    pub(crate) agents: AgentsArgs,
    /// How many threads answer over HTTP [default: as many as this process may use processors]
    #[arg(long, value_name = "N", conflicts_with = "stdio")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=THREADS_MAX))]
    pub(crate) threads: Option<u16>,
    /// Let each thread keep its connections for as long as they last, instead of sharing the work:
    /// nothing moves between threads, but a tool that keeps one busy holds up what is there
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) per_core: bool,
    /// Let each of these threads accept connections by a socket of its own, over which the system
    /// spreads them by their addresses (SO_REUSEPORT, Linux), instead of giving each connection to
    /// the thread that has the fewest
    #[arg(long, requires = "per_core")]
    pub(crate) reuse_port: bool,
    /// Keep each of these threads, and the programs that its tools start, on one processor
    #[arg(long, requires = "per_core")]
    pub(crate) pin: bool,
    /// Time each stage of each request as well: read, decode, validate, queue, handler, encode,
    /// write
    #[arg(long, requires = "metrics")]
    pub(crate) stages: bool,
    /// Write a flame graph of the processor time of all of it, an SVG, when it ends. Of a haft that
    /// was built with the feature `profile`
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
}

/// More than any machine has use for, and few enough to be there.
const THREADS_MAX: i64 = 256;

impl Args {
    /// The processors that this process may use: its affinity and the quota of its control group
    /// are looked at.
    fn threads(&self) -> NonZeroUsize {
        let typed = self.threads.and_then(|count| NonZeroUsize::new(count.into()));
        typed.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }

    /// Which threads answer over HTTP.
    fn who_answers(&self) -> Threads {
        match self.per_core {
            true => Threads::Own {
                count: self.threads(),
                is_pinned: self.pin,
                is_accepting: self.reuse_port,
            },
            false => Threads::Shared,
        }
    }

    /// The runtime of all else, and of answers that are shared.
    fn runtime(&self) -> io::Result<Runtime> {
        let shared = if self.per_core { 1 } else { self.threads().get() };
        runtime::Builder::new_multi_thread().worker_threads(shared).enable_all().build()
    }
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    // SIGHUP says when, over HTTP.
    let reading = if args.stdio { Reading::Never } else { Reading::Orders };
    serve(&args, reading, printer)
}

/// Serves a file, and is looked into meanwhile if somebody wants that.
pub(crate) fn serve(args: &Args, reading: Reading, printer: Printer) -> Result<Exit, Failure> {
    let printer = printer.for_log();
    let _instruments = instruments::begin();
    let profiling = args.profile.as_deref().map(Profiling::begin).transpose()?;
    inside::open(printer);
    if args.stages {
        haft_stages::turn_on();
    }
    let served = serve_file(args, reading, printer);
    let drawn = profiling.map_or(Ok(()), Profiling::end);
    served.and_then(|exit| drawn.map(|()| exit))
}

fn serve_file(args: &Args, reading: Reading, printer: Printer) -> Result<Exit, Failure> {
    let live = || Live::new(&args.file, reading, args.metrics.is_some()).map(Arc::new);
    if args.stdio {
        let live = live()?;
        let server = match &args.view {
            Some(name) => views::server_of(&live, name)?,
            None => Arc::new(live.server().clone()),
        };
        return serve_stdio((&live, server), reading, args, printer);
    }
    let certificate = args.tls.read(printer)?;
    let runtime = started(args.runtime())?;
    // Before anything is read or said: SIGHUP may come at any time from now on.
    let hangups = {
        let _entered = runtime.enter();
        Hangups::new().map_err(|error| no_signals(&error))?
    };
    let live = live()?;
    let places = Places::new(&live.manifest(), args.http);
    let served = runtime.block_on(ending_orphans(async {
        let agents = agents::begin(&args.agents, printer).await?;
        if let Some(address) = args.metrics {
            metrics::start(address, agents.as_ref().map(Agents::hub), printer).await?;
        }
        let (threads, admin) = (args.who_answers(), args.admin.clone());
        let serving = Serving { live, places, how: (threads, certificate), agents, admin };
        serve_http(serving, (reading, hangups), printer).await
    }));
    runtime.shutdown_background();
    served
}

/// One thread: a client on a pipe is one client.
fn serve_stdio(
    (live, server): (&Arc<Live>, Arc<Server>),
    reading: Reading,
    args: &Args,
    printer: Printer,
) -> Result<Exit, Failure> {
    let runtime = started(runtime::Builder::new_current_thread().enable_all().build())?;
    // Before anything is started that would be left behind.
    let mut orders = {
        let _entered = runtime.enter();
        Orders::with_hangups().map_err(|error| no_signals(&error))?
    };
    let limits = server.limits().clone();
    let served = runtime.block_on(ending_orphans(async {
        let agents = agents::begin(&args.agents, printer).await?;
        if let Some(address) = args.metrics {
            metrics::start(address, agents.as_ref().map(Agents::hub), printer).await?;
        }
        tokio::spawn(Arc::clone(live).watch_resources(move |line| printer.warn(line)));
        if reading == Reading::Edits {
            let teller = Teller::new(live, Places::none(), printer);
            tokio::spawn(edits::follow(Arc::clone(live), teller));
        }
        let stop = async {
            tokio::select! {
                ordered = orders.next() => ordered,
                gone = stop::parent_died() => gone,
            }
        };
        let hub = agents.as_ref().map(Agents::hub);
        let gateway = behind::begin(live, hub, (&args.admin, Vec::new()), printer).await?;
        let service = gateway.patient(server, &limits, EARLY_ALONE);
        let served = stdio::serve(service, &limits, stop).await;
        gateway.stop().await;
        agents::stop(agents).await;
        served.map_err(|error| Failure::new(Exit::Other, format!("stdin or stdout: {error}")))
    }));
    // A tool that blocks a thread must not keep the process.
    runtime.shutdown_background();
    served.map(|_| Exit::Ok)
}

/// Serves, and leaves no process behind that a tool has started.
pub(super) async fn ending_orphans<T>(serving: impl Future<Output = T>) -> T {
    let adoption = Adoption::begin();
    let adoption = adoption.map(|adoption| adoption.guarded(guardian::command()));
    let served = serving.await;
    if let Some(adoption) = adoption {
        adoption.end().await;
    }
    served
}

/// What is served over HTTP, and how.
struct Serving {
    live: Arc<Live>,
    places: Places,
    how: (Threads, Option<Certificate>),
    agents: Option<Agents>,
    admin: Vec<AdminAddress>,
}

async fn serve_http(
    serving: Serving,
    (reading, hangups): (Reading, Hangups),
    printer: Printer,
) -> Result<Exit, Failure> {
    let Serving { live, places, how, agents, admin } = serving;
    let server = Arc::new(live.server().clone());
    let limits = server.limits().clone();
    let mut listeners = Vec::new();
    for listen in places.in_force() {
        let listener = bind(listen, &how, &server, printer).await?;
        views::tell(&live, &listener, printer);
        listeners.push(listener);
    }
    tokio::spawn(Arc::clone(&live).watch_resources(move |line| printer.warn(line)));
    let rolls = listeners.iter().map(Listener::roll).collect();
    let hub = agents.as_ref().map(Agents::hub);
    let gateway = behind::begin(&live, hub, (&admin, rolls), printer).await?;
    let besides = views::follow(&live, Box::new(gateway.patience(&limits, EARLY)));
    let beside = |listener: Listener| listener.with(besides.clone());
    let listeners = listeners.into_iter().map(beside).collect();
    let service = gateway.patient(server, &limits, EARLY);
    let teller = Teller::new(&live, places, printer);
    let served = match reading {
        Reading::Orders => {
            let orders = hangups.renewing(how.1, printer).take_orders(live, teller);
            serve_all(listeners, service, limits, orders).await
        }
        Reading::Edits | Reading::Never => {
            if reading == Reading::Edits {
                tokio::spawn(edits::follow(live, teller));
            }
            serve_all(listeners, service, limits, hangups.end()).await
        }
    };
    gateway.stop().await;
    agents::stop(agents).await;
    served
}

async fn bind(
    listen: &Listen,
    (threads, certificate): &(Threads, Option<Certificate>),
    server: &Server,
    printer: Printer,
) -> Result<Listener, Failure> {
    let address = listen.address;
    let options = Options {
        path: listen.path.clone(),
        origins: listen.origins.clone(),
        hosts: listen.hosts.clone(),
        has_sessions: listen.has_sessions,
        two_paths: listen.sse.then(TwoPaths::default),
        threads: *threads,
    };
    let taken = |error| {
        let failure = Failure::new(Exit::Other, format!("cannot listen on {address}: {error}"));
        failure.hint("another server may be there; choose another address with --http")
    };
    let mut listener = Listener::bind(address, options).await.map_err(taken)?;
    if let Some(Certificate { tls, http3_port, .. }) = certificate {
        listener = listener.over_tls(tls.clone()).await.map_err(taken)?;
        if let Some(port) = *http3_port {
            listener = listener.telling_http3_at(port);
        }
    }
    // Programs that start us wait for this line, so that it is there with `--json` too.
    let (name, url) = (server.name(), listener.url());
    let told = json!({"serving": {"name": name, "url": url}});
    printer.announce(format_args!("haft: serving {NAME}{name}{NAME:#} at {url}"), &told);
    if !address.ip().is_loopback() {
        printer.warn("other machines can reach this address, and nobody is asked who they are");
    }
    Ok(listener)
}

async fn serve_all(
    listeners: Vec<Listener>,
    service: Arc<dyn Service>,
    limits: Limits,
    ended: impl Future<Output = Stop>,
) -> Result<Exit, Failure> {
    let (order, orders) = watch::channel(None);
    let mut serving = JoinSet::new();
    for listener in listeners {
        let (service, limits, mut orders) = (Arc::clone(&service), limits.clone(), orders.clone());
        serving.spawn(async move {
            let stop = async {
                let ordered = orders.wait_for(Option::is_some).await;
                ordered.ok().and_then(|stop| *stop).unwrap_or(Stop::AtOnce)
            };
            listener.serve(service, &limits, stop).await;
        });
    }
    order.send_replace(Some(ended.await));
    while serving.join_next().await.is_some() {}
    Ok(Exit::Ok)
}

fn no_signals(error: &io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot wait for signals: {error}"))
}

pub(super) fn started(runtime: io::Result<Runtime>) -> Result<Runtime, Failure> {
    runtime.map_err(|error| Failure::new(Exit::Other, format!("cannot start: {error}")))
}
