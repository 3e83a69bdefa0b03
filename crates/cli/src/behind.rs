//! The servers behind the one that is served: begun before its clients come, waited for, and ended
//! with it. The gateway does the work.

use crate::print::Printer;
use haft_gateway::limits::START_TIME_MAX;
use haft_gateway::{Gateway, State};
use haft_manifest::Live;
use std::sync::Arc;
use std::time::Duration;

/// What is waited for in silence.
const SHORT: Duration = Duration::from_secs(1);

/// Begins those that the file names, and waits until they have answered, or for as long as clients
/// may wait for a first answer; `None` if it names none.
pub(crate) async fn begin(live: &Arc<Live>, printer: Printer) -> Option<Gateway> {
    if live.manifest().upstreams().is_empty() {
        return None;
    }
    let gateway = Gateway::begin(Arc::clone(live), Arc::new(move |line| printer.warn(line)));
    if !gateway.settled(SHORT).await {
        let is_late = |(_, state): &(&str, State)| *state == State::Connecting;
        let late: Vec<&str> = gateway.states().filter(is_late).map(|(name, _)| name).collect();
        printer.note(format_args!("waiting for the upstreams: {}", late.join(", ")));
        gateway.settled(START_TIME_MAX).await;
    }
    Some(gateway)
}

/// Ends them.
pub(crate) async fn end(gateway: Option<Gateway>) {
    if let Some(gateway) = gateway {
        gateway.stop().await;
    }
}
