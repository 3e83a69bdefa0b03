//! What was measured as tables in Markdown, with the command beside each row. `comparing` prints
//! them; they are made of results alone, so that those of an earlier run make the same table.

use serde_json::Value;

use super::aim::{Interval, median};
use super::faults;
use super::scenario::Scenario;
use super::server::{Group, Server};
use super::shown::{
    LOADED, WAITING, aim, grouped, interval, milliseconds, notes, shared_notes, times,
};
use super::wishes::Wishes;

/// From how much of its processor on a load or a server may have bounded a rate.
const BUSY: f64 = 0.9;

/// Both tables of some cases: rates, and cold starts.
pub(super) fn tables(group: Group, cases: &[Value]) -> String {
    if group == Group::Runtime {
        return runtimes(cases);
    }
    let (cold, rates): (Vec<&Value>, Vec<&Value>) =
        cases.iter().partition(|case| named(case).is_some_and(Scenario::is_cold));
    let mut out = String::new();
    if !rates.is_empty() {
        out += "| what | against | its req/s | haft's | haft is × (95%) | aim | P50 × | P99 × | ";
        out += "CPU × | command |\n";
        out += "| --- | --- | ---: | ---: | --- | --- | ---: | ---: | ---: | --- |\n";
        rates.iter().for_each(|case| out += &row(case, group, rate(case), 6));
    }
    if !cold.is_empty() {
        out += if out.is_empty() { "" } else { "\n" };
        out += "| what | against | its P50 | haft's | haft takes × (95%) | aim | command |\n";
        out += "| --- | --- | ---: | ---: | --- | --- | --- |\n";
        cold.iter().for_each(|case| out += &row(case, group, cold_start(case), 3));
    }
    let notes = notes(&out);
    out + &notes
}

/// Which threads answer, beside the default.
fn runtimes(cases: &[Value]) -> String {
    let mut out =
        "| what | `haft serve` with | its req/s | the default's | the default is × (95%) \
                   | P50 × | P99 × | CPU × (95%) | processors, its and the default's \
                   | the load's use of its threads, beside each | command |\n"
            .to_owned();
    out += "| --- | --- | ---: | ---: | --- | ---: | ---: | --- | ---: | ---: | --- |\n";
    cases.iter().for_each(|case| out += &row(case, Group::Runtime, of_threads(case), 7));
    let notes = shared_notes(&out);
    out + &notes
}

fn named(case: &Value) -> Option<&'static Scenario> {
    Scenario::named(case["scenario"].as_str()?)
}

/// `empty` is how many columns a failure leaves empty.
fn row(case: &Value, group: Group, figures: Option<String>, empty: usize) -> String {
    let text = |key: &str| case[key].as_str().unwrap_or("?");
    let (scenario, against) = (text("scenario"), text("against"));
    let title = named(case).map_or(scenario, |scenario| scenario.title);
    let server = if group == Group::Runtime {
        let server = Server::all(group).iter().find(|server| server.name == against);
        server.map_or_else(|| against.to_owned(), |server| format!("`{}`", server.told()))
    } else {
        format!("{against} {}", case["versions"][against].as_str().unwrap_or_default())
    };
    let again = Wishes::told_again(case);
    let command = format!("`cargo xtask bench {} {scenario} {against}{again}`", group.name());
    let fault = faults::of(case);
    let figures = figures.filter(|_| fault.is_none()).unwrap_or_else(|| {
        // Vertical lines would make columns.
        let why = fault.as_deref().unwrap_or("nothing came out");
        format!("| failed: {} {}", why.replace(['|', '\n'], " "), "| ".repeat(empty))
    });
    format!("| {title} | {} {figures}| {command} |\n", server.trim_end())
}

/// The marks of both sides of a case, each once.
pub(super) fn marks(case: &Value) -> String {
    let mut marks: Vec<char> =
        ["theirs", "haft"].into_iter().filter_map(|side| bound(case, side)).collect();
    marks.dedup();
    marks.into_iter().map(|mark| marked(Some(mark))).collect()
}

/// The mark of a rate that something else than its server bounded, where that is known. One request
/// at a time leaves both idle in turns, which is no news. Where server and load share processors,
/// the server is at the end of them when both together are.
fn bound(case: &Value, side: &str) -> Option<char> {
    let load = case[side]["load_use"].as_f64();
    let server = case[side]["processors"].as_f64();
    let shared = |what: &str| case["shared"][what].as_f64();
    let share = match shared("processors").zip(shared("load_threads")) {
        Some((all, threads)) => {
            server.zip(load).map(|(server, load)| (server + load * threads) / all)
        }
        None => server,
    };
    let is_busy = |share: f64| share > BUSY;
    let has_many = named(case).is_some_and(|scenario| !scenario.load.is_empty());
    match (load.map(is_busy), share.map(is_busy)) {
        (Some(true), _) => Some(LOADED),
        (Some(false), Some(false)) if has_many => Some(WAITING),
        _ => None,
    }
}

