//! Reads the command line that all clients share. `main` asks; it connects to nothing.

use serde_json::{Map, Value};

const USAGE: &str = "name one target: --url URL, or --stdio -- CMD ARGS";

pub(crate) enum Target {
    Url(String),
    Command(Vec<String>),
}

pub(crate) struct Arguments {
    pub(crate) target: Target,
    pub(crate) era: String,
    /// Tools to call instead of the walk.
    pub(crate) calls: Vec<(String, Map<String, Value>)>,
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, String> {
        let mut words = std::env::args().skip(1);
        let (mut url, mut stdio, mut command) = (None, false, Vec::new());
        let (mut era, mut calls) = ("auto".to_owned(), Vec::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--url" => url = Some(value()?),
                "--era" => era = value()?,
                "--call" => calls.push(read_call(&value()?)?),
                "--stdio" => stdio = true,
                "--" => command = words.by_ref().collect(),
                other => return Err(format!("{other}: {USAGE}")),
            }
        }
        let target = match url {
            Some(url) if !stdio && command.is_empty() => Target::Url(url),
            None if stdio && !command.is_empty() => Target::Command(command),
            _ => return Err(USAGE.to_owned()),
        };
        Ok(Self { target, era, calls })
    }
}

fn read_call(text: &str) -> Result<(String, Map<String, Value>), String> {
    let wrong = || format!("--call {text}: write NAME={{\"json\":\"arguments\"}}");
    let (name, arguments) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.to_owned(), serde_json::from_str(arguments).map_err(|_| wrong())?))
}
