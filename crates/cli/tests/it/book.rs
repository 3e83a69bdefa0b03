//! The README and the book in `docs/`, run as they stand: every YAML block is checked and served,
//! every command of a `console` block is run, and what a reader sees there is what they will see. A
//! warning of `haft check` fails the test, unless it is in `WANTED`.
//! `UPDATE_GOLDEN=1` writes what commands print into the pages. Rust blocks are compiled by the
//! documentation tests of the crate `haft`.
//!
//! A page has a directory of its own, `~/my-tools`. A block with a name behind its language, like
//! `sh count.sh`, is that file. A YAML block is `haft.yaml` for the commands below it: as it is if
//! it has `server:`, with `server: { name: my-tools }` before it if it has another key of a file,
//! and in `tools:` if it begins with a tool. A page has the files and variables that its commands
//! make, and no others, so that a reader can follow it. `GIVEN` are the pages that say that they
//! cannot be followed: there, the files of the examples of the reference are, and what `${env:…}`
//! names is set. What begins with WEATHER is set everywhere, WEATHER_API to the address of a server
//! of this machine; pages that use it say that readers have no such server.

mod page;

use crate::origin::{Origin, Reply, Seen};
use page::{Block, Command, Page};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process;
use tempfile::TempDir;

/// Pages that have more than they make.
const GIVEN: [&str; 3] = ["README.md", "docs/http.md", "docs/reference/"];

/// Warnings that the book is content with: the page, and a part of the warning.
const WANTED: &[(&str, &str)] = &[
    ("docs/input-and-templates.md", "some clients do not follow `$ref`"),
    ("docs/many-servers.md", "there is no program `mcp-server-"),
    ("docs/reference/keys.md", "there is no program `github-mcp-server`"),
    ("docs/reference/keys.md", "there is no program `mcp-server-browser`"),
    ("docs/recipes.md", "there is no program `rg` on this machine"),
];

/// Where a page's files and commands are.
struct Place {
    #[expect(dead_code, reason = "the directory goes when this does")]
    temporary: TempDir,
    root: PathBuf,
    home: PathBuf,
    directory: PathBuf,
    /// A file with what commands export, for the next ones.
    exported: PathBuf,
    /// What is given to the page.
    variables: Vec<(String, String)>,
}

impl Place {
    fn new(page: &Page, weather_api: &str) -> Self {
        let temporary = tempfile::tempdir().expect("there is room");
        let root = temporary.path().canonicalize().expect("it was just made");
        let home = root.join("home/ada");
        let directory = home.join("my-tools");
        let exported = root.join("exported.sh");
        std::fs::create_dir_all(&directory).expect("there is room");
        std::fs::write(&exported, "").expect("there is room");
        let mut variables = Vec::new();
        let is_given = GIVEN.iter().any(|name| page.name.starts_with(name));
        if is_given {
            let examples = page::root().join("crates/cli/src/reference/examples/given");
            give(&examples, &directory);
            let picture = page::root().join("examples/resources-and-prompts/seal.png");
            std::fs::copy(picture, directory.join("logo.png")).expect("there is room");
        }
        for name in named(&page.text) {
            if is_given || name.starts_with("WEATHER") {
                let value = format!("the-{}", name.to_lowercase().replace('_', "-"));
                variables.push((name, value));
            }
        }
        variables.push(("WEATHER_API".to_owned(), weather_api.to_owned()));
        Self { temporary, root, home, directory, exported, variables }
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
        for name in ["GITHUB_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
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

    /// A shell in which commands before this one exported what they did.
    fn shell(&self, line: &str) -> process::Command {
        let mut shell = self.program("sh");
        let exported = self.exported.display();
        let after = match line.contains("export ") {
            true => format!("export -p > '{exported}'"),
            false => String::new(),
        };
        // What comes first is shown first, as in a terminal.
        shell.args(["-c", &format!(". '{exported}'; exec 2>&1; {line}\n{after}")]);
        shell
    }

    /// Checks and serves a file, and returns the warnings that nobody wants.
    fn try_file(&self, yaml: &str, at: &str) -> Vec<String> {
        std::fs::write(self.directory.join("haft.yaml"), yaml).expect("there is room");
        let mut warnings = Vec::new();
        for line in ["haft check haft.yaml", "haft list --command 'haft serve haft.yaml --stdio'"] {
            let output = self.shell(line).output().expect("it is built");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{at}: {line}\n{said}\n{yaml}");
            let warned = said.lines().filter(|line| line.starts_with("warning: "));
            let is_wanted = |warning: &&str| {
                WANTED.iter().any(|(page, part)| at.starts_with(page) && warning.contains(part))
            };
            let unwanted = warned.filter(|warning| !is_wanted(warning));
            warnings.extend(unwanted.map(|warning| format!("{at}: {warning}")));
        }
        warnings
    }
}

/// Copies files and directories.
fn give(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("there is room");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let there = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            give(&path, &there);
        } else {
            std::fs::copy(&path, there).expect("there is room");
        }
    }
}

/// The names in `${env:NAME}`.
fn named(text: &str) -> Vec<String> {
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
    let mut warnings = Vec::new();
    for block in &page.blocks {
        let at = format!("{}:{}", page.name, block.line);
        if let Some(name) = &block.name {
            std::fs::write(place.directory.join(name), &block.text).expect("there is room");
        }
        match &*block.language {
            "yaml" if block.name.is_none() => {
                warnings.extend(place.try_file(&whole(block, &at), &at));
            }
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
    assert!(warnings.is_empty(), "haft check warns of what is on a page:\n{}", warnings.join("\n"));
    rewritten
}

/// A command as a reader types it; those of the README are typed in the root of the repository.
fn shell(place: &Place, command: &Command, page: &Page) -> process::Command {
    let mut shell = place.shell(&command.line);
    if page.name == "README.md" {
        shell.current_dir(page::root());
    }
    shell
}

/// A YAML block as a file.
fn whole(block: &Block, at: &str) -> String {
    let text = &block.text;
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let parts = [
        "tools:",
        "resources:",
        "prompts:",
        "defaults:",
        "listen:",
        "state:",
        "upstreams:",
        "views:",
    ];
    let is_part = parts.into_iter().any(has);
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
