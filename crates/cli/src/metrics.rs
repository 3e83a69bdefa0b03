//! The figures of a server that runs, for Prometheus: `GET /metrics` at an address of their own.
//! Started by `serve`; what is counted is the server's `around::Measure`, and how long requests
//! were in each stage, if that is turned on.

use crate::agents;
use crate::doors::Door;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::side_door;
use haft_agent::Hub;
use haft_server::around::{METRICS, Metric};
use haft_stages::{Snapshot, Stage};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use serde_json::json;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::interval;

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
pub(crate) async fn start(
    address: SocketAddr,
    hub: Option<Arc<Hub>>,
    printer: Printer,
) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = Failure::new(Exit::Other, format!("cannot listen on {address}: {error}"));
        failure.hint("choose another address with --metrics")
    })?;
    let figures = record().map_err(|error| {
        Failure::new(Exit::Other, format!("the metrics cannot be kept: {error}"))
    })?;
    let at = listener.local_addr()?;
    let url = format!("http://{at}/metrics");
    printer.announce(format_args!("haft: metrics at {url}"), &json!({"metrics": {"url": url}}));
    if !at.ip().is_loopback() {
        printer.warn("other machines can read the metrics, and nobody is asked who they are");
    }
    tokio::spawn(keep_up(figures.clone()));
    let answer = move |request| {
        let answered = answer(&request, &figures, hub.as_deref());
        std::future::ready(answered)
    };
    tokio::spawn(side_door::listen(Door::Tcp(listener), answer));
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

fn answer(
    request: &Request<Incoming>,
    figures: &PrometheusHandle,
    hub: Option<&Hub>,
) -> Response<Full<Bytes>> {
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let (status, body) = match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET | &Method::HEAD) => {
            let agents = hub.map(agents::figures).unwrap_or_default();
            (StatusCode::OK, figures.render() + &stages() + &agents)
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
