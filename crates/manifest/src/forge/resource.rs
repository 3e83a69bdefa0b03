//! The resources of a pforge file: those that are files or texts. Called by the module.

use super::build::{self, Mapping};
use super::compiled;
use super::placeholder::filled;
use super::section::{Section, Work};
use crate::cost::Part;
use crate::fault::Wrong;
use crate::place::Placed;
use crate::problem::Problem;
use crate::tree::Tree;

/// Makes `resources`.
pub(super) fn translate(
    file: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let mut resources = Vec::new();
    for item in file.list("resources")? {
        let nameless = Section::new(item, Part::Resource, "", "resources")?;
        let uri = match nameless.text("uri")? {
            Some(uri) => Some(uri),
            None => nameless.text("uri_template")?,
        };
        let Some(uri) = uri else {
            let (owner, key) = ("a resource".to_owned(), "uri_template".to_owned());
            return Err(Wrong::new(item.place, Problem::MissingKey { owner, key }));
        };
        let section = Section { name: &uri.value, ..nameless };
        match resource(section, &uri, work) {
            Ok(resource) => resources.extend(resource),
            Err(wrong) => work.leave_out(section, &wrong),
        }
    }
    if let Some(entry) = file.entry("resources") {
        out.put_at("resources", entry.key_place, build::list(entry.value.place, resources));
    }
    Ok(())
}

fn resource(
    section: Section<'_>,
    uri: &Placed<String>,
    work: &mut Work<'_>,
) -> Result<Option<Tree>, Wrong> {
    if section.get("handler").is_some() {
        let why = compiled::of_resource(section)?;
        work.note(section, uri.place, why);
        return Ok(None);
    }
    let mut out = Mapping::new(section.tree.place);
    out.put("uri", build::text(uri.place, filled(&uri.value)));
    for key in ["name", "description", "mime_type"] {
        if let Some(text) = section.text(key)? {
            out.put(key, build::text(text.place, filled(&text.value)));
        }
    }
    let text = section.any(&["text", "content"]);
    let file = uri.value.strip_prefix("file://").filter(|path| !path.contains('{'));
    match (text, section.any(&["file", "path"]), file) {
        (Some(text), ..) => {
            let text = super::section::text_of(&text.value, &text.key)?;
            out.put("text", build::text(text.place, text.value.replace("${", "$${")));
        }
        (None, Some(file), _) => {
            let file = super::section::text_of(&file.value, &file.key)?;
            out.put("file", build::text(file.place, filled(&file.value)));
        }
        (None, None, Some(path)) => out.put("file", build::text(uri.place, filled(path))),
        (None, None, None) => {
            let why = "left out: there is nothing to read; give it a `text`, or an address like \
                       file://./NAME";
            work.note(section, uri.place, why);
            return Ok(None);
        }
    }
    for item in section.list("supports")? {
        let word = super::section::text_of(item, "supports")?;
        if word.value == "write" {
            work.note(section, word.place, "clients of MCP cannot write; let a tool do it");
        }
    }
    if let Some(cache) = section.get("cache") {
        let cache = section.within(cache, "cache")?;
        if let Some(ttl) = cache.text("ttl_seconds")? {
            let mut caching = Mapping::new(ttl.place);
            caching.put("ttl", build::text(ttl.place, format!("{}s", ttl.value)));
            out.put("caching", caching.tree());
        }
        cache.know(&["ttl_seconds"], work);
    }
    const KNOWN: [&str; 11] = [
        "uri",
        "uri_template",
        "name",
        "description",
        "mime_type",
        "text",
        "content",
        "file",
        "path",
        "supports",
        "cache",
    ];
    section.know(&KNOWN, work);
    Ok(Some(out.tree()))
}
