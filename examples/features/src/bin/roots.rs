//! Roots: the client says in which directories a server may work, and the tool looks nowhere else.
//! `haft call --command target/debug/roots find_file name=README.md --root examples`

use haft::{AskError, Context};
use std::fs;
use std::path::Path;

/// How deep directories are searched.
const DEPTH: usize = 8;

/// Finds the files of a name in the projects that are open.
#[haft::tool(read_only)]
async fn find_file(name: String, context: &Context) -> Result<String, AskError> {
    let roots = context.roots("projects").await?;
    let mut found = Vec::new();
    for root in &roots {
        // A root at another machine, or of another scheme, has no path here.
        if let Some(path) = root.path() {
            search(&path, &name, DEPTH, &mut found);
        }
    }
    if found.is_empty() {
        return Ok(format!("no {name} in {} projects", roots.len()));
    }
    found.sort();
    Ok(found.join("\n"))
}

/// Links are not followed: they may lead out of the root.
fn search(directory: &Path, name: &str, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => search(&entry.path(), name, depth - 1, found),
            Ok(kind) if kind.is_file() && entry.file_name() == name => {
                found.push(entry.path().display().to_string());
            }
            _ => {}
        }
    }
}

fn main() -> haft::Result<()> {
    haft::server("roots", "1.0.0").tool(find_file::tool()).run()
}
