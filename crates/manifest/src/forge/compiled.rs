//! Handlers that name compiled code or code of another language, which no file can run: what is
//! said of them. Called by `tool` and `resource`.

use super::section::Section;
use crate::fault::Wrong;
use crate::tree::{Node, Tree};

/// The code that a handler names: `{ path: handlers::greet }`, or just the path.
fn code(section: Section<'_>) -> Result<Option<String>, Wrong> {
    let Some(handler) = section.get("handler") else { return Ok(None) };
    if let Node::Text(path) = &handler.node {
        return Ok(Some(path.clone()));
    }
    let handler = section.within(handler, "handler")?;
    let named = handler.text("path")?.or(handler.text("inline")?);
    Ok(named.map(|path| path.value.lines().next().unwrap_or_default().to_owned()))
}

/// Why a tool of compiled code is left out, and what to do.
pub(super) fn of_tool(section: Section<'_>) -> Result<String, Wrong> {
    let code = code(section)?;
    let other = code.as_deref().and_then(|code| code.split_once(':'));
    if let Some((language, path)) = other.filter(|(_, path)| !path.starts_with(':')) {
        return Ok(foreign(language, Some(path)));
    }
    let named = code.map(|code| format!(" (`{code}`)")).unwrap_or_default();
    Ok(format!(
        "left out: it is compiled code{named}; make it a program that a `cli` tool runs, or write \
         it in Rust with #[haft::tool]"
    ))
}

/// Why a tool of another language is left out.
pub(super) fn of_bridge(section: Section<'_>) -> Result<String, Wrong> {
    let language =
        section.text("language")?.map_or_else(|| "another language".to_owned(), |it| it.value);
    let file = section.any(&["module", "package", "handler", "function"]);
    let file = file.map(|entry| &entry.value).and_then(name);
    Ok(foreign(&language, file.as_deref()))
}

fn foreign(language: &str, code: Option<&str>) -> String {
    let named = code.map(|code| format!(" (`{code}`)")).unwrap_or_default();
    let program = match language {
        "python" => "[python3, FILE]",
        "go" => "[go, run, FILE]",
        "node" | "javascript" => "[node, FILE]",
        "deno" | "typescript" => "[deno, run, FILE]",
        _ => "[PROGRAM, FILE]",
    };
    format!(
        "left out: it is code in {language}{named} that pforge would load; let a `cli` tool run \
         it: {program}"
    )
}

fn name(tree: &Tree) -> Option<String> {
    match &tree.node {
        Node::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Why a resource of compiled code is left out.
pub(super) fn of_resource(section: Section<'_>) -> Result<String, Wrong> {
    let named = code(section)?.map(|code| format!(" (`{code}`)")).unwrap_or_default();
    Ok(format!(
        "left out: it is compiled code{named}; files need none: `uri: docs://{{+path}}` with \
         `directory: docs` in a haft.yaml; or write it in Rust with #[haft::resource]"
    ))
}
