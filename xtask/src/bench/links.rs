//! `cargo xtask bench links`: calls through a gateway and an agent, in turns with the same calls
//! without them, in network namespaces of their own. It measures, keeps and prints; `cases` says
//! what, `stage` who is there, and no figure is judged here.

mod cases;
mod slow;
mod stage;
mod table;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::aim::{Interval, median, round};
use super::place::Place;
use super::results::{self, Put, Results};
use super::wishes::Wishes;
use super::{build, facts, faults, measure, server, shell};
use crate::command;
use crate::failure::Failure;
use crate::field::ground;
use crate::soak::pause;
use cases::{AT_ONCE, CASES, Case, Kind};
use stage::{HAFT, Stage};
pub(super) use table::table;

/// The name of the table.
pub(super) const TABLE: &str = "links";
/// What is kept of each round, and what people call it.
const FIGURES: [(&str, &str); 2] = [("p50_us", "P50, µs"), ("p99_us", "P99, µs")];
/// How long it may take until an agent's tools are there.
const READY_MAX: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);

/// Its P50, its P99 and how many answers there were a second, in one round.
type Turn = [f64; 3];

/// Measures: in namespaces, into which this starts itself once more.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let [first, rest @ ..] = arguments
        && first == ground::INSIDE
    {
        return inside(&Wishes::parse(rest)?);
    }
    let wishes = Wishes::parse(arguments)?;
    if !CASES.iter().any(|case| wishes.want(case.name, case.against)) {
        let all: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(Failure::BadArguments(format!("`bench {TABLE}` has {}", all.join(", "))));
    }
    if let Some(why) = ground::missing() {
        return Err(Failure::MachineLacks(why));
    }
    let mut cargo = build::plain_cargo();
    cargo.args(["build", "--release", "--bins", "-p", "haft-cli", "-p", "haft-field"]);
    command::run(&mut cargo)?;
    ground::enter(&["bench", TABLE], arguments)
}

fn inside(wishes: &Wishes) -> Result<(), Failure> {
    let place = Place::find();
    let stage = Stage::set(place)?;
    let mut kept = Results::open(TABLE, wishes.quick)?;
    kept.begin(facts::facts(place)?);
    let mut measured = Vec::new();
    for case in CASES.iter().filter(|case| wishes.want(case.name, case.against)) {
        println!("{} beside {}", case.title, case.beside());
        let found = measured_of(&stage, place, wishes, case);
        let found = found.unwrap_or_else(|why| results::failed(&why));
        let mut all = json!({
            "scenario": case.name,
            "against": case.against,
            "seconds": round(wishes.each()),
            "bench": words(&stage, place, wishes, case).map(|words| shell::line(&words)),
        });
        let members = all.as_object_mut().expect("it was made one");
        members.extend(found.as_object().cloned().unwrap_or_default());
        if let Some(why) = faults::of(&all) {
            println!("  failed: {why}");
        }
        if kept.put(all.clone()) == Put::EarlierKept {
            println!("  {} keeps what was measured of it before", kept.path().display());
        }
        measured.push(all);
        kept.write()?;
    }
    println!("\n{}\n{} has all of it", table(&measured), kept.path().display());
    println!("over the wire: {}", stage.wire.count());
    if measured.iter().all(|case| faults::of(case).is_some()) {
        let said = "nothing could be measured, the reasons are above".to_owned();
        return Err(Failure::MachineLacks(said));
    }
    Ok(())
}

/// All rounds of a case: the other and ours in turns, and who begins takes turns too.
fn measured_of(stage: &Stage, place: Place, wishes: &Wishes, case: &Case) -> Result<Value, String> {
    if let Kind::Lossy(congestion) = case.kind {
        stage.control(congestion)?;
    }
    asking(stage, place, case).iter().try_for_each(|words| ready(words))?;
    let words = words(stage, place, wishes, case);
    let mut turns: [Vec<Turn>; 2] = Default::default();
    for number in 0..wishes.rounds() * case.more() {
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        for at in order {
            let is_slow = case.kind == Kind::Slow && at == 1;
            let reader = is_slow.then(|| slow::Reader::begin(stage.address(), "plant_long"));
            let reader = reader.transpose()?;
            let said = measure::json_of(server::command(&words[at]).arg("--json"))?;
            turns[at].push(turn_of(&said)?);
            if reader.is_some_and(|reader| reader.end() == 0) {
                return Err("the slow reader got nothing".to_owned());
            }
        }
    }
    let [theirs, haft] = &turns;
    let kept = kept(theirs, haft).ok_or_else(|| measure::NOTHING.to_owned())?;
    Ok(kept)
}

/// How the other and ours are loaded in a round.
fn words(stage: &Stage, place: Place, wishes: &Wishes, case: &Case) -> [Vec<String>; 2] {
    let seconds = wishes.each() * case.longer() / f64::from(wishes.rounds());
    let millis = format!("{}ms", (seconds * 1000.0).round());
    let warm = if matches!(case.kind, Kind::Lossy(_)) { "500ms" } else { "0s" };
    asking(stage, place, case).map(|mut words| {
        words.extend(["--warmup", warm, "--duration", &millis].map(str::to_owned));
        words
    })
}

