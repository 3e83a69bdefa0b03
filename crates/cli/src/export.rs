//! A haft.yaml for others: as a bundle that desktops install, and as an entry of the registry.
//! Used by the verb `export`; reads files, writes none.

pub(crate) mod bundle;
pub(crate) mod gathered;
pub(crate) mod registry;

use crate::exit::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What a file says of its server.
#[derive(Debug)]
pub(crate) struct Described {
    /// The file, whole.
    pub(crate) file: PathBuf,
    /// The directory that relative paths in it are relative to.
    pub(crate) directory: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) website_url: Option<String>,
    /// The variables of the environment that it needs.
    pub(crate) variables: Vec<String>,
    /// Names and descriptions of its tools.
    pub(crate) tools: Vec<(String, String)>,
    /// All of it, as it was typed.
    pub(crate) written: Value,
}

/// Reads and checks a file.
pub(crate) fn described(path: &Path) -> Result<Described, Failure> {
    let manifest = haft_manifest::load(path)?;
    manifest.verify()?;
    let file = std::path::absolute(path)?;
    let text = std::fs::read_to_string(&file)?;
    let written: Value = serde_saphyr::from_str(&text).unwrap_or_default();
    let about = ["server", "forge"].iter().find_map(|key| written.get(key)).cloned();
    let about = about.unwrap_or_default();
    let text_of = |key: &str| match about.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(number @ Value::Number(_)) => Some(number.to_string()),
        _ => None,
    };
    let owned = |(name, description): (&str, &str)| (name.to_owned(), description.to_owned());
    let tools = manifest.tools().map(owned).collect();
    Ok(Described {
        directory: file.parent().map(Path::to_owned).unwrap_or_default(),
        name: manifest.name().to_owned(),
        version: text_of("version").unwrap_or_else(|| "0.0.0".to_owned()),
        title: text_of("title"),
        description: text_of("description"),
        website_url: text_of("website_url"),
        variables: manifest.variables().to_vec(),
        tools,
        written,
        file,
    })
}

/// A server's name as part of a file's name or of an identifier.
pub(crate) fn slug(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let name: String =
        name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    name.trim_matches(['.', '-', '_']).to_owned()
}
