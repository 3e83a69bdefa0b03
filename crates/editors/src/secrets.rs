//! Where secrets probably stand in the texts of a server, and what each is called. A guess, which
//! takes rather too much than too little: asked by `parts`, for those who move secrets elsewhere.

use crate::entry::{end_of_secret_name, is_secret_name, is_url, last_name};
use std::ops::Range;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// What it is called there: an option, a variable, a header; empty if it has no name.
    pub(crate) hint: String,
}

/// Those of each argument of a program.
pub(crate) fn in_args(args: &[String]) -> Vec<Vec<Spot>> {
    let mut before = "";
    let mut all = Vec::with_capacity(args.len());
    for argument in args {
        let option = Some(before).filter(|_| !argument.starts_with("--"));
        let is_option = argument.starts_with('-') && !argument.contains('=');
        before = if is_option { argument } else { "" };
        all.push(match option {
            Some("-H" | "--header" | "-e" | "--env") => in_pair(argument),
            Some(option) if is_secret(option, argument) => whole(argument, option),
            _ => in_words(argument),
        });
    }
    all
}

/// Those of the value of a variable or header.
pub(crate) fn in_value(name: &str, value: &str) -> Vec<Spot> {
    if is_secret(name, value) {
        return match end_of_scheme(value) {
            0 => whole(value, name),
            start if is_authorization(name) => spot(start..value.len(), "token"),
            start => spot(start..value.len(), name),
        };
    }
    if is_url(value) && !value.contains(' ') {
        return in_url(value);
    }
    let is_path = value.starts_with(['/', '.', '~']) && value.contains('/') && !is_random(value);
    if is_path || is_plain(value) { Vec::new() } else { whole(value, name) }
}

/// Those of an address: a password, values of its query, and what of its path nobody can guess.
pub(crate) fn in_url(url: &str) -> Vec<Spot> {
    let mut spots = Vec::new();
    let end = url.find('#').unwrap_or(url.len());
    let query = url[..end].find('?').unwrap_or(end);
    let start = url[..query].find("://").map_or(0, |at| at + "://".len());
    let path = url[start..query].find('/').map_or(query, |at| start + at);
    if let Some(at) = url[start..path].rfind('@') {
        let user = &url[start..start + at];
        let password = user.find(':').map_or(0, |at| at + 1);
        spots.extend(spot(start + password..start + at, "password"));
    }
    let mut from = path;
    for segment in url[path..query].split('/') {
        if is_random(segment) {
            spots.extend(spot(from..from + segment.len(), "key"));
        }
        from += segment.len() + 1;
    }
    let mut from = (query + 1).min(end);
    for pair in url[from..end].split('&') {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        if is_secret(name, value) || !is_plain(value) {
            let value = from + pair.len() - value.len()..from + pair.len();
            spots.extend(spot(value, if name.is_empty() { "key" } else { name }));
        }
        from += pair.len() + 1;
    }
    spots
}

/// Those of `NAME=value` or `Name: value`.
fn in_pair(text: &str) -> Vec<Spot> {
    let Some(at) = text.find(['=', ':']) else { return Vec::new() };
    let start = at + 1 + (text[at + 1..].len() - text[at + 1..].trim_start().len());
    let mut spots = in_value(&text[..at], &text[start..]);
    for spot in &mut spots {
        spot.range = spot.range.start + start..spot.range.end + start;
    }
    spots
}

/// Those of an argument in which others may be, as in `-c 'export KEY=…; run'`: all from where one
/// is called by its name.
fn in_words(argument: &str) -> Vec<Spot> {
    let mut spots = Vec::new();
    let mut from = 0;
    let is_path = ["/", "./", "../", "~"].iter().any(|start| argument.starts_with(start));
    for word in argument.split(' ') {
        let next = from + word.len() + 1;
        let named = end_of_secret_name(word).filter(|_| !is_url(word));
        let rest = argument.len().min(next);
        if is_url(word) {
            spots.extend(in_url(word).into_iter().map(|Spot { range, hint }| Spot {
                range: range.start + from..range.end + from,
                hint,
            }));
        } else if let Some(end) = named {
            let mut start = from + end;
            start += argument[start..].len() - argument[start..].trim_start().len();
            start += end_of_scheme(&argument[start..]);
            let name = last_name(&word[..end - 1]);
            if is_secret(name, &argument[start..]) {
                spots.extend(spot(start..argument.len(), name));
                return spots;
            }
        } else if rest == next
            && is_secret_name(last_name(word))
            && is_secret(last_name(word), &argument[rest..])
        {
            spots.extend(spot(rest..argument.len(), last_name(word)));
            return spots;
        } else if !is_path && let Some(random) = random_in(word) {
            spots.extend(spot(random.start + from..random.end + from, "key"));
        }
        from = next;
    }
    spots
}

