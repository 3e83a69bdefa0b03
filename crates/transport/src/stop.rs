//! Why and when a server should stop: a signal, or the end of whoever launched it. Awaited by the
//! command line and handed to the wires; ends no process itself.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(target_os = "linux")]
use {
    rustix::process::{PidfdFlags, pidfd_open},
    std::os::fd::OwnedFd,
    tokio::io::unix::AsyncFd,
};

/// How a server should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nobody is left to answer: end what runs at once.
    AtOnce,
    /// Requests in flight have [`shutdown_grace`](haft_proto::limits::Limits::shutdown_grace) left.
    Gracefully,
}

/// Orders to stop, from when this is made: none that comes after ends the process at once, nor is
/// missed.
#[derive(Debug)]
pub struct Orders {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Orders {
    /// SIGTERM and SIGINT: for a server that takes SIGHUP as an order to read its file again. In a
    /// runtime.
    ///
    /// # Errors
    /// Signal handlers cannot be installed.
    pub fn new() -> io::Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: signal(terminate)?, interrupt: signal(interrupt)?, hangup: None })
    }

    /// These, and SIGHUP, which is the terminal's end.
    ///
    /// # Errors
    /// As of [`Orders::new`].
    pub fn with_hangups() -> io::Result<Self> {
        Ok(Self { hangup: Some(signal(SignalKind::hangup())?), ..Self::new()? })
    }

    /// Waits for one.
    pub async fn next(&mut self) -> Stop {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hangup => {}
        }
        Stop::Gracefully
    }
}

/// Waits for SIGTERM, SIGINT, or SIGHUP, which is the terminal's end.
///
/// # Errors
/// Signal handlers cannot be installed.
pub async fn signalled() -> io::Result<Stop> {
    Ok(Orders::with_hangups()?.next().await)
}

/// Waits for the end of the process that launched this one. For ever, if that is the first process
/// or cannot be watched; the end of standard input is then the sign that it is gone.
pub async fn parent_died() -> Stop {
    #[cfg(target_os = "linux")]
    if let Some(parent) = rustix::process::getppid().filter(|parent| !parent.is_init())
        && let Ok(watched) = watch(parent)
        // It may have ended before it was watched, and its number may be another's by now.
        && rustix::process::getppid() == Some(parent)
        && watched.readable().await.is_ok()
    {
        return Stop::AtOnce;
    }
    std::future::pending().await
}

/// A descriptor that is readable once the process has ended.
#[cfg(target_os = "linux")]
#[expect(deprecated, reason = "its successor is unsafe; the descriptor is owned by the AsyncFd")]
fn watch(process: rustix::process::Pid) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(pidfd_open(process, PidfdFlags::NONBLOCK)?)
}
