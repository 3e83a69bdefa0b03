//! Programs and servers that contents of resources, messages of prompts and suggestions come from:
//! as run, checked from as typed. `run` asks them, with what `command` and `http` have for tools;
//! `family` has the addresses that they answer for. Called by `resource`, `prompt` and `complete`.

pub(crate) mod family;
pub(crate) mod mistake;
pub(crate) mod run;

use crate::amount;
use crate::command::{self, Command};
use crate::fault::Wrong;
use crate::feed::mistake::FeedMistake;
use crate::fill::Surroundings;
use crate::http::{self, Http};
use crate::limits::{FEED_TIMEOUT_MAX, RESOURCE_BYTES, RESOURCE_BYTES_MAX};
use crate::output::{Output, Pointer};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::{Compiler, Known};
use crate::written::feed as written;
use crate::written::tool::Parse;
use ::http::Method;
use haft_fetch::{Auth, Client};
use std::sync::OnceLock;
use std::time::Duration;

/// A program or a server that something is read from.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    pub(crate) engine: Engine,
    /// How long it may take; as long as any request without one.
    pub(crate) timeout: Option<Duration>,
    /// What requests are sent with, once there was one: held, so that connections and tokens are
    /// still there for the next.
    sender: OnceLock<(Client, Auth)>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    Command(Box<Command>),
    Http(Box<Http>),
}

/// The key of a program or server that is not there.
struct Stray {
    place: Place,
    key: &'static str,
    other: &'static str,
}

/// Checks the keys of a feed; nothing if neither a program nor a server is named. `owners` are what
/// has them.
pub(crate) fn check(
    written: written::Feed,
    owners: &'static str,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Option<Feed>, Wrong> {
    if let Some(Stray { place, key, other }) = stray(&written) {
        return Err(Wrong::new(
            place,
            Problem::KeyBelongsTo { key, owners, other: other.to_owned() },
        ));
    }
    let mut output = Output::new(Parse::Text);
    output.limit = match &written.limit {
        Some(text) => amount::bytes("limit", text, RESOURCE_BYTES_MAX, surroundings)?,
        None => RESOURCE_BYTES,
    };
    output.pick = written.pick.as_ref().map(Pointer::check).transpose()?;
    let timeout = written
        .timeout
        .as_ref()
        .map(|text| amount::time("timeout", text, FEED_TIMEOUT_MAX, surroundings))
        .transpose()?;
    let engine = match (written.command, written.http) {
        (Some(_), Some(Placed { place, .. })) => {
            let problem = Problem::TwoOfOne { key: "http", other: "command" };
            return Err(Wrong::new(place, problem));
        }
        (None, None) => return Ok(None),
        (Some(command), None) => {
            let (stdin, env) = (written.stdin, written.env);
            let (cwd, ok_exit) = (written.cwd, written.ok_exit);
            let keys = command::Keys { command, stdin, env, cwd, ok_exit };
            let command = command::check(keys, output, known, surroundings, compiler)?;
            Engine::Command(Box::new(command))
        }
        (None, Some(http)) => {
            let http = http::check(http, output, known, surroundings, compiler)?;
            if ![Method::GET, Method::POST].contains(&http.method) {
                let method = http.method.as_str().to_ascii_lowercase();
                let mistake = FeedMistake::Method { method };
                return Err(Wrong::new(http.place, Problem::Feed(mistake)));
            }
            Engine::Http(Box::new(http))
        }
    };
    Ok(Some(Feed { engine, timeout, sender: OnceLock::new() }))
}

/// The first key that has no meaning without another one.
fn stray(written: &written::Feed) -> Option<Stray> {
    let of_command = [
        ("stdin", written.stdin.as_ref().map(|value| value.place)),
        ("env", written.env.as_ref().map(|value| value.place)),
        ("cwd", written.cwd.as_ref().map(|value| value.place)),
        ("ok_exit", written.ok_exit.as_ref().map(|value| value.place)),
    ];
    let of_both = [
        ("pick", written.pick.as_ref().map(|value| value.place)),
        ("limit", written.limit.as_ref().map(|value| value.place)),
        ("timeout", written.timeout.as_ref().map(|value| value.place)),
    ];
    let find = |keys: &[(&'static str, Option<Place>)], other| {
        let (key, place) = keys.iter().find_map(|(key, place)| Some((*key, (*place)?)))?;
        Some(Stray { place, key, other })
    };
    match (&written.command, &written.http) {
        (Some(_), _) => None,
        (None, Some(_)) => find(&of_command, "command"),
        (None, None) => {
            find(&of_command, "command").or_else(|| find(&of_both, "command` or `http"))
        }
    }
}

impl Feed {
    /// The key that makes it what it is.
    pub(crate) fn key(&self) -> &'static str {
        match self.engine {
            Engine::Command(_) => "command",
            Engine::Http(_) => "http",
        }
    }

    /// The same, with another time limit where it has none of its own.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout: self.timeout.or(Some(timeout)), ..self }
    }

    /// Whether it has a use for a variable.
    pub(crate) fn reads(&self, variable: &str) -> bool {
        match &self.engine {
            Engine::Command(command) => {
                let mut templates = command.templates();
                templates.any(|template| template.variables.iter().any(|name| name == variable))
            }
            Engine::Http(http) => http.reads(variable),
        }
    }
}
