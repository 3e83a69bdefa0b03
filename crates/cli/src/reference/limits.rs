//! The page on limits: every file of limits of the workspace, as it is.

use super::source::{items, shown};
use super::{page as titled, root, table};
use std::path::PathBuf;

/// The files, and what is said of each. Every `limits.rs` of the workspace is here.
const FILES: &[(&str, &str, &str)] = &[
    (
        "crates/proto/src/limits.rs",
        "Messages, wires and sessions",
        "What a client may push against. A program sets its own with `haft::Limits`.",
    ),
    (
        "crates/transport/src/http/secure/http3/limits.rs",
        "HTTP/3",
        "Of what QUIC holds for a client, besides the limits of all of HTTP.",
    ),
    (
        "crates/manifest/src/limits.rs",
        "haft.yaml, and what its tools run",
        "Of the file, its templates, programs, pipelines and resources.",
    ),
    (
        "crates/manifest/src/openapi/limits.rs",
        "Documents that describe APIs",
        "Of the documents of `upstreams`, and of the tools that are made of them.",
    ),
    (
        "crates/server/src/schema/limits.rs",
        "Schemas",
        "Of the schemas of tools, and of the work that a check of arguments may be.",
    ),
    (
        "crates/server/src/search/limits.rs",
        "Looking for tools",
        "Of what a model may ask of `find_tools`, and of what it is told.",
    ),
    (
        "crates/fetch/src/limits.rs",
        "Requests to other servers",
        "Of what the tools with `http` send, and of what comes back.",
    ),
    (
        "crates/gateway/src/limits.rs",
        "Servers behind this one",
        "Of upstreams, and of what they have.",
    ),
    (
        "crates/link/src/limits.rs",
        "The link of an agent",
        "Of what an agent and its gateway say to each other.",
    ),
    (
        "crates/agent/src/limits.rs",
        "Agents",
        "Of links, of the calls over them, and of how long either end waits.",
    ),
    ("crates/store/src/limits.rs", "State", "Of what tools keep from one call to the next."),
    ("crates/client/src/limits.rs", "haft as a client", "What a server may ask of `haft call`."),
    ("crates/bench/src/limits.rs", "A load", "Of what `haft bench` sends and reads."),
    (
        "crates/editors/src/limits.rs",
        "Editors' files",
        "Of what `discover`, `install` and `import` read.",
    ),
];

pub(super) fn page() -> String {
    let mut text = titled(
        "Limits",
        "Whatever somebody else can make grow has a bound. These are the bounds that matter to \
         users. A row names the [key](keys.md) or [option](commands.md) that changes it; others \
         are fixed.",
    );
    for (path, title, about) in FILES {
        text.push_str(&format!("\n## {title}\n\n{about}\n\n"));
        let source = std::fs::read_to_string(root().join(path)).expect("the file is there");
        table(&mut text, &["name", "value", "what"], &rows(&source));
    }
    text
}

fn rows(source: &str) -> Vec<Vec<String>> {
    let defaults = source.split("impl Default for").nth(1).unwrap_or_default();
    let of_field = |name: &str| {
        let line = defaults.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        line.map(|value| value.trim_end_matches(',').to_owned())
    };
    let mut rows = Vec::new();
    for item in items(source) {
        let constant = item.line.split_once("const ").and_then(|(_, rest)| rest.split_once(": "));
        let (name, value) = match constant {
            Some((name, rest)) => {
                let value = rest.split_once("= ").map(|(_, value)| value.trim_end_matches(';'));
                (name, value.map(str::to_owned))
            }
            None => {
                let field = item.line.strip_prefix("pub ").and_then(|line| line.split_once(": "));
                let Some((name, _)) = field else { continue };
                (name, of_field(name))
            }
        };
        let value = value.unwrap_or_else(|| panic!("{name} has no value in one line"));
        rows.push(vec![format!("`{name}`"), shown(name, &value), item.doc]);
    }
    rows
}

#[test]
fn every_file_of_limits_is_on_the_page() {
    let known: Vec<PathBuf> = FILES.iter().map(|(path, _, _)| root().join(path)).collect();
    let mut directories = vec![root().join("crates")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("it is there") {
            let path = entry.expect("it can be read").path();
            if path.ends_with("crates/field") {
                // A chore's, as those of xtask.
                continue;
            } else if path.is_dir() {
                directories.push(path);
            } else if path.ends_with("limits.rs") && !path.ends_with("reference/limits.rs") {
                assert!(known.contains(&path), "{} is on no page", path.display());
            }
        }
    }
}
