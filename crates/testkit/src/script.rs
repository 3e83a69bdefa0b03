//! What is done when: rules, as they are typed, and how often each moment has come. Read by the
//! wires, done by `act`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `answer`: what a healthy server answers.
    Answer,
    /// `half`: the first half of that.
    Half,
    /// `send TEXT`: a message, or a line that is none. In it, `$id` is the id of the request, `$n`
    /// a number that is another each time, and `$ff` a byte that is no UTF-8.
    Send(String),
    /// `again TEXT`: the same again and again, without end.
    Again(String),
    /// `raw TEXT`: the same as it is, without the end of a line or event.
    Raw(String),
    /// `fill BYTES`: so many letters, which are never all in memory; `fill` alone, without end.
    Fill(u64),
    /// `wait MS`: milliseconds pass.
    Wait(Duration),
    /// `drip TEXT`: `raw` every 20 ms, without end.
    Drip(String),
    /// `hang`: nothing is done or read any more.
    Hang,
    /// `exit`: the process ends; over HTTP, the connection.
    Exit,
    /// `leave`: a process is started that holds all pipes for an hour.
    Leave,
    /// `status CODE`: of the response, over HTTP; 200 without it.
    Status(u16),
    /// `header NAME: VALUE`: one of the response, over HTTP.
    Header(String),
    /// `stream`: the response is a stream of events, over HTTP.
    Stream,
    /// `meanwhile STEP`: is done beside all that follows, on stdout.
    Meanwhile(Box<Self>),
}

/// When, from which time on, and what.
#[derive(Clone, Debug)]
struct Rule {
    moment: String,
    from: u64,
    step: Step,
}

/// All rules.
#[derive(Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
    times: Mutex<HashMap<String, u64>>,
}

impl Script {
    /// Reads rules.
    ///
    /// # Errors
    /// The first that is none.
    pub fn read(rules: impl Iterator<Item = String>) -> Result<Self, String> {
        let read = |rule: String| read(&rule).ok_or_else(|| format!("`{rule}` is no rule"));
        Ok(Self { rules: rules.map(read).collect::<Result<_, _>>()?, times: Mutex::default() })
    }

    /// A moment has come: what is done, if it is not what a healthy server does.
    #[must_use]
    pub fn at(&self, moment: &str) -> Option<Vec<Step>> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let time = times.entry(moment.to_owned()).or_default();
        *time += 1;
        let due = |rule: &&Rule| rule.moment == moment && rule.from <= *time;
        let latest = self.rules.iter().filter(due).map(|rule| rule.from).max()?;
        let now = self.rules.iter().filter(due).filter(|rule| rule.from == latest);
        Some(now.map(|rule| rule.step.clone()).collect())
    }
}

fn read(rule: &str) -> Option<Rule> {
    let (moment, step) = rule.split_once(' ')?;
    let (moment, from) = moment.split_once('@').unwrap_or((moment, "1"));
    Some(Rule { moment: moment.to_owned(), from: from.parse().ok()?, step: step_of(step)? })
}

fn step_of(step: &str) -> Option<Step> {
    let (verb, text) = step.split_once(' ').unwrap_or((step, ""));
    let is_alone = text.is_empty();
    Some(match verb {
        "answer" if is_alone => Step::Answer,
        "half" if is_alone => Step::Half,
        "send" => Step::Send(text.to_owned()),
        "again" => Step::Again(text.to_owned()),
        "raw" => Step::Raw(text.to_owned()),
        "fill" if is_alone => Step::Fill(u64::MAX),
        "fill" => Step::Fill(text.parse().ok()?),
        "wait" => Step::Wait(Duration::from_millis(text.parse().ok()?)),
        "drip" => Step::Drip(text.to_owned()),
        "hang" if is_alone => Step::Hang,
        "exit" if is_alone => Step::Exit,
        "leave" if is_alone => Step::Leave,
        "status" => Step::Status(text.parse().ok()?),
        "header" => Step::Header(text.to_owned()),
        "stream" if is_alone => Step::Stream,
        "meanwhile" => Step::Meanwhile(Box::new(step_of(text)?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(rules: &[&str]) -> Result<Script, String> {
        Script::read(rules.iter().map(|rule| (*rule).to_owned()))
    }

    #[test]
    fn later_rules_take_the_place_of_earlier_ones() {
        let rules = ["a send x y", "a exit", "a@3 hang", "b fill 7"];
        let script = script(&rules).expect("rules");
        let first = Some(vec![Step::Send("x y".to_owned()), Step::Exit]);
        assert_eq!([script.at("a"), script.at("a")], [first.clone(), first]);
        assert_eq!(script.at("b"), Some(vec![Step::Fill(7)]));
        assert_eq!([script.at("a"), script.at("a")], [(); 2].map(|()| Some(vec![Step::Hang])));
        assert_eq!(script.at("c"), None);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for wrong in ["", "start", "start dance", "a@x exit", "a wait long", "a exit now"] {
            assert_eq!(script(&[wrong]).map(|_| ()), Err(format!("`{wrong}` is no rule")));
        }
    }
}
