//! `cargo xtask field agents`: many agents at one gateway, all in one process, each with a key, a
//! session and a connection of its own. How long it takes until all are there, what the gateway
//! holds for each, and how long it takes until all are back when it has been started again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::asking::{Caller, Told};
use super::ground::ip;
use super::hub::Hub;
use super::{Tools, Wishes, limits};
use crate::failure::Failure;
use crate::soak::pause;

/// Where agents come to: all are on this machine.
const HERE: &str = "127.0.0.1";
/// How often the gateway is asked for what it has.
const LOOK: Duration = Duration::from_millis(100);

/// The process of all agents, until it is dropped.
struct Crowd(Child);

pub(super) fn run(tools: &Tools, wishes: &Wishes) -> Result<(), Failure> {
    ip(&["link", "set", "lo", "up"])?;
    let names: Vec<String> = (1..=wishes.agents).map(|number| format!("a{number:04}")).collect();
    let upstream = |name: &String| (name.clone(), json!({ "agent": name }));
    let upstreams = Value::Object(names.iter().map(upstream).collect());
    let mut hub = Hub::start(&tools.haft, &tools.folder, &upstreams, HERE, &[])?;
    let caller = Caller::new(hub.address())?;
    // The first list makes what is made once.
    let none = caller.tools().map_err(Failure::Disproved)?;
    let before = hub.resident_bytes();
    println!("{:<44}  {:>10}", "what", "seen");
    row("tools before anybody comes", none.len());
    let began = Instant::now();
    let crowd = Crowd::start(tools, &hub, &names)?;
    seconds("all have joined after", began);
    all_there(&caller, &names)?;
    seconds("all are listed after", began);
    let here = hub.resident_bytes();
    call_each(&hub, &names)?;
    row("called once each, and answered", names.len());
    let called = hub.resident_bytes();
    row("the gateway's memory without them, bytes", before);
    row("for each agent, bytes", each(before, here, names.len()));
    row("for each agent that was called, bytes", each(before, called, names.len()));
    hub.kill();
    let began = Instant::now();
    hub.start_again()?;
    let caller = Caller::new(hub.address())?;
    all_there(&caller, &names)?;
    seconds("the gateway is killed; all are back after", began);
    call_each(&hub, &names)?;
    drop(crowd);
    Ok(())
}

impl Crowd {
    /// Starts it, and waits until all have joined.
    fn start(tools: &Tools, hub: &Hub, names: &[String]) -> Result<Self, Failure> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={0}:{0}", limits::FILES)).arg(&tools.field);
        command.arg("crowd").arg(hub.state()).arg(hub.agents()).args(names);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let unusable = |source| Failure::file(tools.field.display(), source);
        let mut child = command.spawn().map_err(unusable)?;
        let stdout = child.stdout.take().expect("it is piped");
        let crowd = Self(child);
        let mut said = String::new();
        BufReader::new(stdout).read_line(&mut said).map_err(unusable)?;
        if said.trim_end() != format!("{} joined", names.len()) {
            return Err(Failure::Disproved(format!("the crowd says {said:?}")));
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the tool of each is listed.
fn all_there(caller: &Caller, names: &[String]) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let there = caller.tools().map_err(Failure::Disproved)?;
        if there.len() == names.len() {
            let missing = names.iter().find(|name| !there.contains(&format!("{name}_who")));
            return match missing {
                None => Ok(()),
                Some(name) => Err(Failure::Disproved(format!("{name} is not listed"))),
            };
        }
        if began.elapsed() > limits::ALL_THERE {
            let said = format!("{} agents are there of {}", there.len(), names.len());
            return Err(Failure::Disproved(said));
        }
        pause(LOOK);
    }
}

/// Calls each once: it answers with its own name.
fn call_each(hub: &Hub, names: &[String]) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let call_on = || -> Result<(), Failure> {
        let caller = Caller::new(hub.address())?;
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let told = caller.call(1, &format!("{name}_who"), &json!({}));
            if told != Told::Answered(name.clone()) {
                return Err(Failure::Disproved(format!("{name} answers with {told:?}")));
            }
        }
        Ok(())
    };
    thread::scope(|threads| {
        let all: Vec<_> = (0..limits::AGENT_CALLERS).map(|_| threads.spawn(call_on)).collect();
        all.into_iter().try_for_each(|one| {
            one.join().map_err(|_| Failure::Disproved("a caller panicked".to_owned()))?
        })
    })
}

/// How many bytes more there are for each of so many.
fn each(before: u64, after: u64, count: usize) -> u64 {
    after.saturating_sub(before) / u64::try_from(count).unwrap_or(u64::MAX)
}

fn row(what: &str, seen: impl std::fmt::Display) {
    println!("{what:<44}  {seen:>10}");
}

fn seconds(what: &str, since: Instant) {
    row(what, format!("{:.2} s", since.elapsed().as_secs_f64()));
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn what_each_takes_is_never_less_than_nothing() {
        assert_eq!((each(1000, 3000, 10), each(3000, 1000, 10)), (200, 0));
    }
}
