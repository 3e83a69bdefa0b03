//! The addresses that a program or a server answers for: a single one, or all that fit a template
//! with variables, and what is suggested for those. Called by `resource`.

use crate::amount;
use crate::complete::{self, Complete};
use crate::fault::Wrong;
use crate::feed::mistake::FeedMistake;
use crate::feed::{self, Feed};
use crate::fill::Surroundings;
use crate::limits::{WATCH_MAX, WATCH_MIN};
use crate::place::Placed;
use crate::problem::Problem;
use crate::resource::is_uri;
use crate::template::{Compiler, Known};
use crate::tool::out_of_range;
use crate::written::Scalar;
use crate::written::feed::take_feed;
use crate::written::resource as written;
use haft_server::uri_variables;
use std::sync::Arc;
use std::time::Duration;

/// What a program or a server says.
#[derive(Clone, Debug)]
pub(crate) struct Fed {
    pub(crate) feed: Arc<Feed>,
    /// Of the address; without any it is a single resource.
    pub(crate) variables: Vec<String>,
    /// How often it is read again while somebody is subscribed.
    pub(crate) watch: Option<Duration>,
    /// What is suggested for them.
    pub(crate) completes: Vec<Complete>,
}

/// The program or server that it comes from, if it comes from one.
pub(crate) fn check(
    written: &mut written::Resource,
    uri: &Placed<String>,
    shown: &str,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Option<Fed>, Wrong> {
    if written.command.is_none() && written.http.is_none() {
        return Ok(None);
    }
    let bad = |reason| {
        let mistake = FeedMistake::BadVariables { shown: shown.to_owned(), reason };
        Wrong::new(uri.place, Problem::Feed(mistake))
    };
    let variables = uri_variables(&uri.value).map_err(bad)?;
    // The names of variables are told in errors; what was filled in is not.
    let is_typed = |name: &String| {
        let typed = &written.uri.value;
        typed.contains(&format!("{{{name}}}")) || typed.contains(&format!("{{+{name}}}"))
    };
    if !variables.iter().all(is_typed) {
        return Err(bad("what is filled in has a variable".to_owned()));
    }
    let spelled = variables.iter().fold(uri.value.clone(), |uri, name| {
        uri.replace(&format!("{{{name}}}"), "x").replace(&format!("{{+{name}}}"), "x")
    });
    if !is_uri(&spelled) {
        return Err(Wrong::new(uri.place, Problem::BadUri { shown: shown.to_owned() }));
    }
    let none = "the address has no variables; give it some, like issue://{owner}/{number}";
    let known = Known { names: &variables, is_open: false, none };
    let feed = feed::check(take_feed!(written), "resources", known, surroundings, compiler)?;
    let mut completes = Vec::new();
    for (name, complete) in written.complete.take().unwrap_or_default().0 {
        if !variables.contains(&name.value) {
            let mistake = FeedMistake::NoVariable { name: name.value, known: variables };
            return Err(Wrong::new(name.place, Problem::Feed(mistake)));
        }
        completes.push(complete::check(&name.value, complete, known, surroundings, compiler)?);
    }
    let watch = written.watch.as_ref().map(|text| interval(text, surroundings)).transpose()?;
    Ok(feed.map(|feed| Fed { feed: Arc::new(feed), variables, watch, completes }))
}

/// The time of a `watch`.
fn interval(text: &Placed<Scalar>, surroundings: &Surroundings<'_>) -> Result<Duration, Wrong> {
    let interval = amount::time("watch", text, WATCH_MAX, surroundings)?;
    if interval < WATCH_MIN {
        return Err(out_of_range("watch", "1s or longer", text.place));
    }
    Ok(interval)
}
