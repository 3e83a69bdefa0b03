//! The page on environment variables, and the test that the sources read no other.

use super::{page as titled, root, table};

/// Every variable that haft, or a library for it, reads.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("ALL_PROXY", "what is asked over HTTP", "the proxy for every address; lower case counts too"),
    ("APPDATA", "`discover`, `install`, targets by name", "where editors keep files on Windows"),
    ("CI", "all", "colours in a terminal that has no `TERM`"),
    ("CLICOLOR", "all", "`0` is no colours, as with `NO_COLOR`"),
    ("CLICOLOR_FORCE", "all", "colours where there is no terminal"),
    ("CODEX_HOME", "`discover`, `install`, targets by name", "where Codex keeps its file"),
    (
        "HAFT_ABOVE",
        "`serve`, `dev`",
        "set for the processes of upstreams: which files are served by the gateways that started \
         them, so that none starts itself for ever",
    ),
    (
        "HAFT_CALL",
        "`serve`, `dev`",
        "set for every program that a tool runs and every upstream, so that what they start is \
         known as theirs; a haft that a tool runs adds to it",
    ),
    (
        "HAFT_CLIENT_SECRET",
        "`list`, `call`, `read`, `prompt`, `inspect`",
        "the secret of the client that `--client-id` names",
    ),
    (
        "HAFT_INSIDE",
        "`serve`, `dev`",
        "the socket of a `haft bench` that looks into what it has started; set by that alone",
    ),
    (
        "HAFT_JOIN",
        "`agent`",
        "the token to join with, where others cannot read it as they could `--join`",
    ),
    (
        "HOME",
        "`discover`, `install`, targets by name; verbs that take a URL",
        "where editors' files are looked for, and credentials are kept",
    ),
    ("HTTP_PROXY", "what is asked over HTTP", "the proxy for `http:`; lower case counts too"),
    ("HTTPS_PROXY", "what is asked over HTTP", "the proxy for `https:`; lower case counts too"),
    ("NO_COLOR", "all", "no colours, unless it is empty"),
    ("NO_PROXY", "what is asked over HTTP", "hosts and networks that are reached without a proxy"),
    (
        "PATH",
        "`serve`, `call`, `check`, `doctor`",
        "where the programs of tools are looked for; editors start haft with one of their own, \
         which `haft install --env PATH` replaces",
    ),
    ("SSL_CERT_DIR", "HTTPS", "directories of certificates to trust instead of the system's"),
    ("SSL_CERT_FILE", "HTTPS", "a file of certificates to trust instead of the system's"),
    ("TERM", "all", "`dumb` is no colours"),
    ("UPDATE_GOLDEN", "`haft::testing::check_tools`", "write the golden file anew"),
    (
        "XDG_CONFIG_HOME",
        "`discover`, `install`, targets by name",
        "where editors keep files on Linux, instead of `~/.config`",
    ),
    (
        "XDG_STATE_HOME",
        "verbs that take a URL, `agent`, `invite`, `revoke`, `serve --agents`",
        "where credentials and certificates are kept, instead of `~/.local/state`",
    ),
];

pub(super) fn page() -> String {
    let mut text = titled(
        "Environment variables",
        "haft itself needs none. A file reads those that it names with `${env:NAME}`, once, when \
         it is loaded; a program that a tool runs has those of haft but its secrets, and what its \
         `env` adds.",
    );
    text.push('\n');
    let row = |(name, verbs, what): &(&str, &str, &str)| {
        vec![format!("`{name}`"), (*verbs).to_owned(), (*what).to_owned()]
    };
    table(&mut text, &["name", "read by", "what"], &VARIABLES.iter().map(row).collect::<Vec<_>>());
    text
}

/// The names that a source reads, and those of its constants if it reads any.
fn names(source: &str) -> Vec<&str> {
    let is_read =
        |line: &&str| ["var(", "var_os(", "const "].iter().any(|word| line.contains(word));
    let is_name = |text: &&str| {
        text.len() > 3 && text.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    };
    let lines = source.lines().filter(|_| source.contains("env::var")).filter(is_read);
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).filter(is_name).collect()
}

#[test]
fn the_sources_read_no_other_variable() {
    let mut directories = vec![root().join("crates")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("it is there") {
            let path = entry.expect("it can be read").path();
            let is_source = path.extension().is_some_and(|end| end == "rs");
            // This page's own sources read what they are told to and compare it.
            let is_ours = path.to_string_lossy().contains("reference");
            if path.is_dir() && !is_ours && !path.ends_with("tests") {
                directories.push(path);
            } else if is_source && !is_ours {
                let source = std::fs::read_to_string(&path).expect("it is text");
                let source = source.split("\n#[cfg(test)]").next().unwrap_or_default();
                for name in names(source) {
                    let is_known = VARIABLES.iter().any(|(known, _, _)| *known == name);
                    assert!(is_known, "{} reads {name}: it is on no page", path.display());
                }
            }
        }
    }
}
