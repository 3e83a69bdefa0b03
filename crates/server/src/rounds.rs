//! A modern call that needs its client's input ends, and is made again with the answers
//! (2026-07-28, "Multi Round-Trip Requests"). Its handler runs again from the start; what it has
//! been told before travels sealed in `requestState`. This is that memory; `sealed` protects it.

use crate::canonical;
use crate::passing;
use crate::registry::Snapshot;
use crate::sealed::{Claim, Sealer};
use crate::tool::Registered;
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use haft_proto::spec::question::Question;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// What one call has been told so far, and what it asks now.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Answers by their questions: see [`told`].
    answers: BTreeMap<String, Box<RawValue>>,
    /// The prints of the tools that were called within, by their names.
    called: BTreeMap<String, u64>,
    /// What was done once in earlier rounds, until somebody takes it.
    pub(crate) steps: Steps,
    /// This round's answers to what was not asked in the round before.
    fresh: BTreeMap<String, Box<RawValue>>,
    asked: Vec<(Box<str>, Question)>,
    /// Why the call cannot go on. Few calls have one, and each has room for it.
    refusal: Option<Box<Refusal>>,
    /// That the state of the round before is used once.
    claim: Option<Claim>,
    /// Dropped with this round, as those who wait for answers notice.
    open: Option<watch::Sender<()>>,
}

/// What a call does once, by its keys: the results of what is done. Locked while it is being done.
pub(crate) type Steps = BTreeMap<String, Step>;
pub(crate) type Step = Arc<Mutex<Option<Box<RawValue>>>>;

/// What travels in `requestState`.
#[derive(Default, Deserialize, Serialize)]
struct Memory {
    /// Answers by their questions.
    #[serde(rename = "a", default)]
    answers: BTreeMap<String, Box<RawValue>>,
    /// The prints of the tools within which something was asked or done, by their names.
    #[serde(rename = "t", default)]
    called: BTreeMap<String, u64>,
    /// The prints of the questions that are asked with this, by their keys.
    #[serde(rename = "q", default)]
    prints: BTreeMap<String, Option<u64>>,
    /// Results of steps that are done once.
    #[serde(rename = "s", default)]
    steps: BTreeMap<String, Box<RawValue>>,
}

/// The questions by their keys, and the state for the next round.
pub(crate) type Next<'a> = (&'a [(Box<str>, Question)], String);

/// Why a call stops here.
pub(crate) enum Pause {
    /// It goes on as a task.
    BecomesTask,
    /// It needs answers.
    Input,
    /// It was answered with something that is no answer.
    Refused(Refusal),
}

impl Rounds {
    /// Reads what a request brings of earlier rounds; `define` appends what is asked for.
    pub(crate) fn open(
        ask: &Ask<'_>,
        snapshot: &Snapshot,
        define: impl FnOnce(&mut Vec<u8>),
        (sealer, limits): (&Arc<Sealer>, &Limits),
    ) -> Result<Self, Refusal> {
        let params = &ask.message.params;
        let (mut memory, mut claim) = (Memory::default(), None);
        if let Some(raw) = params.request_state {
            let state = JsonStr::from_raw(raw).filter(|_| raw.len() <= limits.state_bytes);
            let state = state.ok_or_else(not_ours)?.decode();
            let (opened, claimed) = sealer.open(&Binding::of(ask).text(define), &state)?;
            memory = serde_json::from_slice(&opened).map_err(|_| not_ours())?;
            let is_same = |(name, print): (&String, &u64)| {
                snapshot.find_called(name).is_some_and(|tool| tool.print() == *print)
            };
            if !memory.called.iter().all(is_same) {
                return Err(not_ours());
            }
            claim = Some(claimed);
        }
        let mut fresh: BTreeMap<String, Box<RawValue>> = match params.input_responses {
            None | Some("null") => BTreeMap::new(),
            Some(raw) => serde_json::from_str(raw).map_err(|_| {
                let message = "Invalid params: `inputResponses` must be an object with an answer \
                               for each key that was asked";
                Refusal::new(Mistake::InvalidParams, message)
            })?,
        };
        let Memory { mut answers, called, prints, steps } = memory;
        // Kept though the handler may not come to that question in this round.
        for (key, print) in prints {
            if let Some(answer) = fresh.remove(&key) {
                answers.insert(told(&key, print), answer);
            }
        }
        let step = |(key, result)| (key, Arc::new(Mutex::new(Some(result))));
        let steps = steps.into_iter().map(step).collect();
        let asked = Vec::new();
        Ok(Self { answers, called, steps, fresh, asked, refusal: None, claim, open: None })
    }

