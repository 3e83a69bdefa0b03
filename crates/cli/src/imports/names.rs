//! What a server of an editor is called as an upstream: its name there, as far as that can be one.

use haft_editors::Found;
use haft_manifest::limits::UPSTREAM_NAME_MAX;

/// A name for a server that none of `taken` is: its own, that with its editor's, or a numbered one.
pub(crate) fn unique(found: &Found, taken: &[String]) -> String {
    let own = plain(&found.entry.name);
    let source = plain(&found.source());
    let numbered = (2..).map(|number: u32| joined(&own, &number.to_string()));
    let names = [own.clone(), joined(&own, &source)].into_iter().chain(numbered);
    let mut free = names.filter(|name| taken.iter().all(|other| other != name));
    free.next().unwrap_or(own)
}

/// Whether a server may be meant by a name: that of its entry, or of the upstream it would be.
pub(crate) fn is_of(found: &Found, name: &str) -> bool {
    found.entry.name == name || plain(&found.entry.name) == name
}

/// Letters, digits, `-` and `_`, and at least one; everything else becomes one `-`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars() {
        let is_fine = letter.is_ascii_alphanumeric() || letter == '_';
        match letter {
            _ if is_fine => plain.push(letter),
            _ if plain.ends_with('-') => {}
            _ => plain.push('-'),
        }
    }
    let plain = cut(plain.trim_matches('-'), UPSTREAM_NAME_MAX);
    if plain.is_empty() { "server".to_owned() } else { plain.to_owned() }
}

fn joined(name: &str, end: &str) -> String {
    let end = cut(end, UPSTREAM_NAME_MAX / 2);
    format!("{}-{end}", cut(name, UPSTREAM_NAME_MAX - 1 - end.len()))
}

/// Both are ASCII.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..bytes).unwrap_or(text).trim_end_matches('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_one_that_an_upstream_can_have() {
        for (name, expected) in [
            ("github", "github"),
            ("GitHub_2", "GitHub_2"),
            ("my server!", "my-server"),
            ("io.github.ada/weather", "io-github-ada-weather"),
            ("@scope/pkg", "scope-pkg"),
            ("天気", "server"),
            ("", "server"),
            ("--", "server"),
            ("a name that is much longer than thirty-one", "a-name-that-is-much-longer-than"),
        ] {
            assert_eq!(plain(name), expected, "of {name:?}");
            assert!(plain(name).len() <= UPSTREAM_NAME_MAX);
        }
    }

    #[test]
    fn a_joined_name_is_no_longer_than_a_name_may_be() {
        for (name, end, expected) in [
            ("github", "cursor", "github-cursor"),
            ("a-name-that-is-much-longer-than", "2", "a-name-that-is-much-longer-th-2"),
            (
                "a-name-that-is-much-longer-than",
                "claude-desktop",
                "a-name-that-is-m-claude-desktop",
            ),
        ] {
            assert_eq!(joined(name, end), expected);
            assert!(joined(name, end).len() <= UPSTREAM_NAME_MAX);
        }
    }
}
