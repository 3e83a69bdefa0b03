//! `cargo xtask bench gateway`: what haft takes and adds in front of another server, in turns with
//! proxies that read nothing of what they pass on and with a gateway of others. It measures, keeps
//! and prints; `cases` says what, `rounds` what comes of it, and no figure is judged here.

mod cases;
mod rounds;
mod sessions;
mod sides;
mod table;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::aim::round;
use super::place::Place;
use super::results::{self, Put, Results};
use super::wishes::Wishes;
use super::{build, facts, faults, measure, server, shell};
use crate::failure::Failure;
use cases::{AGENTGATEWAY, Kind, TOOLS};
pub(super) use cases::{Figure, SCENARIOS, Scenario};
use rounds::{Rounds, Turn};
use sides::Side;
pub(super) use table::{beside, table};

/// The name of the table.
pub(super) const TABLE: &str = "gateway";
/// How long a server in front of others may take until all that they have is there.
const READY_MAX: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);
/// How many sessions there are before those that are counted, and how many these are.
const SESSIONS_FIRST: usize = 500;
const SESSIONS: usize = 5000;
const SESSIONS_QUICK: usize = 500;

/// Each server, round by round, or why it has none.
type Taken = BTreeMap<&'static str, Result<Vec<Turn>, String>>;

/// What is measured, where, and for how long.
struct Bench<'a> {
    wishes: &'a Wishes,
    place: Place,
}

/// Measures.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wishes = Wishes::parse(arguments)?;
    let wanted = wanted(&wishes);
    if wanted.is_empty() {
        let all: Vec<String> = SCENARIOS
            .iter()
            .map(|scenario| format!("{} ({})", scenario.name, scenario.beside.join(", ")))
            .collect();
        return Err(Failure::BadArguments(format!("`bench {TABLE}` has {}", all.join(", "))));
    }
    build::build(&[])?;
    let bench = Bench { wishes: &wishes, place: Place::find() };
    let mut kept = Results::open(TABLE, wishes.quick)?;
    kept.begin(facts::facts(bench.place)?);
    let mut measured = Vec::new();
    for (at, (scenario, beside)) in wanted.iter().enumerate() {
        let against = beside.join(", ");
        println!("{} of {}: {} beside {against}", at + 1, wanted.len(), scenario.name);
        for case in bench.measure(scenario, beside)? {
            if let Some(why) = faults::of(&case) {
                println!("  {} failed: {why}", case["against"].as_str().unwrap_or_default());
            }
            if kept.put(case.clone()) == Put::EarlierKept {
                println!("  {} keeps what was measured of it before", kept.path().display());
            }
            measured.push(case);
        }
        kept.write()?;
    }
    println!("\n{}\n{} has all of it", table(&measured), kept.path().display());
    if measured.iter().all(|case| faults::of(case).is_some()) {
        let said = "nothing could be measured, the reasons are above".to_owned();
        return Err(Failure::MachineLacks(said));
    }
    Ok(())
}

/// What is to be measured, and beside whom: a scenario once for all of these.
fn wanted(wishes: &Wishes) -> Vec<(&'static Scenario, Vec<&'static str>)> {
    let beside = |scenario: &'static Scenario| {
        let wants = |against: &&'static str| wishes.want(scenario.name, against);
        (scenario, scenario.beside.iter().copied().filter(wants).collect::<Vec<_>>())
    };
    SCENARIOS.iter().map(beside).filter(|(_, beside)| !beside.is_empty()).collect()
}

