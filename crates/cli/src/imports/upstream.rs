//! A server of an editor in the words of haft.yaml: the mapping that stands under its name in
//! `upstreams`. Secrets go to the vault. Reads no file; whether one fits is judged by the reader of
//! haft.yaml.

use super::kept::DIRECTORY;
use super::vault::{Form, Vault};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_editors::{Found, How, Part, Parted, Parts, Surroundings};
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};

/// What is the same for all servers of one run.
pub(crate) struct Words<'a> {
    pub(crate) surroundings: &'a Surroundings,
    /// The directory of haft.yaml, absolute.
    pub(crate) directory: &'a Path,
    /// haft.yaml itself; nothing if it is no file.
    pub(crate) file: Option<&'a Path>,
    pub(crate) form: Form,
}

/// What is written, and what of the entry is not.
pub(crate) type Written = (Value, Vec<String>);

/// The mapping of a server under this name.
///
/// # Errors
/// Why it cannot be an upstream, in words that follow its name.
pub(crate) fn words(
    found: &Found,
    name: &str,
    words: &Words<'_>,
    vault: &mut Vault,
) -> Result<Written, String> {
    let mut found = found.clone();
    let folder = found.project().unwrap_or(&words.surroundings.directory).to_owned();
    if words.is_itself(&found, &folder) {
        return Err("starts this very file".to_owned());
    }
    let unread = |key: &&str| format!("`{key}` of its entry is not taken along");
    let mut notes: Vec<String> = found.unread.iter().map(unread).collect();
    userinfo_to_header(&mut found)?;
    let mut speaker = Speaker { found: &found, upstream: name, form: words.form, vault };
    let mut mapping = Map::new();
    match found.parted(words.surroundings) {
        Parted::Command { argv, env, dir } => {
            let mut pairs = Map::new();
            for (variable, parts) in &env {
                let at = format!("the variable {variable}");
                pairs.insert(variable.clone(), json!(speaker.text(parts, &at, variable)?));
            }
            // After the variables, which have names of their own.
            let mut texts = Vec::new();
            for (index, argument) in argv.iter().enumerate() {
                let at = if index == 0 { "its program" } else { "an argument" };
                texts.push(speaker.text(argument, at, "argument")?);
            }
            at_folder(&mut texts[0], &argv[0], &folder);
            mapping.insert("command".to_owned(), json!(texts));
            if !pairs.is_empty() {
                mapping.insert("env".to_owned(), Value::Object(pairs));
            }
            let dir = match dir {
                Some(parts) => {
                    let mut text = speaker.text(&parts, "its directory", "directory")?;
                    if !is_absolute(&parts) {
                        text = folder.join(text).to_string_lossy().into_owned();
                    }
                    Some(text)
                }
                None => words.directory_of(&found, &folder).map(str::to_owned),
            };
            if let Some(dir) = dir {
                mapping.insert("cwd".to_owned(), json!(dir));
            }
        }
        Parted::Url { url, headers, .. } => {
            mapping.insert("url".to_owned(), json!(speaker.url(&url)?));
            let mut pairs = Map::new();
            for (header, parts) in &headers {
                if is_own_header(header) {
                    notes.push(format!("its header {header} is left out: haft sends its own"));
                    continue;
                }
                // The last of one name counts, as in a mapping.
                pairs.retain(|known, _| !known.eq_ignore_ascii_case(header));
                let at = format!("the header {header}");
                pairs.insert(header.clone(), json!(speaker.text(parts, &at, header)?));
            }
            if !pairs.is_empty() {
                mapping.insert("headers".to_owned(), Value::Object(pairs));
            }
        }
    }
    Ok((Value::Object(mapping), notes))
}

/// Writes texts of one server.
struct Speaker<'a> {
    found: &'a Found,
    upstream: &'a str,
    form: Form,
    vault: &'a mut Vault,
}

