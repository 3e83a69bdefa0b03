//! The templates of prompts, which look like Handlebars, become templates of haft. Called by
//! `prompt`.

use super::placeholder::{is_name, keep_dollars, literal};
use serde_json::Value;

/// A template, and what it reads.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) template: String,
    /// The names in order, and whether one stands outside of every condition.
    pub(super) names: Vec<(String, bool)>,
    /// What stays as it is because nobody knows what it means.
    pub(super) unknown: Vec<String>,
    /// A block has no end, or an end no beginning.
    pub(super) is_broken: bool,
}

/// A block that is open.
enum Block {
    Each(String),
    If,
    With(String),
}

/// Reads a template. The defaults are those of arguments, by their names.
pub(super) fn read(text: &str, defaults: &[(String, Value)]) -> Read {
    let mut read = Read::default();
    let mut blocks: Vec<Block> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        read.template.push_str(&literal(&rest[..at]));
        rest = &rest[at..];
        let (open, close) = if rest.starts_with("{{{") { ("{{{", "}}}") } else { ("{{", "}}") };
        let inner = &rest[open.len()..];
        let Some(end) = inner.find(close) else { break };
        let tag = inner[..end].trim().trim_matches('~').trim();
        let whole = &rest[..open.len() + end + close.len()];
        rest = &rest[whole.len()..];
        match read.tag(tag, &mut blocks, defaults) {
            Some(written) => {
                keep_dollars(&mut read.template, 1);
                read.template.push_str(&written);
            }
            None => {
                read.unknown.push(whole.to_owned());
                read.template.push_str(&literal(whole));
            }
        }
    }
    read.template.push_str(&literal(rest));
    read.is_broken |= !blocks.is_empty();
    read
}

impl Read {
    /// A tag as haft writes it; `None` is one that nobody knows.
    fn tag(
        &mut self,
        tag: &str,
        blocks: &mut Vec<Block>,
        defaults: &[(String, Value)],
    ) -> Option<String> {
        if tag.starts_with('!') {
            return Some(String::new());
        }
        let (word, argument) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let argument = argument.trim();
        let is_inside = !blocks.is_empty();
        match word {
            "#if" | "#unless" => {
                let path = self.path(argument, blocks, true, defaults)?;
                blocks.push(Block::If);
                let not = if word == "#unless" { "not " } else { "" };
                Some(format!("{{% if {not}{path} %}}"))
            }
            "#each" => {
                let path = self.path(argument, blocks, true, defaults)?;
                let item = format!("item_{}", blocks.len());
                let written = format!("{{% for {item} in {path} %}}");
                blocks.push(Block::Each(item));
                Some(written)
            }
            "#with" => {
                let path = self.path(argument, blocks, true, defaults)?;
                let written = format!("{{% if {path} %}}");
                let has_default = path.contains(' ');
                blocks.push(Block::With(if has_default { format!("({path})") } else { path }));
                Some(written)
            }
            "else" if is_inside && argument.is_empty() => Some("{% else %}".to_owned()),
            "else" if matches!(blocks.last(), Some(Block::If)) => {
                let (word, argument) = argument.split_once(char::is_whitespace)?;
                let not = match word {
                    "if" => "",
                    "unless" => "not ",
                    _ => return None,
                };
                let path = self.path(argument.trim(), blocks, true, defaults)?;
                Some(format!("{{% elif {not}{path} %}}"))
            }
            "/if" | "/unless" | "/each" | "/with" => {
                let ended = match (word, blocks.pop()) {
                    ("/if" | "/unless", Some(Block::If)) | ("/with", Some(Block::With(_))) => {
                        "{% endif %}"
                    }
                    ("/each", Some(Block::Each(_))) => "{% endfor %}",
                    _ => {
                        self.is_broken = true;
                        ""
                    }
                };
                Some(ended.to_owned())
            }
            "@index" => Some("{{loop.index0}}".to_owned()),
            path if argument.is_empty() => {
                let path = self.path(path, blocks, is_inside, defaults)?;
                Some(format!("{{{{{path}}}}}"))
            }
            _ => None,
        }
    }

