//! Beginnings: how long it takes from nothing to the first answer, with a process or a connection
//! of its own each time. One after the other, as a person starts a server.

use crate::answer::{Checker, Heard};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::flight::Sent;
use crate::plan::{HttpVersion, Plan, Target};
use crate::report::Latency;
use crate::stream::Door;
use crate::tally::{histogram, nanos};
use crate::wrong::Wrong;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Beginnings of one server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cold {
    /// What people call the server.
    pub target: String,
    /// The revision that was spoken.
    pub revision: String,
    /// What was asked first.
    pub request: String,
    /// How many beginnings there were.
    pub beginnings: u64,
    /// To an open connection: a process that was started, a socket, TLS.
    pub opened: Latency,
    /// To the end of the greeting, where the era has one.
    pub greeted: Latency,
    /// To the first answer.
    pub answered: Latency,
    /// Why it ended before its time.
    pub ended: Option<String>,
}

/// Begins `times` times. The plan's first request is what is asked; `watch` is told how many are
/// done, and says whether to go on.
///
/// # Errors
/// [`BenchError`] if not even the first time succeeds.
pub fn cold(
    name: &str,
    plan: &Plan,
    times: u64,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Cold, BenchError> {
    plan.check()?;
    if matches!(plan.target, Target::Url { version: HttpVersion::Two, .. }) {
        let why = "beginnings are timed over HTTP/1.1 and stdio, not over HTTP/2";
        return Err(BenchError::Plan(why.to_owned()));
    }
    let door = Door::to(&plan.target)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| BenchError::System(error.to_string()))?;
    let mut all = [histogram(), histogram(), histogram()];
    let mut ended = None;
    for done in 0..times {
        if !watch(done) {
            break;
        }
        match runtime.block_on(begin(plan, &door)) {
            Ok(times) => {
                for (all, time) in all.iter_mut().zip(times) {
                    all.saturating_record(nanos(time).max(1));
                }
            }
            Err(error) if done == 0 => return Err(error),
            Err(error) => {
                ended = Some(error.to_string());
                break;
            }
        }
    }
    let [opened, greeted, answered]: [Histogram<u64>; 3] = all;
    Ok(Cold {
        target: name.to_owned(),
        revision: plan.revision.as_str().to_owned(),
        request: plan.asks.first().map(crate::plan::Ask::label).unwrap_or_default(),
        beginnings: answered.len(),
        opened: Latency::of(&opened),
        greeted: Latency::of(&greeted),
        answered: Latency::of(&answered),
        ended,
    })
}

/// Once: the times until it was open, greeted, and answered.
async fn begin(plan: &Plan, door: &Door) -> Result<[Duration; 3], BenchError> {
    let began = Instant::now();
    let (mut connection, opened) = Connection::open_timed(plan, door).await?;
    let greeted = began.elapsed();
    let method = plan.asks.first().map_or("", |ask| ask.method.name());
    let answer = tokio::time::timeout(plan.timeout, first_answer(&mut connection, plan)).await;
    let answer = answer.unwrap_or(Err(Wrong::TimedOut));
    answer.map_err(|wrong| BenchError::Greeting { method, wrong })?;
    let answered = began.elapsed();
    connection.close().await;
    Ok([opened, greeted, answered])
}

async fn first_answer(connection: &mut Connection, plan: &Plan) -> Result<(), Wrong> {
    let now = Instant::now();
    let id = connection.flight.take_off(Sent { ask: 0, due: now, at: now });
    connection.requests[0].write(id, &mut connection.bytes.out);
    let mut checker = Checker::new(&plan.asks);
    loop {
        let reply = connection.bytes.exchange().await?;
        reply.check_status()?;
        for message in &reply.messages {
            if let Heard::Answer(of, unjudged) = checker.hear(0, message)? {
                if of != id {
                    return Err(Wrong::AnotherId(of.to_string()));
                }
                connection.flight.land(id);
                return checker.judge(0, id, unjudged);
            }
        }
    }
}
