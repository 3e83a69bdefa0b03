//! The servers behind the one that is served: begun with it, so that its clients are answered at
//! once, and ended with it. The gateway does the work.

use crate::admin;
use crate::admin_client::AdminAddress;
use crate::exit::{Exit, Failure};
use crate::log::Log;
use crate::print::Printer;
use haft_agent::Hub;
use haft_gateway::{Gateway, started_by_itself};
use haft_manifest::Live;
use haft_transport::http::Roll;
use std::sync::Arc;
use std::time::Duration;

/// What is waited for in silence.
const SHORT: Duration = Duration::from_secs(1);

/// Begins those that the file names, now and after any edit, agents among them if these can come,
/// and says which of them let clients
/// wait. Whoever runs the server may ask about them, and who is there, at `admin`.
///
/// # Errors
/// A failure if nothing can listen there, or this process was started by itself.
pub(crate) async fn begin(
    live: &Arc<Live>,
    agents: Option<Arc<Hub>>,
    (admin, rolls): (&[AdminAddress], Vec<Roll>),
    printer: Printer,
) -> Result<Gateway, Failure> {
    let manifest = live.manifest();
    if let Some(why) =
        started_by_itself(manifest.path()).filter(|_| !manifest.upstreams().is_empty())
    {
        let path = manifest.path().display();
        return Err(Failure::new(Exit::Other, format!("{path} is not served: {why}")));
    }
    let (log, hub) = (Log::new(printer), agents.clone());
    let gateway = Gateway::begin(Arc::clone(live), agents, Arc::new(move |news| log.tell(news)));
    let rolls: Arc<[Roll]> = rolls.into();
    for address in admin {
        let (asked, served) = ((gateway.admin(), hub.clone()), (Arc::clone(live), rolls.clone()));
        if let Err(failure) = admin::start(address, asked, served, printer).await {
            gateway.stop().await;
            return Err(failure);
        }
    }
    let late = gateway.unsettled(SHORT);
    tokio::spawn(async move {
        let late = late.await;
        if !late.is_empty() {
            printer.note(format_args!("waiting for the upstreams: {}", late.join(", ")));
        }
    });
    Ok(gateway)
}