    /// A path as it is read within these blocks.
    fn path(
        &mut self,
        path: &str,
        blocks: &[Block],
        is_optional: bool,
        defaults: &[(String, Value)],
    ) -> Option<String> {
        let around = blocks.iter().rev().find_map(|block| match block {
            Block::Each(item) | Block::With(item) => Some((item, matches!(block, Block::Each(_)))),
            Block::If => None,
        });
        if let Some((around, is_each)) = around {
            if path == "this" || path == "." {
                return Some(around.clone());
            }
            let inner = path.strip_prefix("this.");
            if let Some(inner) =
                inner.or_else(|| (!is_each).then_some(path)).filter(|it| is_dotted(it))
            {
                return Some(format!("{around}.{inner}"));
            }
        }
        if !is_dotted(path) {
            return None;
        }
        let root = path.split('.').next().unwrap_or_default();
        match self.names.iter_mut().find(|(name, _)| name == root) {
            Some((_, is_needed)) => *is_needed |= !is_optional,
            None => self.names.push((root.to_owned(), !is_optional)),
        }
        let Some((_, default)) = defaults.iter().find(|(name, _)| name == root) else {
            return Some(path.to_owned());
        };
        // What stands in a text of the file is filled in, a default is not.
        let default = default.to_string().replace("${", "$${");
        Some(match path.split_once('.') {
            Some((_, part)) => format!("({root} | default({default})).{part}"),
            None => format!("{root} | default({default})"),
        })
    }
}

fn is_dotted(path: &str) -> bool {
    path.split('.').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, names: &[(&str, bool)]) {
        let read = read(text, &[("d".to_owned(), "a \"b\" ${C}".into())]);
        assert_eq!(read.template, expected, "{text}");
        let found: Vec<_> = read.names.iter().map(|(name, it)| (name.as_str(), *it)).collect();
        assert_eq!(found, names, "{text}");
    }

    #[test]
    fn blocks_and_names_are_read() {
        check("Hi {{ name }}{{{raw}}}!", "Hi {{name}}{{raw}}!", &[("name", true), ("raw", true)]);
        check("a{{! no }}b", "ab", &[]);
        check(
            "{{#if a}}{{a.b}}{{else}}{{c}}{{/if}}{{c}}",
            "{% if a %}{{a.b}}{% else %}{{c}}{% endif %}{{c}}",
            &[("a", false), ("c", true)],
        );
        check("{{#unless a}}x{{/unless}}", "{% if not a %}x{% endif %}", &[("a", false)]);
        check(
            "{{#each a}}{{this}}{{this.b}}{{@index}}{{/each}}",
            "{% for item_0 in a %}{{item_0}}{{item_0.b}}{{loop.index0}}{% endfor %}",
            &[("a", false)],
        );
        check("{{d}}", r#"{{d | default("a \"b\" $${C}")}}"#, &[("d", true)]);
        check("{{#with a}}{{b}}{{/with}}", "{% if a %}{{a.b}}{% endif %}", &[("a", false)]);
        check(
            "{{#if a}}x{{else if b}}y{{else unless c}}z{{else}}w{{/if}}",
            "{% if a %}x{% elif b %}y{% elif not c %}z{% else %}w{% endif %}",
            &[("a", false), ("b", false), ("c", false)],
        );
        check(
            "{{#with d}}{{b}}{{this}}{{/with}}",
            concat!(
                r#"{% if d | default("a \"b\" $${C}") %}{{(d | default("a \"b\" $${C}")).b}}"#,
                r#"{{(d | default("a \"b\" $${C}"))}}{% endif %}"#
            ),
            &[("d", false)],
        );
    }

    #[test]
    fn what_nobody_knows_stays() {
        let read = read("{{> part}} {{x y}} ${HOME} {% if %}", &[]);
        assert_eq!(read.unknown, ["{{> part}}", "{{x y}}"]);
        assert_eq!(read.template, "{{ '{{' }}> part}} {{ '{{' }}x y}} $${HOME} {{ '{%' }} if %}");
        let read = super::read("{{#if a}}{{else when b}}{{else if b c}}{{/if}}", &[]);
        assert_eq!(read.unknown, ["{{else when b}}", "{{else if b c}}"]);
        assert!(super::read("{{#if a}}", &[]).is_broken && super::read("{{/if}}", &[]).is_broken);
    }
}
