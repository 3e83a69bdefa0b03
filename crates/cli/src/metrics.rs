//! The figures of a server that runs, for Prometheus: `GET /metrics` at an address of their own.
//! Started by `serve`; what is counted is the server's `around::Measure`, and how long requests
//! were in each stage, if that is turned on.

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use haft_server::around::{METRICS, Metric};
use haft_stages::{Snapshot, Stage};
use http::header::{ALLOW, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use std::convert::Infallible;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};

/// Who collects asks now and then; this is for several of them.
const CONNECTIONS_MAX: usize = 16;
/// How long who connects may take to ask.
const ASKING_TIME_MAX: Duration = Duration::from_secs(2);
/// How long a connection may last.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(30);
/// How often times are sorted into buckets, though nobody asks for them.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// The upper bounds of the buckets for times, in seconds.
const BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What is told of stages.
pub(crate) const STAGES: Metric = Metric {
    name: "haft_stage_seconds",
    kind: "histogram",
    labels: &["stage"],
    what: "How long requests were in a stage of the server; with `--stages` alone.",
};
/// The upper bounds of their buckets, as powers of two in nanoseconds: 1 µs, 4 µs, 16 µs, … 4 s.
/// What is below a power is counted exactly.
const STAGE_BOUNDS: [u32; 12] = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32];

/// Begins to count, and to tell whoever asks at `address`.
///
/// # Errors
/// A failure if nothing can listen there.
pub(crate) async fn start(address: SocketAddr, printer: Printer) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = Failure::new(Exit::Other, format!("cannot listen on {address}: {error}"));
        failure.hint("choose another address with --metrics")
    })?;
    let figures = record().map_err(|error| {
        Failure::new(Exit::Other, format!("the metrics cannot be kept: {error}"))
    })?;
    let at = listener.local_addr()?;
    printer.always(format_args!("haft: metrics at http://{at}/metrics"));
    if !at.ip().is_loopback() {
        printer.warn("other machines can read the metrics, and nobody is asked who they are");
    }
    tokio::spawn(keep_up(figures.clone()));
    tokio::spawn(listen(listener, figures, at.ip().is_loopback()));
    Ok(())
}

/// From now on everything in this process is counted.
fn record() -> Result<PrometheusHandle, BuildError> {
    let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS)?.build_recorder();
    let figures = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    for metric in METRICS {
        match metric.kind {
            "counter" => metrics::describe_counter!(metric.name, metric.what),
            "gauge" => metrics::describe_gauge!(metric.name, metric.what),
            _ => metrics::describe_histogram!(metric.name, metric.what),
        }
    }
    Ok(figures)
}

/// Times wait in memory until they are sorted into their buckets.
async fn keep_up(figures: PrometheusHandle) {
    let mut ticks = interval(UPKEEP_EVERY);
    loop {
        ticks.tick().await;
        figures.run_upkeep();
    }
}

async fn listen(listener: TcpListener, figures: PrometheusHandle, is_loopback: bool) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely; some come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let figures = figures.clone();
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(move |request| {
                let is_ours = !is_loopback || is_asked_here(&request);
                std::future::ready(Ok::<_, Infallible>(answer(&request, is_ours, &figures)))
            });
            let mut http = http1::Builder::new();
            // Nobody holds a place who does not ask, or has been answered.
            http.timer(TokioTimer::new()).header_read_timeout(ASKING_TIME_MAX).keep_alive(false);
            let serving = http.serve_connection(TokioIo::new(stream), answer);
            // Whoever goes away in the middle is no trouble of ours.
            _ = timeout(CONNECTION_TIME_MAX, serving).await;
        });
    }
}

/// The histograms of stages, in the words of Prometheus; nothing if they are not counted.
fn stages() -> String {
    let mut text = String::new();
    if !haft_stages::is_on() {
        return text;
    }
    let (Metric { name, kind, what, .. }, seen) = (STAGES, Snapshot::now());
    // Writing to a string cannot fail.
    _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}");
    for stage in Stage::ALL {
        let (spent, stage) = (seen.of(stage), stage.name());
        for power in STAGE_BOUNDS {
            let (bound, count) = (seconds(1 << power), spent.below_power(power));
            _ = writeln!(text, "{name}_bucket{{stage=\"{stage}\",le=\"{bound}\"}} {count}");
        }
        let (count, sum) = (spent.count(), seconds(spent.sum_ns()));
        _ = writeln!(text, "{name}_bucket{{stage=\"{stage}\",le=\"+Inf\"}} {count}");
        _ = writeln!(text, "{name}_sum{{stage=\"{stage}\"}} {sum}");
        _ = writeln!(text, "{name}_count{{stage=\"{stage}\"}} {count}");
    }
    text
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// Whether a request names this machine as its host, or none. A page of elsewhere whose name leads
/// here (DNS rebinding) names its own.
pub(crate) fn is_asked_here<B>(request: &Request<B>) -> bool {
    let is_ours = |host: &str| {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    request.headers().get_all(HOST).iter().all(|host| host.to_str().is_ok_and(is_ours))
        && request.uri().authority().is_none_or(|authority| is_ours(authority.as_str()))
}

fn answer(
    request: &Request<Incoming>,
    is_ours: bool,
    figures: &PrometheusHandle,
) -> Response<Full<Bytes>> {
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let (status, body) = match (request.uri().path(), request.method()) {
        _ if !is_ours => {
            (StatusCode::FORBIDDEN, "only this machine's own names are answered\n".to_owned())
        }
        ("/metrics", &Method::GET | &Method::HEAD) => {
            (StatusCode::OK, figures.render() + &stages())
        }
        ("/metrics", _) => (StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "the metrics are at /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(text));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
