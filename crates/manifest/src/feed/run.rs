//! A program runs, or a server is asked, and what it says becomes contents or values. Called by
//! `resource`, `prompt` and `complete` when clients ask; dropping the future ends the program and
//! all that it started, and takes a request back.

use crate::arguments::Arguments;
use crate::feed::{Engine, Feed};
use crate::http::answer::Received;
use crate::http::slot::Filling;
use crate::limits::{FEEDS_RUNNING_MAX, FEEDS_WAITING_MAX};
use crate::output::{self, Failure, Output};
use crate::reading;
use haft_fetch::Clients;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::spec::content::ResourceContents;
use haft_proto::spec::tool_result::Cause;
use minijinja::Environment;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// What feeds are run with, so many at once.
#[derive(Clone)]
pub(crate) struct Feeding {
    /// Those of resources and prompts.
    turns: Arc<Turns>,
    /// Who types is not kept waiting by those who read.
    suggesting: Arc<Turns>,
    templates: Arc<Environment<'static>>,
    clients: Clients,
}

/// So many run, so many more wait, and the rest is refused.
struct Turns {
    /// Of those who run and those who wait.
    places: Semaphore,
    running: Semaphore,
}

impl Turns {
    fn new() -> Self {
        let places = Semaphore::new(FEEDS_RUNNING_MAX + FEEDS_WAITING_MAX);
        Self { places, running: Semaphore::new(FEEDS_RUNNING_MAX) }
    }

    /// A place and a turn, for as long as they are held.
    async fn take(&self) -> Result<[SemaphorePermit<'_>; 2], Unfed> {
        let place = self.places.try_acquire().map_err(|_| Unfed::Busy)?;
        // The semaphore is never closed.
        let turn = self.running.acquire().await.map_err(|_| Unfed::Busy)?;
        Ok([place, turn])
    }
}

/// Why there is nothing.
#[derive(Debug)]
pub(crate) enum Unfed {
    /// Too many wait already.
    Busy,
    /// Nothing can be asked for these variables.
    BadVariables(String),
    /// The program or server says so.
    Failed(String),
    /// A server knows of no such thing.
    NotThere(String),
    /// It took longer than this.
    TooLong(Duration),
}

/// What a program or a server said.
enum Said {
    Printed(Vec<u8>),
    Answered(Received),
}

impl Feeding {
    /// All of the file's templates.
    pub(crate) fn templates(&self) -> &Environment<'static> {
        &self.templates
    }

    pub(crate) fn new(templates: Arc<Environment<'static>>, clients: Clients) -> Self {
        let (turns, suggesting) = (Arc::new(Turns::new()), Arc::new(Turns::new()));
        Self { turns, suggesting, templates, clients }
    }

    /// The same turns with the templates of another reading.
    pub(crate) fn with(&self, templates: Arc<Environment<'static>>) -> Self {
        Self { templates, ..self.clone() }
    }
}

impl Feed {
    /// What it says for these variables; `kind` is what that is, if somebody knows.
    pub(crate) async fn contents(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
        kind: Option<&str>,
        feeding: &Feeding,
    ) -> Result<ResourceContents, Unfed> {
        let said = self.run(variables, feeding, &feeding.turns).await?;
        let contents = match (said, &self.engine) {
            (Said::Printed(out), Engine::Command(command)) if command.output.pick.is_some() => {
                let value = command.value(&out).map_err(Unfed::Failed)?;
                output::part(&value, kind)
            }
            (Said::Printed(out), _) => reading::contents(out, kind),
            (Said::Answered(received), _) => {
                received.contents(self.output(), kind).map_err(Unfed::Failed)?
            }
        };
        Ok(contents)
    }

    /// The values that it names: the items of a list of JSON, or lines.
    pub(crate) async fn values(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
        feeding: &Feeding,
    ) -> Result<Vec<String>, Unfed> {
        let said = self.run(variables, feeding, &feeding.suggesting).await?;
        let values = match (said, &self.engine) {
            (Said::Printed(out), Engine::Command(command)) if command.output.pick.is_some() => {
                let value = command.value(&out).map_err(Unfed::Failed)?;
                let program = &command.program.shown;
                output::values(&value).ok_or_else(|| format!("`{program}` did not print a list."))
            }
            (Said::Printed(out), _) => Ok(output::values_of_lines(&String::from_utf8_lossy(&out))),
            (Said::Answered(received), _) => received.values(self.output()),
        };
        values.map_err(Unfed::Failed)
    }