impl Bench<'_> {
    /// All cases of a scenario.
    fn measure(
        &self,
        scenario: &'static Scenario,
        beside: &[&'static str],
    ) -> Result<Vec<Value>, Failure> {
        match scenario.kind {
            Kind::Sessions => Ok(vec![self.sessions(scenario)?]),
            Kind::List => {
                let [haft, own] = sides::lists(&self.place.server())?;
                let taken = match self.list(scenario, &haft, &own) {
                    Ok(()) => self.rounds(scenario, &[&haft, &own]),
                    Err(why) => Taken::from([(haft.name, Err(why))]),
                };
                let start = [typed(&own), typed(&haft)];
                Ok(vec![self.case(scenario, own.name, None, &start, &taken, &haft)])
            }
            Kind::One | Kind::Many | Kind::Long => self.in_front(scenario, beside),
        }
    }

    /// One upstream, and all who are in front of it: every case is of the same rounds.
    fn in_front(
        &self,
        scenario: &'static Scenario,
        beside: &[&'static str],
    ) -> Result<Vec<Value>, Failure> {
        // Whoever asks is next to the upstream, so that the gateway has a processor for itself.
        let direct = sides::upstream(&self.place.load())?;
        let haft = sides::haft(&self.place.server(), direct.running.port())?;
        self.ready(scenario, &direct).map_err(Failure::SuiteBroken)?;
        self.ready(scenario, &haft).map_err(Failure::SuiteBroken)?;
        let (mut there, mut missing) = (Vec::new(), Taken::new());
        for name in beside.iter().copied().filter(|name| *name != AGENTGATEWAY) {
            let side = sides::theirs(name, &self.place.server(), direct.running.port());
            let side = side.map_err(|failure| failure.to_string());
            match side.and_then(|side| self.ready(scenario, &side).map(|()| side)) {
                Ok(side) => there.push(side),
                Err(why) => {
                    missing.insert(name, Err(why));
                }
            }
        }
        let mut all: Vec<&Side> = vec![&direct, &haft];
        all.extend(&there);
        let mut taken = self.rounds(scenario, &all);
        taken.append(&mut missing);
        let case = |against: &&'static str| {
            let side = there.iter().find(|side| side.name == *against);
            let start = [side.map_or_else(String::new, typed), typed(&haft), typed(&direct)];
            let version = side.and_then(|side| side.version.clone());
            self.case(scenario, against, version, &start, &taken, &haft)
        };
        Ok(beside.iter().map(case).collect())
    }

    /// A case as it is kept.
    fn case(
        &self,
        scenario: &Scenario,
        against: &str,
        version: Option<String>,
        start: &[String],
        taken: &Taken,
        haft: &Side,
    ) -> Value {
        let mut case = json!({
            "scenario": scenario.name,
            "against": against,
            "start": start,
            "bench": shell::line(&self.words(scenario, haft)),
            "seconds": round(self.wishes.each()),
        });
        if let Some(version) = version {
            case["versions"] = json!({ against: version });
        }
        let figures = figures(scenario, against, taken);
        let figures = figures.unwrap_or_else(|why| results::failed(&why));
        let all = case.as_object_mut().expect("it was made one");
        all.extend(figures.as_object().cloned().unwrap_or_default());
        case
    }

    /// Loads all of them in turns; who begins takes turns too. Who fails is asked no more.
    fn rounds(&self, scenario: &Scenario, sides: &[&Side]) -> Taken {
        let mut order = sides.to_vec();
        let mut taken: Taken = sides.iter().map(|side| (side.name, Ok(Vec::new()))).collect();
        for _ in 0..self.wishes.rounds() {
            for side in &order {
                let Some(Ok(turns)) = taken.get_mut(side.name) else { continue };
                match self.turn(scenario, side) {
                    Ok(turn) => turns.push(turn),
                    Err(why) => drop(taken.insert(side.name, Err(why))),
                }
            }
            order.rotate_left(1);
        }
        taken
    }

    /// One server in one round. The processor time of its greetings counts, too: there is one for
    /// each connection.
    fn turn(&self, scenario: &Scenario, side: &Side) -> Result<Turn, String> {
        let named = |why: String| format!("{}: {why}", side.name);
        let spent = || {
            let nanos = side.running.cpu_nanos();
            nanos.ok_or_else(|| "the system does not tell of processor time".to_owned())
        };
        let before = spent()?;
        let words = self.words(scenario, side);
        let said = measure::json_of(server::command(&words).arg("--json")).map_err(named)?;
        let nanos = spent()?.saturating_sub(before);
        turn_of(&said, nanos).map_err(named)
    }

    /// How a server is loaded in a round.
    fn words(&self, scenario: &Scenario, side: &Side) -> Vec<String> {
        let mut words = self.asking(scenario, side);
        let millis = (self.wishes.each() * 1000.0 / f64::from(self.wishes.rounds())).round();
        words.extend(["--warmup".into(), "0s".into()]);
        words.extend(["--duration".to_owned(), format!("{millis}ms")]);
        words
    }

    fn asking(&self, scenario: &Scenario, side: &Side) -> Vec<String> {
        let mut words = self.place.load();
        words.extend(["target/release/haft", "bench", &side.url].map(str::to_owned));
        words.extend(scenario.words(side.prefix));
        words
    }

    /// Asks until there are answers: what is in front of others may listen before it has them. What
    /// came first is then behind it.
    fn ready(&self, scenario: &Scenario, side: &Side) -> Result<(), String> {
        let mut words = self.asking(scenario, side);
        words.extend(["--requests".to_owned(), "200".to_owned()]);
        until(|| {
            let said = measure::json_of(server::command(&words).arg("--json"))?;
            turn_of(&said, 0).map(drop).map_err(|why| format!("{}: {why}", side.name))
        })
    }

    /// Waits until both lists have all tools.
    fn list(&self, scenario: &Scenario, haft: &Side, own: &Side) -> Result<(), String> {
        for side in [haft, own] {
            let words = ["target/release/haft", "list", &side.url].map(str::to_owned);
            until(|| {
                let said = measure::json_of(server::command(&words).arg("--json"))?;
                let count = said["tools"].as_array().map_or(0, Vec::len);
                let few = || format!("{} lists {count} tools of {TOOLS}", side.name);
                (count == TOOLS).then_some(()).ok_or_else(few)
            })?;
            self.ready(scenario, side)?;
        }
        Ok(())
    }

    /// How much more a gateway holds for each session more that does nothing.
    fn sessions(&self, scenario: &Scenario) -> Result<Value, Failure> {
        let direct = sides::upstream(&self.place.load())?;
        let haft = sides::haft(&self.place.server(), direct.running.port())?;
        self.ready(scenario, &haft).map_err(Failure::SuiteBroken)?;
        let count = if self.wishes.quick { SESSIONS_QUICK } else { SESSIONS };
        let open = |count| {
            sessions::open(haft.running.port(), count)?;
            haft.running.resident_bytes().ok_or_else(|| measure::NOTHING.to_owned())
        };
        let found = open(SESSIONS_FIRST).and_then(|before| Ok((before, open(count)?)));
        let start = [typed(&haft), typed(&direct)];
        let mut case =
            json!({ "scenario": scenario.name, "against": cases::ALONE, "start": start });
        let figures = match found {
            Ok((before, after)) => json!({
                "value": round(after.saturating_sub(before) as f64 / count as f64),
                "sessions": count,
                "before_bytes": before,
                "after_bytes": after,
            }),
            Err(why) => results::failed(&why),
        };
        let all = case.as_object_mut().expect("it was made one");
        all.extend(figures.as_object().cloned().unwrap_or_default());
        Ok(case)
    }
}

