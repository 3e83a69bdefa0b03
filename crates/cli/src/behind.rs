//! The servers behind the one that is served: begun before its clients come, waited for, and ended
//! with it. The gateway does the work.

use crate::admin;
use crate::exit::Failure;
use crate::print::Printer;
use haft_gateway::limits::START_TIME_MAX;
use haft_gateway::{Gateway, State};
use haft_manifest::Live;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What is waited for in silence.
const SHORT: Duration = Duration::from_secs(1);

/// Begins those that the file names, now and after any edit, and waits until they have answered, or
/// for as long as clients may wait for a first answer. Whoever runs the server may ask about them
/// at `admin`.
///
/// # Errors
/// A failure if nothing can listen there.
pub(crate) async fn begin(
    live: &Arc<Live>,
    admin: Option<SocketAddr>,
    printer: Printer,
) -> Result<Gateway, Failure> {
    let gateway = Gateway::begin(Arc::clone(live), Arc::new(move |line| printer.warn(line)));
    if let Some(address) = admin {
        admin::start(address, (gateway.admin(), Arc::clone(live)), printer).await?;
    }
    if !gateway.settled(SHORT).await {
        let is_late = |(_, state): &(String, State)| *state == State::Connecting;
        let late = gateway.states().into_iter().filter(is_late).map(|(name, _)| name);
        let late: Vec<String> = late.collect();
        printer.note(format_args!("waiting for the upstreams: {}", late.join(", ")));
        gateway.settled(START_TIME_MAX).await;
    }
    Ok(gateway)
}
