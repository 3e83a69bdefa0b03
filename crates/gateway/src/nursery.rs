//! Children of upstreams are started as the process's own, so that what they leave behind ends with
//! them, and with the process however that ends; and keep their place until then. Used by
//! `upstream`; the manifest does the work, as for the programs of tools.

use crate::room::Place;
use haft_client::{Nursery, Ward};
use haft_manifest::Call;
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// Starts children as our own, one after the other in the same place.
pub(crate) struct Adopting(pub(crate) Option<Arc<Place>>);

/// A child; nothing is known of it where this process does not adopt.
struct Adopted {
    call: Option<Call>,
    place: Option<Arc<Place>>,
}

impl fmt::Debug for Adopting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Adopting")
    }
}

impl fmt::Debug for Adopted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Adopted").field(&self.call).finish()
    }
}

impl Nursery for Adopting {
    fn start(&self, command: &mut Command) -> io::Result<(Child, Box<dyn Ward>)> {
        let (child, _, mut call) = Call::start(command)?;
        if let Some(call) = &mut call {
            call.guard();
        }
        Ok((child, Box::new(Adopted { call, place: self.0.clone() })))
    }
}

impl Ward for Adopted {
    fn forsake(&self) {
        if let Some(call) = &self.call {
            call.forsake();
        }
    }

    fn end(self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { call, place } = *self;
            if let (Some(call), Ok(mut ends)) = (call, signal(SignalKind::child())) {
                call.end(&mut ends).await;
            }
            drop(place);
        })
    }
}
