//! The README and the book in `docs/`, run as they stand: every YAML block is checked and served,
//! every command of a `console` block is run, and what a reader sees there is what they will see.
//! `UPDATE_GOLDEN=1` writes what commands print into the pages. Rust blocks are compiled by the
//! documentation tests of the crate `haft`.
//!
//! A page has a directory of its own, `~/my-tools`. A block with a name behind its language, like
//! `sh count.sh`, is that file. A YAML block is `haft.yaml` for the commands below it: as it is if
//! it has `server:`, with `server: { name: my-tools }` before it if it has another key of a file,
//! and in `tools:` if it begins with a tool. What `${env:…}` names is set; WEATHER_API is the
//! address of a server of this machine.

mod page;

use crate::origin::{Origin, Reply, Seen};
use page::{Block, Command, Page};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process;
use tempfile::TempDir;

/// Where a page's files and commands are.
struct Place {
    #[expect(dead_code, reason = "the directory goes when this does")]
    temporary: TempDir,
    root: PathBuf,
    home: PathBuf,
    directory: PathBuf,
    /// What `${env:…}` names.
    variables: Vec<(String, String)>,
}

impl Place {
    fn new(page: &Page, weather_api: &str) -> Self {
        let temporary = tempfile::tempdir().expect("there is room");
        let root = temporary.path().canonicalize().expect("it was just made");
        let home = root.join("home/ada");
        let directory = home.join("my-tools");
        std::fs::create_dir_all(directory.join("docs")).expect("there is room");
        std::fs::write(directory.join("style.md"), "Short.\n").expect("there is room");
        let of_page = variables(&page.text).into_iter().map(|name| {
            let value = format!("the-{}", name.to_lowercase().replace('_', "-"));
            (name, value)
        });
        let service = ("WEATHER_API".to_owned(), weather_api.to_owned());
        let variables = of_page.chain([service]).collect();
        Self { temporary, root, home, directory, variables }
    }

    fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> process::Command {
        let haft = Path::new(env!("CARGO_BIN_EXE_haft")).parent().expect("it is in a directory");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [haft.to_owned()].into_iter().chain(std::env::split_paths(&path));
        let mut command = process::Command::new(program);
        command.current_dir(&self.directory).stdin(process::Stdio::null());
        command.env("PATH", std::env::join_paths(path).expect("no path has a colon"));
        command.env("HOME", &self.home).env("LC_ALL", "C").env("NO_COLOR", "1");
        command.env_remove("XDG_CONFIG_HOME").env_remove("CODEX_HOME");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_COUNT", "0");
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a command prints, with the paths that the book says.
    fn printed(&self, command: &mut process::Command) -> String {
        let output = command.output().expect("it can be started");
        let shown =
            String::from_utf8_lossy(&output.stdout).replace(&*self.root.to_string_lossy(), "");
        shown.replace(env!("CARGO_BIN_EXE_haft"), "/usr/local/bin/haft")
    }

    /// Checks and serves a file.
    fn try_file(&self, yaml: &str, at: &str) {
        std::fs::write(self.directory.join("haft.yaml"), yaml).expect("there is room");
        for words in [
            &["check", "haft.yaml"][..],
            &["list", "--command", "haft serve haft.yaml --stdio"][..],
        ] {
            let output = self.program("haft").args(words).output().expect("it is built");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{at}: haft {words:?}\n{said}\n{yaml}");
        }
    }
}

/// The names in `${env:NAME}`.
fn variables(text: &str) -> Vec<String> {
    let name = |rest: &str| rest.split('}').next().unwrap_or_default().to_owned();
    let names = text.split("${env:").skip(1).map(name);
    names
        .filter(|name| name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'))
        .filter(|name| !name.is_empty())
        .collect()
}

/// The weather service that the page on HTTP asks.
fn weather(seen: &Seen) -> Reply {
    if seen.header("authorization") != Some("Bearer the-weather-token") {
        return Reply::json(json!({"message": "who is asking?"})).status_is(401);
    }
    match (&*seen.method, &*seen.target) {
        ("GET", "/v1/cities/New%20York/forecast?days=2") => {
            Reply::json(json!({"city": "New York", "days": [{"sky": "rain"}, {"sky": "clear"}]}))
        }
        ("POST", "/v1/reports") => {
            let report: serde_json::Value =
                serde_json::from_slice(&seen.body).expect("the report is JSON");
            Reply::json(json!({"number": 7, "report": report})).status_is(201)
        }
        _ => Reply::json(json!({"message": "there is no such city"})).status_is(404),
    }
}

/// Runs a page, and returns it with what its commands printed.
fn run(page: &Page, weather_api: &str) -> String {
    let place = Place::new(page, weather_api);
    let mut rewritten = page.text.clone();
    let mut done = 0;
    for block in &page.blocks {
        let at = format!("{}:{}", page.name, block.line);
        if let Some(name) = &block.name {
            std::fs::write(place.directory.join(name), &block.text).expect("there is room");
        }
        match &*block.language {
            "yaml" if block.name.is_none() => place.try_file(&whole(block, &at), &at),
            "console" => {
                for command in page::commands(&block.text) {
                    let printed = place.printed(&mut shell(&place, &command, page));
                    let line = format!("$ {}\n", command.line);
                    done += rewritten[done..].find(&line).expect("it is on the page") + line.len();
                    if !command.prints(&printed) {
                        rewritten.replace_range(done..done + command.printed.len(), &printed);
                    }
                }
            }
            _ => {}
        }
    }
    rewritten
}

/// A command as a reader types it; those of the README are typed in the root of the repository.
fn shell(place: &Place, command: &Command, page: &Page) -> process::Command {
    let mut shell = place.program("sh");
    if page.name == "README.md" {
        shell.current_dir(page::root());
    }
    // What comes first is shown first, as in a terminal.
    shell.args(["-c", &format!("exec 2>&1; {}", command.line)]);
    shell
}

/// A YAML block as a file.
fn whole(block: &Block, at: &str) -> String {
    let text = &block.text;
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let is_part = ["tools:", "resources:", "prompts:", "defaults:", "listen:"].into_iter().any(has);
    if has("server:") {
        text.clone()
    } else if is_part {
        format!("server: {{ name: my-tools }}\n{text}")
    } else if text.trim_start().starts_with("- name:") {
        format!("server: {{ name: my-tools }}\ntools:\n{text}")
    } else {
        panic!("{at}: a YAML block is a file, parts of a file, or tools")
    }
}

fn check(page: &Page, weather_api: &str) {
    let rewritten = run(page, weather_api);
    if rewritten != page.text && std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&page.path, &rewritten).expect("the page can be written");
        return;
    }
    for (old, new) in page.text.lines().zip(rewritten.lines()) {
        assert_eq!(old, new, "{}: UPDATE_GOLDEN=1 writes what is printed", page.name);
    }
    assert_eq!(page.text.len(), rewritten.len(), "{}: UPDATE_GOLDEN=1 writes it", page.name);
}

#[test]
fn every_command_of_the_readme_prints_what_it_says() {
    let page = Page::read("README.md");
    let commands = page.blocks.iter().filter(|block| block.language == "console").count();
    assert!(commands >= 2, "the README has examples");
    check(&page, "https://api.example.com/v1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_example_of_the_book_runs_as_it_stands() {
    let pages = page::book();
    assert!(pages.len() >= 10, "the book has pages");
    let service = Origin::serve(weather).await;
    for page in pages {
        check(&page, &service.url("/v1"));
    }
}

#[test]
fn every_page_is_in_the_table_of_contents_and_every_link_leads_somewhere() {
    let contents = Page::read("docs/README.md");
    for page in page::book() {
        let name = page.name.strip_prefix("docs/").expect("the book is there");
        let is_listed = name == "README.md" || contents.text.contains(&format!("]({name})"));
        assert!(is_listed, "docs/README.md leads to {name}");
    }
    for page in page::book().into_iter().chain([Page::read("README.md")]) {
        for link in page.links() {
            let there = page.path.parent().expect("a page is in a directory").join(&link);
            assert!(there.exists(), "{}: {link} leads nowhere", page.name);
        }
    }
}
