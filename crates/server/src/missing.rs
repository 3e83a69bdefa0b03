//! What is not there just now: names that begin so belong to somebody who is away. Whoever asks for
//! one of them is told why, and not that there is no such thing. Asked by `calls`, `nested` and
//! `reads` when they do not find a name.

use haft_proto::error::{Mistake, Refusal};

/// Names that cannot be answered for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    prefix: String,
    /// The prefix is the whole name.
    is_whole: bool,
    reason: String,
}

impl Missing {
    /// Tools and prompts whose names begin with `prefix` may be missing; `reason` is the whole text
    /// that a client is told.
    pub fn new(prefix: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), is_whole: false, reason: reason.into() }
    }

    /// Whether a name may be missing.
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        if self.is_whole { name == self.prefix } else { name.starts_with(&self.prefix) }
    }

    /// The same for one name.
    #[must_use]
    pub fn of(&self, name: impl Into<String>) -> Self {
        Self { prefix: name.into(), is_whole: true, reason: self.reason.clone() }
    }
}

/// What is told of a name that was not found: of those whose it may be, the likeliest.
pub(crate) fn refusal(missing: &[Missing], name: &str) -> Option<Refusal> {
    let of_it = missing.iter().filter(|one| one.is_of(name));
    let likeliest = of_it.max_by_key(|one| one.prefix.len())?;
    Some(Refusal::new(Mistake::Upstream, likeliest.reason.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_tells_whose_a_name_is() {
        let missing = [Missing::new("a_", "A"), Missing::new("a_b_", "AB")];
        let check = |name: &str, expected: Option<&str>| {
            let told = refusal(&missing, name).map(|refusal| refusal.message.into_owned());
            assert_eq!(told.as_deref(), expected, "{name}");
        };
        check("a_try", Some("A"));
        check("a_b_try", Some("AB"));
        check("b_try", None);
        check("", None);
        let named = [missing[0].of("try")];
        let of_name = |name: &str| refusal(&named, name).map(|refusal| refusal.message);
        assert_eq!((of_name("try").as_deref(), of_name("trying")), (Some("A"), None));
    }
}
