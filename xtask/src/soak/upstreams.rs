//! The servers behind the gateway: which there are, their files, and the gateway's file as it is
//! now. Who edits it and who calls are elsewhere.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::asking::Era;
use super::limits;
use crate::failure::Failure;

/// What marks every process of the gateway, in its environment.
pub(super) const MARK: &str = "HAFT_SOAK";

/// What is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// haft, as a child or at an address.
    Piped(Era),
    Far(Era),
    /// `faulty` of the testkit, well or ill.
    Plain,
    PlainFar,
    Noisy,
    Mortal,
}

/// In this order, again and again.
const KINDS: [Kind; 10] = [
    Kind::Piped(Era::Legacy),
    Kind::Piped(Era::Modern),
    Kind::Far(Era::Legacy),
    Kind::Far(Era::Modern),
    Kind::Plain,
    Kind::Piped(Era::Legacy),
    Kind::Piped(Era::Modern),
    Kind::PlainFar,
    Kind::Noisy,
    Kind::Mortal,
];

/// One of them.
pub(super) struct Upstream {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The keys of it in the gateway's file.
    keys: Value,
    /// It is ours where the gateway does not start it.
    _far: Option<Far>,
}

struct Far(Child);

impl Drop for Far {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Upstream {
    /// How many processes of it the gateway has.
    pub(super) const fn processes(&self) -> usize {
        match self.kind {
            Kind::Far(_) | Kind::PlainFar => 0,
            _ => 1,
        }
    }

    pub(super) const fn is_haft(&self) -> bool {
        matches!(self.kind, Kind::Piped(_) | Kind::Far(_))
    }

    /// Whether it ends now and then of its own.
    pub(super) fn is_mortal(&self) -> bool {
        self.kind == Kind::Mortal
    }
}

/// Programs that were built.
pub(super) struct Programs {
    pub(super) haft: PathBuf,
    pub(super) faulty: PathBuf,
}

/// Makes all of them ready in a folder.
pub(super) fn all(programs: &Programs, folder: &Path) -> Result<Vec<Upstream>, Failure> {
    (0..limits::UPSTREAMS).map(|number| one(programs, folder, number)).collect()
}

fn one(programs: &Programs, folder: &Path, number: usize) -> Result<Upstream, Failure> {
    let name = format!("u{number:02}");
    let kind = KINDS[number % KINDS.len()];
    let file = folder.join(format!("{name}.json"));
    let text = own_file(&name).to_string();
    fs::write(&file, text).map_err(|source| Failure::file(file.display(), source))?;
    let (haft, faulty) = (&programs.haft, &programs.faulty);
    let mut far = None;
    let mut keys = match kind {
        Kind::Piped(era) => {
            json!({ "command": [haft, "serve", file, "--stdio"], "era": era.as_str() })
        }
        Kind::Far(era) => {
            let mut command = Command::new(haft);
            command.arg("serve").arg(&file).args(["--http", "127.0.0.1:0"]);
            let (child, line) = said(command.stderr(Stdio::piped()), true)?;
            let url = line.rsplit_once(" at ").map(|(_, url)| url.to_owned()).unwrap_or(line);
            far = Some(child);
            json!({ "url": url, "era": era.as_str() })
        }
        // The last rule never matters: it says whose the process is.
        Kind::Plain => json!({ "command": [faulty, format!("{name} exit")] }),
        Kind::PlainFar => {
            let (child, url) =
                said(Command::new(faulty).arg("--http").stdout(Stdio::piped()), false)?;
            far = Some(child);
            json!({ "url": url })
        }
        Kind::Noisy => {
            let rules = ["tools/call send no JSON", "tools/call answer"];
            json!({ "command": [faulty, rules[0], rules[1], format!("{name} exit")] })
        }
        // After half a minute or so: it is started again at once then.
        Kind::Mortal => {
            json!({ "command": [faulty, "tools/call@800 exit", format!("{name} exit")] })
        }
    };
    keys["timeout"] = json!("10s");
    if far.is_none() {
        keys["env"] = json!({ MARK: folder });
    }
    Ok(Upstream { name, kind, keys, _far: far })
}

/// A server with something short, something that may not be done twice, and something long.
fn own_file(name: &str) -> Value {
    let text = format!("{name} {{{{ text }}}}");
    let input = json!({ "text": "string" });
    json!({
        "server": { "name": name },
        "tools": [
            { "name": "read", "description": "Says it again.", "input": input, "text": text,
              "annotations": { "readOnly": true } },
            { "name": "write", "description": "Says it again.", "input": input, "text": text,
              "annotations": { "readOnly": false } },
            { "name": "long", "description": "Says much.", "annotations": { "readOnly": true },
              "text": long(name) },
        ],
    })
}

/// What the long tool says.
pub(super) fn long(name: &str) -> String {
    name.repeat(limits::LONG_BYTES / name.len())
}

/// The gateway's file: all but those that have gone, and the number of the edit of each.
pub(super) fn file(upstreams: &[Upstream], is_there: &[bool], edits: &[u64]) -> String {
    let mut all = serde_json::Map::new();
    for ((upstream, is_there), edit) in upstreams.iter().zip(is_there).zip(edits) {
        if *is_there {
            let mut keys = upstream.keys.clone();
            // Any other key makes it another upstream.
            keys["timeout"] = json!(format!("{}s", 10 + edit % 2));
            all.insert(upstream.name.clone(), keys);
        }
    }
    json!({ "server": { "name": "gate" }, "upstreams": all }).to_string()
}

/// Starts a server, and waits for its first line.
fn said(command: &mut Command, on_stderr: bool) -> Result<(Far, String), Failure> {
    let line = crate::command::line(command);
    let unusable = |source| Failure::file(&line, source);
    let mut far = Far(command.stdin(Stdio::null()).spawn().map_err(unusable)?);
    let mut first = String::new();
    if on_stderr {
        let mut stderr = BufReader::new(far.0.stderr.take().expect("it is piped"));
        stderr.read_line(&mut first).map_err(unusable)?;
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(drop));
    } else {
        let stdout = far.0.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut first).map_err(unusable)?;
    }
    Ok((far, first.trim_end().to_owned()))
}
