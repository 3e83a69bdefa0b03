//! Why and when a server should stop: a signal, or the end of whoever launched it. Awaited by the
//! command line and handed to the wires; ends no process itself.

use std::io;
use tokio::signal::unix::{SignalKind, signal};
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

/// Waits for SIGTERM, SIGINT, or SIGHUP, which is the terminal's end.
///
/// # Errors
/// Signal handlers cannot be installed.
pub async fn signalled() -> io::Result<Stop> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = hangup.recv() => Ok(Stop::Gracefully),
        ordered = ordered() => ordered,
    }
}

/// Waits for SIGTERM or SIGINT: for a server that takes SIGHUP as an order to read its file again.
///
/// # Errors
/// Signal handlers cannot be installed.
pub async fn ordered() -> io::Result<Stop> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(Stop::Gracefully)
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
