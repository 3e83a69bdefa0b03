//! What `fuzz` understands, copies and hears; running libFuzzer itself is what CI does.

use std::fs;
use std::path::PathBuf;

use super::{Failure, Plan, SECONDS_DEFAULT, files, listen, parse, sow, targets};

/// An empty folder of this test's own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check_plan(typed: &str, expected: Option<(u32, Option<&str>, Option<&str>)>) {
    let arguments: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
    let expected = expected.map(|(seconds, target, input)| Plan {
        seconds,
        seed: None,
        target: target.map(str::to_owned),
        input: input.map(str::to_owned),
    });
    assert_eq!(parse(&arguments).ok(), expected);
}

#[test]
fn arguments_come_in_any_order() {
    check_plan("", Some((SECONDS_DEFAULT, None, None)));
    check_plan("--seconds 5", Some((5, None, None)));
    check_plan("envelope --seconds 5", Some((5, Some("envelope"), None)));
    check_plan("envelope crash-1", Some((SECONDS_DEFAULT, Some("envelope"), Some("crash-1"))));
}

#[test]
fn what_is_not_understood_is_refused() {
    check_plan("--seconds", None);
    check_plan("--seconds many", None);
    check_plan("--second 5", None);
    check_plan("envelope crash-1 crash-2", None);
    check_plan("--seed", None);
}

#[test]
fn a_search_can_begin_where_another_began() {
    let arguments = ["--seed", "7", "repair"].map(str::to_owned);
    assert_eq!(parse(&arguments).map(|plan| plan.seed).ok(), Some(Some(7)));
}

#[test]
fn targets_are_the_rust_files() {
    let folder = Folder::new("targets");
    for name in ["b.rs", "a.rs", "notes.md"] {
        fs::write(folder.0.join(name), "").unwrap();
    }
    assert_eq!(targets(&folder.0).unwrap(), ["a", "b"]);
    let lost = targets(&folder.0.join("nowhere")).unwrap_err();
    assert!(matches!(lost, Failure::FileUnusable { .. }), "{lost:?}");
}

#[test]
fn seeds_fill_the_corpus_and_replace_nothing() {
    let folder = Folder::new("seeds");
    let (seeds, corpus) = (folder.0.join("seeds"), folder.0.join("corpus"));
    sow(&seeds, &corpus).unwrap();
    assert!(files(&corpus).unwrap().is_empty());
    fs::create_dir(&seeds).unwrap();
    fs::write(seeds.join("one"), "seed").unwrap();
    fs::write(seeds.join("two"), "seed").unwrap();
    fs::write(corpus.join("one"), "grown").unwrap();
    sow(&seeds, &corpus).unwrap();
    assert_eq!(fs::read_to_string(corpus.join("one")).unwrap(), "grown");
    assert_eq!(fs::read_to_string(corpus.join("two")).unwrap(), "seed");
}

#[test]
fn the_crashing_input_is_heard_among_the_noise() {
    let said = b"INFO: Seed: 1\n#2\tINITED cov: 1\n\xff\xfe\n#9\tNEW cov: 2\n\
        ###### End of recommended dictionary. ######\n\
        artifact_prefix='x/'; Test unit written to ./x/crash-1\nBase64: AA==\n";
    let story = listen(&said[..]);
    assert_eq!(story.artifact.as_deref(), Some("x/crash-1"));
    assert_eq!(story.progress, "#9 NEW cov: 2");
    assert_eq!(listen(&b"#1\tDONE"[..]).artifact, None);
}
