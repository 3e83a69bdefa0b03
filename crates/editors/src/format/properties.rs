//! Random files of every format: a server goes in and comes out again, and nothing else changes.
//! The generators write what people write: comments, trailing commas, every layout.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

const SLOT: Slot<'_> = Slot { keys: &["servers"], name: "haft" };

fn server() -> Value {
    json!({"command": "/bin/haft \"x\"", "args": ["serve", "/a\\b"], "env": {"K": "v"}})
}

/// What may stand between two parts of JSON.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\n\n\t".to_owned()),
        1 => Just(" /* , } */ ".to_owned()),
        1 => Just(" // \" , {\n    ".to_owned()),
        1 => Just("\n// own line\n".to_owned()),
    ]
}

fn json_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("\"// no , comment\"".to_owned()),
        Just("\"a\\\"}\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            object(inner.clone()),
            (gap(), inner, gap()).prop_map(|(a, item, b)| format!("[{a}{item}{b}]")),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (gap(), "[a-e]", gap(), value, gap());
    (vec(member, 0..4), any::<bool>(), gap()).prop_map(|(mut members, is_trailing, end)| {
        // Keys are told apart, as only machines write one twice.
        let mut text = "{".to_owned();
        let count = members.len();
        for (index, (a, key, b, value, c)) in members.drain(..).enumerate() {
            let comma = if index + 1 < count || is_trailing { "," } else { "" };
            text.push_str(&format!("{a}\"{key}{index}\"{b}:{b}{value}{c}{comma}"));
        }
        text + &end + "}"
    })
}

/// A file with servers, with an empty mapping of servers, and without any.
fn json_file() -> impl Strategy<Value = String> {
    let whole = |(a, before, b, servers, c, after, d): (
        String,
        Option<String>,
        String,
        Option<String>,
        String,
        Option<String>,
        String,
    )| {
        let mut members = Vec::new();
        members.extend(before.map(|value| format!("{b}\"before\": {value}")));
        members.extend(servers.map(|value| format!("{c}\"servers\":{value}{b}")));
        members.extend(after.map(|value| format!("{c}\"after\" :{value}")));
        format!("{a}{{{}{d}}}{a}", members.join(","))
    };
    let option = || proptest::option::of(json_value());
    let servers = proptest::option::of(object(json_value()));
    (gap(), option(), gap(), servers, gap(), option(), gap()).prop_map(whole)
}

fn comments(text: &str) -> Vec<String> {
    let options = jsonc_parser::CollectOptions {
        comments: jsonc_parser::CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &options, &Default::default()).expect("JSON");
    let tokens = parsed.tokens.expect("tokens were asked for");
    let comment = |token: jsonc_parser::tokens::TokenAndRange<'_>| match token.token {
        jsonc_parser::tokens::Token::CommentLine(text)
        | jsonc_parser::tokens::Token::CommentBlock(text) => Some(text.trim().to_owned()),
        _ => None,
    };
    tokens.into_iter().filter_map(comment).collect()
}

/// Whether all bytes of `old` are in `new`, in their order.
fn is_within(old: &str, new: &str) -> bool {
    let mut rest = new.bytes();
    old.bytes().all(|byte| rest.any(|other| other == byte))
}

fn lines_of_yaml() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("top: 1\n"),
        Just("# a comment\n"),
        Just("\n"),
        Just("list:\n- a\n- b # c\n"),
        Just("text: |\n  servers:\n    haft: no\n"),
        Just("map:\n    servers:\n        haft: {}\n"),
        Just("flow: {servers: {a: 1}}\n"),
    ];
    // Keys are told apart by what is put before them.
    vec(line, 0..4).prop_map(|lines| {
        let rename = |(index, line): (usize, &&str)| match line.chars().next() {
            Some('t' | 'l' | 'm' | 'f') => format!("k{index}{line}"),
            _ => (*line).to_owned(),
        };
        lines.iter().enumerate().map(rename).collect()
    })
}

fn yaml_file() -> impl Strategy<Value = String> {
    let servers = prop_oneof![
        Just(""),
        Just("servers: {}\n"),
        Just("servers:\n"),
        Just("servers:\n  one:\n    cmd: a\n"),
        Just("servers: # mine\n\n  # first\n  one: {cmd: a}\n  # last\n"),
        Just("servers:\n    one:\n        args:\n        - a\n\n    two: {}\n"),
    ];
    (lines_of_yaml(), servers, lines_of_yaml()).prop_map(|(before, servers, after)| {
        let after = after.replace("\nk", "\nz");
        let after =
            after.strip_prefix('k').map_or_else(|| after.clone(), |rest| format!("z{rest}"));
        format!("{before}{servers}{after}")
    })
}