    /// A tool that is called within has asked or done something.
    pub(crate) fn note(&mut self, tool: &Registered) {
        let name = &tool.tool.name;
        if !self.called.contains_key(name) {
            self.called.insert(name.clone(), tool.print());
        }
    }

    /// The answer to a question, if it has come; else the question is noted.
    pub(crate) fn answer(
        &mut self,
        key: &str,
        question: Question,
        limit: usize,
    ) -> Option<Box<RawValue>> {
        let told = told(key, print(&question));
        if let Some(answer) = self.fresh.remove(key) {
            self.answers.insert(told.clone(), answer);
        }
        if let Some(answer) = self.answers.get(&told) {
            return Some(answer.clone());
        }
        let is_asked = self.asked.iter().any(|(asked, _)| **asked == *key);
        if self.asked.len() >= limit {
            let message = format!("Internal error: the call asks more than {limit} questions");
            self.refusal = Some(Refusal::new(Mistake::Internal, message).into());
        } else if !is_asked {
            self.asked.push((key.into(), question));
        }
        None
    }

    /// The answer to that question has been used, and does not count again.
    pub(crate) fn forget(&mut self, key: &str, question: &Question) {
        self.answers.remove(&told(key, print(question)));
    }

    /// The answer to whatever was asked under that key, which does not count again.
    pub(crate) fn bring(&mut self, key: &str) -> Option<Box<RawValue>> {
        let is_its = |told: &&String| told.split('\0').next() == Some(key);
        let known = self.answers.keys().find(is_its).cloned();
        known.and_then(|known| self.answers.remove(&known)).or_else(|| self.fresh.remove(key))
    }

    /// Waits until this round is over: what is asked in it is answered in another.
    pub(crate) fn until_over(&mut self) -> watch::Receiver<()> {
        self.open.get_or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// An answer turned out to be none.
    pub(crate) fn refuse(&mut self, key: &str, reason: &str) {
        let shown: String = key.chars().take(80).collect();
        let message =
            format!("Invalid params: `inputResponses` has no answer at {shown:?}: {reason}");
        self.refusal = Some(Refusal::new(Mistake::InvalidParams, message).into());
    }

    /// Whether the call cannot go on once its handler waits.
    pub(crate) fn must_pause(&self) -> bool {
        self.refusal.is_some() || !self.asked.is_empty()
    }

    /// Whether the call can go on, now that its handler waits.
    pub(crate) fn pause(&mut self) -> Option<Pause> {
        match self.refusal.take() {
            Some(refusal) => Some(Pause::Refused(*refusal)),
            None => (!self.asked.is_empty()).then_some(Pause::Input),
        }
    }

    /// The call has been answered: its state cannot be brought again.
    pub(crate) fn burn(&mut self) {
        if let Some(claim) = self.claim.take() {
            claim.burn();
        }
    }

    /// The questions, and the state for the next round.
    pub(crate) fn next(
        &self,
        steps: &Steps,
        binding: &[u8],
        sealer: &Sealer,
        limits: &Limits,
    ) -> Result<Next<'_>, Refusal> {
        // What is not done yet is done again.
        let done =
            |(key, step): (&String, &Step)| Some((key.clone(), step.try_lock().ok()?.clone()?));
        let steps = steps.iter().filter_map(done).collect();
        let asked = self.asked.iter();
        let prints = asked.map(|(key, question)| (key.to_string(), print(question))).collect();
        let (answers, called) = (self.answers.clone(), self.called.clone());
        let memory = Memory { answers, called, prints, steps };
        let memory = serde_json::to_vec(&memory).expect("texts become JSON");
        let state = sealer.seal(binding, &memory)?;
        if state.len() + 2 > limits.state_bytes {
            let message = "Internal error: the call has been told more than its state can carry";
            return Err(Refusal::new(Mistake::Internal, message));
        }
        Ok((&self.asked, state))
    }
}

/// What is asked of a person, in so many bits: an answer counts for the form that it was given to.
/// An address or a conversation may be another each time, and is what its key says.
fn print(question: &Question) -> Option<u64> {
    match question {
        Question::Form(form) => {
            let mut text = Vec::with_capacity(256);
            encode::string(&mut text, &form.message);
            text.extend_from_slice(form.schema.get().as_bytes());
            Some(short(&text))
        }
        // Whoever asks gives no names, and may ask otherwise each time.
        Question::Passed(_) => Some(short(&passing::text(question))),
        Question::Url(_) | Question::Sample(_) | Question::Roots => None,
    }
}

