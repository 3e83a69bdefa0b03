//! Children of upstreams are started as the process's own, so that what they leave behind ends with
//! them, and with the process however that ends. Used by `upstream`; the manifest does the work, as
//! for the programs of tools.

use haft_client::{Nursery, Ward};
use haft_manifest::Call;
use std::io;
use std::pin::Pin;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// Starts children as our own.
#[derive(Debug)]
pub(crate) struct Adopting;

/// A child; nothing is known of it where this process does not adopt.
#[derive(Debug)]
struct Adopted(Option<Call>);

impl Nursery for Adopting {
    fn start(&self, command: &mut Command) -> io::Result<(Child, Box<dyn Ward>)> {
        let (child, _, mut call) = Call::start(command)?;
        if let Some(call) = &mut call {
            call.guard();
        }
        Ok((child, Box::new(Adopted(call))))
    }
}

impl Ward for Adopted {
    fn forsake(&self) {
        if let Some(call) = &self.0 {
            call.forsake();
        }
    }

    fn end(self: Box<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if let (Some(call), Ok(mut ends)) = (self.0, signal(SignalKind::child())) {
                call.end(&mut ends).await;
            }
        })
    }
}
