//! `cargo xtask field walk`: what happens to a link, one thing after the other, and what a caller
//! notices: a row for each, and a failure where it is not what was promised.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::agent::{Agent, ECHO, NAME, ONCE};
use super::asking::{Caller, Told};
use super::ground::Far;
use super::hub::Hub;
use super::wire::{FAR, NEAR, Way, Wire};
use super::{Tools, Wishes, limits};
use crate::failure::Failure;
use crate::soak::{pause, pause_a_bit};

/// Everybody who is there.
struct Field {
    far: Far,
    wire: Wire,
    hub: Hub,
    agent: Agent,
    caller: Caller,
    calls: u64,
}

/// What became of a step: what was seen, and how many seconds something took.
type Seen = Result<(String, Duration), Failure>;

/// Goes through all of it.
pub(super) fn run(tools: &Tools, wishes: &Wishes) -> Result<(), Failure> {
    let far = Far::new()?;
    let wire = Wire::lay(&tools.field, &far, Way { delay_ms: 0, loss_per_mille: 0, seed: 1 })?;
    let upstreams = json!({ NAME: { "agent": NAME } });
    let hub = Hub::start(&tools.haft, &tools.folder, &upstreams, NEAR, &[])?;
    let (agent, caller) = (Agent::new(tools)?, Caller::new(hub.address())?);
    let mut field = Field { far, wire, hub, agent, caller, calls: 0 };
    println!("{:<34}  {:>9}  what callers noticed", "what happened", "seconds");
    let went = field.walk(wishes);
    if went.is_err() {
        field.hub.log().iter().for_each(|line| eprintln!("the gateway said: {line}"));
        field.agent.log().iter().for_each(|line| eprintln!("the agent said: {line}"));
    }
    went
}

impl Field {
    fn walk(&mut self, wishes: &Wishes) -> Result<(), Failure> {
        let short = limits::SHORT_CUT;
        row("the agent joins by a token", self.joins())?;
        row("a call", self.call())?;
        row("the agent's address changes", self.moves())?;
        row("cut for 1 s", self.outlived(short))?;
        if !wishes.is_short {
            row("cut for 30 s", self.resumed(limits::CUT))?;
        }
        if wishes.is_long {
            row("cut for 5 min", self.lost(limits::LONG_CUT))?;
        }
        row("the gateway is killed and started", self.gateway_dies())?;
        row("the agent is killed and started", self.agent_dies())?;
        // Only where datagrams never pass.
        sure(self.agent.said("over TCP,") == 0, || "a link went over TCP".to_owned())?;
        let ran = self.agent.ran();
        let twice: Vec<_> = ran.iter().filter(|(_, times)| **times > 1).collect();
        sure(twice.is_empty(), || format!("calls that ran more than once: {twice:?}"))
    }

    fn joins(&mut self) -> Seen {
        let token = self.hub.token(NAME)?;
        let began = Instant::now();
        self.agent.start(&self.far, &self.hub, &["--join", &token])?;
        let took = self.works_again(began)?;
        let tools = self.caller.tools().map_err(Failure::Disproved)?;
        let has = |tool: &&str| tools.iter().any(|name| name == tool);
        sure([ECHO, ONCE].iter().all(has), || format!("the gateway has {tools:?}"))?;
        Ok((format!("{} tools are there and answer", tools.len()), took))
    }

    fn call(&mut self) -> Seen {
        let mut all = Vec::new();
        for _ in 0..limits::SOME_CALLS {
            let began = Instant::now();
            self.echo().map_err(Failure::Disproved)?;
            all.push(began.elapsed());
        }
        all.sort_unstable();
        let middle = all[all.len() / 2];
        Ok((format!("the median of {}", limits::SOME_CALLS), middle))
    }

    fn moves(&mut self) -> Seen {
        let (linked, ended) = (self.agent.said("linked to"), self.hub.said("has ended"));
        let [before, after] = FAR.map(|address| format!("{address}/24"));
        let mut took = Duration::ZERO;
        let told = self.in_flight(Duration::from_secs(1), |field| {
            field.far.ip(&["addr", "del", &before, "dev", "far"])?;
            field.far.ip(&["addr", "add", &after, "dev", "far"])?;
            took = field.works_again(Instant::now())?;
            Ok(())
        })?;
        answered(&told)?;
        let same = self.agent.said("linked to") == linked && self.hub.said("has ended") == ended;
        sure(same, || "it is another link".to_owned())?;
        Ok(("a call in flight and the next are answered, over the same link".to_owned(), took))
    }

    /// Cut for so short that the link stays.
    fn outlived(&mut self, time: Duration) -> Seen {
        let linked = self.agent.said("linked to");
        let mut took = Duration::ZERO;
        let told = self.in_flight(time / 2, |field| {
            field.wire.cut();
            let (during, healed) = field.during(Duration::ZERO, time)?;
            answered(&during)?;
            took = field.works_again(healed)?;
            Ok(())
        })?;
        answered(&told)?;
        sure(self.agent.said("linked to") == linked, || "it is another link".to_owned())?;
        let seen = "a call in flight and one that begins are answered, over the same link";
        Ok((seen.to_owned(), took))
    }

