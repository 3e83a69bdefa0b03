//! `cargo xtask bench peers`, `… limits` and `… runtimes`: goes through all cases, one after the
//! other, keeps what came out, and prints it as tables. What one server does wrong does not keep
//! the others from theirs.

use serde_json::{Map, Value, json};

use super::aim::round;
use super::measure::{Case, Measured};
use super::place::{self, Place};
use super::results::{self, Put, Results};
use super::scenario::{SCENARIOS, Scenario, Wire};
use super::server::{Group, Kit, Server};
use super::wishes::Wishes;
use super::{answers, build, facts, faults, table};
use crate::failure::Failure;

/// Measures.
pub(super) fn run(group: Group, arguments: &[String]) -> Result<(), Failure> {
    let wishes = Wishes::parse(arguments)?;
    let pairs = wanted(group, &wishes);
    if pairs.is_empty() {
        let all = wanted(group, &Wishes::all());
        let mut scenarios: Vec<&str> = all.iter().map(|(scenario, _)| scenario.name).collect();
        scenarios.dedup();
        let servers: Vec<&str> = Server::all(group).iter().map(|server| server.name).collect();
        return Err(Failure::BadArguments(format!(
            "no case of `bench {}` has that name; there are {} against {}",
            group.name(),
            scenarios.join(", "),
            servers.join(", ")
        )));
    }
    let mut servers = vec![group.ours()];
    for (_, server) in &pairs {
        if !servers.iter().any(|known| known.name == server.name) {
            servers.push(server);
        }
    }
    build::build(&servers)?;
    // Which threads answer shows where there is more than one processor for them.
    let place = if group == Group::Runtime { Place::Anywhere } else { Place::find() };
    let mut kept = Results::open(group.name(), wishes.quick)?;
    kept.begin(facts::facts(place)?);
    let mut measured = Vec::new();
    for (at, (scenario, server)) in pairs.iter().enumerate() {
        println!("{} of {}: {} against {}", at + 1, pairs.len(), scenario.name, server.name);
        let is_constant = server.kit == Kit::Ours("haft-limits");
        let answers = if is_constant { answers::write(scenario) } else { Ok(String::new()) };
        let unanswered = answers.as_ref().err().map(ToString::to_string);
        let answers = answers.unwrap_or_default();
        let ours = group.ours();
        let case = Case { scenario, server, ours, wishes: &wishes, place, answers: &answers };
        let found = unanswered.map_or_else(|| case.measure(), |why| Ok(Measured::failed(why)))?;
        let case = case_of(&case, found, group)?;
        if let Some(why) = faults::of(&case) {
            println!("  failed: {why}");
        }
        if kept.put(case.clone()) == Put::EarlierKept {
            println!("  {} keeps what was measured of it before", kept.path().display());
        }
        measured.push(case);
        // Whatever ends a long run, what was measured until then is there.
        kept.write()?;
    }
    println!("\n{}\n{} has all of it", table::tables(group, &measured), kept.path().display());
    if measured.iter().all(|case| faults::of(case).is_some()) {
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
    let mut kept = json!({ "scenario": scenario.name, "against": server.name });
    if let Some(aim) = scenario.reach(server, group) {
        kept["aim"] = round(aim);
    }
    if let Some(version) = server.version()? {
        kept["versions"] = json!({ server.name: version });
    }
    let Measured { start, bench, result } = measured;
    let mut commands = json!({ "start": start, "bench": bench });
    if scenario.wire == Wire::Cold {
        commands["times"] = case.wishes.cold().0.into();
    } else {
        commands["seconds"] = round(case.wishes.each());
    }
    let processors = place::processors();
    if let Some(threads) = scenario.load_threads(processors) {
        commands["shared"] = json!({ "processors": processors, "load_threads": threads });
    }
    let figures = result.unwrap_or_else(|why| results::failed(&why));
    let all = kept.as_object_mut().expect("it was made one");
    for more in [commands, figures] {
        all.extend(more.as_object().cloned().unwrap_or_else(Map::new));
    }
    if let Some(why) = faults::of(&kept) {
        kept["failed"] = why.into();
    }
    Ok(kept)
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
        // Four other ways to answer, in three.
        assert_eq!(count(Group::Runtime, ""), 4 * 3);
        assert_eq!(count(Group::Runtime, "threads-echo-1 pinned"), 1);
        assert_eq!(count(Group::Peer, "http-echo-1 rmcp"), 1);
        assert_eq!(count(Group::Peer, "nobody"), 0);
    }
}
