//! What a run does: whom it asks what, how hard, and for how long. Made by whoever wants figures,
//! checked once, and never changed while the run goes on. It does no I/O.

use crate::error::BenchError;
use crate::limits::{
    CONNECTIONS_MAX, DURATION_MAX, IN_FLIGHT_MAX, RATE_MAX, RATE_SECONDS_MAX, THREADS_MAX,
    WEIGHTS_MAX,
};
use haft_client::Launch;
use haft_proto::method::Method;
use haft_proto::version::Revision;
use http::{HeaderName, HeaderValue, Uri};
use std::time::Duration;

/// A run against one server.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server is.
    pub target: Target,
    /// The revision that requests are in; of a legacy server, the one that it agreed on.
    pub revision: Revision,
    /// What is asked.
    pub asks: Vec<Ask>,
    /// How hard.
    pub load: LoadPlan,
    /// When it ends.
    pub end: End,
    /// How long answers are checked but not counted.
    pub warmup: Duration,
    /// How long one answer is waited for.
    pub timeout: Duration,
    /// How many threads make the load.
    pub threads: usize,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Target {
    /// A child process for each connection, which speaks over its stdin and stdout.
    Command(Launch),
    /// An endpoint of Streamable HTTP.
    Url {
        /// `http://` or `https://`.
        uri: Uri,
        /// What every request carries besides what the protocol wants.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// Which HTTP is spoken.
        version: HttpVersion,
    },
}

/// Which HTTP is spoken; nothing is negotiated, so that a run measures what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1: one request at a time on a connection.
    #[default]
    One,
    /// HTTP/2, over `http://` with prior knowledge.
    Two,
}

/// One kind of request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its method.
    pub method: Method,
    /// The members of its `params`, each with its value as JSON text, without `_meta`.
    pub params: Vec<(String, String)>,
    /// What the header `Mcp-Name` repeats: the tool, prompt or URI.
    pub name: Option<String>,
    /// Further headers that repeat arguments.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How often it is asked, beside the weights of the others.
    pub weight: u32,
    /// Text that each result must have in it.
    pub expect: Option<String>,
}

impl Ask {
    /// A request without parameters, of weight 1.
    #[must_use]
    pub fn new(method: Method) -> Self {
        let (params, headers) = (Vec::new(), Vec::new());
        Self { method, params, name: None, headers, weight: 1, expect: None }
    }

    /// A call of a tool; `arguments` is the text of a JSON object.
    #[must_use]
    pub fn call(tool: &str, arguments: &str) -> Self {
        let name = serde_json::Value::from(tool).to_string();
        let params =
            vec![("name".to_owned(), name), ("arguments".to_owned(), arguments.to_owned())];
        Self { params, name: Some(tool.to_owned()), ..Self::new(Method::ToolsCall) }
    }

    /// A reading of a resource.
    #[must_use]
    pub fn read(uri: &str) -> Self {
        let text = serde_json::Value::from(uri).to_string();
        let params = vec![("uri".to_owned(), text)];
        Self { params, name: Some(uri.to_owned()), ..Self::new(Method::ResourcesRead) }
    }

    /// What people call it: `tools/call add`.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.method.name()),
            None => self.method.name().to_owned(),
        }
    }
}

/// How hard a server is loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadPlan {
    /// How many connections there are at once.
    pub connections: usize,
    /// How many requests each has in flight.
    pub in_flight: usize,
    /// After how many requests a connection is closed and another takes its place.
    pub requests_per_connection: Option<u64>,
    /// Requests a second of all connections together, whether answers come or not; without it,
    /// each answer is followed by the next request.
    pub rate: Option<f64>,
}

/// One connection with one request at a time, as fast as it is answered.
impl Default for LoadPlan {
    fn default() -> Self {
        Self { connections: 1, in_flight: 1, requests_per_connection: None, rate: None }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// After this time.
    After(Duration),
    /// After so many answers, warming up not counted.
    Answers(u64),
}

impl Plan {
    /// Whether it can be done at all.
    ///
    /// # Errors
    /// [`BenchError::Plan`] with the first thing that cannot be.
    pub fn check(&self) -> Result<(), BenchError> {
        let LoadPlan { connections, in_flight, rate, .. } = self.load;
        within("connections", connections, CONNECTIONS_MAX)?;
        within("requests in flight", in_flight, IN_FLIGHT_MAX)?;
        within("threads", self.threads, THREADS_MAX)?;
        let weights: u64 = self.asks.iter().map(|ask| u64::from(ask.weight)).sum();
        if weights == 0 {
            return Err(BenchError::Plan("there is nothing to ask".to_owned()));
        }
        within("weights", usize::try_from(weights).unwrap_or(usize::MAX), WEIGHTS_MAX as usize)?;
        if let Some(rate) = rate
            && !(rate >= 1.0 / f64::from(RATE_SECONDS_MAX) && rate <= f64::from(RATE_MAX))
        {
            let least = format!("a rate is at least one request in {RATE_SECONDS_MAX} s");
            return Err(BenchError::Plan(format!("{least}, and at most {RATE_MAX} a second")));
        }
        if matches!(self.end, End::Answers(0)) {
            return Err(BenchError::Plan("a run has at least one answer".to_owned()));
        }
        if self.end_after().is_some_and(|time| time.is_zero() || time > DURATION_MAX) {
            return Err(BenchError::Plan("a run takes some time, and at most a day".to_owned()));
        }
        if in_flight > 1 && self.is_http_1() {
            let why = "HTTP/1.1 has one request in flight on a connection; take more connections, \
                       or HTTP/2";
            return Err(BenchError::Plan(why.to_owned()));
        }
        Ok(())
    }

    fn end_after(&self) -> Option<Duration> {
        match self.end {
            End::After(time) => Some(time),
            End::Answers(_) => None,
        }
    }

    fn is_http_1(&self) -> bool {
        matches!(self.target, Target::Url { version: HttpVersion::One, .. })
    }
}

fn within(what: &str, count: usize, max: usize) -> Result<(), BenchError> {
    match count {
        0 => Err(BenchError::Plan(format!("there must be at least one of: {what}"))),
        count if count > max => Err(BenchError::Plan(format!("at most {max} {what}, not {count}"))),
        _ => Ok(()),
    }
}

/// The order in which a mix is asked: each as often as its weight, spread as evenly as can be.
///
/// ```
/// assert_eq!(haft_bench::spread(&[1, 3]), [1, 0, 1, 1]);
/// ```
#[must_use]
pub fn spread(weights: &[u32]) -> Vec<u16> {
    let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    let mut credit = vec![0_i64; weights.len()];
    let next = |_| {
        for (credit, &weight) in credit.iter_mut().zip(weights) {
            *credit += i64::from(weight);
        }
        // The first of the richest, so that the order is the same each time.
        let richest = (0..credit.len()).rev().max_by_key(|&at| credit[at]).unwrap_or_default();
        credit[richest] -= total;
        u16::try_from(richest).unwrap_or(u16::MAX)
    };
    (0..total).map(next).collect()
}
