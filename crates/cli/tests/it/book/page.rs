//! A page of Markdown: its fenced blocks, its commands and its links. Read by the tests of the
//! book; knows no more of Markdown than the pages use.

use std::path::{Path, PathBuf};

/// A page.
pub(super) struct Page {
    /// Its path in the repository.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
}

/// A fenced block.
pub(super) struct Block {
    /// The first word behind the fence.
    pub(super) language: String,
    /// The second: the file that the block is.
    pub(super) name: Option<String>,
    pub(super) text: String,
    /// Where it begins.
    pub(super) line: usize,
}

/// A line that begins with `$ `, and the lines up to the next one.
pub(super) struct Command {
    pub(super) line: String,
    pub(super) printed: String,
}

impl Command {
    /// Whether this is what the page says; a line `…` there stands for any lines.
    pub(super) fn prints(&self, printed: &str) -> bool {
        let mut parts = self.printed.split("…\n");
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = printed.strip_prefix(first) else { return false };
        let mut is_open = false;
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
            is_open = part.is_empty();
        }
        rest.is_empty() || is_open
    }
}

impl Page {
    /// Reads a page of the repository.
    pub(super) fn read(name: &str) -> Self {
        let path = root().join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let blocks = blocks(&text);
        Self { name: name.to_owned(), path, text, blocks }
    }

    /// The files that its links lead to; other sites are left out.
    pub(super) fn links(&self) -> Vec<String> {
        let target = |rest: &str| rest.split([')', '#']).next().unwrap_or_default().to_owned();
        let targets = self.text.split("](").skip(1).map(target);
        targets.filter(|link| !link.is_empty() && !link.contains(':')).collect()
    }
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the book.
pub(super) fn book() -> Vec<Page> {
    let mut names = Vec::new();
    for directory in ["docs", "docs/reference"] {
        for entry in std::fs::read_dir(root().join(directory)).expect("the book is there") {
            let name = entry.expect("it can be read").file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                names.push(format!("{directory}/{name}"));
            }
        }
    }
    names.sort();
    names.iter().map(|name| Page::read(name)).collect()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            if !is_open {
                let mut words = info.split_whitespace().map(str::to_owned);
                let language = words.next().unwrap_or_default();
                let name = words.next();
                blocks.push(Block { language, name, text: String::new(), line: index + 1 });
            }
            is_open = !is_open;
        } else if let Some(block) = blocks.last_mut().filter(|_| is_open) {
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    blocks
}

/// The commands of a `console` block.
pub(super) fn commands(block: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(Command { line: command.to_owned(), printed: String::new() });
        } else if let Some(command) = commands.last_mut() {
            command.printed.push_str(line);
            command.printed.push('\n');
        }
    }
    commands
}

#[test]
fn a_line_with_an_ellipsis_stands_for_any_lines() {
    let prints = |said: &str, printed: &str| {
        Command { line: String::new(), printed: said.to_owned() }.prints(printed)
    };
    assert!(prints("a\n…\nc\n", "a\nb\nb\nc\n"));
    assert!(prints("in …\n", "in 3 ms\nand more\n"));
    assert!(!prints("a\n…\nc\n", "a\nb\n"));
    assert!(!prints("a\n", "a\nb\n"));
    assert!(!prints("a\n…\nc\n", "a\nc\nd\n"));
}
