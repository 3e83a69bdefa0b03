//! What was measured as tables in Markdown, with the command beside each row. `comparing` prints
//! them; they are made of results alone, so that those of an earlier run make the same table.

use serde_json::Value;

use super::server::Group;

/// What marks a rate that the load may have bounded, and from how much of its processor on.
const LOADED: char = '†';
const LOAD_BUSY: f64 = 0.9;

/// An interval that reaches further is none.
const INTERVAL_MAX: f64 = 1000.0;

/// Both tables of some cases: rates, and cold starts.
pub(super) fn tables(group: Group, cases: &[Value]) -> String {
    let (cold, rates): (Vec<&Value>, Vec<&Value>) =
        cases.iter().partition(|case| case["result"]["first"].is_array());
    let mut out = String::new();
    if !rates.is_empty() {
        out += "| what | against | its req/s | haft's | haft is × (95%) | aim | P50 × | P99 × | ";
        out += "command |\n";
        out += "| --- | --- | ---: | ---: | --- | --- | ---: | ---: | --- |\n";
        rates.iter().for_each(|case| out += &row(case, group, rate(case)));
        if out.contains(LOADED) {
            out +=
                &format!("\n{LOADED} the load was at the end of its processor, not the server.\n");
        }
    }
    if !cold.is_empty() {
        out += if out.is_empty() { "" } else { "\n" };
        out += "| what | against | its P50 | haft's | haft takes × (rounds) | aim | command |\n";
        out += "| --- | --- | ---: | ---: | --- | --- | --- |\n";
        cold.iter().for_each(|case| out += &row(case, group, cold_start(case)));
    }
    out
}

fn row(case: &Value, group: Group, figures: Option<String>) -> String {
    let text = |key: &str| case[key].as_str().unwrap_or("?");
    let (scenario, against) = (text("scenario"), text("against"));
    let version = case["versions"][against].as_str().unwrap_or_default();
    let server = format!("{against} {version}");
    let command = format!("`cargo xtask bench {} {scenario} {against}`", group.name());
    let figures = figures.unwrap_or_else(|| {
        // Vertical lines would make columns.
        let why = case["failed"].as_str().unwrap_or("nothing came out");
        format!("| failed: {} | | | | | ", why.replace(['|', '\n'], " "))
    });
    format!("| {} | {} {figures}| {command} |\n", text("title"), server.trim_end())
}

/// The figures of two servers under load.
fn rate(case: &Value) -> Option<String> {
    let result = &case["result"];
    let of = |figure: &str| {
        let ratios = result["ratios"].as_array()?;
        ratios.iter().find(|ratio| ratio["figure"] == figure)
    };
    let ratio = |figure: &str| of(figure)?["ratio"].as_f64();
    let per_second = of("per_second")?;
    let (low, high) = (per_second["low"].as_f64()?, per_second["high"].as_f64()?);
    let speed = |side: &str| {
        let is_loaded = result[side]["load_use"].as_f64().is_some_and(|share| share > LOAD_BUSY);
        let mark = if is_loaded { format!(" {LOADED}") } else { String::new() };
        Some(grouped(result[side]["per_second"].as_f64()?) + &mark)
    };
    let faster = per_second["ratio"].as_f64()?;
    Some(format!(
        "| {} | {} | {}{} | {} | {} | {} ",
        speed("first")?,
        speed("second")?,
        bold(faster, case["reach"].as_f64().is_none_or(|reach| faster >= reach)),
        // Two short rounds say next to nothing of how sure it is.
        if high > INTERVAL_MAX { String::new() } else { interval(low, high) },
        case["reach"].as_f64().map_or(String::new(), |reach| format!("≥ {reach}")),
        ratio("p50").map_or(String::new(), times),
        ratio("p99").map_or(String::new(), times),
    ))
}

/// Those of beginnings: the median of the rounds' ratios, and between which they are.
fn cold_start(case: &Value) -> Option<String> {
    let of = |side: &str| -> Option<Vec<f64>> {
        let rounds = case["result"][side].as_array()?;
        rounds.iter().map(|round| round["answered"]["p50_ns"].as_f64()).collect()
    };
    let (first, second) = (of("first")?, of("second")?);
    let ratios = sorted(second.iter().zip(&first).map(|(of, to)| of / to).collect());
    let (low, high) = (ratios.first()?, ratios.last()?);
    let ratio = median(&ratios)?;
    let reach = case["reach"].as_f64();
    Some(format!(
        "| {} | {} | {}{} | {} ",
        milliseconds(median(&sorted(first))?),
        milliseconds(median(&sorted(second))?),
        bold(ratio, reach.is_none_or(|reach| ratio <= reach)),
        if low < high { interval(*low, *high) } else { String::new() },
        reach.map_or(String::new(), |reach| format!("≤ {reach}")),
    ))
}