fn marked(mark: Option<char>) -> String {
    mark.map_or_else(String::new, |mark| format!(" {mark}"))
}

/// The figures of two servers under load.
fn rate(case: &Value) -> Option<String> {
    let of = |figure: &str| Interval::read(&case["ratios"][figure]);
    let ratio = |figure: &str| of(figure).map_or_else(String::new, |it| times(it.ratio));
    let speed =
        |side: &str| Some(grouped(case[side]["per_second"].as_f64()?) + &marked(bound(case, side)));
    let faster = of("per_second")?;
    Some(format!(
        "| {} | {} | {} | {} | {} | {} | {} ",
        speed("theirs")?,
        speed("haft")?,
        interval(faster),
        aim(named(case).and_then(|scenario| scenario.aim(case)), faster),
        ratio("p50"),
        ratio("p99"),
        ratio("cpu"),
    ))
}

/// Those of two ways to answer. Server and load share all processors, so how much each took of them
/// is told besides.
fn of_threads(case: &Value) -> Option<String> {
    let of = |figure: &str| Interval::read(&case["ratios"][figure]);
    let ratio = |figure: &str| of(figure).map_or_else(String::new, |it| times(it.ratio));
    let speed =
        |side: &str| Some(grouped(case[side]["per_second"].as_f64()?) + &marked(bound(case, side)));
    let used = |what: &str| {
        let of = |side: &str| case[side][what].as_f64().map(times);
        of("theirs").zip(of("haft")).map_or_else(String::new, |(of, to)| format!("{of}, {to}"))
    };
    Some(format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} ",
        speed("theirs")?,
        speed("haft")?,
        interval(of("per_second")?),
        ratio("p50"),
        ratio("p99"),
        of("cpu").map_or_else(String::new, interval),
        used("processors"),
        used("load_use"),
    ))
}

/// Those of beginnings: the median of the rounds' ratios, and between which it is.
fn cold_start(case: &Value) -> Option<String> {
    let of = |side: &str| -> Option<f64> {
        let rounds = case[side]["p50_ms"].as_array()?;
        let mut rounds: Vec<f64> = rounds.iter().filter_map(Value::as_f64).collect();
        rounds.sort_by(f64::total_cmp);
        median(&rounds)
    };
    let slower = Interval::read(&case["ratios"]["p50"])?;
    Some(format!(
        "| {} | {} | {} | {} ",
        milliseconds(of("theirs")?),
        milliseconds(of("haft")?),
        interval(slower),
        aim(named(case).and_then(|scenario| scenario.aim(case)), slower),
    ))
}

#[cfg(test)]
mod tests {
    use super::{Group, tables};
    use serde_json::{Value, json};

    fn under_load(faster: [f64; 3]) -> Value {
        json!({
            "scenario": "http-echo-1", "against": "rmcp", "aim": 2.0,
            "versions": { "rmcp": "3.9.0" },
            "theirs": { "per_second": 23_000 }, "haft": { "per_second": 1_051_000 },
            "ratios": { "per_second": faster, "p99": [0.4, 0.3, 0.5], "cpu": [0.5, 0.5, 0.5] },
        })
    }

    #[test]
    fn a_ratio_has_its_interval_its_aim_and_its_command() {
        let table = tables(Group::Peer, &[under_load([2.314, 2.1, 2.5])]);
        let row = table.lines().nth(2).expect("a row");
        let expected = "| HTTP, echo, 1 connection | rmcp 3.9.0 | 23 000 | 1 051 000 \
                        | 2.31 (2.10 to 2.50) | ≥ 2: met |  | 0.40 | 0.50 \
                        | `cargo xtask bench peers http-echo-1 rmcp` |";
        assert_eq!(row, expected);
    }

    #[test]
    fn a_command_loads_for_as_long_as_its_row_was_loaded() {
        let mut case = under_load([2.3, 2.2, 2.4]);
        case["seconds"] = 2.into();
        let table = tables(Group::Peer, &[case.clone()]);
        assert!(table.contains("`cargo xtask bench peers http-echo-1 rmcp --seconds 2` |"));
        case["seconds"] = 5.into();
        assert!(!tables(Group::Peer, &[case]).contains("--seconds"), "it is the default");
    }

    #[test]
    fn a_rate_that_the_load_bounds_is_marked() {
        let mut case = under_load([2.3, 2.2, 2.4]);
        assert!(!tables(Group::Peer, &[case.clone()]).contains('†'));
        case["haft"]["load_use"] = 0.97.into();
        let table = tables(Group::Peer, &[case]);
        assert!(table.contains("| 23 000 | 1 051 000 † |"), "{table}");
        assert!(table.ends_with("† the load was at the end of its processor, not the server.\n"));
    }

