//! What a stretch of a run came to, in figures that people and programs read: times in nanoseconds,
//! sizes in bytes. Made of a stretch once it is over; nothing is measured here.

use crate::load::Stretch;
use crate::plan::{Ask, End, Plan, Target};
use crate::stages::OfStage;
use crate::tally::{Tally, histogram, nanos};
use crate::wrong::WrongKind;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The figures of one run against one server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What people call the server.
    pub target: String,
    /// Over what: `stdio`, `http/1.1`, `h2`, with `+tls` where it is.
    pub wire: String,
    /// The revision that was spoken.
    pub revision: String,
    /// How many connections there were at once.
    pub connections: usize,
    /// How many requests each had in flight.
    pub in_flight: usize,
    /// After how many requests a connection was to be closed, and another took its place; none
    /// in reports of before that was told, too.
    pub requests_per_connection: Option<u64>,
    /// Requests a second that were asked for, in an open loop.
    pub rate: Option<f64>,
    /// How many threads made the load.
    pub threads: usize,
    /// When it was to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Planned>,
    /// How long it was counted.
    pub seconds: f64,
    /// How many good answers came.
    pub answers: u64,
    /// How many were wrong, or did not come.
    pub failures: u64,
    /// Good answers a second: those that came in the time that was counted, whenever asked for.
    pub per_second: f64,
    /// Of an open loop, requests that should have gone by the end, and found no room.
    pub unsent: u64,
    /// How many connections were made in all.
    pub connected: u64,
    /// Bytes sent, without TLS; over HTTP/2, those of bodies alone.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Notifications and questions of the server.
    pub other_messages: u64,
    /// Latencies of all good answers; and of those requests that were never sent, how long they had
    /// waited by the end.
    pub latency: Latency,
    /// The same for each kind of request.
    pub requests: Vec<OfRequest>,
    /// What was wrong, by its kind.
    pub wrong: Vec<WrongCount>,
    /// What the server used, if it is on this machine.
    pub server: Option<ServerUse>,
    /// How long requests were in each stage of the server, and in all, if it was looked into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<OfStage>,
    /// How much of its threads the load used; near 1, it may be the load that was measured.
    pub load_use: f64,
    /// How each second was, or each two, four, …
    pub series: Vec<Point>,
    /// Why it ended before its time.
    pub ended: Option<String>,
}

/// When a run was to end.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Planned {
    /// After so many seconds, warming up not counted.
    Seconds(f64),
    /// After so many answers.
    Answers(u64),
}

impl From<End> for Planned {
    fn from(end: End) -> Self {
        match end {
            End::After(time) => Self::Seconds(time.as_secs_f64()),
            End::Answers(count) => Self::Answers(count),
        }
    }
}

/// Latencies of some answers in nanoseconds, exact to three digits.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is what it is called, in nanoseconds")]
pub struct Latency {
    pub average_ns: f64,
    pub deviation_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub max_ns: u64,
    /// Shares of answers, and how long the slowest of each share took: what one draws.
    pub distribution: Vec<(f64, u64)>,
}

/// One kind of request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OfRequest {
    /// What it is called: `tools/call add`.
    pub request: String,
    /// How many bytes its parameters are, without `_meta`; none in reports of before that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params_bytes: Option<u64>,
    /// How often it was asked, beside the weights of the others; none in reports of before that was
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// How many good answers it had.
    pub answers: u64,
    /// Their latencies.
    pub latency: Latency,
}

/// One kind of wrong answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WrongCount {
    /// The kind.
    pub kind: WrongKind,
    /// How many there were.
    pub count: u64,
    /// The first of them.
    pub first: String,
}

/// What a server used.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerUse {
    /// Processor time for each good answer.
    pub cpu_ns_per_answer: f64,
    /// How many processors it kept busy.
    pub processors: f64,
    /// Its memory when counting began, in bytes.
    pub memory_before_bytes: u64,
    /// Its memory when it ended.
    pub memory_after_bytes: u64,
}

/// How a stretch of the series was.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "as in the report")]
pub struct Point {
    pub from_second: f64,
    pub per_second: f64,
    pub failures: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

impl Report {
    /// The figures of a stretch.
    #[must_use]
    pub fn new(target: &str, plan: &Plan, stretch: &Stretch) -> Self {
        let tally = &stretch.tally;
        let seconds = stretch.took.as_secs_f64();
        let (answers, failures) = (tally.answers(), tally.failures());
        let mut all = histogram();
        for latencies in tally.latencies.iter().chain([&tally.unsent]) {
            all.add(latencies).expect("all have the same bounds");
        }
        let of_request = |(ask, latencies): (&Ask, &Histogram<u64>)| OfRequest {
            request: ask.label(),
            params_bytes: Some(params_bytes(ask)),
            weight: Some(ask.weight),
            answers: latencies.len(),
            latency: Latency::of(latencies),
        };
        let threads = threads(plan);
        let load_use = stretch.load_cpu.as_secs_f64() / seconds / threads as f64;
        Self {
            target: target.to_owned(),
            wire: wire(&plan.target),
            revision: plan.revision.as_str().to_owned(),
            connections: plan.load.connections,
            in_flight: plan.load.in_flight,
            requests_per_connection: plan.load.requests_per_connection,
            rate: plan.load.rate,
            threads,
            planned: Some(plan.end.into()),
            seconds,
            answers,
            failures,
            per_second: share(tally.arrived() as f64, seconds),
            unsent: tally.unsent.len(),
            connected: tally.connections,
            sent_bytes: tally.bytes.sent,
            received_bytes: tally.bytes.received,
            other_messages: tally.others,
            latency: Latency::of(&all),
            requests: plan.asks.iter().zip(&tally.latencies).map(of_request).collect(),
            wrong: wrong(tally),
            server: server(stretch),
            stages: Vec::new(),
            load_use: if load_use.is_finite() { load_use } else { 0.0 },
            series: series(tally, stretch.took),
            ended: stretch.ended.as_ref().map(ToString::to_string),
        }
    }

