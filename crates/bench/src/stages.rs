//! How long requests were in each stage of a server, as figures. Made of what a server counted;
//! nothing is measured here.

use haft_stages::{Snapshot, Spent, Stage};
use serde::{Deserialize, Serialize};

/// One stage of a server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OfStage {
    /// What it is called; `all` is all of them together.
    pub stage: String,
    /// How many requests passed it.
    pub requests: u64,
    /// The part of all requests' time that was spent in it.
    pub share: f64,
    /// The average time.
    pub average_ns: f64,
    /// The time that half of the requests did not exceed.
    pub p50_ns: u64,
    /// The time that 99 of 100 did not exceed.
    pub p99_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

impl OfStage {
    /// Each stage in the order in which requests pass them, then all of them together.
    #[must_use]
    pub fn all(seen: &Snapshot) -> Vec<Self> {
        let whole = seen.all().sum_ns();
        let stages = Stage::ALL.map(|stage| Self::of(stage.name(), seen.of(stage), whole));
        stages.into_iter().chain([Self::of("all", seen.all(), whole)]).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "three digits of these count")]
    fn of(stage: &str, spent: &Spent, whole: u64) -> Self {
        let requests = spent.count();
        Self {
            stage: stage.to_owned(),
            requests,
            share: spent.sum_ns() as f64 / whole.max(1) as f64,
            average_ns: spent.sum_ns() as f64 / requests.max(1) as f64,
            p50_ns: spent.quantile_ns(0.5),
            p99_ns: spent.quantile_ns(0.99),
            max_ns: spent.max_ns(),
        }
    }
}
