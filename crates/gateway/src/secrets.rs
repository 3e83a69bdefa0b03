//! What a file gives an upstream that may be secret: the values of its variables and headers, and
//! what is filled in for its arguments and address. They are not in what is told of it, though it
//! says them itself. Asked by `upstream` and `murmur`.

use crate::limits::SECRET_BYTES_MIN;
use haft_manifest::{Given, Reach};
use std::borrow::Cow;

/// What is said in the place of one.
const HIDDEN: &str = "***";

/// See above: the longest first.
pub(crate) struct Secrets(Box<[String]>);

impl Secrets {
    pub(crate) fn of(reach: &Reach, given: &Given) -> Self {
        let mut values: Vec<String> = match reach {
            Reach::Command { env, .. } => env.iter().map(|(_, value)| value.clone()).collect(),
            Reach::Agent { .. } => Vec::new(),
            Reach::Url { headers, .. } => {
                let texts = headers.values().filter_map(|value| value.to_str().ok());
                // Without the scheme, too.
                let bare = |text: &str| text.rsplit(' ').next().map(str::to_owned);
                texts.flat_map(|text| bare(text).into_iter().chain([text.to_owned()])).collect()
            }
        };
        values.extend_from_slice(&given.0);
        // What is said is said by lines.
        let lines = values.iter().flat_map(|value| value.lines()).map(str::trim);
        let mut all: Vec<String> =
            lines.filter(|line| line.len() >= SECRET_BYTES_MIN).map(str::to_owned).collect();
        all.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Self(all.into())
    }

    /// The text without them.
    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let there = self.0.iter().filter(|secret| text.contains(&***secret));
        there.fold(Cow::Borrowed(text), |text, secret| text.replace(&**secret, HIDDEN).into())
    }
}
