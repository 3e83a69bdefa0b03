//! Measures one case: runs `haft bench` against a server and haft in turns, and keeps its own JSON.
//! `comparing` goes through the cases; no figure is computed here.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::place::Place;
use super::running::Running;
use super::scenario::{Scenario, Wire};
use super::server::{self, HAFT, LEGACY, Server};
use super::wishes::Wishes;
use crate::failure::Failure;

/// What is measured, and how.
pub(super) struct Case<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) server: &'a Server,
    pub(super) wishes: &'a Wishes,
    pub(super) place: Place,
    /// The file that constant servers answer with.
    pub(super) answers: &'a str,
}

/// What came out: the command as a person would type it, and what it printed.
pub(super) struct Measured {
    pub(super) command: String,
    pub(super) result: Result<Value, String>,
}

impl Case<'_> {
    /// Measures it. What a server does wrong is a result; a failure is of this machine.
    pub(super) fn measure(&self) -> Result<Measured, Failure> {
        match self.scenario.wire {
            Wire::Http => self.over_http(),
            Wire::Stdio => self.over_stdio(),
            Wire::Cold => self.starts(),
        }
    }

    fn over_http(&self) -> Result<Measured, Failure> {
        let tools = self.scenario.tools();
        let on_core = |words: Vec<String>| [self.place.server(), words].concat();
        let ours = Running::start(|port| on_core(HAFT.over_http(port, "")), tools)?;
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
        Ok(self.bench(words, &self.place.load()))
    }

    fn over_stdio(&self) -> Result<Measured, Failure> {
        let line = |words: Vec<String>| [self.place.server(), words].concat().join(" ");
        let theirs = line(self.server.over_stdio(self.answers));
        let mut words = vec!["--command".to_owned(), theirs];
        words.extend(self.scenario.ask.words());
        words.extend(["--compare-command".to_owned(), line(HAFT.over_stdio(""))]);
        words.extend(["--era", self.scenario.era].map(str::to_owned));
        words.extend(self.wishes.timing());
        Ok(self.bench(words, &self.place.load()))
    }

    /// `haft bench --cold` has one server; they take turns here, and who begins takes turns too.
    /// They are bound to no processor, as whoever starts a server binds it to none.
    fn starts(&self) -> Result<Measured, Failure> {
        let (times, rounds) = self.wishes.cold();
        let mut all = [Vec::new(), Vec::new()];
        let mut command = String::new();
        for round in 0..rounds as usize {
            for at in [round % 2, 1 - round % 2] {
                let words = match at {
                    0 => self.server.over_stdio(self.answers),
                    _ => HAFT.over_stdio(""),
                };
                let mut words = vec!["--command".to_owned(), words.join(" ")];
                words.extend(self.scenario.ask.words());
                words.extend(["--era", self.scenario.era].map(str::to_owned));
                words.extend(["--cold".to_owned(), times.to_string()]);
                let measured = self.bench(words, &[]);
                match measured.result {
                    Ok(found) => all[at].push(found),
                    Err(_) => return Ok(measured),
                }
                if at == 0 {
                    command = measured.command;
                }
            }
        }
        let [first, second] = all;
        let result = Ok(json!({ "first": first, "second": second }));
        Ok(Measured { command, result })
    }

    fn bench(&self, words: Vec<String>, before: &[String]) -> Measured {
        let tools = self.scenario.tools();
        let mut all = before.to_vec();
        all.extend(["target/release/haft", "bench"].map(str::to_owned));
        all.extend(words);
        all.extend(self.scenario.load.iter().map(|word| (*word).to_owned()));
        let mut command = server::command(&all);
        command.arg("--json").envs(tools.map(|count| ("TOOLS", count.to_string())));
        Measured { command: typed(&all, tools), result: json_of(&mut command) }
    }
}

impl Measured {
    fn failed(why: String) -> Self {
        Self { command: String::new(), result: Err(why) }
    }
}

/// As it can be typed into a shell.
fn typed(words: &[String], tools: Option<usize>) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,".contains(letter);
    let quote = |word: &String| {
        if word.chars().all(is_plain) { word.clone() } else { format!("'{word}'") }
    };
    let line = words.iter().map(quote).collect::<Vec<_>>().join(" ");
    tools.map_or_else(|| line.clone(), |count| format!("TOOLS={count} {line}"))
}

fn json_of(command: &mut Command) -> Result<Value, String> {
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
    use super::{json_of, typed};
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
}
