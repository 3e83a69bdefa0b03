//! Tools that take a while, and tell how far they are.

use haft_server::{Context, Tool, handler};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// Between two things that a tool tells.
const STEP: Duration = Duration::from_millis(50);
/// When a client that is told to go should come back.
const RETRY: Duration = Duration::from_millis(500);

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("test_tool_with_progress", handler::future(with_progress))
            .description("Reports progress three times."),
        Tool::new("test_tool_with_logging", handler::future(with_logging))
            .description("Logs three messages."),
        Tool::new("test_logging_tool", handler::future(logs_when_asked))
            .description("Logs, if the request wants logs."),
        Tool::new("test_reconnection", handler::future(reconnection))
            .description("Lets its client go, and has the answer when it comes back."),
        Tool::new("test_slow", handler::future(slow))
            .description("Takes as long as it is told to, and reports progress meanwhile.")
            .input_schema(
                r#"{"type":"object","required":["seconds"],"additionalProperties":false,
                    "properties":{"seconds":{"type":"number","minimum":0,"maximum":600}}}"#,
            )
            .timeout(Duration::from_secs(660)),
        Tool::new("test_slow_running", handler::function(|_: IgnoredAny| slow_running()))
            .description("How many calls of `test_slow` are running."),
    ]
}

async fn with_progress(_: IgnoredAny, context: Context) -> &'static str {
    for percent in [0.0, 50.0, 100.0] {
        context.progress(percent, Some(100.0), None);
        sleep(STEP).await;
    }
    "Progress was told three times."
}

async fn with_logging(_: IgnoredAny, context: Context) -> &'static str {
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.info(said);
        sleep(STEP).await;
    }
    "Three messages were logged."
}

async fn logs_when_asked(_: IgnoredAny, context: Context) -> &'static str {
    context.info("The tool has begun");
    "It is done."
}

async fn reconnection(_: IgnoredAny, context: Context) -> &'static str {
    context.disconnect(RETRY);
    sleep(STEP).await;
    "The answer was here when you came back."
}

#[derive(Deserialize)]
struct Slow {
    seconds: f64,
}

/// How many calls of `test_slow` have begun and not ended, however they end.
static SLOW: AtomicUsize = AtomicUsize::new(0);

struct Running;

impl Running {
    fn begin() -> Self {
        SLOW.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        SLOW.fetch_sub(1, Ordering::SeqCst);
    }
}

fn slow_running() -> String {
    format!("slow calls: {}", SLOW.load(Ordering::SeqCst))
}

/// Cancelling drops the future, wherever it waits; there is nothing to do for it.
async fn slow(slow: Slow, context: Context) -> String {
    const STEPS: u32 = 10;
    let _running = Running::begin();
    for step in 0..STEPS {
        context.progress(step.into(), Some(STEPS.into()), None);
        sleep(Duration::from_secs_f64(slow.seconds) / STEPS).await;
    }
    context.progress(STEPS.into(), Some(STEPS.into()), Some("done"));
    format!("It took {} seconds.", slow.seconds)
}
