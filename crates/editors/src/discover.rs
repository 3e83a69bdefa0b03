//! Finds the servers that hosts on this machine know. Reads the files of all hosts, or one file;
//! what is wrong with one keeps nobody from the others.

use crate::entry::Entry;
use crate::format::Format;
use crate::host::{HOSTS, Host};
use crate::limits::SERVERS_MAX;
use crate::mistake::Mistake;
use crate::normal;
use crate::places::{HostFile, Surroundings};
use crate::reading;
use crate::variables::{self, Need, Syntax, Values};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A server of a host.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whose it is; `None` if only the file is known.
    pub host: Option<&'static Host>,
    /// Where it is written.
    pub file: PathBuf,
    /// Whether the file belongs to a project.
    pub is_project: bool,
    /// What it is.
    pub entry: Entry,
    /// The keys of it that say more than an entry has.
    pub unread: Vec<&'static str>,
}

/// A file, or a server in it, that is no good.
#[derive(Debug)]
pub struct Fault {
    /// Where.
    pub file: PathBuf,
    /// What.
    pub mistake: Mistake,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The servers, by host and file.
    pub found: Vec<Found>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// Under these keys servers are, in files of hosts that are not known.
const KEYS: &[&[&str]] = &[
    &["mcpServers"],
    &["servers"],
    &["context_servers"],
    &["mcp_servers"],
    &["mcp", "servers"],
    &["mcp"],
    &["extensions"],
];

/// The servers of all hosts, or of one.
#[must_use]
pub fn discover(surroundings: &Surroundings, only: Option<&'static Host>) -> Discovery {
    let mut discovery = Discovery::default();
    for host in HOSTS.iter().filter(|host| only.is_none_or(|only| only.id == host.id)) {
        for file in surroundings.files(host) {
            if file.path.exists() {
                discovery.add(&file, Some(host), surroundings);
            }
        }
    }
    discovery
}

/// The servers of one file, whoever reads it.
#[must_use]
pub fn discover_file(path: &Path, surroundings: &Surroundings) -> Discovery {
    let mut discovery = Discovery::default();
    let hosts = HOSTS
        .iter()
        .flat_map(|host| surroundings.files(host).into_iter().map(move |file| (file, Some(host))));
    let known = hosts.into_iter().find(|(file, _)| file.path == path);
    let (file, host) = known.unwrap_or_else(|| {
        let format = Format::of(path).unwrap_or(Format::Json);
        (HostFile { path: path.to_owned(), format, is_project: true, is_old: false }, None)
    });
    discovery.add(&file, host, surroundings);
    discovery
}

impl Discovery {
    fn add(&mut self, file: &HostFile, host: Option<&'static Host>, surroundings: &Surroundings) {
        let HostFile { path, format, is_project, .. } = file;
        let fault = |mistake| Fault { file: path.clone(), mistake };
        let root = match reading::text(path).and_then(|text| format.read(&text)) {
            Ok(root) => root,
            Err(mistake) => return self.faults.push(fault(mistake)),
        };
        let mut count = 0;
        for servers in places(&root, host, surroundings) {
            let Value::Object(servers) = servers else {
                self.faults.push(fault(Mistake::NotMapping { key: "servers".to_owned() }));
                continue;
            };
            for (name, written) in servers {
                // `mcp: { servers: { … } }` is not a server named `servers`.
                if name == "servers"
                    && host.is_none_or(|host| host.keys.len() > 1)
                    && is_group(written)
                {
                    continue;
                }
                count += 1;
                if count > SERVERS_MAX {
                    return self.faults.push(fault(Mistake::TooMany { limit: SERVERS_MAX }));
                }
                match normal::entry(name, written, host.map(|host| host.dialect)) {
                    Ok(Some(entry)) => {
                        self.found.push(Found {
                            host,
                            file: path.clone(),
                            is_project: *is_project,
                            entry,
                            unread: normal::unread(written),
                        });
                    }
                    Ok(None) => {}
                    Err(mistake) => self.faults.push(fault(mistake)),
                }
            }
        }
    }
}

/// Whether all in it are mappings, as servers are, and not the texts and lists of one server.
fn is_group(written: &Value) -> bool {
    written.as_object().is_some_and(|fields| fields.values().all(Value::is_object))
}

/// The mappings in which a file has its servers.
fn places<'v>(
    root: &'v Value,
    host: Option<&'static Host>,
    surroundings: &Surroundings,
) -> Vec<&'v Value> {
    let at =
        |root: &'v Value, keys: &[&str]| keys.iter().try_fold(root, |value, key| value.get(key));
    let present = |value: &&Value| !value.is_null();
    let keys = host.map_or(KEYS, |host| host.keys);
    let mut places: Vec<&Value> =
        keys.iter().filter_map(|keys| at(root, keys)).filter(present).collect();
    if host.is_none() {
        places.truncate(1);
    }
    if host.is_some_and(|host| host.id == "claude-code") {
        // Servers that it keeps for one project only.
        let directory = surroundings.directory.to_string_lossy();
        places.extend(at(root, &["projects", &directory, "mcpServers"]).filter(present));
    }
    places
}

