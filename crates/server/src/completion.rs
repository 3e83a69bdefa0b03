//! Suggestions for arguments of prompts and variables of resource templates (Server Features,
//! "Completion").

use crate::reading::Answering;
use haft_proto::error::Refusal;
use haft_proto::spec::completion::Completion;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

/// What is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completing {
    /// The beginning that is there.
    pub value: String,
    /// The other arguments, as far as they are known (from 2025-06-18 on).
    pub arguments: BTreeMap<String, String>,
}

impl Completing {
    /// Those of the words that begin with what is there, whatever their case.
    ///
    /// ```
    /// use haft_server::Completing;
    /// let typing = Completing { value: "p".to_owned(), ..Completing::default() };
    /// assert_eq!(typing.among(["Python", "Rust", "perl"]).values, ["Python", "perl"]);
    /// ```
    pub fn among<S: AsRef<str>>(&self, words: impl IntoIterator<Item = S>) -> Completion {
        let typed = self.value.to_lowercase();
        let fits = |word: &S| word.as_ref().to_lowercase().starts_with(&typed);
        words.into_iter().filter(fits).map(|word| word.as_ref().to_owned()).collect()
    }
}

/// What suggests values for one argument.
#[derive(Clone)]
pub(crate) struct Completer(Arc<dyn Fn(Completing) -> Answering<Completion> + Send + Sync>);

impl Completer {
    pub(crate) fn new<F>(complete: impl Fn(Completing) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Completion, Refusal>> + Send + 'static,
    {
        Self(Arc::new(move |typing| Box::pin(complete(typing))))
    }

    pub(crate) fn complete(&self, typing: Completing) -> Answering<Completion> {
        (self.0)(typing)
    }
}

/// What suggests values, by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(Vec<(String, Completer)>);

impl Completers {
    pub(crate) fn add(&mut self, argument: String, completer: Completer) {
        self.0.retain(|(known, _)| *known != argument);
        self.0.push((argument, completer));
    }

    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0.iter().find(|(known, _)| known == argument).map(|(_, completer)| completer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(argument, _)| argument.as_str())
    }
}
