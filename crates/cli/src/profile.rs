//! Where the processor was while haft served: a flame graph. What looks is in haft only if it was
//! built with the feature `profile`; without it, whoever asks is told how to get it.

#[cfg(not(feature = "profile"))]
mod absent;
#[cfg(feature = "profile")]
mod sampler;

#[cfg(not(feature = "profile"))]
pub(crate) use absent::Profile;
#[cfg(feature = "profile")]
pub(crate) use sampler::Profile;

use crate::exit::{Exit, Failure};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file for a flame graph, which is there before there is one.
#[derive(Debug)]
pub(crate) struct Picture {
    path: PathBuf,
    file: File,
}

impl Picture {
    /// Makes the file, so that a path that cannot be written is told of at once.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::usage(format!("--profile: cannot write {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes it.
    ///
    /// # Errors
    /// The disk is full, say.
    pub(crate) fn draw(mut self, svg: &str) -> Result<(), Failure> {
        self.file.write_all(svg.as_bytes()).map_err(|error| {
            let path = self.path.display();
            Failure::new(Exit::Other, format!("--profile: cannot write {path}: {error}"))
        })
    }
}

/// A flame graph that is written when whatever is profiled is over.
pub(crate) struct Profiling {
    profile: Profile,
    picture: Picture,
}

impl Profiling {
    /// Begins.
    ///
    /// # Errors
    /// The file cannot be written, or this haft cannot look.
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        // In this order: a haft that cannot look makes no file.
        let profile = Profile::begin()?;
        Ok(Self { profile, picture: Picture::at(path)? })
    }

    /// Ends, and writes the file.
    ///
    /// # Errors
    /// It cannot be drawn or written.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.picture.draw(&self.profile.end()?)
    }
}