/// What is kept of a case, or why there is nothing: one of the three that it is made of failed.
fn figures(scenario: &Scenario, against: &str, taken: &Taken) -> Result<Value, String> {
    let of = |name: &str| match taken.get(name) {
        Some(Ok(turns)) => Ok(turns.as_slice()),
        Some(Err(why)) => Err(why.clone()),
        None => Ok(&[][..]),
    };
    let rounds = Rounds { direct: of("direct")?, theirs: of(against)?, haft: of("haft")? };
    let figures: Vec<Figure> = scenario.figures(against).iter().map(|(it, _)| *it).collect();
    rounds.kept(against, &figures).ok_or_else(|| measure::NOTHING.to_owned())
}

fn typed(side: &Side) -> String {
    shell::line(side.running.words())
}

/// Tries until it works, or until it never will.
#[expect(clippy::disallowed_methods, reason = "nothing else is to be done meanwhile")]
fn until(works: impl Fn() -> Result<(), String>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match works() {
            Err(_) if began.elapsed() < READY_MAX => thread::sleep(RETRY),
            found => return found,
        }
    }
}

/// What `haft bench` said of a server that spent so much time on a processor.
fn turn_of(said: &Value, nanos: u64) -> Result<Turn, String> {
    let number = |value: &Value| value.as_f64().ok_or_else(|| measure::NOTHING.to_owned());
    let (answers, failures) = (number(&said["answers"])?, number(&said["failures"])?);
    if let Some(why) = said["ended"].as_str() {
        return Err(why.to_owned());
    }
    if failures > 0.0 || answers < 1.0 {
        return Err(format!("{answers} answers, {failures} failures"));
    }
    let latency = &said["latency"];
    Ok(Turn {
        p50: number(&latency["p50_ns"])? / 1e3,
        p99: number(&latency["p99_ns"])? / 1e3,
        per_second: number(&said["per_second"])?,
        cpu: nanos as f64 / 1e3 / answers,
    })
}

