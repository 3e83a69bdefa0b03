//! The condition of a step: from what pforge and its documents write to an expression of templates.
//! Called by `pipeline`.

use super::placeholder::{is_given_name, is_path, reading};
use crate::alias;

/// Words that are values, as YAML and JSON write them and as templates do.
const VALUES: [(&str, &str); 11] = [
    ("true", "true"),
    ("True", "true"),
    ("TRUE", "true"),
    ("false", "false"),
    ("False", "false"),
    ("FALSE", "false"),
    ("null", "none"),
    ("Null", "none"),
    ("nil", "none"),
    ("none", "none"),
    ("None", "none"),
];

/// A name alone asks whether there is such a value; everything else is calculated. `known` are the
/// names of parameters and of what steps have made.
pub(super) fn translate(condition: &str, known: &[String]) -> String {
    let condition = condition.trim();
    let (is_not, name) = match condition.strip_prefix('!') {
        Some(name) => (true, name.trim()),
        None => (false, condition),
    };
    if is_given_name(name) && value(name).is_none() {
        let name = alias::inner(name);
        let is_there = format!("{name} is defined and {name} is not none");
        return if is_not { format!("not ({is_there})") } else { is_there };
    }
    let mut out = String::new();
    let mut rest = condition;
    while let Some(first) = rest.chars().next() {
        let (written, length) = next(rest, first, known);
        out.push_str(&written);
        rest = &rest[length..];
    }
    out.trim().to_owned()
}

/// What a word is, if it is a value.
fn value(word: &str) -> Option<&'static str> {
    VALUES.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The next word of a condition as an expression has it, and its length in the condition.
fn next(rest: &str, first: char, known: &[String]) -> (String, usize) {
    const WORDS: [(&str, &str); 6] =
        [("&&", " and "), ("||", " or "), ("!=", "!="), ("!", "not "), ("{{", "("), ("}}", ")")];
    if let Some((word, written)) = WORDS.iter().find(|(word, _)| rest.starts_with(word)) {
        return ((*written).to_owned(), word.len());
    }
    if matches!(first, '"' | '\'') {
        let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
        return (rest[..end].to_owned(), end);
    }
    if !first.is_ascii_alphabetic() && first != '_' {
        return (first.to_string(), first.len_utf8());
    }
    let path = path(rest, known);
    let (root, inner) = path.split_once('.').unwrap_or((path, ""));
    // What a pipeline was called with has no name of its own here.
    let is_all = ["input", "params", "variables"].contains(&root) && is_path(inner);
    let is_named = known.iter().any(|name| name == root);
    let written = match value(path) {
        Some(value) => value.to_owned(),
        None if OPERATORS.contains(&path) => path.to_owned(),
        None if is_all && !is_named => reading(inner),
        None => reading(path),
    };
    (written, path.len())
}

/// Words that stand between values.
const OPERATORS: [&str; 7] = ["and", "else", "if", "in", "is", "not", "or"];

/// The path that a text begins with. A dash in it is a minus, unless a known name has it.
fn path<'r>(rest: &'r str, known: &[String]) -> &'r str {
    let until = |marks: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || marks.contains(letter);
        &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())]
    };
    let long = until("_.-").trim_end_matches(['-', '.']);
    let root = long.split('.').next().unwrap_or_default();
    let has_dash = root.contains('-') && known.iter().any(|name| name == root);
    if has_dash { long } else { until("_.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(condition: &str, expected: &str) {
        let known = ["known", "my-data", "in"].map(str::to_owned);
        assert_eq!(translate(condition, &known), expected);
    }

    #[test]
    fn a_name_asks_whether_it_is_there() {
        check("data", "data is defined and data is not none");
        check("my-data", "odd_my_2ddata is defined and odd_my_2ddata is not none");
        check("loop", "odd_loop is defined and odd_loop is not none");
        check("!data", "not (data is defined and data is not none)");
    }

    #[test]
    fn a_value_is_no_name() {
        check("false", "false");
        check("True", "true");
        check("!false", "not false");
        check("!TRUE", "not true");
        check("None", "none");
        check("falsehood", "falsehood is defined and falsehood is not none");
    }

    #[test]
    fn everything_else_is_calculated() {
        check("weather.is_alert", "weather.is_alert");
        check("!tier.is_high", "not tier.is_high");
        check("balance.value >= 1000", "balance.value >= 1000");
        check("{{a.ok}} && !{{b.ok}}", "(a.ok)  and  not (b.ok)");
        check("{{a.grade}} < 'B && C'", "(a.grade) < 'B && C'");
        check("input.source == \"api\" || x != null", "source == \"api\"  or  x != none");
        check("known.x", "known.x");
        check("known-1 > 0 && 'a' in x", "known-1 > 0  and  'a' in x");
        check("my-data.exit_code != 0", "odd_my_2ddata.exit_code != 0");
        check("in.exit_code == 0 || errors.x", "odd_in.exit_code == 0  or  odd_errors.x");
    }
}
