//! What is counted and timed of requests, told to whatever recorder of the `metrics` crate the
//! program has installed; without one nothing is kept. Stands around a whole server; `calls` tells
//! what it has mended, which is before anything that stands around.

use super::stopped::{Stopped, Watch};
use crate::middleware::{Handling, Middleware, Next, Onlooker, Outcome, Request, Seen};
use crate::schema::repair::Repaired;
use haft_proto::method::Method;

/// Counts and times requests that have got as far as their handler: the tool is there and the
/// arguments fit. See [`METRICS`] for what it tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure;

/// A figure that a server tells, for its description and for the reference.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`, as Prometheus calls them.
    pub kind: &'static str,
    /// By what it is told apart.
    pub labels: &'static [&'static str],
    /// What it says.
    pub what: &'static str,
}

/// All that is told: by [`Measure`], and by each server the arguments that it has mended.
///
/// `name` is the tool or prompt; it is empty for resources, of which there may be any number.
/// `outcome` is `ok`, `failed` (a tool's result with `isError`, unless it is a long one of another
/// server), `refused` (an error of the protocol, or such a long one broke off), `asked` (the answer
/// is a question, and the client makes the request again), `timed_out` (it took longer than it
/// may), `panicked` or `cancelled` (nobody waited for the end).
/// `kind` is what was wrong with an argument:
/// [`RepairKind::name`](crate::schema::repair::RepairKind::name).
pub const METRICS: [Metric; 4] = [
    Metric {
        name: REQUESTS,
        kind: "counter",
        labels: &["method", "name", "outcome"],
        what: "Requests that a handler has ended, or that were stopped meanwhile.",
    },
    Metric { name: RUNNING, kind: "gauge", labels: &["method"], what: "Requests that run now." },
    Metric {
        name: SECONDS,
        kind: "histogram",
        labels: &["method", "name"],
        what: "How long requests took, with all that stands around the handler.",
    },
    Metric {
        name: REPAIRS,
        kind: "counter",
        labels: &["name", "kind"],
        what: "Values of arguments that were mended before the tool was called.",
    },
];

const REQUESTS: &str = "haft_requests_total";
const REPAIRS: &str = "haft_repairs_total";
const RUNNING: &str = "haft_requests_running";
const SECONDS: &str = "haft_request_seconds";

/// Counts what was mended of a tool's arguments.
pub(crate) fn tell_repairs(tool: &str, repaired: &Repaired) {
    for (kind, count) in &repaired.kinds {
        let count = u64::try_from(*count).unwrap_or(u64::MAX);
        metrics::counter!(REPAIRS, "name" => tool.to_owned(), "kind" => kind.name())
            .increment(count);
    }
}

impl Middleware for Measure {
    fn handle(&self, request: Request, next: Next) -> Handling {
        let mut run = Run::begin(&request);
        Box::pin(async move {
            let outcome = next.run(request).await;
            run.take(&outcome);
            drop(run);
            outcome
        })
    }

    fn only_looks_on(&self) -> bool {
        true
    }

    fn look_on(&self, request: &Request) -> Option<Box<dyn Onlooker>> {
        Some(Box::new(Run::begin(request)))
    }
}

impl Onlooker for Run {
    fn end(mut self: Box<Self>, seen: Seen) {
        self.outcome = Some(match seen {
            Seen::Answered => "ok",
            Seen::Failed => "failed",
            Seen::Refused => "refused",
        });
    }
}

/// A request that runs. However it ends, it is told when this is dropped.
struct Run {
    method: &'static str,
    name: String,
    watch: Watch,
    /// Known once there is one.
    outcome: Option<&'static str>,
}

impl Run {
    fn begin(request: &Request) -> Self {
        let method = request.method.name();
        let name = match request.method {
            Method::ResourcesRead => String::new(),
            _ => request.name.clone(),
        };
        metrics::gauge!(RUNNING, "method" => method).increment(1);
        Self { method, name, watch: Watch::new(request), outcome: None }
    }

    fn take(&mut self, outcome: &Outcome) {
        self.outcome = Some(match outcome {
            Outcome::Tool(result) if result.is_error => "failed",
            Outcome::Refused(_) => "refused",
            Outcome::Tool(_) | Outcome::Prompt(_) | Outcome::Relayed(_) | Outcome::Resource(_) => {
                "ok"
            }
        });
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let (method, name) = (self.method, std::mem::take(&mut self.name));
        metrics::gauge!(RUNNING, "method" => method).decrement(1);
        metrics::histogram!(SECONDS, "method" => method, "name" => name.clone())
            .record(self.watch.elapsed());
        let outcome = self.outcome.unwrap_or_else(|| match self.watch.stopped() {
            Stopped::Asked => "asked",
            Stopped::Cancelled => "cancelled",
            Stopped::Panicked => "panicked",
            Stopped::Refused => "refused",
            Stopped::TimedOut => "timed_out",
        });
        metrics::counter!(REQUESTS, "method" => method, "name" => name, "outcome" => outcome)
            .increment(1);
    }
}