fn toml_file() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("# a comment\n"),
        Just("\n"),
        Just("[tableN]\na = 1 # why\n\"b c\" = \"\"\"\n[servers.haft]\n\"\"\"\n"),
        Just("[servers.sN]\ncommand = 'x'\nargs = [\n  \"[a]\", # b\n]\n"),
        Just("[[listN]]\nx = 1\n\n[servers.tN.env]\nA = \"b\"\n"),
    ];
    let top = prop_oneof![Just(""), Just("model = \"x\"\n"), Just("# top\nd = 1979-05-27\n")];
    (top, vec(part, 0..5), any::<bool>()).prop_map(|(top, parts, ends)| {
        let part = |(index, part): (usize, &&str)| {
            part.replace("N]", &format!("{index}]")).replace("N.", &format!("{index}."))
        };
        let parts: String = parts.iter().enumerate().map(part).collect();
        let text = format!("{top}{parts}");
        if ends { text } else { text.trim_end().to_owned() }
    })
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_server_goes_into_any_json_and_comes_out(text in json_file(), crlf in any::<bool>()) {
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let before = Format::Json.read(&text).expect(&text);
        let with = Format::Json.with(&text, SLOT, &server()).expect(&text);
        prop_assert!(is_within(&text, &with), "{with}");
        prop_assert_eq!(comments(&with), comments(&text));
        let again = Format::Json.with(&with, SLOT, &json!({"command": "b"})).expect(&with);
        prop_assert_eq!(comments(&again), comments(&text));
        let without = Format::Json.without(&with, SLOT).expect(&with);
        prop_assert_eq!(comments(&without), comments(&text));
        prop_assert!(is_within(&without, &with), "{without}");
        if before["servers"].as_object().is_some_and(|servers| !servers.is_empty()) {
            prop_assert_eq!(without, text);
        }
    }

    #[test]
    fn any_server_comes_out_of_any_json(text in json_file()) {
        let before = Format::Json.read(&text).expect(&text);
        for name in before["servers"].as_object().into_iter().flat_map(|servers| servers.keys()) {
            let slot = Slot { keys: &["servers"], name };
            let without = Format::Json.without(&text, slot).expect(&text);
            prop_assert!(is_within(&without, &text), "{without}");
        }
    }

    #[test]
    fn a_server_goes_into_any_toml_and_comes_out(text in toml_file()) {
        let with = Format::Toml.with(&text, SLOT, &server()).expect(&text);
        prop_assert!(with.starts_with(&text), "{with}");
        let without = Format::Toml.without(&with, SLOT).expect(&with);
        let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        prop_assert_eq!(without, format!("{text}{line}"));
        let again = Format::Toml.with(&with, SLOT, &json!({"command": "b"})).expect(&with);
        let more = format!("{with}# end\n[z]\nq = 1\n");
        prop_assert_eq!(Format::Toml.with(&again, SLOT, &server()).expect(&again), with);
        // What is added behind it stays.
        let without = Format::Toml.without(&more, SLOT).expect(&more);
        prop_assert_eq!(without, format!("{text}{line}# end\n[z]\nq = 1\n"));
    }

    #[test]
    fn a_server_goes_into_any_yaml_and_comes_out(text in yaml_file()) {
        let before = Format::Yaml.read(&text).expect(&text);
        let with = Format::Yaml.with(&text, SLOT, &server()).expect(&text);
        let without = Format::Yaml.without(&with, SLOT).expect(&with);
        if before["servers"].as_object().is_some_and(|servers| !servers.is_empty()) {
            prop_assert!(is_within(&text, &with), "{with}");
            prop_assert_eq!(without, text);
        }
        let again = Format::Yaml.with(&with, SLOT, &json!({"command": "b"})).expect(&with);
        prop_assert_eq!(Format::Yaml.with(&again, SLOT, &server()).expect(&again), with);
    }

    #[test]
    fn no_bytes_make_a_format_panic(bytes in vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            _ = format.with(&text, SLOT, &server());
            _ = format.without(&text, SLOT);
        }
    }

    #[test]
    fn no_broken_file_makes_a_format_panic(
        text in json_file(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text: String = text.chars().take(cut.index(text.len() + 1)).collect();
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            _ = format.with(&text, SLOT, &server());
            _ = format.without(&text, SLOT);
        }
    }
}
