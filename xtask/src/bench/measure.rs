//! Measures one case: runs `haft bench` against a server and haft in turns. `comparing` goes
//! through the cases; no figure is computed here.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::place::{self, Place};
use super::running::Running;
use super::scenario::{Scenario, Wire};
use super::server::{self, LEGACY, Server};
use super::wishes::Wishes;
use super::{faults, record, shell};
use crate::failure::Failure;

/// What is measured, and how.
pub(super) struct Case<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) server: &'a Server,
    /// What of ours is measured beside it.
    pub(super) ours: &'a Server,
    pub(super) wishes: &'a Wishes,
    pub(super) place: Place,
    /// The file that constant servers answer with.
    pub(super) answers: &'a str,
}

/// What came out: the commands as a person would type them, and what was found.
pub(super) struct Measured {
    /// How the two servers are started: the other one, and ours.
    pub(super) start: [String; 2],
    /// How they are measured.
    pub(super) bench: String,
    pub(super) result: Result<Value, String>,
}

impl Case<'_> {
    /// Measures it. What a server does wrong is a result; a failure is of this machine.
    pub(super) fn measure(&self) -> Result<Measured, Failure> {
        match self.scenario.wire {
            Wire::Http => self.over_http(),
            Wire::Stdio => Ok(self.over_stdio()),
            Wire::Cold => Ok(self.starts()),
        }
    }

    fn over_http(&self) -> Result<Measured, Failure> {
        let tools = self.scenario.tools();
        let on_core = |words: Vec<String>| [self.place.server(), words].concat();
        let ours = Running::start(|port| on_core(self.ours.over_http(port, "")), tools)?;
        let theirs =
            Running::start(|port| on_core(self.server.over_http(port, self.answers)), tools);
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(failure) => return Ok(Measured::failed(failure.to_string())),
        };
        let mut words = vec![theirs.url()];
        words.extend(self.scenario.ask.words());
        words.extend(["--compare".to_owned(), ours.url()]);
        if self.server.name == LEGACY {
            let eras = ["--era", "legacy", "--compare-era", self.scenario.era];
            words.extend(eras.map(str::to_owned));
        } else {
            words.extend(["--era", self.scenario.era].map(str::to_owned));
        }
        words.extend(self.wishes.timing());
        let start = [&theirs, &ours].map(|server| typed(server.words(), tools));
        let (bench, said) = self.bench(words, &self.place.load());
        Ok(Measured { start, bench, result: said.and_then(|said| compared(&said)) })
    }

    fn over_stdio(&self) -> Measured {
        let on_core = |words: Vec<String>| [self.place.server(), words].concat();
        let both = [self.server.over_stdio(self.answers), self.ours.over_stdio("")].map(on_core);
        let mut words = vec!["--command".to_owned(), shell::line(&both[0])];
        words.extend(self.scenario.ask.words());
        words.extend(["--compare-command".to_owned(), shell::line(&both[1])]);
        words.extend(["--era", self.scenario.era].map(str::to_owned));
        words.extend(self.wishes.timing());
        let (bench, said) = self.bench(words, &self.place.load());
        let start = both.map(|words| typed(&words, self.scenario.tools()));
        Measured { start, bench, result: said.and_then(|said| compared(&said)) }
    }

    /// `haft bench --cold` has one server; they take turns here, and who begins takes turns too.
    /// They are bound to no processor, as whoever starts a server binds it to none.
    fn starts(&self) -> Measured {
        let (times, rounds) = self.wishes.cold();
        let both = [self.server.over_stdio(self.answers), self.ours.over_stdio("")];
        let start = both.clone().map(|words| typed(&words, self.scenario.tools()));
        let (mut all, mut lines) = (Vec::new(), [String::new(), String::new()]);
        for round in 0..rounds as usize {
            let mut pair = [Value::Null, Value::Null];
            for at in [round % 2, 1 - round % 2] {
                let mut words = vec!["--command".to_owned(), shell::line(&both[at])];
                words.extend(self.scenario.ask.words());
                words.extend(["--era", self.scenario.era].map(str::to_owned));
                words.extend(["--cold".to_owned(), times.to_string()]);
                let (line, said) = self.bench(words, &[]);
                lines[at] = line;
                match said {
                    Ok(said) => pair[at] = said,
                    Err(why) => return Measured { start, bench: both_of(lines), result: Err(why) },
                }
            }
            all.push(pair);
        }
        let kept = record::beginnings(&all).ok_or_else(|| NOTHING.to_owned());
        Measured { start, bench: both_of(lines), result: kept }
    }

    fn bench(&self, words: Vec<String>, before: &[String]) -> (String, Result<Value, String>) {
        let tools = self.scenario.tools();
        let mut all = before.to_vec();
        all.extend(["target/release/haft", "bench"].map(str::to_owned));
        all.extend(words);
        all.extend(self.scenario.load.iter().map(|word| (*word).to_owned()));
        if let Some(threads) = self.scenario.load_threads(place::processors()) {
            all.extend(["--threads".to_owned(), threads.to_string()]);
        }
        let mut command = server::command(&all);
        command.arg("--json").envs(tools.map(|count| ("TOOLS", count.to_string())));
        (typed(&all, tools), json_of(&mut command))
    }
}

