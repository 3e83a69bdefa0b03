//! What is odd about a program or a server that something is read from.

use super::{Notes, judge_command, judge_http};
use crate::feed::{Engine, Feed};
use crate::input::Argument;
use crate::place::Place;
use crate::resource::{Fed, Resource};
use haft_proto::spec::tool::Annotations;
use serde_json::json;

/// Judges what a resource comes from.
pub(super) fn judge(resource: &Resource, fed: &Fed, notes: &mut Notes) {
    of(&fed.feed, &variables(&fed.variables, resource.uri.place), notes);
}

/// Judges a feed that these variables are for.
pub(super) fn of(feed: &Feed, variables: &[Argument], notes: &mut Notes) {
    match &feed.engine {
        Engine::Command(command) => judge_command(variables, command, notes),
        Engine::Http(http) => judge_http(variables, Annotations::default(), http, notes),
    }
}

/// What a client writes at a place: a text that is always there.
pub(super) fn variables(names: &[String], place: Place) -> Vec<Argument> {
    let variable = |name: &String| Argument {
        name: name.clone(),
        place,
        schema: json!({ "type": "string" }),
        is_required: true,
    };
    names.iter().map(variable).collect()
}