    /// What of the load was other than a plan has it, in a line: then its figures say nothing of
    /// those to come. How long it was to take is no part of the load: its figures are of a second
    /// or of an answer. What an old report does not tell is not compared.
    #[must_use]
    pub fn of_another_load(&self, plan: &Plan) -> Option<String> {
        let rate =
            |rate: Option<f64>| rate.map_or_else(|| "no rate".to_owned(), |rate| rate.to_string());
        let short = |of: Option<u64>| of.map_or_else(|| "no bound".to_owned(), |of| of.to_string());
        let asked = |label: &str, bytes: Option<u64>| match bytes {
            Some(bytes) => format!("{label} with {bytes} bytes of parameters"),
            None => label.to_owned(),
        };
        let is_told = self.requests.iter().all(|of| of.params_bytes.is_some());
        let asked_then = self.requests.iter().map(|of| asked(&of.request, of.params_bytes));
        let bytes = |ask: &Ask| is_told.then(|| params_bytes(ask));
        let asked_now = plan.asks.iter().map(|ask| asked(&ask.label(), bytes(ask)));
        let weights_now: Vec<u32> = plan.asks.iter().map(|ask| ask.weight).collect();
        let short_now = plan.load.requests_per_connection;
        // Both are told since the same change.
        let (weights_then, short_then) =
            match self.requests.iter().map(|of| of.weight).collect::<Option<Vec<_>>>() {
                Some(weights) => (weights, self.requests_per_connection),
                None => (weights_now.clone(), short_now),
            };
        let listed = |weights: Vec<u32>| {
            weights.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let all = [
            ("wire", self.wire.clone(), wire(&plan.target)),
            ("revision", self.revision.clone(), plan.revision.as_str().to_owned()),
            ("requests", asked_then.collect::<Vec<_>>().join(", "), {
                asked_now.collect::<Vec<_>>().join(", ")
            }),
            ("weights", listed(weights_then), listed(weights_now)),
            ("connections", self.connections.to_string(), plan.load.connections.to_string()),
            ("requests in flight", self.in_flight.to_string(), plan.load.in_flight.to_string()),
            ("requests a connection", short(short_then), short(short_now)),
            ("rate", rate(self.rate), rate(plan.load.rate)),
            ("threads", self.threads.to_string(), threads(plan).to_string()),
        ];
        let (what, then, now) = all.into_iter().find(|(_, then, now)| then != now)?;
        Some(format!("{what}: {then} then, {now} now"))
    }
}

/// How many threads make a load: none is without a connection.
fn threads(plan: &Plan) -> usize {
    plan.threads.min(plan.load.connections)
}

fn params_bytes(ask: &Ask) -> u64 {
    ask.params.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
}

impl Latency {
    pub(crate) fn of(latencies: &Histogram<u64>) -> Self {
        if latencies.is_empty() {
            return Self::default();
        }
        let at = |share| latencies.value_at_quantile(share);
        let distribution = latencies
            .iter_quantiles(5)
            .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()))
            .take_while(|(share, _)| *share < 1.0)
            .chain([(1.0, latencies.max())]);
        Self {
            average_ns: latencies.mean(),
            deviation_ns: latencies.stdev(),
            min_ns: latencies.min(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            max_ns: latencies.max(),
            distribution: distribution.collect(),
        }
    }
}

fn wire(target: &Target) -> String {
    match target {
        Target::Command(_) => "stdio".to_owned(),
        Target::Url { uri, version, .. } => {
            let http = match version {
                crate::plan::HttpVersion::One => "http/1.1",
                crate::plan::HttpVersion::Two => "h2",
            };
            let tls = if uri.scheme_str() == Some("https") { "+tls" } else { "" };
            format!("{http}{tls}")
        }
    }
}

fn wrong(tally: &Tally) -> Vec<WrongCount> {
    let count = |(&kind, (count, first)): (&WrongKind, &(u64, crate::wrong::Wrong))| WrongCount {
        kind,
        count: *count,
        first: first.to_string(),
    };
    tally.wrong.iter().map(count).collect()
}

fn server(stretch: &Stretch) -> Option<ServerUse> {
    let used = stretch.server?;
    Some(ServerUse {
        cpu_ns_per_answer: share(nanos(used.cpu) as f64, stretch.tally.arrived() as f64),
        processors: share(used.cpu.as_secs_f64(), stretch.took.as_secs_f64()),
        memory_before_bytes: used.memory_before,
        memory_after_bytes: used.memory_after,
    })
}

fn series(tally: &Tally, took: Duration) -> Vec<Point> {
    let stretch = tally.series.stretch;
    let point = |(index, point): (usize, &crate::series::Point)| {
        let from = stretch * u32::try_from(index).unwrap_or(u32::MAX);
        // The last one may be short; what came after the end is not drawn as a burst.
        let length = took.saturating_sub(from).min(stretch);
        (length >= stretch / 10).then(|| Point {
            from_second: from.as_secs_f64(),
            per_second: share(point.answers() as f64, length.as_secs_f64()),
            failures: point.wrong,
            p50_ns: point.at(0.5),
            p99_ns: point.at(0.99),
            max_ns: point.at(1.0),
        })
    };
    tally.series.points().iter().enumerate().filter_map(point).collect()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