fn whole(text: &str, hint: &str) -> Vec<Spot> {
    spot(0..text.len(), hint)
}

fn spot(range: Range<usize>, hint: &str) -> Vec<Spot> {
    let hint = hint.to_owned();
    if range.is_empty() { Vec::new() } else { vec![Spot { range, hint }] }
}

fn is_authorization(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("authorization")
}

/// Where what follows `Bearer ` and its like begins; 0 without one.
fn end_of_scheme(value: &str) -> usize {
    let schemes = ["bearer ", "basic ", "token "];
    let is_start = |scheme: &&&str| {
        value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    schemes.iter().find(is_start).map_or(0, |scheme| scheme.len())
}

/// Whether what has this name is a secret, if it is not only switched on by it or counted.
fn is_secret(name: &str, value: &str) -> bool {
    let is_count = || {
        name.to_ascii_lowercase().ends_with("tokens") && value.bytes().all(|b| b.is_ascii_digit())
    };
    is_secret_name(name) && !["", "true", "false", "null"].contains(&value) && !is_count()
}

/// Whether a text is made of words and numbers, as settings, paths and addresses are: `us-east-1`,
/// `/home/ada`, `3000`.
fn is_plain(text: &str) -> bool {
    let is_plain_piece = |piece: &str| {
        let digits = piece.chars().filter(|c| c.is_numeric()).count();
        match digits {
            0 => piece.len() <= WORD_BYTES,
            _ if digits == piece.chars().count() => digits <= NUMBER_DIGITS,
            _ => piece.len() <= MIXED_BYTES,
        }
    };
    text.split(|c: char| !c.is_alphanumeric()).all(is_plain_piece)
}

/// The longest piece of a setting: of letters, of digits, and of both.
const WORD_BYTES: usize = 24;
const NUMBER_DIGITS: usize = 12;
const MIXED_BYTES: usize = 4;

/// Whether a text looks drawn by lot: letters and digits in a long row.
fn is_random(text: &str) -> bool {
    random_in(text).is_some()
}

/// From the first to the last byte of what looks drawn by lot, with its `-` and `_`.
fn random_in(word: &str) -> Option<Range<usize>> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_drawn = |piece: &str| {
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        let has = |is: fn(&u8) -> bool| piece.bytes().any(|byte| is(&byte));
        let is_of_both_cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
        match digits {
            0 => false,
            1 => piece.len() >= RANDOM_LETTERS && is_of_both_cases,
            _ => piece.len() >= RANDOM_BYTES && digits < piece.len(),
        }
    };
    let mut rest = word;
    while let Some(start) = rest.find(is_of_key) {
        let from = word.len() - rest.len() + start;
        let end = word[from..].find(|c| !is_of_key(c)).map_or(word.len(), |at| from + at);
        let is_digest = word[..from].ends_with("sha256:");
        if !is_digest && word[from..end].split(['-', '_']).any(is_drawn) {
            return Some(from..end);
        }
        rest = &word[end..];
    }
    None
}