    fn output(&self) -> &Output {
        match &self.engine {
            Engine::Command(command) => &command.output,
            Engine::Http(http) => &http.output,
        }
    }

    async fn run(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
        feeding: &Feeding,
        turns: &Turns,
    ) -> Result<Said, Unfed> {
        let values: Map<_, _> =
            variables.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
        let arguments = Arguments::new(values);
        let said = self.say(arguments, feeding, turns);
        let Some(timeout) = self.timeout else { return said.await };
        tokio::time::timeout(timeout, said).await.map_err(|_| Unfed::TooLong(timeout))?
    }

    async fn say(
        &self,
        arguments: Arguments,
        feeding: &Feeding,
        turns: &Turns,
    ) -> Result<Said, Unfed> {
        let Feeding { templates, clients, .. } = feeding;
        match &self.engine {
            Engine::Command(command) => {
                let prepared = command.prepare(templates, &arguments);
                let prepared = prepared.map_err(Unfed::BadVariables)?;
                drop(arguments);
                let _turn = turns.take().await?;
                Ok(Said::Printed(command.output(prepared).await?))
            }
            Engine::Http(http) => {
                let request = http.request(Filling { templates, arguments: &arguments });
                let request = request.map_err(Unfed::BadVariables)?;
                drop(arguments);
                let _turn = turns.take().await?;
                let sender = self.sender.get_or_init(|| http.sender(clients));
                Ok(Said::Answered(http.fetch(request, sender).await?))
            }
        }
    }
}

impl From<Failure> for Unfed {
    fn from(Failure { reason, cause }: Failure) -> Self {
        match cause {
            Some(Cause::Status(404 | 410)) => Self::NotThere(reason),
            _ => Self::Failed(reason),
        }
    }
}

impl Unfed {
    /// What a client is told that asked for `what`.
    pub(crate) fn refusal(self, what: &str) -> Refusal {
        match self {
            Self::Busy => {
                let message = format!("Too many wait for a {what} already. Try again in a moment.");
                Refusal::new(Mistake::Overloaded, message)
            }
            Self::BadVariables(reason) => {
                Refusal::new(Mistake::InvalidParams, format!("Invalid params: {reason}"))
            }
            Self::Failed(reason) | Self::NotThere(reason) => {
                Refusal::new(Mistake::Internal, reason)
            }
            Self::TooLong(limit) => {
                let message = format!("Timed out: the {what} took longer than {limit:?}");
                Refusal::new(Mistake::TimedOut, message)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;
    use crate::resource::Source;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn so_many_run_at_once_others_wait_and_the_rest_is_refused() {
        let directory = tempfile::tempdir().expect("there is room");
        let yaml = "server: { name: s }\nresources: [{ uri: 'a:b', command: [touch, ran] }]";
        let manifest = parse(&directory.path().join("haft.yaml"), yaml).expect("it is right");
        let Source::Feed(fed) = &manifest.meant.resources[0].source else { panic!("it is one") };
        let feeding = Feeding::new(Arc::clone(&manifest.meant.templates), Clients::new());
        let most = u32::try_from(FEEDS_RUNNING_MAX).expect("it is small");
        let held = feeding.turns.running.acquire_many(most).await.expect("nobody closes it");
        let next = fed.feed.contents([], None, &feeding);
        tokio::pin!(next);
        for _ in 0..100 {
            tokio::select! {
                biased;
                _ = &mut next => panic!("it has to wait"),
                () = yield_now() => {}
            }
        }
        assert!(!directory.path().join("ran").exists());
        let rest = u32::try_from(FEEDS_RUNNING_MAX + FEEDS_WAITING_MAX - 1).expect("it is small");
        let waiting = feeding.turns.places.try_acquire_many(rest).expect("one has a place");
        let refused = fed.feed.contents([], None, &feeding).await.expect_err("there is no place");
        assert_eq!(refused.refusal("resource").mistake, Mistake::Overloaded);
        assert!(!directory.path().join("ran").exists());
        // Suggestions have turns of their own.
        assert_eq!(fed.feed.values([], &feeding).await.expect("it runs"), [""; 0]);
        std::fs::remove_file(directory.path().join("ran")).expect("it ran");
        drop(waiting);
        drop(held);
        next.await.expect("it runs");
        assert!(directory.path().join("ran").exists());
    }
}