impl Measured {
    pub(super) fn failed(why: String) -> Self {
        Self { start: Default::default(), bench: String::new(), result: Err(why) }
    }
}

/// Both loads of a cold start, one after the other; the second may not have begun.
fn both_of(lines: [String; 2]) -> String {
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" && ")
}

/// Why there are no figures, where nobody says why.
pub(super) const NOTHING: &str = "no figures came out of it";

/// What is kept of a comparison; who fails in the middle of it says why in its report.
pub(super) fn compared(said: &Value) -> Result<Value, String> {
    let ended = ["first", "second"].iter().find_map(|side| said[side]["ended"].as_str());
    let kept = record::rates(said).filter(|_| ended.is_none());
    let why = || ended.map(str::to_owned).or_else(|| faults::of(said));
    kept.ok_or_else(|| why().unwrap_or_else(|| NOTHING.to_owned()))
}

/// As it can be typed into a shell.
fn typed(words: &[String], tools: Option<usize>) -> String {
    let line = shell::line(words);
    tools.map_or_else(|| line.clone(), |count| format!("TOOLS={count} {line}"))
}

/// What a program prints as JSON, or why it fails, in its own words.
pub(super) fn json_of(command: &mut Command) -> Result<Value, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(reason(&String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// The message of an error as `haft … --json` writes it, or all that was said.
fn reason(said: &str) -> String {
    let read = |line| serde_json::from_str::<Value>(line).ok();
    let message = |it: Value| it["error"]["message"].as_str().map(str::to_owned);
    let found = said.lines().filter_map(read).find_map(message);
    found.unwrap_or_else(|| said.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{compared, json_of, typed};
    use serde_json::json;
    use std::process::Command;

    #[test]
    fn a_command_can_be_pasted() {
        let words = ["haft", "bench", "--input-json", r#"{"a":1}"#].map(str::to_owned);
        assert_eq!(typed(&words, None), r#"haft bench --input-json '{"a":1}'"#);
        assert_eq!(typed(&words[..1], Some(130)), "TOOLS=130 haft");
    }

    #[test]
    fn a_server_that_fails_is_quoted() {
        let mut command = Command::new("sh");
        let script = r#"echo noise >&2; echo '{"error":{"message":"it is down"}}' >&2; exit 3"#;
        command.args(["-c", script]);
        assert_eq!(json_of(&mut command), Err("it is down".to_owned()));
    }

    #[test]
    fn a_server_that_dies_in_the_middle_is_no_success() {
        let ratio =
            json!({ "figure": "per_second", "ratio": 2.0, "low": 1.9, "high": 2.1, "turns": [] });
        let mut said = json!({ "first": {}, "second": {}, "ratios": [ratio] });
        assert!(compared(&said).is_ok());
        let none = json!({ "ratios": [], "rounds": 0, "rounds_without_answers": 10 });
        assert!(compared(&none).is_err_and(|why| why.starts_with("10 of 10 rounds")));
        said["first"]["ended"] = "it is gone".into();
        assert_eq!(compared(&said), Err("it is gone".to_owned()));
    }
}
