//! What is odd about a resource.

use super::{Notes, feed};
use crate::fault::line_of;
use crate::limits::LISTED_MAX;
use crate::resource::{Below, Resource, Source, Stored};
use std::path::Path;

/// Judges a resource of a manifest with a path and a text; `before` are those that stand before it.
pub(super) fn judge(
    resource: &Resource,
    before: &[Resource],
    manifest: (&Path, &str),
    notes: &mut Notes,
) {
    let place = resource.uri.place;
    notes.description(place, resource.description.as_ref(), "a model cannot tell what it is");
    match &resource.source {
        Source::Directory(below) => judge_directory(resource, below, before, manifest, notes),
        Source::File(stored) => judge_file(stored, notes),
        Source::Feed(fed) => feed::judge_resource(resource, fed, notes),
        Source::Text(_) => {}
    }
}

fn judge_file(stored: &Stored, notes: &mut Notes) {
    let place = stored.path.place;
    match std::fs::metadata(&stored.path.value) {
        Err(_) => notes.add(place, "this file does not exist"),
        Ok(found) if !found.is_file() => {
            notes.add(place, "this is no file; to serve what is below it, write `directory`");
        }
        Ok(found) if found.len() > stored.limit as u64 => {
            let message =
                format!("this file has {} bytes, which is more than `limit`", found.len());
            notes.add(place, message);
        }
        Ok(_) => {}
    }
}

fn judge_directory(
    resource: &Resource,
    below: &Below,
    before: &[Resource],
    (path, text): (&Path, &str),
    notes: &mut Notes,
) {
    match (below.directory.path.canonicalize(), path.canonicalize()) {
        (Ok(directory), _) if !directory.is_dir() => notes.add(below.place, "this is no directory"),
        (Ok(directory), Ok(path)) if path.starts_with(&directory) => notes.add(
            below.place,
            "it serves this file too; move what is to be read to a directory of its own",
        ),
        (Ok(_), _) => {}
        (Err(_), _) => notes.add(below.place, "this directory does not exist"),
    }
    if below.listing().is_cut {
        let message = format!("it has more files than are listed, which are {LISTED_MAX} at most");
        notes.add(below.place, message);
    }
    // An address belongs to the first that it fits.
    let takes_all = |first: &&Resource| match &first.source {
        Source::Directory(first) => first.has_slashes && below.prefix.starts_with(&first.prefix),
        Source::Feed(_) | Source::File(_) | Source::Text(_) => false,
    };
    if let Some(first) = before.iter().find(takes_all) {
        let line = line_of(text, first.uri.place);
        let message = format!("all its addresses belong to line {line}; put it before that");
        notes.add(resource.uri.place, message);
    }
}
