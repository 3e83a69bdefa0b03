//! Suggestions for an argument (Server Features, "Completion").

/// The most values of one answer.
pub const VALUES_MAX: usize = 100;

/// The answer of `completion/complete`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The values, best first; `encode` sends the first hundred.
    pub values: Vec<String>,
    /// How many there are, if known.
    pub total: Option<u64>,
    /// Whether there are more than these, known or not.
    pub has_more: bool,
}

impl<S: Into<String>> FromIterator<S> for Completion {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}
