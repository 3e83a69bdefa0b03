//! Prompts that are files of a directory: the name of the file, what stands at its head, and below
//! that the template for what is said. Called by `meant` for each directory that is named; reads
//! files, and nothing outside of the directory.

use crate::below::Directory;
use crate::decode::decode;
use crate::fault::Wrong;
use crate::feed::mistake::FeedMistake;
use crate::fill::Surroundings;
use crate::limits::{FILLED_BYTES_MAX, PAGES_BYTES_MAX, PAGES_MAX};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::prompt::{Argument, Message, NO_ARGUMENTS, Prompt, Said, arguments, names};
use crate::reading;
use crate::seen::Print;
use crate::shown;
use crate::tags;
use crate::template::{Compiler, Known};
use crate::tool::fixed_text;
use crate::tree::{Node, Tree};
use crate::written::prompt as written;
use haft_proto::spec::content::Role;
use haft_proto::spec::prompt as spec;
use std::path::{Path, PathBuf};

/// The end of the names of files that are prompts.
const ENDING: &str = ".md";

/// A file that has been read.
struct Page {
    /// From the manifest's directory.
    path: PathBuf,
    text: String,
    /// Where the template begins.
    body: usize,
}

/// Checks all prompts of a directory, in the order of their names. `tree` is the same entry of the
/// manifest.
pub(crate) fn check(
    directory: &Placed<String>,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<(Prompt, Print)>, Wrong> {
    let typed = path(directory, tree, surroundings)?;
    let path = surroundings.directory.join(&typed);
    // What comes and goes in it makes another stamp.
    surroundings.seen.file(&path);
    let unreadable = |reason: &str| {
        let (path, reason) = (directory.value.clone(), reason.to_owned());
        Wrong::new(directory.place, Problem::UnreadableFill { path, reason })
    };
    if !path.is_dir() {
        return Err(unreadable("there is no such directory"));
    }
    let crowded = || {
        let mistake = FeedMistake::Crowded { path: directory.value.clone() };
        Wrong::new(directory.place, Problem::Feed(mistake))
    };
    let below = Directory { path, with_hidden: false };
    let found = below.find("", PAGES_MAX).map_err(|error| unreadable(&error.to_string()))?;
    if found.is_cut {
        return Err(crowded());
    }
    let (mut prompts, mut bytes) = (Vec::new(), 0);
    for file in found.files {
        let Some(name) = file.strip_suffix(ENDING).filter(|name| !name.contains('/')) else {
            continue;
        };
        let path = Path::new(&typed).join(&file);
        let text = read(&below, &file, surroundings).map_err(|reason| {
            let path = path.display().to_string();
            Wrong::new(directory.place, Problem::UnreadableFill { path, reason })
        })?;
        bytes += text.len();
        if bytes > PAGES_BYTES_MAX {
            return Err(crowded());
        }
        let mut page = Page { path, text, body: 0 };
        let name = Placed::new(directory.place, name.to_owned());
        let prompt = page.prompt(name, surroundings, compiler);
        let prompt = prompt.map_err(|wrong| wrong.in_file(&page.path, &page.text))?;
        prompts.push((prompt, surroundings.seen.print(Some(tree))));
    }
    // What was seen of a directory without prompts is nobody's.
    _ = surroundings.seen.print(None);
    Ok(prompts)
}

/// The path of the directory from that of the manifest. It stands alone.
fn path(
    directory: &Placed<String>,
    tree: &Tree,
    surroundings: &Surroundings<'_>,
) -> Result<String, Wrong> {
    const OTHERS: [&str; 8] =
        ["name", "title", "description", "icons", "meta", "arguments", "messages", "text"];
    for key in OTHERS {
        if let Some(entry) = tree.entry(key) {
            let problem = Problem::TwoOfOne { key, other: "directory" };
            return Err(Wrong::new(entry.key_place, problem));
        }
    }
    let reason = "what can be asked is said here";
    let typed = fixed_text(directory, "directory", reason, surroundings)?.value;
    if typed.is_empty() || typed.contains('\0') {
        let problem = Problem::NoValue { key: "directory".to_owned() };
        return Err(Wrong::new(directory.place, problem));
    }
    Ok(typed)
}

/// The text of a file of the directory.
fn read(below: &Directory, file: &str, surroundings: &Surroundings<'_>) -> Result<String, String> {
    surroundings.seen.file(&below.path.join(file));
    let limit = usize::try_from(FILLED_BYTES_MAX).unwrap_or(usize::MAX);
    let opened = below.open(file).map_err(|error| error.to_string())?;
    let opened = opened.ok_or("there is no such file, or it may not be read")?;
    let bytes = reading::bytes(&opened, limit).map_err(|unread| unread.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    surroundings.seen.filled(&text);
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

impl Page {
    fn prompt(
        &mut self,
        name: Placed<String>,
        surroundings: &Surroundings<'_>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Prompt, Wrong> {
        let head = self.head()?;
        let body = &self.text[self.body..];
        if body.trim().is_empty() {
            let what = format!("the prompt `{}` says nothing", name.value);
            let help = "write what it says below its head";
            let place = Place { start: self.body, end: self.body };
            return Err(Wrong::new(place, Problem::KindMissing { what, help }));
        }
        let given = head.arguments.as_ref().map(|arguments| names(&arguments.0));
        let known = Known {
            names: given.as_deref().unwrap_or_default(),
            is_open: given.is_none(),
            none: NO_ARGUMENTS,
        };
        // What is odd about it is told at the directory.
        let typed = Placed::new(name.place, self.path.display().to_string());
        let template = compiler.compile_file(&typed, (&self.text, self.body), known)?;
        let surroundings = surroundings.of(&self.text);
        let arguments = match head.arguments {
            Some(head) => compiler.within(&surroundings, |compiler| {
                arguments(head.0, known, &surroundings, compiler)
            })?,
            None => named(body, template.variables.clone(), name.place),
        };
        Ok(Prompt {
            name,
            title: shown::text(head.title.as_ref(), &surroundings)?.map(|title| title.value),
            description: shown::text(head.description.as_ref(), &surroundings)?,
            icons: Vec::new(),
            meta: None,
            arguments,
            messages: vec![Message { role: Role::User, said: Said::Text(template) }],
            is_page: true,
        })
    }

    /// What stands between two lines of `---` at the beginning. The template begins after it.
    fn head(&mut self) -> Result<written::Head, Wrong> {
        let is_rule = |line: &str| line.trim_end() == "---";
        let mut lines = self.text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| is_rule(line)) else {
            return Ok(written::Head::default());
        };
        let mut end = first.len();
        let Some(last) = lines.find(|line| {
            is_rule(line) || {
                end += line.len();
                false
            }
        }) else {
            let reason = "the head that begins here has no second line of `---`".to_owned();
            let place = Place { start: 0, end: first.trim_end().len() };
            return Err(Wrong::new(place, Problem::NotYaml { reason }));
        };
        // With the first line, which begins a document in YAML too, places stay what they are.
        let tree = Tree::read(&self.text[..end])?;
        let below = &self.text[end + last.len()..];
        self.body = self.text.len() - below.trim_start_matches(['\r', '\n']).len();
        match tree.node {
            Node::Null => Ok(written::Head::default()),
            _ => decode(&tree),
        }
    }
}

/// Arguments for all that a template names, in the order in which it does.
fn named(body: &str, mut variables: Vec<String>, place: Place) -> Vec<Argument> {
    variables.sort_by_key(|name| tags::find_variable(body, name).map(|found| found.start));
    let required = |name: String| Argument {
        place,
        spec: spec::Argument { name, title: None, description: None, required: true },
        complete: None,
    };
    variables.into_iter().map(required).collect()
}