impl Found {
    /// The id of its host, or the name of its file.
    #[must_use]
    pub fn source(&self) -> String {
        match self.host {
            Some(host) => host.id.to_owned(),
            None => self.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// The directory of its project; `None` if it belongs to none.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        let directory = self.file.parent().filter(|_| self.is_project)?;
        let is_hidden = directory.file_name()?.to_str().is_some_and(|name| name.starts_with('.'));
        if is_hidden { directory.parent() } else { Some(directory) }
    }

    /// What it needs before it can be started.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        variables::needs(&self.entry, self.syntax())
    }

    /// The server with its variables filled in.
    ///
    /// # Errors
    /// What has no value.
    pub fn filled(&self, values: &Values<'_>) -> Result<Entry, Vec<Need>> {
        variables::filled(&self.entry, self.syntax(), values)
    }

    pub(crate) fn syntax(&self) -> Syntax {
        self.host.map_or(Syntax::ANY, |host| host.syntax)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::YAML_DEPTH_MAX;
    use crate::places::System;
    use serde_json::json;

    fn check(name: &str, text: &str, found: usize, faults: &[&str]) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("it is ours");
        let home = directory.path().to_owned();
        let system = System::Linux;
        let surroundings =
            Surroundings { system, directory: home.clone(), home, variables: vec![] };
        let discovery = discover_file(&path, &surroundings);
        assert_eq!(discovery.found.len(), found, "{name}");
        let said: Vec<String> =
            discovery.faults.iter().map(|fault| fault.mistake.to_string()).collect();
        assert_eq!(said.len(), faults.len(), "{name}: {said:?}");
        for (said, expected) in said.iter().zip(faults) {
            assert!(said.contains(expected) && said.lines().count() == 1, "{name}: {said}");
        }
    }

    #[test]
    fn servers_are_found_under_every_key() {
        let server = json!({"a": {"command": "x"}});
        for key in ["mcpServers", "servers", "context_servers", "mcp_servers", "mcp"] {
            check("some.json", &json!({ key: server.clone() }).to_string(), 1, &[]);
        }
        check("some.json", &json!({"mcp": {"servers": server}}).to_string(), 1, &[]);
        check("some.toml", "[mcp_servers.a]\ncommand = \"x\"\n", 1, &[]);
        check("some.yaml", "extensions:\n  a: {cmd: x}\n", 1, &[]);
        check("opencode.json", r#"{"mcp": {"servers": {"a": {"command": ["x"]}}}}"#, 1, &[]);
        check(
            "opencode.json",
            r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}}}"#,
            1,
            &["is not a mapping", "is not a mapping"],
        );
    }

    #[test]
    fn a_bad_server_hides_no_other() {
        let text = r#"{"mcpServers": {"a": 1, "b": {"command": "x"}, "c": {}}}"#;
        check("some.json", text, 1, &["`a` is not a mapping", "`c` has neither"]);
        check("some.json", r#"{"mcpServers": []}"#, 0, &["not a mapping of servers"]);
    }

    #[test]
    fn files_that_are_too_much_are_refused() {
        let server = (json!({"command": "x"}),);
        let many: serde_json::Map<String, Value> =
            (0..=SERVERS_MAX).map(|index| (index.to_string(), server.0.clone())).collect();
        let many = json!({"mcpServers": many}).to_string();
        check("some.json", &many, SERVERS_MAX, &["more than 1000 servers"]);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check("some.json", &deep, 0, &["Maximum nesting depth"]);
        let deep = format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000));
        check("some.toml", &deep, 0, &["it is not TOML"]);
        let depth = YAML_DEPTH_MAX + 1;
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check("some.yaml", &deep, 0, &["it is not YAML"]);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}, ", level - 1).repeat(8);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", alias.trim_end_matches(", ")));
        }
        check("some.yaml", &bomb, 0, &["it is not YAML"]);
        check("some.yaml", "a: 1\n---\nb: 2\n", 0, &["it is not YAML"]);
    }
}
