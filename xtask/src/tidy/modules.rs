//! Follows `mod` from the roots of every crate and finds the Rust files that nothing reaches: code
//! that no compiler reads. `tidy` calls it; it never expands macros.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Finding, Rule};
use super::source::Source;
use super::tokens::{Token, tokens};

/// A finding for each Rust file that no crate contains.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let rust: BTreeMap<&str, &Source> = sources
        .iter()
        .filter(|source| source.is_rust() && !source.is_fixture())
        .map(|source| (source.path.as_str(), source))
        .collect();
    let roots: BTreeSet<String> = roots(sources, &rust).into_iter().collect();
    let mut waiting: Vec<String> = roots.iter().cloned().collect();
    let mut reached = roots.clone();
    while let Some(path) = waiting.pop() {
        let Some(source) = rust.get(path.as_str()) else { continue };
        for child in children(source, roots.contains(&path) || path.ends_with("/mod.rs")) {
            if rust.contains_key(child.as_str()) && reached.insert(child.clone()) {
                waiting.push(child);
            }
        }
    }
    rust.keys()
        .filter(|path| !reached.contains(**path))
        .map(|path| Finding {
            rule: Rule::OrphanFile,
            path: (*path).to_owned(),
            line: 1,
            message: "no `mod` and no manifest reaches this file, declare it or delete it".into(),
        })
        .collect()
}

/// The files that Cargo finds by itself, and those that manifests name.
fn roots(sources: &[Source], rust: &BTreeMap<&str, &Source>) -> Vec<String> {
    let mut found = Vec::new();
    for manifest in sources.iter().filter(|source| source.path.ends_with("Cargo.toml")) {
        let folder = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
        let inside = rust.keys().filter_map(|path| path.strip_prefix(folder));
        found.extend(inside.filter(|path| is_root(path)).map(|path| format!("{folder}{path}")));
        found.extend(named_paths(&manifest.text).map(|path| format!("{folder}{path}")));
    }
    found
}

/// Whether Cargo makes a target of this path of a package without being told.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Every `path = "....rs"` of a manifest.
fn named_paths(manifest: &str) -> impl Iterator<Item = &str> {
    let values = manifest.lines().filter_map(|line| {
        let value = line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches('"'))
    });
    values.filter(|path| path.ends_with(".rs"))
}

/// The paths where the modules that `source` declares may be. Those of a crate's root and of a
/// `mod.rs` lie beside it, all others in a folder of the module's name.
fn children(source: &Source, lie_beside: bool) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let base = if lie_beside {
        folder.to_owned()
    } else {
        format!("{folder}/{}", name.strip_suffix(".rs").unwrap_or(name))
    };
    let mut found = Vec::new();
    let mut inline: Vec<Option<&str>> = Vec::new();
    let mut item_start = 0;
    let tokens = tokens(&source.code);
    for (index, token) in tokens.iter().enumerate() {
        let before = |back: usize| index.checked_sub(back).and_then(|index| tokens.get(index));
        let module = declared(before(2), before(1));
        match token.text {
            ";" if module.is_some() => {
                let inside: Vec<&str> = inline.iter().flatten().copied().collect();
                let attributes = source.text.get(item_start..token.at).unwrap_or_default();
                if let Some(path) = path_attribute(attributes) {
                    found.push(join(folder, &inside, path));
                } else {
                    let module = module.unwrap_or_default();
                    found.push(join(&base, &inside, &format!("{module}.rs")));
                    found.push(join(&base, &inside, &format!("{module}/mod.rs")));
                }
            }
            "{" => inline.push(module),
            "}" => drop(inline.pop()),
            _ => continue,
        }
        if matches!(token.text, ";" | "{" | "}") {
            item_start = token.at;
        }
    }
    found
}

fn declared<'a>(keyword: Option<&Token<'a>>, name: Option<&Token<'a>>) -> Option<&'a str> {
    let name = name?.text;
    (keyword?.text == "mod").then(|| name.strip_prefix("r#").unwrap_or(name))
}

fn path_attribute(attributes: &str) -> Option<&str> {
    let (_, value) = attributes.split_once("#[path = \"")?;
    value.split_once('"').map(|(path, _)| path)
}

fn join(folder: &str, inside: &[&str], file: &str) -> String {
    let parts = std::iter::once(folder).chain(inside.iter().copied()).chain([file]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::{Source, check, named_paths};

    /// The orphans among these files; each is given with its text.
    #[track_caller]
    fn check_orphans(files: &[(&str, &str)], expected: &[&str]) {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, (*text).to_owned())).collect();
        let found: Vec<String> = check(&sources).into_iter().map(|found| found.path).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_that_no_mod_names_is_an_orphan() {
        check_orphans(
            &[
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "mod one; // mod two;"),
                ("a/src/one.rs", ""),
                ("a/src/two.rs", ""),
            ],
            &["a/src/two.rs"],
        );
    }

    #[test]
    fn modules_are_found_in_folders_of_both_styles() {
        check_orphans(
            &[
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "pub mod one; mod two;"),
                ("a/src/one.rs", "mod deep; mod inner { mod far; }"),
                ("a/src/one/deep.rs", ""),
                ("a/src/one/inner/far.rs", ""),
                ("a/src/two/mod.rs", "mod deep;"),
                ("a/src/two/deep.rs", ""),
            ],
            &[],
        );
    }

    #[test]
    fn tests_beside_a_module_and_tests_of_a_crate_are_both_followed() {
        check_orphans(
            &[
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "mod wire; #[cfg(test)] mod tests;"),
                ("a/src/wire.rs", "#[cfg(test)] mod tests;"),
                ("a/src/wire/tests.rs", ""),
                ("a/src/tests.rs", "mod slow;"),
                ("a/src/tests/slow.rs", "mod more;"),
                ("a/src/tests/slow/more.rs", ""),
                ("a/tests/it/main.rs", "mod serve;"),
                ("a/tests/it/serve.rs", ""),
                ("a/tests/it/lost.rs", ""),
            ],
            &["a/tests/it/lost.rs"],
        );
    }

    #[test]
    fn manifests_and_path_attributes_name_files() {
        check_orphans(
            &[
                ("fuzz/Cargo.toml", "[[bin]]\npath = \"fuzz_targets/one.rs\"\n"),
                ("fuzz/fuzz_targets/one.rs", ""),
                ("fuzz/fuzz_targets/two.rs", ""),
                ("a/Cargo.toml", ""),
                ("a/src/main.rs", "mod b;\n#[path = \"other/c.rs\"]\nmod c;"),
                ("a/src/b.rs", ""),
                ("a/src/other/c.rs", ""),
            ],
            &["fuzz/fuzz_targets/two.rs"],
        );
    }

    #[test]
    fn fixtures_belong_to_no_crate() {
        check_orphans(&[("a/Cargo.toml", ""), ("a/tests/fixtures/broken.rs", "")], &[]);
    }

    #[test]
    fn only_paths_to_rust_files_count() {
        let manifest = "haft = { path = \"../haft\" }\npath = \"src/a.rs\"\npath=\"b\"\n";
        assert_eq!(named_paths(manifest).collect::<Vec<_>>(), ["src/a.rs"]);
    }
}