/// The same number for the same text, in every process.
pub(crate) fn short(text: &[u8]) -> u64 {
    let print = digest(&SHA256, text).as_ref()[..8].try_into();
    u64::from_be_bytes(print.expect("SHA-256 has 32 bytes"))
}

/// What an answer is kept under.
fn told(key: &str, print: Option<u64>) -> String {
    match print {
        Some(print) => format!("{key}\0{print:x}"),
        None => key.to_owned(),
    }
}

/// What a state is good for: this method with these parameters, asked by this principal, of a tool
/// or prompt that says the same of itself. Kept as it came; most calls never ask, and need no
/// [`Binding::text`].
pub(crate) struct Binding {
    asked: Vec<u8>,
    arguments: Box<str>,
}

impl Binding {
    pub(crate) fn of(ask: &Ask<'_>) -> Self {
        let params = &ask.message.params;
        let (kind, name) = ask.principal.key();
        let mut asked = Vec::with_capacity(128);
        for part in [kind, name, ask.method.name()] {
            encode::string(&mut asked, part);
        }
        for part in [params.name, params.uri] {
            let text = part.and_then(JsonStr::from_raw).map(JsonStr::decode);
            encode::string(&mut asked, &text.unwrap_or_default());
        }
        Self { asked, arguments: params.arguments.unwrap_or("{}").into() }
    }

    /// The same for the same arguments, however a client orders or spaces them, of what `define`
    /// appends.
    pub(crate) fn text(&self, define: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut text = self.asked.clone();
        canonical::append(&mut text, &self.arguments);
        define(&mut text);
        text
    }
}

/// What is told of a state that is broken in any way: the same, so that nothing can be learned.
pub(crate) fn not_ours() -> Refusal {
    Refusal::new(
        Mistake::InvalidParams,
        "Invalid params: `requestState` does not belong to this request or was changed; make the \
         request again without it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_proto::method::Method;
    use haft_proto::spec::question::Passed;

    #[test]
    fn an_answer_counts_for_the_words_of_another_server_that_it_was_given_to() {
        let asked = |message: &str, id: &str| {
            let params = format!(r#"{{"message":"{message}","_meta":{{"progressToken":"{id}"}}}}"#);
            let (method, id) = (Method::Elicit, id.to_owned());
            Question::Passed(Box::new(Passed { method, params: params.into(), id }))
        };
        let mut rounds = Rounds::default();
        let answer = RawValue::from_string("{}".to_owned()).expect("JSON");
        rounds.fresh.insert("a".to_owned(), answer);
        assert!(rounds.answer("a", asked("one", "1"), 9).is_some());
        assert!(rounds.answer("a", asked("one", "2"), 9).is_some(), "what varies is not the words");
        assert!(rounds.answer("a", asked("two", "1"), 9).is_none());
        rounds.forget("a", &asked("one", "3"));
        assert!(rounds.answer("a", asked("one", "1"), 9).is_none(), "it was used");
    }

    fn is_same(one: &str, other: &str) -> bool {
        let text = |arguments: &str| {
            Binding { asked: b"x".to_vec(), arguments: arguments.into() }.text(|_| {})
        };
        text(one) == text(other)
    }

    #[test]
    fn a_state_is_bound_to_what_arguments_say_and_not_to_how() {
        for (one, other) in [
            (r#"{"a":1,"b":[2,{"c":"x"}]}"#, r#" { "b" : [2, {"c":"x"}] , "a" : 1 } "#),
            (r#"{"\u0061":"\u00e9\/"}"#, r#"{"a":"é/"}"#),
            (r#"{"b":{"d":1,"c":2},"a":3}"#, r#"{"a":3,"b":{"c":2,"d":1}}"#),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("{\"a\":1}", "{\"a\":2}"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            (r#"{"a":18446744073709551617}"#, r#"{"a":18446744073709551616}"#),
            (r#"{"a":0.1}"#, r#"{"a":0.1000000000000000000001}"#),
            (r#"{"a":1e400}"#, r#"{"a":1e401}"#),
            (r#"{"a":[1,[2]]}"#, r#"{"a":[[1],2]}"#),
            (r#"{"a":"1"}"#, r#"{"a":1}"#),
            (r#"{"a":"b\",\"c"}"#, r#"{"a":"b","c":""}"#),
        ] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }
}
