//! `forge:` becomes `server`, and what stands beside it for all tools becomes `defaults`. Called by
//! the module.

use super::around;
use super::build::{self, Mapping};
use super::placeholder::filled;
use super::section::{Section, Work};
use crate::cost::Part;
use crate::fault::Wrong;
use crate::tree::Node;

pub(super) fn translate(
    file: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let tree = file.tree.get("forge").expect("it is what makes it a file of pforge");
    let forge = Section::new(tree, Part::File, "forge", "forge")?;
    let mut server = Mapping::new(tree.place);
    for key in ["name", "version"] {
        let text = forge.need(key)?;
        server.put(key, build::text(text.place, filled(&text.value)));
    }
    let described = forge.text("description")?.or(file.text("description")?);
    if let Some(text) = described {
        server.put("description", build::text(text.place, filled(&text.value)));
    }
    out.put("server", server.tree());
    if let Some(port) = forge.entry("port") {
        let mut listen = Mapping::new(port.value.place);
        let text = forge.need("port")?;
        listen.put("http", build::text(text.place, filled(&text.value)));
        let list = build::list(port.value.place, vec![listen.tree()]);
        out.put_at("listen", port.key_place, list);
    }
    if let Some(entry) = forge.entry("transport") {
        let is_stdio = matches!(&entry.value.node, Node::Text(word) if word == "stdio");
        if !is_stdio {
            work.note(
                Section { name: "transport", ..forge },
                entry.value.place,
                "the command line chooses: `haft serve FILE` speaks Streamable HTTP (`--http \
                 ADDRESS` elsewhere), and `--stdio` stdio",
            );
        }
    }
    if let Some(entry) = forge.entry("max_connections") {
        work.note(
            Section { name: "max_connections", ..forge },
            entry.key_place,
            "nothing reads it: haft has limits of its own, which `docs/reference/limits.md` tells",
        );
    }
    for section in [file, forge] {
        state(section, work);
    }
    around::of_all([file, forge], out, work)?;
    const KNOWN: [&str; 9] = [
        "name",
        "version",
        "description",
        "transport",
        "optimization",
        "port",
        "max_connections",
        "state",
        "middleware",
    ];
    forge.know(&KNOWN, work);
    if let Some(bridges) = file.entry("bridges") {
        work.note(
            Section { name: "bridges", ..file },
            bridges.key_place,
            "nothing reads it: a `cli` tool runs a program in whatever language it is",
        );
    }
    Ok(())
}

/// State was for compiled code alone.
fn state(section: Section<'_>, work: &mut Work<'_>) {
    if let Some(entry) = section.entry("state") {
        work.note(
            Section { name: "state", ..section },
            entry.key_place,
            "nothing in this file can reach it, as only compiled code could; in a haft.yaml, tools \
             with `state` keep what they are told in `state: { file: PATH }`",
        );
    }
}