    #[test]
    fn a_rate_that_nothing_bounds_is_marked_where_many_are_in_flight() {
        let mut case = under_load([2.3, 2.2, 2.4]);
        case["haft"]["load_use"] = 0.6.into();
        case["haft"]["processors"] = 0.7.into();
        assert!(!tables(Group::Peer, &[case.clone()]).contains('§'), "one at a time");
        case["scenario"] = "http-echo-32".into();
        let table = tables(Group::Peer, &[case.clone()]);
        assert!(table.contains("| 23 000 | 1 051 000 § | 2.30 (2.20 to 2.40) | ≥ 2: met"));
        assert!(table.contains("\n§ neither the server nor the load was"), "{table}");
        case["haft"]["processors"] = 0.95.into();
        assert!(!tables(Group::Peer, &[case.clone()]).contains('§'), "the server was busy");
        case["haft"]["load_use"] = 0.97.into();
        assert!(tables(Group::Peer, &[case]).contains("1 051 000 † |"));
    }

    #[test]
    fn an_aim_within_the_interval_is_not_decided_and_a_wide_one_is_marked() {
        let table = tables(Group::Peer, &[under_load([2.3, 1.9, 2.8])]);
        assert!(table.contains("2.30 (1.90 to 2.80) ‡ | ≥ 2: not decided |"), "{table}");
        assert!(table.contains("\n‡ "), "{table}");
        let table = tables(Group::Peer, &[under_load([1.5, 1.4, 1.6])]);
        assert!(table.contains("| ≥ 2: not met |") && !table.contains('‡'), "{table}");
    }

    #[test]
    fn beginnings_have_a_table_of_their_own() {
        let case = json!({
            "scenario": "cold-echo", "against": "pipe", "aim": 3.0,
            "theirs": { "p50_ms": [2.0, 2.0, 4.0] }, "haft": { "p50_ms": [3.0, 5.0, 4.0] },
            "ratios": { "p50": [1.5, 1.4, 1.6] },
        });
        let table = tables(Group::Limit, &[case]);
        assert!(table.contains("| 2.0 ms | 4.0 ms | 1.50 (1.40 to 1.60) | ≤ 3: met |"), "{table}");
        assert!(table.contains("haft takes ×") && !table.contains("req/s"), "{table}");
    }

    #[test]
    fn threads_are_told_as_they_are_typed_and_their_processor_time_has_an_interval() {
        let mut case = under_load([1.014, 0.9, 1.05]);
        case["scenario"] = "threads-echo-32".into();
        case["against"] = "pinned".into();
        let table = tables(Group::Runtime, &[case]);
        let row = table.lines().nth(2).expect("a row");
        let expected = "| HTTP, echo, 32 connections | `--per-core --pin` | 23 000 | 1 051 000 \
                        | 1.01 (0.90 to 1.05) |  | 0.40 | 0.50 (0.50 to 0.50) |  |  \
                        | `cargo xtask bench runtimes threads-echo-32 pinned` |";
        assert_eq!(row, expected);
    }

    #[test]
    fn what_shares_the_machine_is_marked_by_all_of_it() {
        let of = |processors: f64, load_use: f64| {
            let mut case = under_load([1.0, 0.9, 1.05]);
            case["scenario"] = "threads-echo-32".into();
            case["against"] = "one-thread".into();
            case["shared"] = json!({ "processors": 2, "load_threads": 1 });
            case["theirs"] = json!({ "per_second": 9, "processors": 0.9, "load_use": 0.95 });
            case["haft"] =
                json!({ "per_second": 8, "processors": processors, "load_use": load_use });
            tables(Group::Runtime, &[case])
        };
        let table = of(1.2, 0.7);
        assert!(
            table.contains("| 9 † | 8 | 1.00 ") && table.contains("| 0.90, 1.20 | 0.95, 0.70 |")
        );
        assert!(table.contains("\n† the load was at the end of its threads"), "{table}");
        let table = of(0.9, 0.7);
        assert!(table.contains("| 9 † | 8 § | ") && table.contains("\n§ "), "{table}");
    }

    #[test]
    fn figures_of_some_rounds_are_not_shown() {
        let mut case = under_load([2.3, 2.2, 2.4]);
        case["rounds"] = 8.into();
        case["rounds_without_answers"] = 2.into();
        let table = tables(Group::Peer, &[case]);
        let row = table.lines().nth(2).expect("a row");
        let expected = "| HTTP, echo, 1 connection | rmcp 3.9.0 | failed: 2 of 10 rounds had no \
                        answer: --seconds more | | | | | | \
                        | `cargo xtask bench peers http-echo-1 rmcp` |";
        assert_eq!(row, expected);
    }

    #[test]
    fn a_failure_stays_in_its_row() {
        let cases = [
            ("http-echo-1", "rmcp", Group::Peer),
            ("cold-echo", "rmcp", Group::Peer),
            ("threads-echo-1", "per-core", Group::Runtime),
        ];
        for (scenario, against, group) in cases {
            let case = json!({
                "scenario": scenario, "against": against, "failed": "it is\ndown | really",
            });
            let table = tables(group, &[case]);
            let row = table.lines().nth(2).expect("a row");
            assert!(row.contains("failed: it is down   really"), "{row}");
            let columns = |line: &str| line.matches('|').count();
            assert_eq!(columns(row), columns(table.lines().next().unwrap()), "{table}");
        }
    }
}