/// What misses its aim is marked, not what meets it.
fn bold(ratio: f64, is_met: bool) -> String {
    if is_met { times(ratio) } else { format!("**{}**", times(ratio)) }
}

fn interval(low: f64, high: f64) -> String {
    format!(" ({} to {})", times(low), times(high))
}

/// A ratio to about three digits.
fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 100.0 => format!("{ratio:.0}"),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ if ratio >= 0.1 => format!("{ratio:.2}"),
        _ => format!("{ratio:.4}"),
    }
}

fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return sorted.get(middle).copied();
    }
    Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0)
}

fn milliseconds(nanos: f64) -> String {
    format!("{:.1} ms", nanos / 1e6)
}

/// Thousands with a gap after each three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Group, tables};
    use serde_json::{Value, json};

    fn case(result: Value, more: Value) -> Value {
        let mut case = json!({
            "scenario": "http-echo-1", "title": "HTTP, echo", "against": "rmcp",
            "versions": { "rmcp": "3.9.0" }, "reach": 2.0, "result": result,
        });
        case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        case
    }

    fn under_load(ratio: f64) -> Value {
        json!({
            "first": { "per_second": 23_000.4 }, "second": { "per_second": 1_051_000.0 },
            "ratios": [
                { "figure": "per_second", "ratio": ratio, "low": 2.1, "high": 2.5 },
                { "figure": "p99", "ratio": 0.4, "low": 0.3, "high": 0.5 },
            ],
        })
    }

    #[test]
    fn a_ratio_has_its_interval_its_aim_and_its_command() {
        let table = tables(Group::Peer, &[case(under_load(2.314), json!({}))]);
        let row = table.lines().nth(2).expect("a row");
        let expected = "| HTTP, echo | rmcp 3.9.0 | 23 000 | 1 051 000 | 2.31 (2.10 to 2.50) | ≥ 2 \
                        |  | 0.40 | `cargo xtask bench peers http-echo-1 rmcp` |";
        assert_eq!(row, expected);
    }

    #[test]
    fn a_rate_that_the_load_bounds_is_marked() {
        let mut result = under_load(2.3);
        assert!(!tables(Group::Peer, &[case(result.clone(), json!({}))]).contains('†'));
        result["second"]["load_use"] = 0.97.into();
        let table = tables(Group::Peer, &[case(result, json!({}))]);
        assert!(table.contains("| 23 000 | 1 051 000 † |"), "{table}");
        assert!(table.ends_with("† the load was at the end of its processor, not the server.\n"));
    }

    #[test]
    fn a_ratio_is_read_at_a_glance() {
        let shown = [0.00432, 0.85, 2.314, 43.21, 1234.5].map(super::times);
        assert_eq!(shown, ["0.0043", "0.85", "2.31", "43.2", "1234"]);
    }

    #[test]
    fn what_misses_its_aim_is_marked() {
        let table = tables(Group::Peer, &[case(under_load(1.5), json!({}))]);
        assert!(table.contains("**1.50**"), "{table}");
    }

    #[test]
    fn beginnings_have_a_table_of_their_own() {
        let rounds = |times: &[u64]| -> Vec<Value> {
            times.iter().map(|time| json!({ "answered": { "p50_ns": time } })).collect()
        };
        let first = rounds(&[2_000_000, 2_000_000, 4_000_000]);
        let second = rounds(&[3_000_000, 5_000_000, 4_000_000]);
        let result = json!({ "first": first, "second": second });
        let more = json!({ "reach": 3.0 });
        let table = tables(Group::Limit, &[case(result, more)]);
        assert!(table.contains("| 2.0 ms | 4.0 ms | 1.50 (1.00 to 2.50) | ≤ 3 |"), "{table}");
        assert!(table.contains("haft takes ×") && !table.contains("req/s"), "{table}");
    }

    #[test]
    fn a_failure_stays_in_its_row() {
        let more = json!({ "failed": "it is\ndown | really" });
        let table = tables(Group::Peer, &[case(Value::Null, more)]);
        let row = table.lines().nth(2).expect("a row");
        assert!(row.contains("failed: it is down   really"), "{row}");
        let columns = |line: &str| line.matches('|').count();
        assert_eq!(columns(row), columns(table.lines().next().unwrap()), "{table}");
    }
}
