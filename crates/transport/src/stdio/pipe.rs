//! Standard input and output on the thread that uses them: no copy through a blocking thread. Pipes
//! and sockets are made non-blocking for as long as they are used; a terminal keeps its mode, which
//! it shares with the shell; a file is always ready.

use haft_stages::Reads;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One end of a wire.
pub(super) struct Pipe {
    fd: Arc<OwnedFd>,
    /// `None`: a file, which epoll refuses and which never blocks for long.
    readiness: Option<AsyncFd<Arc<OwnedFd>>>,
    is_nonblocking: bool,
    /// What to put back at the end.
    former_flags: Option<OFlags>,
    pub(super) reads: Reads,
}

impl Pipe {
    /// Standard input.
    pub(super) fn input() -> io::Result<Self> {
        Self::read_from(rustix::stdio::stdin().try_clone_to_owned()?)
    }

    /// Standard output.
    pub(super) fn output() -> io::Result<Self> {
        Self::write_to(rustix::stdio::stdout().try_clone_to_owned()?)
    }

    /// Any descriptor to read from.
    pub(super) fn read_from(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, Interest::READABLE)
    }

    /// Any descriptor to write to.
    pub(super) fn write_to(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, Interest::WRITABLE)
    }

    fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        let fd = Arc::new(fd);
        let kind = FileType::from_raw_mode(fstat(&fd)?.st_mode);
        let is_nonblocking = matches!(kind, FileType::Fifo | FileType::Socket);
        let former_flags = if is_nonblocking {
            let flags = fcntl_getfl(&fd)?;
            fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
            Some(flags)
        } else {
            None
        };
        #[expect(deprecated, reason = "its successor is unsafe; the AsyncFd owns this descriptor")]
        let readiness = match AsyncFd::with_interest(Arc::clone(&fd), interest) {
            Ok(readiness) => Some(readiness),
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { fd, readiness, is_nonblocking, former_flags, reads: Reads::default() })
    }

    /// Reads what is there, or waits until something is. 0 at the end. Safe to drop while it waits:
    /// nothing has been read then.
    pub(super) async fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        let Some(readiness) = &self.readiness else {
            return Ok(self.reads.reading(|| rustix::io::read(&self.fd, room), Result::is_ok)?);
        };
        loop {
            let mut ready = readiness.readable().await?;
            match self.if_ready(PollFlags::IN, || {
                self.reads.reading(|| rustix::io::read(&self.fd, &mut *room), Result::is_ok)
            }) {
                Ok(count) => {
                    // A pipe that gave less than there was room for is empty now, and the next
                    // bytes raise a new edge: the call that would only say so is saved.
                    if self.is_nonblocking && count < room.len() {
                        ready.clear_ready();
                    }
                    return Ok(count);
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes as much as goes in without waiting; 0 if nothing does.
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // A terminal or file is written as it is: it takes what it gets.
            match rustix::io::write(&self.fd, bytes) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until bytes go in, and writes some. Safe to drop while it waits.
    pub(super) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(readiness) = &self.readiness else { return self.try_write(bytes) };
        loop {
            let mut ready = readiness.writable().await?;
            match self.try_write(bytes)? {
                0 => ready.clear_ready(),
                count => return Ok(count),
            }
        }
    }

    /// Waits until nobody can read any more what is written. For ever where that is not told: a
    /// file has no reader.
    pub(super) async fn unread(&self) -> io::Result<()> {
        let Some(readiness) = &self.readiness else { return std::future::pending().await };
        loop {
            let mut ready = readiness.writable().await?;
            if ready.ready().is_write_closed() {
                return Ok(());
            }
            // Whoever has more to write has tried before it waits, so it needs the next edge only.
            ready.clear_ready();
        }
    }

    fn if_ready(
        &self,
        wanted: PollFlags,
        act: impl FnOnce() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        if !self.is_nonblocking {
            let mut fds = [PollFd::from_borrowed_fd(self.fd.as_fd(), wanted)];
            if poll(&mut fds, Some(&rustix::event::Timespec::default()))? == 0 {
                return Err(Errno::AGAIN);
            }
        }
        act()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if let Some(flags) = self.former_flags {
            // Nobody is left to tell if this fails.
            let _ = fcntl_setfl(&self.fd, flags);
        }
    }
}