/// How the other and ours are asked.
fn asking(stage: &Stage, place: Place, case: &Case) -> [Vec<String>; 2] {
    let (gateway, far) = (stage.gateway(), Stage::far());
    let (urls, tools) = match case.kind {
        Kind::One => ([&gateway, &gateway], ["http_echo", "plant_echo"]),
        Kind::Lossy(_) => ([&far, &gateway], ["echo", "yard_echo"]),
        Kind::Slow => ([&gateway, &gateway], ["plant_echo", "plant_echo"]),
    };
    let at_once = if case.kind == Kind::Slow { AT_ONCE - 1 } else { AT_ONCE };
    [0, 1].map(|at| {
        let mut words = place.load();
        words.extend([HAFT, "bench", urls[at], tools[at], "--input-json"].map(str::to_owned));
        words.extend([r#"{"text":"xxxxx"}"#, "--era", "modern"].map(str::to_owned));
        if case.kind != Kind::One {
            let flight = at_once.to_string();
            words.extend(["--http2", "--in-flight", &flight].map(str::to_owned));
        }
        words
    })
}

/// Asks until there are answers: what is at an agent may come later than the gateway.
fn ready(words: &[String]) -> Result<(), String> {
    let began = Instant::now();
    let words: Vec<String> =
        words.iter().cloned().chain(["--requests", "200"].map(str::to_owned)).collect();
    loop {
        let said = measure::json_of(server::command(&words).arg("--json"));
        match said.and_then(|said| turn_of(&said)) {
            Err(_) if began.elapsed() < READY_MAX => pause(RETRY),
            found => return found.map(drop),
        }
    }
}

/// What `haft bench` said of a round.
fn turn_of(said: &Value) -> Result<Turn, String> {
    let number = |value: &Value| value.as_f64().ok_or_else(|| measure::NOTHING.to_owned());
    let (answers, failures) = (number(&said["answers"])?, number(&said["failures"])?);
    if let Some(why) = said["ended"].as_str() {
        return Err(why.to_owned());
    }
    if failures > 0.0 || answers < 1.0 {
        return Err(format!("{answers} answers, {failures} failures"));
    }
    let latency = |name: &str| number(&said["latency"][name]).map(|nanos| nanos / 1e3);
    Ok([latency("p50_ns")?, latency("p99_ns")?, number(&said["per_second"])?])
}

/// What is kept of both: each round, the medians, and the interval of the rounds' ratios.
fn kept(theirs: &[Turn], haft: &[Turn]) -> Option<Value> {
    let (mut ratios, mut sides) = (Map::new(), [Map::new(), Map::new()]);
    for (at, (figure, _)) in FIGURES.iter().enumerate() {
        let of = haft.iter().zip(theirs).map(|(haft, theirs)| haft[at] / theirs[at]);
        ratios.insert((*figure).to_owned(), Interval::of(of.collect())?.to_json());
        for (side, turns) in sides.iter_mut().zip([theirs, haft]) {
            let mut all: Vec<f64> = turns.iter().map(|turn| turn[at]).collect();
            all.sort_by(f64::total_cmp);
            side.insert((*figure).to_owned(), round(median(&all)?));
        }
    }
    let [mut first, mut second] = sides.map(Value::from);
    (first["turns"], second["turns"]) = (each(theirs), each(haft));
    Some(json!({ "rounds": haft.len(), "theirs": first, "haft": second, "ratios": ratios }))
}

/// Every round, as it is kept.
fn each(turns: &[Turn]) -> Value {
    let of = |at: usize| turns.iter().map(|turn| round(turn[at])).collect::<Vec<_>>();
    json!({ "p50_us": of(0), "p99_us": of(1), "per_second": of(2) })
}

#[cfg(test)]
mod tests {
    use super::{kept, turn_of};
    use serde_json::json;

    #[test]
    fn ours_is_set_beside_the_other_round_by_round() {
        let of = |p50: f64, p99: f64| -> Vec<[f64; 3]> {
            (0..6).map(|at| [p50 * f64::from(at + 1), p99, 1000.0]).collect()
        };
        let kept = kept(&of(100.0, 400.0), &of(120.0, 200.0)).expect("figures");
        assert_eq!(kept["ratios"]["p50_us"], json!([1.2, 1.2, 1.2]));
        assert_eq!(kept["ratios"]["p99_us"], json!([0.5, 0.5, 0.5]));
        assert_eq!((&kept["haft"]["p99_us"], &kept["rounds"]), (&json!(200), &json!(6)));
        assert_eq!(kept["theirs"]["turns"]["p99_us"], json!(vec![400; 6]));
    }

    #[test]
    fn a_round_with_a_failure_is_none() {
        let mut said = json!({
            "answers": 100, "failures": 0, "per_second": 2000.0,
            "latency": { "p50_ns": 40_000, "p99_ns": 90_000 },
        });
        assert_eq!(turn_of(&said), Ok([40.0, 90.0, 2000.0]));
        said["failures"] = 1.into();
        assert_eq!(turn_of(&said), Err("100 answers, 1 failures".to_owned()));
    }
}
