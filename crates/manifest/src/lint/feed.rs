//! What is odd about a program or a server that something is read from.

use super::{Notes, judge_command, judge_http};
use crate::complete::{Complete, Source};
use crate::feed::family::Fed;
use crate::feed::{Engine, Feed};
use crate::input::Argument;
use crate::place::Place;
use crate::prompt;
use crate::resource::Resource;
use haft_proto::spec::tool::Annotations;
use serde_json::Value;

/// Judges what a resource comes from, and what is suggested for its variables.
pub(super) fn judge_resource(resource: &Resource, fed: &Fed, notes: &mut Notes) {
    let place = resource.uri.place;
    let known: Vec<_> = fed.variables.iter().map(|name| text(name, place, true)).collect();
    for name in fed.variables.iter().filter(|name| !fed.feed.reads(name)) {
        notes.add(place, format!("nothing reads the variable `{name}` of the address"));
    }
    judge(&fed.feed, &known, notes);
    for complete in &fed.completes {
        judge_complete(complete, &known, notes);
    }
}

/// Judges what is suggested.
pub(super) fn judge_complete(complete: &Complete, known: &[Argument], notes: &mut Notes) {
    match &complete.source {
        Source::Directory(directory) if !directory.path.is_dir() => {
            notes.add(complete.place, "the directory of these suggestions does not exist");
        }
        Source::Feed(feed) => judge(feed, known, notes),
        Source::Directory(_) | Source::Values(_) => {}
    }
}

/// Judges a feed whose templates may name these arguments.
pub(super) fn judge(feed: &Feed, known: &[Argument], notes: &mut Notes) {
    match &feed.engine {
        Engine::Command(command) => {
            command.templates().for_each(|template| notes.spelling(template));
            judge_command(known, command, notes);
        }
        Engine::Http(http) => judge_http(Annotations::default(), http, notes),
    }
}

/// An argument of a prompt.
pub(super) fn argument(argument: &prompt::Argument) -> Argument {
    text(&argument.spec.name, argument.place, argument.spec.required)
}

/// What a client writes at a place. It has no schema, and so no pattern.
fn text(name: &str, place: Place, is_required: bool) -> Argument {
    Argument { name: name.to_owned(), place, schema: Value::Null, is_required }
}
