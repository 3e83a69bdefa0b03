//! A server by the name that it has in an editor's file: which one is meant, and how it is started
//! or reached as its editor would. Used by `reach` and `doctor`.

use crate::exit::Failure;
use haft_client::{Launch, Stderr, Target};
use haft_editors::{
    Discovery, Found, How, Need, Surroundings, Values, discover, discover_file, host,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::path::Path;

/// A server of an editor, ready to be connected to.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    /// Where it is written, and what is.
    pub(crate) found: Found,
}

/// Whose files are looked at.
pub(crate) fn surroundings() -> Result<Surroundings, Failure> {
    let unknown = "editors' files cannot be found: HOME is not set to a directory";
    Surroundings::of_process().ok_or_else(|| Failure::usage(unknown))
}

/// The server that `word` names: `github`, `cursor:github`, or `.mcp.json:github`. Without one,
/// `otherwise` is said.
pub(crate) fn named(
    word: &str,
    stderr: Stderr,
    otherwise: impl FnOnce() -> Failure,
) -> Result<Named, Failure> {
    // Without a home there are no editors.
    let Ok(surroundings) = surroundings() else { return Err(otherwise()) };
    let (name, discovery) = match file_and_name(word) {
        Some((file, name)) => (name, discover_file(&std::path::absolute(file)?, &surroundings)),
        None => (word, discover(&surroundings, None)),
    };
    let Some(found) = pick(name, &discovery)? else {
        let failure = otherwise();
        let start = word.strip_suffix(name).unwrap_or_default();
        return Err(match nearest_name(name, &discovery) {
            Some(near) => failure.hint(format!("did you mean {start}{near}?")),
            None => failure,
        });
    };
    ready(found.clone(), &surroundings, stderr)
}

/// The file and the server in it that `word` names, if it begins with a file.
pub(crate) fn file_and_name(word: &str) -> Option<(&Path, &str)> {
    let (file, name) = word.rsplit_once(':')?;
    Some((Path::new(file), name)).filter(|(file, _)| file.is_file())
}

/// What to type instead of the file of an editor; `None` if the file is something else.
pub(crate) fn targets_in(file: &str) -> Option<Failure> {
    let discovery = discover_file(&std::path::absolute(file).ok()?, &surroundings().ok()?);
    let first = discovery.found.first()?;
    let failure = Failure::usage(format!("{file} has servers for an editor; name one of them"));
    Some(failure.hint(format!("try {file}:{}", first.entry.name)))
}

/// The one server that is meant; of two with one meaning it does not matter which.
fn pick<'d>(word: &str, discovery: &'d Discovery) -> Result<Option<&'d Found>, Failure> {
    let mut meant: Vec<&Found> =
        discovery.found.iter().filter(|found| found.entry.name == word).collect();
    if meant.is_empty()
        && let Some((source, name)) = word.split_once(':')
    {
        let id = host(source).map_or(source, |host| host.id);
        let is_it = |found: &&Found| found.source() == id && found.entry.name == name;
        meant = discovery.found.iter().filter(is_it).collect();
    }
    // A host takes the nearest of its files, but a stranger's project must not put another program
    // in the place of one that its user knows.
    let mut files: Vec<&Found> = Vec::new();
    for found in meant {
        let is_same_kind = |known: &&Found| {
            known.source() == found.source() && known.is_project == found.is_project
        };
        if !files.iter().any(is_same_kind) {
            files.push(found);
        }
    }
    let Some(first) = files.first() else { return Ok(None) };
    if files.iter().all(|found| found.entry.how == first.entry.how) {
        return Ok(Some(first));
    }
    let message = format!("`{word}` is another server in each of {} files", files.len());
    let names: Vec<String> = files.iter().map(|found| name_among(found, &files)).collect();
    Err(Failure::usage(message).hint(format!("say which one is meant: {}", names.join(", "))))
}

/// What names one of many: its host, or its file where the host has two.
fn name_among(found: &Found, files: &[&Found]) -> String {
    let source = found.source();
    let name = &found.entry.name;
    if files.iter().filter(|other| other.source() == source).count() == 1 {
        return format!("{source}:{name}");
    }
    let directory = std::env::current_dir().unwrap_or_default();
    match found.file.strip_prefix(&directory) {
        Ok(inner) => format!("{}:{name}", inner.display()),
        Err(_) => format!("{}:{name}", shown(&found.file)),
    }
}

fn nearest_name(word: &str, discovery: &Discovery) -> Option<String> {
    let names = discovery.found.iter().map(|found| found.entry.name.as_str());
    let (source, name) = match word.split_once(':') {
        Some((source, name)) => (Some(source), name),
        None => (None, word),
    };
    let near = haft_server::nearest(name, names)?;
    Some(match source.and_then(host) {
        Some(host) => format!("{}:{near}", host.id),
        None => near.to_owned(),
    })
}

fn ready(found: Found, surroundings: &Surroundings, stderr: Stderr) -> Result<Named, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let folder = found.project().unwrap_or(&surroundings.directory);
    let values = Values { variable: &variable, home: &surroundings.home, folder };
    let entry = found.filled(&values).map_err(|needs| missing(&found, &needs))?;
    let mut headers = HeaderMap::new();
    let target = match &entry.how {
        How::Command { program, args, env, dir } => {
            let mut launch = Launch::new(program, args).stderr(stderr).variables(env.clone());
            if let Some(dir) = dir {
                launch = launch.directory(folder.join(dir));
            }
            Target::Command(launch)
        }
        How::Url { url, headers: pairs, .. } => {
            for (name, value) in pairs {
                add_header(&mut headers, name, value, &found)?;
            }
            Target::Url(url.clone())
        }
    };
    Ok(Named { target, headers, found })
}

fn missing(found: &Found, needs: &[Need]) -> Failure {
    let list: Vec<String> = needs.iter().map(ToString::to_string).collect();
    let name = &found.entry.name;
    let failure = Failure::usage(format!("`{name}` needs {}", list.join(", and ")));
    let variables: Vec<String> = needs
        .iter()
        .filter_map(|need| match need {
            Need::Variable(name) => Some(format!("{name}=…")),
            Need::File(_) | Need::Input(_) => None,
        })
        .collect();
    match &found.entry.how {
        _ if variables.len() == needs.len() => {
            failure.hint(format!("set it: {} haft …", variables.join(" ")))
        }
        How::Command { .. } => failure.hint("give --command with the values in it instead"),
        How::Url { .. } => {
            failure.hint("give its URL, and --header with the values in it, instead")
        }
    }
}

/// Adds a header, whose value is never shown.
fn add_header(
    headers: &mut HeaderMap,
    name: &str,
    value: &str,
    found: &Found,
) -> Result<(), Failure> {
    let wrong = |what: &str| {
        let server = &found.entry.name;
        Failure::usage(format!("`{server}` in {}: {what} of a header", shown(&found.file)))
    };
    let name: HeaderName = name.parse().map_err(|_| wrong("there is an illegal name"))?;
    let mut value =
        HeaderValue::from_str(value.trim()).map_err(|_| wrong("there is an illegal value"))?;
    value.set_sensitive(true);
    headers.append(name, value);
    Ok(())
}

/// A path for people: `~` is the home directory.
pub(crate) fn shown(path: &Path) -> String {
    let home = std::env::home_dir().filter(|home| home.parent().is_some());
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inner) => format!("~/{}", inner.display()),
        None => path.display().to_string(),
    }
}
