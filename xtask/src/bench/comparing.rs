//! `cargo xtask bench peers` and `… limits`: goes through all cases, one after the other, keeps
//! what came out, and prints it as tables. What one server does wrong does not keep the others from
//! theirs.

use std::process::Command;

use serde_json::{Value, json};

use super::measure::{Case, Measured};
use super::place::Place;
use super::scenario::{SCENARIOS, Scenario};
use super::server::{Group, HAFT, Kit, Server};
use super::wishes::Wishes;
use super::{answers, build, results, table};
use crate::command;
use crate::failure::Failure;

/// What was measured; the owner of the checkout in CI may be somebody else.
const DESCRIBE: [&str; 5] = ["-c", "safe.directory=*", "describe", "--always", "--dirty"];

/// Measures.
pub(super) fn run(group: Group, arguments: &[String]) -> Result<(), Failure> {
    let wishes = Wishes::parse(arguments)?;
    let pairs = wanted(group, &wishes);
    if pairs.is_empty() {
        let scenarios: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        let servers: Vec<&str> = Server::all(group).iter().map(|server| server.name).collect();
        return Err(Failure::BadArguments(format!(
            "no case of `bench {}` has that name; there are {} against {}",
            group.name(),
            scenarios.join(", "),
            servers.join(", ")
        )));
    }
    let mut servers = vec![&HAFT];
    for (_, server) in &pairs {
        if !servers.iter().any(|known| known.name == server.name) {
            servers.push(server);
        }
    }
    build::build(&servers)?;
    let place = Place::find();
    let path = results::path(group, &wishes);
    let mut kept = results::read(&path)?;
    let mut measured = Vec::new();
    for (at, (scenario, server)) in pairs.iter().enumerate() {
        println!("{} of {}: {} against {}", at + 1, pairs.len(), scenario.name, server.name);
        let is_constant = server.kit == Kit::Ours("haft-limits");
        let answers = if is_constant { answers::write(scenario)? } else { String::new() };
        let case = Case { scenario, server, wishes: &wishes, place, answers: &answers };
        let case = case_of(&case, case.measure()?, group)?;
        if let Some(why) = case["failed"].as_str() {
            println!("  failed: {why}");
        }
        results::put(&mut kept, case.clone());
        measured.push(case);
        // Whatever ends a long run, what was measured until then is there.
        results::write(&path, &kept)?;
    }
    println!("\n{}\n{} has all of it", table::tables(group, &measured), path.display());
    if measured.iter().all(|case| case["failed"].is_string()) {
        let said = "nothing could be measured, the reasons are above".to_owned();
        return Err(Failure::MachineLacks(said));
    }
    Ok(())
}

fn wanted(group: Group, wishes: &Wishes) -> Vec<(&'static Scenario, &'static Server)> {
    let servers = Server::all(group);
    let of = |scenario: &'static Scenario| {
        let suits = |server: &&Server| {
            scenario.suits(server, group) && wishes.want(scenario.name, server.name)
        };
        servers.iter().filter(suits).map(move |server| (scenario, server)).collect::<Vec<_>>()
    };
    SCENARIOS.iter().flat_map(of).collect()
}

/// A case as it is kept.
fn case_of(case: &Case<'_>, measured: Measured, group: Group) -> Result<Value, Failure> {
    let (scenario, server) = (case.scenario, case.server);
    let Measured { command, result } = measured;
    let (mut result, failed) = match result {
        Ok(result) => (result, Value::Null),
        Err(why) => (Value::Null, Value::String(why)),
    };
    results::trimmed(&mut result);
    Ok(json!({
        "scenario": scenario.name,
        "title": scenario.title,
        "against": server.name,
        "versions": { server.name: server.version()?, "haft": HAFT.version()? },
        "commit": said(Command::new("git").args(DESCRIBE)),
        "measured_at": said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        "machine": case.place.described(),
        "reach": scenario.reach(server, group),
        "command": command,
        "failed": failed,
        "result": result,
    }))
}

/// What a program says in one line, if it is there.
fn said(program: &mut Command) -> Option<String> {
    command::output(program).ok().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Group, Wishes, wanted};

    fn count(group: Group, text: &str) -> usize {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        wanted(group, &Wishes::parse(&words).expect("words")).len()
    }

    #[test]
    fn every_server_is_measured_in_all_that_it_speaks() {
        // Six peers over HTTP in eight scenarios, all seven over stdio in four.
        assert_eq!(count(Group::Peer, ""), 6 * 8 + 7 * 4);
        // Two limits over HTTP in six, haft's own era in two, and the pipe in four.
        assert_eq!(count(Group::Limit, ""), 2 * 6 + 2 + 4);
        assert_eq!(count(Group::Peer, "http-echo-1 rmcp"), 1);
        assert_eq!(count(Group::Peer, "nobody"), 0);
    }
}