/// No shorter row of letters and digits is taken for one that was drawn by lot.
const RANDOM_BYTES: usize = 12;
/// Nor a shorter one with a single digit.
const RANDOM_LETTERS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn check(text: &str, spots: Vec<Spot>, expected: &str) {
        let mut shown = String::new();
        let mut done = 0;
        for Spot { range, hint } in spots {
            shown.push_str(&text[done..range.start]);
            shown.push_str(&format!("<{hint}>"));
            done = range.end;
        }
        shown.push_str(&text[done..]);
        assert_eq!(shown, expected, "of {text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2000, failure_persistence: None, ..Default::default()
        })]

        #[test]
        fn any_text_has_its_secrets_one_after_the_other(
            texts in vec("[a-z0-9=:/@?&# -]{0,8}(key=|token |é|://|--){0,2}\\PC{0,9}", 1..4),
        ) {
            let all = in_args(&texts);
            for (text, spots) in texts.iter().zip(all) {
                let lists = [spots, in_url(text), in_value("a", text), in_value("a_key", text)];
                for spots in lists {
                    let mut done = 0;
                    for Spot { range, .. } in spots {
                        let is_next = range.start >= done && !range.is_empty();
                        prop_assert!(is_next, "{text:?}: {range:?}");
                        prop_assert!(text.get(range.clone()).is_some(), "{text:?}: {range:?}");
                        done = range.end;
                    }
                }
            }
        }
    }

    #[test]
    fn the_secret_of_a_variable_or_header_is_found() {
        for (name, value, expected) in [
            ("GITHUB_TOKEN", "x", "<GITHUB_TOKEN>"),
            ("API_KEY", "correct horse", "<API_KEY>"),
            ("DB_PWD", "abc", "<DB_PWD>"),
            ("Authorization", "Bearer abc", "Bearer <token>"),
            ("Authorization", "abc", "<Authorization>"),
            ("X-Api-Key", "abc", "<X-Api-Key>"),
            ("DATABASE_URL", "postgres://ada:s3cret@db/x", "postgres://ada:<password>@db/x"),
            ("HOOK", "https://h/s/T0123ABCDEF456/x", "https://h/s/<key>/x"),
            ("ENDPOINT", "https://h/mcp?key=abc&region=eu", "https://h/mcp?key=<key>&region=eu"),
            ("SETTING", "hunter2", "<SETTING>"),
            ("X", "sk-abcdEFGH1234", "<X>"),
            ("LOG_LEVEL", "debug", "debug"),
            ("PORT", "3000", "3000"),
            ("REGION", "us-east-1", "us-east-1"),
            ("DIR", "/home/ada/My Files", "/home/ada/My Files"),
            ("URL", "https://api.example.com/v1", "https://api.example.com/v1"),
            ("MAX_TOKENS", "4096", "4096"),
            ("USE_AUTH", "true", "true"),
            ("MODEL", "gpt-4o", "gpt-4o"),
            ("API_KEY", "", ""),
            ("PATH", "/usr/bin:/opt/node20/bin", "/usr/bin:/opt/node20/bin"),
            ("X", "/dGhpc2lzYXNlY3JldA1/x", "<X>"),
            ("HOOK", "https://h/s/NjQ3ZTJhYjUtMWQy/x", "https://h/s/<key>/x"),
        ] {
            check(value, in_value(name, value), expected);
        }
    }

    #[test]
    fn the_secrets_of_arguments_are_found() {
        for (args, expected) in [
            (vec!["--api-key", "s3"], "--api-key <--api-key>"),
            (vec!["--api-key=s3"], "--api-key=<--api-key>"),
            (vec!["--token", "--verbose"], "--token --verbose"),
            (vec!["-e", "GITHUB_TOKEN"], "-e GITHUB_TOKEN"),
            (vec!["-e", "GITHUB_TOKEN=s3"], "-e GITHUB_TOKEN=<GITHUB_TOKEN>"),
            (vec!["-e", "LEVEL=info"], "-e LEVEL=info"),
            (vec!["--header", "Authorization: Bearer s"], "--header Authorization: Bearer <token>"),
            (vec!["Authorization: Bearer s3"], "Authorization: Bearer <Authorization>"),
            (vec!["-c", "export K_KEY=s3; run"], "-c export K_KEY=<K_KEY>"),
            (vec!["-c", "run --token s3 now"], "-c run --token <--token>"),
            (vec!["start", "napi_abc123def456ghi"], "start <key>"),
            (vec!["https://u:s3@h/p?token=s3&x=a"], "https://u:<password>@h/p?token=<token>&x=a"),
            (vec!["-y", "@scope/server-github@1.2.3"], "-y @scope/server-github@1.2.3"),
            (vec!["--max-tokens", "100"], "--max-tokens 100"),
            (vec!["/nix/store/abc123def456ghi/x"], "/nix/store/abc123def456ghi/x"),
            (vec!["i@sha256:abc123def456abc123"], "i@sha256:abc123def456abc123"),
            (vec!["--path", "/etc", "run"], "--path /etc run"),
            (vec!["é\u{202e} napi_abc123def456ghi"], "é\u{202e} <key>"),
        ] {
            let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            let spots = in_args(&args);
            let (mut text, mut all) = (String::new(), Vec::new());
            for (argument, spots) in args.iter().zip(spots) {
                let start = text.len() + usize::from(!text.is_empty());
                text =
                    if text.is_empty() { argument.clone() } else { format!("{text} {argument}") };
                all.extend(spots.into_iter().map(|Spot { range, hint }| Spot {
                    range: range.start + start..range.end + start,
                    hint,
                }));
            }
            check(&text, all, expected);
        }
    }
}
