//! All mistakes of one function, so that they are told together. Used by every stage; each mistake
//! points at the tokens that it is about.

use quote::ToTokens;
use std::fmt::Display;
use syn::Error;

/// What is wrong so far.
#[derive(Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    /// One more, about these tokens.
    pub(crate) fn say(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(Error::new_spanned(tokens, message));
    }

    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    /// Keeps the mistake, if it is one.
    pub(crate) fn take<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// # Errors
    /// Everything that was said.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), Err)
    }
}

/// `; did you mean …?`, or what there is.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match (nearest, known) {
        (Some((_, meant)), _) => format!("did you mean `{meant}`?"),
        (None, [only]) => format!("known is {only}"),
        (None, known) => format!("known are {}", known.join(", ")),
    }
}
