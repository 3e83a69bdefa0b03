//! What upstreams need that is not written into their file: secrets that were in an editor's file,
//! and what an editor asks for or takes from its environment. Each gets the name of a variable.
//! Values are kept for `kept`, and shown to nobody.

use haft_client::Inherit;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How a secret is named in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `${env:NAME}`.
    Env,
    /// `${file:DIRECTORY/NAME}`.
    File,
}

/// A variable that is to be set, or a file that is to be there.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) name: String,
    /// The upstreams that need it.
    pub(crate) upstreams: Vec<String>,
    /// What it was in the editor's file.
    pub(crate) what: String,
    /// The secret; nothing if it was not in the file either.
    pub(crate) value: Option<String>,
    /// Whether it stands where an address begins.
    pub(crate) begins_url: bool,
}

/// Without the value.
impl fmt::Debug for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needed").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All that is needed.
#[derive(Clone, Default)]
pub(crate) struct Vault {
    needed: Vec<Needed>,
    /// Names that are in use already, and by which upstreams; by others than upstreams too if there
    /// is an empty one among them.
    in_use: BTreeMap<String, BTreeSet<String>>,
    /// What is kept already where secrets will be.
    kept: BTreeMap<String, String>,
}

impl Vault {
    /// Beside these names of a file, and what is kept already.
    pub(crate) fn new(
        in_use: BTreeMap<String, BTreeSet<String>>,
        kept: BTreeMap<String, String>,
    ) -> Self {
        Self { needed: Vec::new(), in_use, kept }
    }

    /// Names a secret of an upstream.
    pub(crate) fn keep(&mut self, upstream: &str, hint: &str, value: &str, what: &str) -> String {
        let long = capitals(&format!("{upstream}-{hint}"));
        // A name like GITHUB_TOKEN says enough; `token` does not.
        let short = is_variable(hint).then(|| hint.to_owned());
        let numbered = (2..).map(|number: u32| format!("{long}_{number}"));
        let mut names = short.into_iter().chain([long.clone()]).chain(numbered);
        let name = names.find(|name| self.is_free(name, upstream, value)).unwrap_or(long);
        self.need(name, upstream, what, Some(value))
    }

    /// Names what an editor asks for.
    pub(crate) fn ask(&mut self, upstream: &str, id: &str, what: &str) -> String {
        let name = if is_variable(id) { id.to_owned() } else { capitals(id) };
        let name = if name.is_empty() { capitals(&format!("{upstream}-input")) } else { name };
        self.need(name, upstream, what, None)
    }

    /// Takes note of a variable that was one for the editor too, and of what it took without it.
    pub(crate) fn borrow(
        &mut self,
        upstream: &str,
        name: &str,
        otherwise: Option<&str>,
        what: &str,
    ) {
        let otherwise = otherwise.filter(|_| std::env::var_os(name).is_none());
        self.need(name.to_owned(), upstream, what, otherwise);
    }

    /// Takes note that a name stands where an address begins.
    pub(crate) fn begins_url(&mut self, name: &str) {
        for needed in self.needed.iter_mut().filter(|needed| needed.name == name) {
            needed.begins_url = true;
        }
    }

    /// All, by their first use.
    pub(crate) fn needed(&self) -> &[Needed] {
        &self.needed
    }

    /// The variables by which a file is tried: what is not known has some value.
    pub(crate) fn sample(&self, name: &str) -> String {
        let needed = self.needed.iter().find(|needed| needed.name == name);
        let value = needed.and_then(|needed| needed.value.clone());
        let unset = if needed.is_some_and(|needed| needed.begins_url) { URL } else { "unset" };
        value.or_else(|| std::env::var(name).ok()).unwrap_or_else(|| unset.to_owned())
    }

    /// Whether a name can be that of a value: it is nobody else's, here or in the environment.
    fn is_free(&self, name: &str, upstream: &str, value: &str) -> bool {
        if let Some(needed) = self.needed.iter().find(|needed| needed.name == name) {
            return needed.value.as_deref() == Some(value);
        }
        if let Some(kept) = self.kept.get(name) {
            return kept == value;
        }
        let in_use = self.in_use.get(name);
        let is_others = in_use.is_some_and(|users| users.iter().any(|user| user != upstream));
        let is_elsewhere = std::env::var(name).is_ok_and(|known| known != value);
        let is_usual = Inherit::USUAL.split(' ').any(|usual| usual == name);
        !is_others && !is_elsewhere && !is_usual
    }

    fn need(&mut self, name: String, upstream: &str, what: &str, value: Option<&str>) -> String {
        match self.needed.iter_mut().find(|needed| needed.name == name) {
            Some(needed) if needed.upstreams.iter().any(|known| known == upstream) => {}
            Some(needed) => needed.upstreams.push(upstream.to_owned()),
            None => self.needed.push(Needed {
                name: name.clone(),
                upstreams: vec![upstream.to_owned()],
                what: what.to_owned(),
                value: value.map(str::to_owned),
                begins_url: false,
            }),
        }
        name
    }
}

/// What an address is tried as of which nobody knows how it begins.
const URL: &str = "https://unset.invalid";

/// Without values.
impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("needed", &self.needed).finish_non_exhaustive()
    }
}

/// Whether a name looks like that of a variable, like GITHUB_TOKEN.
fn is_variable(name: &str) -> bool {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let is_name = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_name && name.contains('_')
}

/// A text as the name of a variable: letters and digits, in capitals, with `_` between.
fn capitals(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter.to_ascii_uppercase()),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_get_names_that_mean_nothing_else() {
        let in_use = [("USED_KEY", vec!["other"]), ("MINE_KEY", vec!["github"])];
        let in_use = in_use
            .map(|(name, users)| (name.to_owned(), users.into_iter().map(str::to_owned).collect()));
        let kept = [("OLD_KEY", "old"), ("SAME_KEY", "s3")];
        let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut vault = Vault::new(in_use.into(), kept.into());
        for (hint, value, expected) in [
            ("GITHUB_TOKEN", "s3", "GITHUB_TOKEN"),
            ("GITHUB_TOKEN", "s3", "GITHUB_TOKEN"),
            ("GITHUB_TOKEN", "s4", "GITHUB_GITHUB_TOKEN"),
            ("GITHUB_TOKEN", "s5", "GITHUB_GITHUB_TOKEN_2"),
            ("token", "s3", "GITHUB_TOKEN"),
            ("--api-key", "s3", "GITHUB_API_KEY"),
            ("X-Api.Key", "s3", "GITHUB_X_API_KEY"),
            ("", "s3", "GITHUB"),
            ("1st_key", "s3", "GITHUB_1ST_KEY"),
            ("PATH", "s3", "GITHUB_PATH"),
            ("SSL_CERT_FILE", "s3", "GITHUB_SSL_CERT_FILE"),
            ("USED_KEY", "s3", "GITHUB_USED_KEY"),
            ("MINE_KEY", "s3", "MINE_KEY"),
            ("OLD_KEY", "s3", "GITHUB_OLD_KEY"),
            ("SAME_KEY", "s3", "SAME_KEY"),
        ] {
            assert_eq!(vault.keep("github", hint, value, "it"), expected, "of {hint}={value}");
        }
        assert_eq!(vault.ask("github", "api-key", "it"), "API_KEY");
        assert!(!format!("{vault:?}").contains("s3\""), "{vault:?}");
    }
}
