//! `haft new --rust`, and what its user does next: the project is built and tested with this
//! checkout, and its server is called.

use crate::haft::haft;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// A project inside of our workspace, where the last run's was, so that what it built is found
/// again.
fn project() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new_rust/city-desk");
    if directory.exists() {
        fs::remove_dir_all(&directory).expect("it is ours");
    }
    let ran = haft(["new", "--rust", text(&directory), "--haft-path", CHECKOUT]);
    assert!(ran.printed().contains("cargo test"), "{ran:?}");
    // The versions that this checkout is tested with are there without a network.
    fs::copy(Path::new(CHECKOUT).join("Cargo.lock"), directory.join("Cargo.lock")).expect("ours");
    directory
}

#[test]
fn a_rust_project_passes_its_tests_and_serves() {
    let project = project();
    let target = Path::new(env!("CARGO_BIN_EXE_haft")).ancestors().nth(2).expect("a target");
    let tested = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .current_dir(&project)
        .output()
        .expect("cargo runs us");
    let said = String::from_utf8_lossy(&tested.stdout);
    let complained = String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success(), "{said}\n{complained}");
    assert!(said.contains("4 passed"), "{said}");
    assert!(!complained.contains("warning"), "{complained}");
    let command = format!("{} --stdio", text(&target.join("debug/city-desk")));
    let counted = haft(["call", "--command", &command, "word_count", "text=one two three"]);
    assert_eq!(counted.printed(), "3\n");
}

#[test]
fn a_rust_project_is_formatted_and_replaces_nothing() {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let target = directory.path().join("City Desk");
    let report = haft(["new", "--rust", text(&target), "--haft-path", CHECKOUT, "--json"]).json();
    assert_eq!(report["files"][3], "src/main.rs");
    assert_eq!(report["mcpServers"]["city-desk"]["args"], json!(["--stdio"]));
    let main = fs::read_to_string(target.join("src/main.rs")).expect("it was written");
    assert!(main.contains("city_desk::server().run()"), "{main}");
    let formatted = Command::new("rustfmt")
        .args(["--check", "--edition", "2024", "src/lib.rs", "src/main.rs", "tests/server.rs"])
        .current_dir(&target)
        .output()
        .expect("rustfmt is a part of the toolchain");
    assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stdout));
    let again = haft(["new", "--rust", text(&target), "--haft-path", CHECKOUT]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("Cargo.toml is there already"), "{again:?}");
}

#[test]
fn what_the_project_depends_on_is_told() {
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let target = directory.path().join("desk");
    let ran = haft(["new", "--rust", text(&target)]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.starts_with("warning: until haft is published, --haft-path"), "{ran:?}");
    let manifest = fs::read_to_string(target.join("Cargo.toml")).expect("it was written");
    assert!(manifest.contains("\nhaft = \"0."), "{manifest}");
    let ran = haft(["new", "--rust", "x", "--haft-path", text(directory.path())]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("has no crate `haft`"), "{ran:?}");
    let ran = haft(["new", "--haft-path", "."]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