    /// Cut for so long that the link is lost, and calls wait for the next one.
    fn resumed(&mut self, time: Duration) -> Seen {
        let mut seen = (String::new(), Duration::ZERO);
        let told = self.in_flight(time / 2, |field| {
            field.wire.cut();
            let (during, healed) = field.during(limits::INTO_CUT, time)?;
            let why = refused(&during)?;
            let took = field.works_again(healed)?;
            seen =
                (format!("the call in flight is answered, one that begins late not: {why}"), took);
            Ok(())
        })?;
        answered(&told)?;
        Ok(seen)
    }

    /// Cut for so long that calls are given up.
    fn lost(&mut self, time: Duration) -> Seen {
        let mut took = Duration::ZERO;
        let told = self.in_flight(time / 2, |field| {
            field.wire.cut();
            let (during, healed) = field.during(limits::INTO_CUT, time)?;
            refused(&during)?;
            took = field.works_again(healed)?;
            Ok(())
        })?;
        Ok((format!("the call in flight is said to be lost: {}", refused(&told)?), took))
    }

    fn gateway_dies(&mut self) -> Seen {
        let mut took = Duration::ZERO;
        let told = self.in_flight(Duration::from_secs(1), |field| {
            field.hub.kill();
            field.hub.start_again()?;
            took = field.works_again(Instant::now())?;
            Ok(())
        })?;
        let is_silent = matches!(told, Told::Silence(_));
        sure(is_silent, || format!("a call of a gateway that is gone: {told:?}"))?;
        Ok(("the caller in flight sees its connection close; it ran once".to_owned(), took))
    }

    fn agent_dies(&mut self) -> Seen {
        let mut took = Duration::ZERO;
        let told = self.in_flight(Duration::from_secs(2), |field| {
            field.agent.kill();
            field.agent.start(&field.far, &field.hub, &[])?;
            took = field.works_again(Instant::now())?;
            Ok(())
        })?;
        Ok((format!("the call in flight is said to be lost: {}", refused(&told)?), took))
    }

    /// What becomes of a call that takes so long, while something is done in its midst. It has run
    /// once at the end, and no more.
    fn in_flight(
        &mut self,
        takes: Duration,
        mut does: impl FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<Told, Failure> {
        self.calls += 1;
        let (id, text) = (self.calls, format!("walk-{}", self.calls));
        let arguments = json!({ "text": text, "wait_ms": takes.as_millis() as u64 });
        let caller = Caller::new(self.hub.address())?;
        let call = thread::spawn(move || caller.call(id, ONCE, &arguments));
        let began = Instant::now();
        while !self.agent.ran().contains_key(&text) {
            let (log, is_late) = (call.is_finished(), began.elapsed() > limits::START);
            sure(!is_late && !log, || "a call does not begin".to_owned())?;
            pause_a_bit();
        }
        does(self)?;
        let told = call.join().map_err(|_| Failure::Disproved("a caller panicked".to_owned()))?;
        let times = self.agent.ran().get(&text).copied();
        sure(times == Some(1), || format!("a call ran {times:?} times"))?;
        Ok(told)
    }

    /// What becomes of a call that begins so far into a cut, which is healed when it is over; and
    /// when that was.
    fn during(&mut self, into: Duration, time: Duration) -> Result<(Told, Instant), Failure> {
        let began = Instant::now();
        pause(into);
        self.calls += 1;
        let (id, caller) = (self.calls, Caller::new(self.hub.address())?);
        let call = thread::spawn(move || caller.call(id, ECHO, &json!({ "text": "during" })));
        pause(time.saturating_sub(began.elapsed()));
        self.wire.heal();
        let healed = Instant::now();
        let told = call.join().map_err(|_| Failure::Disproved("a caller panicked".to_owned()))?;
        Ok((told, healed))
    }

    /// How long it takes from then until a call is answered.
    fn works_again(&mut self, since: Instant) -> Result<Duration, Failure> {
        let began = Instant::now();
        loop {
            match self.echo() {
                Ok(()) => return Ok(since.elapsed()),
                Err(_) if began.elapsed() < limits::AGAIN => pause_a_bit(),
                Err(why) => return Err(Failure::Disproved(why)),
            }
        }
    }

    fn echo(&mut self) -> Result<(), String> {
        self.calls += 1;
        let text = format!("echo-{}", self.calls);
        match self.caller.call(self.calls, ECHO, &json!({ "text": text })) {
            Told::Answered(told) if told == text => Ok(()),
            other => Err(format!("a call has no answer: {other:?}")),
        }
    }
}

/// Prints what was seen of a step.
fn row(what: &str, seen: Seen) -> Result<(), Failure> {
    let (seen, took) = seen.inspect_err(|_| println!("{what:<34}  {:>9}  FAILED", ""))?;
    println!("{what:<34}  {:>9.3}  {seen}", took.as_secs_f64());
    Ok(())
}

fn sure(is_right: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if is_right { Ok(()) } else { Err(Failure::Disproved(otherwise())) }
}

fn answered(told: &Told) -> Result<(), Failure> {
    let is_answered = matches!(told, Told::Answered(_));
    sure(is_answered, || format!("a call in flight was not answered: {told:?}"))
}

/// Why a call has no result.
fn refused(told: &Told) -> Result<&str, Failure> {
    match told {
        Told::Refused(why) => Ok(why),
        other => Err(Failure::Disproved(format!("a call is not said to be lost: {other:?}"))),
    }
}
