//! A `server.json` for the registry of MCP servers, of the schema of 2025-12-11: where the server
//! is, as a bundle to download or an address to reach. What the registry would refuse is refused
//! here.

use super::{Described, slug};
use crate::exit::Failure;
use serde_json::{Value, json};

/// Where the server can be had.
#[derive(Debug)]
pub(crate) enum Offer {
    /// A bundle that anybody can download.
    Bundle { url: String, sha256: String },
    /// An address at which it is served.
    Remote { url: String },
}

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 100;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 200;

/// Makes the entry.
pub(crate) fn server_json(
    described: &Described,
    name: &str,
    offers: &[Offer],
    repository: Option<&str>,
) -> Result<Value, Failure> {
    check_name(name, described)?;
    let description = description(described)?;
    let version = version(described)?;
    let mut server = json!({ "$schema": SCHEMA, "name": name, "description": description });
    if let Some(title) = described.title.as_ref().filter(|title| title.chars().count() <= 100) {
        server["title"] = json!(title);
    }
    server["version"] = json!(version);
    if let Some(url) = &described.website_url {
        server["websiteUrl"] = json!(url);
    }
    if let Some(url) = repository {
        server["repository"] = json!({ "url": url, "source": source(url)? });
    }
    let mut packages: Vec<Value> = Vec::new();
    let mut remotes: Vec<Value> = Vec::new();
    for offer in offers {
        match offer {
            Offer::Bundle { url, sha256 } => packages.push(package(described, url, sha256)),
            Offer::Remote { url } => remotes.push(json!({ "type": "streamable-http", "url": url })),
        }
    }
    if !packages.is_empty() {
        server["packages"] = json!(packages);
    }
    if !remotes.is_empty() {
        server["remotes"] = json!(remotes);
    }
    Ok(server)
}

fn package(described: &Described, url: &str, sha256: &str) -> Value {
    let variable = |name: &String| {
        json!({
            "name": name,
            "description": format!("The value of {name}"),
            "isRequired": true,
            "isSecret": true,
        })
    };
    let variables: Vec<Value> = described.variables.iter().map(variable).collect();
    let mut package = json!({
        "registryType": "mcpb",
        "identifier": url,
        "version": described.version,
        "fileSha256": sha256,
        "transport": { "type": "stdio" },
    });
    if !variables.is_empty() {
        package["environmentVariables"] = json!(variables);
    }
    package
}

/// That it is a namespace in reverse DNS, one slash, and a name.
fn check_name(name: &str, described: &Described) -> Result<(), Failure> {
    let is_namespace = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        !part.is_empty() && part.chars().all(is_plain)
    };
    let is_name = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && part.chars().all(is_plain)
    };
    let is_good = name
        .split_once('/')
        .is_some_and(|(namespace, name)| is_namespace(namespace) && is_name(name));
    if is_good && name.len() <= NAME_CHARS_MAX {
        return Ok(());
    }
    let example = slug(&described.name);
    let message = format!("{name:?} is no name for the registry");
    Err(Failure::usage(message).hint(format!("write it like io.github.you/{example}")))
}

fn description(described: &Described) -> Result<&str, Failure> {
    let text = described.description.as_deref().unwrap_or_default().trim();
    let hint =
        format!("`server.description` is one line of at most {DESCRIPTION_CHARS_MAX} characters");
    match text.chars().count() {
        0 => Err(Failure::usage("the registry wants a description of the server").hint(hint)),
        count if count > DESCRIPTION_CHARS_MAX => {
            let message = format!("the server's description has {count} characters, too many");
            Err(Failure::usage(message).hint(hint))
        }
        _ => Ok(text),
    }
}

/// The version, which must be one and no range.
fn version(described: &Described) -> Result<&str, Failure> {
    let version = &*described.version;
    let is_range = version.starts_with(['^', '~', '>', '<', '='])
        || version.contains(['*', ' '])
        || version.ends_with(".x")
        || version == "latest";
    if is_range || version.is_empty() || version.len() > 255 {
        let message = format!("{version:?} is no version that the registry takes");
        return Err(Failure::usage(message).hint("`server.version` is one version, like 1.2.0"));
    }
    Ok(version)
}

/// The service that hosts a repository.
fn source(url: &str) -> Result<&'static str, Failure> {
    match url.strip_prefix("https://").and_then(|rest| rest.split('/').next()) {
        Some("github.com") => Ok("github"),
        Some("gitlab.com") => Ok("gitlab"),
        Some("bitbucket.org") => Ok("bitbucket"),
        Some("codeberg.org") => Ok("codeberg"),
        _ => Err(Failure::usage(format!("{url:?} is at no service that the registry knows"))
            .hint("write it like https://github.com/you/project")),
    }
}
