//! Where a part of a template's source stands in the file that it was read from. Made by the module
//! for its faults; reads nothing.

use crate::align::narrow;
use crate::place::{Place, Placed};
use std::ops::Range;

/// Where a source comes from.
pub(super) enum Origin {
    /// From a text of the manifest: at which bytes of the source and of the text its pieces begin.
    Typed(Vec<(usize, usize)>),
    /// It is what stands from there on in a file of its own.
    Verbatim { start: usize },
}

impl Origin {
    /// The place of a part of the source. `text` is the file, `typed` what was typed there.
    pub(super) fn place(&self, text: &str, typed: &Placed<String>, part: Range<usize>) -> Place {
        match self {
            Self::Verbatim { start } => Place { start: start + part.start, end: start + part.end },
            Self::Typed(pieces) => {
                let part = at(pieces, part.start)..at(pieces, part.end);
                narrow(text, typed.place, &typed.value, part)
            }
        }
    }
}

fn at(pieces: &[(usize, usize)], at: usize) -> usize {
    let piece = pieces.iter().rev().find(|(source, _)| *source <= at);
    piece.map_or(at, |(source, typed)| typed + (at - source))
}
