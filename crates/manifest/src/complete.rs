//! What is suggested for an argument of a prompt or a variable of an address while somebody types:
//! values of the file, names in a directory, lines of a program or a server's list. Checked for
//! `prompt` and `resource`; asked by `offer`. A hundred at most are sent.

use crate::below::Directory;
use crate::fault::Wrong;
use crate::feed::run::Unfed;
use crate::feed::{self, Feed};
use crate::fill::Surroundings;
use crate::limits::SUGGESTING;
use crate::offer::Ways;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::{Compiler, Known};
use crate::tool::{fixed_text, typed};
use crate::written::complete as written;
use crate::written::feed::take_feed;
use haft_proto::error::Refusal;
use haft_proto::spec::completion::{Completion, VALUES_MAX};
use haft_server::Completing;
use std::collections::HashSet;

/// What is suggested for one argument.
#[derive(Clone, Debug)]
pub(crate) struct Complete {
    /// The argument's name.
    pub(crate) of: String,
    pub(crate) place: Place,
    pub(crate) source: Source,
}

/// Where suggestions come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The files below a directory.
    Directory(Directory),
    /// A program or a server.
    Feed(Box<Feed>),
    /// The file.
    Values(Vec<String>),
}

/// Checks what is suggested for an argument of this name.
pub(crate) fn check(
    of: &str,
    Placed { place, value: written }: Placed<written::Complete>,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Complete, Wrong> {
    let source = match written {
        written::Complete::Values(values) => {
            let value = |value| surroundings.fill(&typed(value)).map(|filled| filled.value);
            Source::Values(values.iter().map(value).collect::<Result<_, _>>()?)
        }
        written::Complete::Found(found) => {
            found_source(*found, place, known, surroundings, compiler)?
        }
    };
    Ok(Complete { of: of.to_owned(), place, source })
}

fn found_source(
    mut found: written::Found,
    place: Place,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Source, Wrong> {
    let directory = found.directory.take();
    let other = [
        ("command", found.command.as_ref().map(|command| command.place)),
        ("http", found.http.as_ref().map(|http| http.place)),
    ];
    if directory.is_some()
        && let Some((key, place)) = other.into_iter().find_map(|(key, place)| Some((key, place?)))
    {
        return Err(Wrong::new(place, Problem::TwoOfOne { key, other: "directory" }));
    }
    let feed = feed::check(take_feed!(found), "suggestions", known, surroundings, compiler)?;
    match (directory, feed) {
        (_, Some(feed)) => Ok(Source::Feed(Box::new(feed.within(SUGGESTING)))),
        (Some(directory), None) => {
            let reason = "what a caller may see is said here";
            let path = fixed_text(&directory, "directory", reason, surroundings)?.value;
            if path.is_empty() || path.contains('\0') {
                let problem = Problem::NoValue { key: "directory".to_owned() };
                return Err(Wrong::new(directory.place, problem));
            }
            let path = surroundings.directory.join(path);
            Ok(Source::Directory(Directory { path, with_hidden: false }))
        }
        (None, None) => {
            let what = "there is nothing to suggest".to_owned();
            let help = "write a list of values, or give it a `directory`, a `command` or an `http`";
            Err(Wrong::new(place, Problem::KindMissing { what, help }))
        }
    }
}

impl Complete {
    /// Suggests values.
    pub(crate) async fn suggest(
        &self,
        typing: Completing,
        ways: &Ways,
    ) -> Result<Completion, Refusal> {
        match &self.source {
            Source::Directory(directory) => Ok(paths(directory, typing, ways).await),
            Source::Values(values) => Ok(counted(typing.among(values))),
            Source::Feed(feed) => self.found(feed, typing, ways).await,
        }
    }

    async fn found(
        &self,
        feed: &Feed,
        typing: Completing,
        ways: &Ways,
    ) -> Result<Completion, Refusal> {
        let mut variables = typing.arguments.clone();
        variables.insert(self.of.clone(), typing.value.clone());
        match feed.values(variables, &ways.feeding).await {
            // Who reads what is typed has chosen already.
            Ok(values) if feed.reads(&self.of) => Ok(counted(values.into_iter().collect())),
            Ok(values) => Ok(counted(typing.among(values))),
            // Something that it needs is not typed yet.
            Err(Unfed::BadVariables(_)) => Ok(Completion::default()),
            Err(unfed) => Err(unfed.refusal("suggestion")),
        }
    }
}

/// The paths below a directory that begin with what is typed.
pub(crate) async fn paths(directory: &Directory, typing: Completing, ways: &Ways) -> Completion {
    let directory = directory.clone();
    let find = move || directory.find(&typing.value, VALUES_MAX);
    let found = ways.readings.run(find).await.ok().and_then(Result::ok).unwrap_or_default();
    let total = (!found.is_cut).then_some(found.files.len() as u64);
    Completion { values: found.files, total, has_more: found.is_cut }
}

/// All are known, each once, however many are sent.
fn counted(mut completion: Completion) -> Completion {
    let mut known = HashSet::new();
    completion.values.retain(|value| known.insert(value.clone()));
    Completion { total: Some(completion.values.len() as u64), ..completion }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn suggestions_have_a_time_limit_whether_it_is_written_or_not() {
        for (key, expected) in [("", SUGGESTING), (", timeout: 1s", Duration::from_secs(1))] {
            let complete = format!("complete: {{ command: [ls]{key} }}");
            let yaml = format!(
                "server: {{ name: s }}
prompts: [{{ name: p, arguments: {{ a: {{ {complete} }} }}, text: '{{{{ a }}}}' }}]"
            );
            let manifest = parse(Path::new("haft.yaml"), &yaml).expect("it is right");
            let complete = manifest.meant.prompts[0].arguments[0].complete.as_ref();
            let Some(Complete { source: Source::Feed(feed), .. }) = complete else {
                panic!("it is a program")
            };
            assert_eq!(feed.timeout, Some(expected));
        }
    }
}
