//! What QUIC does on each link, in a file of its own, as qlog viewers read it (qlog 0.3, JSON-SEQ).
//! Where nobody asked for that, there is nothing to be looked at.

use crate::limits::QLOGS_MAX;
use quinn::{QlogConfig, QlogStream};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
/// How many files there are of this process.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// From now on each link of this process over QUIC has a file in that directory, which only its
/// owner can read; up to [`QLOGS_MAX`] of them. Once; who comes later changes nothing.
///
/// # Errors
/// The directory is not there, or nothing can be written into it.
pub fn write_qlogs(directory: &Path) -> io::Result<()> {
    // What cannot be written later is seen now.
    drop(tempfile::tempfile_in(directory)?);
    _ = DIRECTORY.set(directory.to_owned());
    Ok(())
}

/// Whether they are written.
pub(crate) fn is_on() -> bool {
    DIRECTORY.get().is_some()
}

/// Where the next link is written to, which is of that end; nothing if none is, or it cannot be.
pub(crate) fn next(end: &str) -> Option<QlogStream> {
    let directory = DIRECTORY.get()?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{end}-{}-{count}.sqlog", process::id());
    let file = (count < QLOGS_MAX).then(|| create(&directory.join(&name)));
    let file = file.and_then(Result::ok)?;
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(file))).title(Some(format!("haft link, {end}")));
    config.into_stream()
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
