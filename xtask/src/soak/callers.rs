//! Clients that call all the while, and what they make of each answer: it is right, or it is an
//! error that is to be expected just then, or something is wrong.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::asking::{Client, Era};
use super::chance::Chance;
use super::ledger::{Count, Ledger};
use super::limits;
use super::stage::Stage;
use super::upstreams;

/// One call of how many asks for the long result.
const LONG_EACH: u64 = 200;

/// What is called, and what must come back.
struct Call {
    at: usize,
    tool: String,
    arguments: Value,
    expected: String,
    is_read_only: bool,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Right,
    /// An error, in these words.
    Failed(String),
    Wrong(String),
}

/// Calls until the end. The era and the session are the same all the while.
pub(super) fn call_on(stage: &Stage, ledger: &Ledger, seed: u64, who: u64) {
    let era = if who.is_multiple_of(2) { Era::Legacy } else { Era::Modern };
    let client = match Client::begin(&stage.gate.address, era) {
        Ok(client) => client,
        Err(why) => return ledger.wrong(format!("client {who} does not begin: {why}")),
    };
    let mut chance = Chance::new(seed, who);
    let mut id = 0;
    stage.act(|| {
        id += 1;
        if let Some(call) = choose(stage, &mut chance, id) {
            try_it(stage, ledger, &client, &call, (who, id));
        }
        limits::PAUSE
    });
}

fn choose(stage: &Stage, chance: &mut Chance, id: u64) -> Option<Call> {
    let at = *chance.pick(&stage.there())?;
    Some(made(stage, at, chance.below(LONG_EACH), &format!("{id} {}", chance.below(u64::MAX))))
}

fn made(stage: &Stage, at: usize, which: u64, text: &str) -> Call {
    let upstream = &stage.upstreams[at];
    let name = &upstream.name;
    let (tool, expected) = match which {
        _ if !upstream.is_haft() => ("try", "tried".to_owned()),
        0 => ("long", upstreams::long(name)),
        which if which % 2 == 1 => ("read", format!("{name} {text}")),
        _ => ("write", format!("{name} {text}")),
    };
    let arguments = match tool {
        "read" | "write" => json!({ "text": text }),
        _ => json!({}),
    };
    let is_read_only = matches!(tool, "read" | "long");
    Call { at, tool: format!("{name}_{tool}"), arguments, expected, is_read_only }
}

fn try_it(stage: &Stage, ledger: &Ledger, client: &Client, call: &Call, (who, id): (u64, u64)) {
    let began = Instant::now();
    let answer = match client.call(id, &call.tool, &call.arguments) {
        Ok(message) => judge(&message, id, &call.expected),
        Err(why) => Answer::Wrong(why),
    };
    let upstream = &stage.upstreams[call.at];
    let blows = stage.blows_since(call.at, began);
    let told = |why: &str| {
        let (tool, took) = (&call.tool, began.elapsed());
        let why: String = why.chars().take(600).collect();
        format!("client {who}, call {id} of {tool} after {took:.1?} with {blows} blows: {why}")
    };
    match answer {
        Answer::Right => {
            ledger.add(Count::Right);
            if blows > 0 {
                ledger.add(Count::RightAfter);
            }
        }
        Answer::Failed(why) if !why.contains(&upstream.name) => {
            ledger.wrong(told(&format!("the error does not name its upstream: {why}")));
        }
        Answer::Failed(_) if upstream.is_mortal() => ledger.add(Count::Mortal),
        Answer::Failed(why) if blows == 0 => {
            ledger.wrong(told(&format!("nobody had touched its upstream: {why}")));
        }
        Answer::Failed(_) if call.is_read_only => ledger.add(Count::ReadFailed),
        Answer::Failed(_) => ledger.add(Count::Failed),
        Answer::Wrong(why) => ledger.wrong(told(&why)),
    }
}

fn judge(message: &Value, id: u64, expected: &str) -> Answer {
    if message["id"] != id {
        return Answer::Wrong(format!("the answer is another's: {message}"));
    }
    if let Some(why) = message["error"]["message"].as_str() {
        return Answer::Failed(why.to_owned());
    }
    let result = &message["result"];
    let Some(text) = result["content"][0]["text"].as_str() else {
        return Answer::Wrong(format!("no answer: {message}"));
    };
    if result["isError"] == true {
        return Answer::Failed(text.to_owned());
    }
    if text == expected {
        return Answer::Right;
    }
    let start = |text: &str| text.chars().take(200).collect::<String>();
    let (told, wanted) = (start(text), start(expected));
    Answer::Wrong(format!("it says {} bytes, {told:?}, not {wanted:?}", text.len()))
}

/// Whether this upstream answers rightly, asked again until it does.
pub(super) fn answers(stage: &Stage, client: &Client, at: usize, until: Instant) -> bool {
    let call = made(stage, at, 1, "well?");
    let is_right = || {
        let told = client.call(1, &call.tool, &call.arguments);
        told.is_ok_and(|message| judge(&message, 1, &call.expected) == Answer::Right)
    };
    while !is_right() {
        if Instant::now() > until {
            return false;
        }
        super::pause(Duration::from_millis(100));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{Answer, judge};
    use serde_json::json;

    fn said(text: &str, is_error: bool) -> serde_json::Value {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "id": 3, "result": { "content": content, "isError": is_error } })
    }

    #[test]
    fn only_what_was_asked_for_is_right() {
        assert_eq!(judge(&said("a", false), 3, "a"), Answer::Right);
        assert!(matches!(judge(&said("b", false), 3, "a"), Answer::Wrong(_)));
        assert!(matches!(judge(&said("a", false), 4, "a"), Answer::Wrong(_)));
        assert!(matches!(judge(&json!({ "id": 3, "result": {} }), 3, "a"), Answer::Wrong(_)));
        assert_eq!(judge(&said("a", true), 3, "a"), Answer::Failed("a".to_owned()));
        let error = json!({ "id": 3, "error": { "code": -1, "message": "u01 is down" } });
        assert_eq!(judge(&error, 3, "a"), Answer::Failed("u01 is down".to_owned()));
    }
}