#[cfg(test)]
mod tests {
    use super::{SCENARIOS, Taken, Turn, Wishes, figures, turn_of, wanted};
    use serde_json::json;

    fn names(text: &str) -> Vec<String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let all = wanted(&Wishes::parse(&words).expect("words"));
        let name = |(scenario, beside): &(&super::Scenario, Vec<&str>)| {
            format!("{} {}", scenario.name, beside.join(" "))
        };
        all.iter().map(name).collect()
    }

    #[test]
    fn a_scenario_is_measured_once_for_all_who_are_wanted() {
        assert_eq!(names("modern-echo-1"), ["modern-echo-1 nginx haproxy agentgateway"]);
        assert_eq!(names("mcp-proxy"), ["legacy-echo-1 mcp-proxy", "legacy-echo-32 mcp-proxy"]);
        assert_eq!(names("list"), ["list-1000 own-tools"]);
        assert_eq!((names("").len(), names("nobody").len()), (7, 0));
    }

    #[test]
    fn who_fails_keeps_nobody_else_from_its_figures() {
        let turns = |p50: f64| vec![Turn { p50, p99: 2.0 * p50, per_second: 1.0, cpu: 9.0 }; 6];
        let mut taken = Taken::from([
            ("direct", Ok(turns(40.0))),
            ("nginx", Ok(turns(60.0))),
            ("haproxy", Err("it is not there".to_owned())),
            ("haft", Ok(turns(64.0))),
        ]);
        let of = |taken: &Taken, against: &str| figures(&SCENARIOS[0], against, taken);
        assert_eq!(of(&taken, "haproxy"), Err("it is not there".to_owned()));
        let kept = of(&taken, "nginx").expect("figures");
        assert_eq!(kept["ratios"]["added_p50_us"], json!([1.2, 1.2, 1.2]));
        assert!(of(&taken, "agentgateway").is_ok());
        taken.insert("direct", Err("no".to_owned()));
        assert_eq!(of(&taken, "nginx"), Err("no".to_owned()), "nothing can be taken off");
    }

    #[test]
    fn a_turn_with_a_failure_is_none() {
        let mut said = json!({
            "answers": 1000, "failures": 0, "per_second": 2000.0,
            "latency": { "p50_ns": 40_500, "p99_ns": 90_000 },
        });
        let turn = turn_of(&said, 12_000_000).expect("a turn");
        assert_eq!((turn.p50, turn.p99, turn.cpu), (40.5, 90.0, 12.0));
        said["ended"] = "it is gone".into();
        assert_eq!(turn_of(&said, 1), Err("it is gone".to_owned()));
        said["ended"] = json!(null);
        said["failures"] = 1.into();
        assert_eq!(turn_of(&said, 1), Err("1000 answers, 1 failures".to_owned()));
    }
}
