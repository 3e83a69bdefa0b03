//! Requests that do not come to their end: what breakers make of them, and how they are counted.

use crate::wire::{TestWire, ask_on, call};
use crate::{rounds, tasks};
use haft_proto::version::Revision;
use haft_server::around::{Breaker, Measure};
use haft_server::{AskError, Context, Server, TaskUse, Tool, handler};
use metrics::{Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder};
use metrics::{SharedString, Unit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{advance, timeout};

/// Counts by tool and outcome.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, Arc<Count>>>>);

#[derive(Default)]
struct Count(AtomicU64);

impl CounterFn for Count {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let labels = key.labels().filter(|label| label.key() != "method");
        let labels: Vec<_> = labels.map(metrics::Label::value).collect();
        let mut counts = self.0.lock().expect("no panic");
        Counter::from_arc(Arc::clone(counts.entry(labels.join(" ")).or_default()))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

impl Counts {
    fn told(&self) -> Vec<(String, u64)> {
        let counts = self.0.lock().expect("no panic");
        counts.iter().map(|(key, count)| (key.clone(), count.0.load(Ordering::Relaxed))).collect()
    }
}

/// Asks its client, and answers then.
fn asks(name: &str) -> Tool {
    let sure = |_: Value, context: Context| async move {
        context.elicit::<Value>("sure", "Sure?", rounds::NAME).await?;
        Ok::<_, AskError>("done")
    };
    Tool::new(name, handler::future(sure)).timeout(Duration::from_secs(1))
}

fn endless(name: &str) -> Tool {
    let endless = handler::future(|_: Value, _| std::future::pending::<&str>());
    Tool::new(name, endless).timeout(Duration::from_secs(1))
}

fn patient() -> TestWire {
    TestWire { is_silent: true, ..TestWire::to_client(json!({"elicitation": {}})) }
}

#[tokio::test(start_paused = true)]
async fn what_stops_a_request_is_told_by_its_outcome() {
    let counts = Counts::default();
    let _recorder = metrics::set_default_local_recorder(&counts);
    let panics = handler::future(|_: Value, _| async {
        tokio::task::yield_now().await;
        panic!("as it should");
        #[expect(unreachable_code, reason = "it says what is answered")]
        "never"
    });
    let tools = [asks("asks"), endless("slow"), Tool::new("panics", panics)];
    let built = Server::builder("s", "1").middleware(Measure).tools(tools).build();
    let server = built.expect("right");
    call(&server, "slow", json!({})).await;
    call(&server, "panics", json!({})).await;
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let params = json!({"name": "asks", "arguments": {}});
    let asked = ask_on(&wire, &server, Revision::LATEST, "tools/call", params.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    // Nobody waits for this one; all its time it waited for its client.
    let wire = patient();
    let waits = ask_on(&wire, &server, Revision::V2025_11_25, "tools/call", params);
    assert!(timeout(Duration::from_secs(10), waits).await.is_err());
    let told = ["asks asked", "asks cancelled", "panics panicked", "slow timed_out"];
    assert_eq!(counts.told(), told.map(|one| (one.to_owned(), 1)));
}

#[tokio::test(start_paused = true)]
async fn who_lets_a_question_stand_and_goes_opens_no_breaker() {
    let tool = asks("asks").middleware(Breaker::new(1, Duration::from_secs(30)));
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    let wire = patient();
    for _ in 0..3 {
        let params = json!({"name": "asks", "arguments": {}});
        let waits = ask_on(&wire, &server, Revision::V2025_11_25, "tools/call", params);
        assert!(timeout(Duration::from_secs(10), waits).await.is_err(), "it rests");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_counts_for_a_breaker_by_its_own_limit() {
    let tool = endless("slow").task(TaskUse::Always).task_ttl(Duration::from_secs(60));
    let tool = tool.middleware(Breaker::new(1, Duration::from_secs(300)));
    let server = Server::builder("s", "1").tool(tool).build().expect("right");
    // Longer than a call may take, and no failure: it is cancelled.
    let task = tasks::begin(&server, "slow").await;
    tokio::task::yield_now().await;
    advance(Duration::from_secs(30)).await;
    tasks::ask(&server, "tasks/cancel", json!({"taskId": task})).await;
    tokio::task::yield_now().await;
    // The same until its time is over.
    let task = tasks::begin(&server, "slow").await;
    tokio::task::yield_now().await;
    advance(Duration::from_secs(30)).await;
    assert_eq!(tasks::state(&server, &task).await["status"], "working", "nothing rests");
    advance(Duration::from_secs(31)).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let rests = call(&server, "slow", json!({})).await.to_string();
    assert!(rests.contains("rests"), "{rests}");
}