impl Speaker<'_> {
    /// A text of haft.yaml that means the same. `at` says where it stands, `hint` what it is called
    /// if it has to be kept elsewhere.
    fn text(&mut self, parts: &Parts, at: &str, hint: &str) -> Result<String, String> {
        let is_template = |part: &Part| match part {
            Part::Plain(text) => ["{{", "{%", "{#"].iter().any(|open| text.contains(open)),
            _ => false,
        };
        if parts.iter().any(is_template) {
            // Here these would be read; what is filled in is not.
            let [Part::Plain(text)] = &parts[..] else {
                return Err(format!("has braces and a variable in {at}"));
            };
            let name = self.keep(hint, text, at);
            return Ok(self.secret(&name));
        }
        let mut text = String::new();
        for part in parts {
            let stands_for = match part {
                Part::Plain(typed) => {
                    text.push_str(&typed.replace("${", "$${"));
                    continue;
                }
                Part::Secret { value, hint } => {
                    let name = self.keep(hint, value, at);
                    self.secret(&name)
                }
                Part::Variable(name, otherwise) => {
                    let what = self.of_entry(at);
                    self.vault.borrow(self.upstream, name, otherwise.as_deref(), &what);
                    format!("${{env:{name}}}")
                }
                Part::Input(id) => {
                    let what = self.of_entry(&format!("{at}, the input `{id}`,"));
                    format!("${{env:{}}}", self.vault.ask(self.upstream, id, &what))
                }
                Part::File(path) if path.to_string_lossy().contains('}') => {
                    return Err(format!("takes {at} from a file with `}}` in its name"));
                }
                Part::File(path) => format!("${{file:{}}}", path.display()),
            };
            if text.ends_with('$') {
                return Err(format!("has a `$` before what is filled in, in {at}"));
            }
            text.push_str(&stands_for);
        }
        Ok(text)
    }

    fn url(&mut self, parts: &Parts) -> Result<String, String> {
        let text = self.text(parts, "its address", "url")?;
        if let Some(name) = text.strip_prefix("${env:").and_then(|rest| rest.split('}').next()) {
            self.vault.begins_url(name);
        }
        // It is never sent.
        Ok(text.split('#').next().unwrap_or_default().to_owned())
    }

    fn keep(&mut self, hint: &str, value: &str, at: &str) -> String {
        let what = self.of_entry(at);
        self.vault.keep(self.upstream, hint, value, &what)
    }

    fn secret(&self, name: &str) -> String {
        match self.form {
            Form::Env => format!("${{env:{name}}}"),
            Form::File => format!("${{file:{DIRECTORY}/{name}}}"),
        }
    }

    fn of_entry(&self, at: &str) -> String {
        format!("{at} of `{}` in {}", self.found.entry.name, self.found.source())
    }
}

impl Words<'_> {
    /// Whether a server is haft with the file that it would be put into.
    fn is_itself(&self, found: &Found, folder: &Path) -> bool {
        let (How::Command { program, args, .. }, Some(file)) = (&found.entry.how, self.file) else {
            return false;
        };
        let is_haft = Path::new(program).file_stem().is_some_and(|stem| stem == "haft");
        let is_file = |argument: &String| cleaned(&folder.join(argument)) == cleaned(file);
        is_haft && args.first().is_some_and(|verb| verb == "serve") && args.iter().any(is_file)
    }

    /// Where a server of a project has to run that is started with paths from there.
    fn directory_of<'f>(&self, found: &Found, folder: &'f Path) -> Option<&'f str> {
        let How::Command { program, args, .. } = &found.entry.how else { return None };
        let is_from_there = |text: &String| {
            let path = text.rsplit('=').next().unwrap_or_default();
            !path.is_empty() && Path::new(path).is_relative() && folder.join(path).exists()
        };
        let is_needed = found.is_project && folder != self.directory;
        let mut texts = [program].into_iter().chain(args);
        (is_needed && texts.any(is_from_there)).then(|| folder.to_str()).flatten()
    }
}

/// A program by a path from its project is found from elsewhere too.
fn at_folder(text: &mut String, parts: &Parts, folder: &Path) {
    if text.contains('/') && !is_absolute(parts) {
        *text = cleaned(&folder.join(&*text)).to_string_lossy().into_owned();
    }
}

/// Whether a path begins at the root, or with what nobody knows yet.
fn is_absolute(parts: &Parts) -> bool {
    match parts.first() {
        Some(Part::Plain(text)) => Path::new(text).is_absolute(),
        first => first.is_some(),
    }
}

/// Without `.` and `..`, by the text alone.
pub(crate) fn cleaned(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// haft.yaml has no names and passwords in addresses; they are sent in a header.
fn userinfo_to_header(found: &mut Found) -> Result<(), String> {
    let How::Url { url, headers, .. } = &mut found.entry.how else { return Ok(()) };
    let Some(start) = url.find("://").map(|at| at + "://".len()) else { return Ok(()) };
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    let Some(at) = url[start..end].rfind('@').map(|at| start + at) else { return Ok(()) };
    let user = url[start..at].to_owned();
    if user.contains(['$', '{', '%']) {
        return Err("has a user name in its address that only its editor can read; put it into a \
                    header"
            .to_owned());
    }
    let user = if user.contains(':') { user } else { format!("{user}:") };
    url.replace_range(start..=at, "");
    if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        return Err("has both a user name in its address and a header Authorization".to_owned());
    }
    headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(user))));
    Ok(())
}

/// Headers that MCP and HTTP have for themselves.
fn is_own_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let own = ["accept", "accept-encoding", "connection", "content-length", "content-type", "host"];
    own.contains(&&*name) || name == "last-event-id" || name.starts_with("mcp-")
}
