//! The table of `bench gateway`: a row for each figure of a case. Made of what was kept and of
//! nothing else; the pages and the command print it.

use serde_json::Value;

use super::super::aim::{Aim, Interval};
use super::super::faults;
use super::super::shown::{aim, grouped, interval, notes, times};
use super::super::wishes::Wishes;
use super::TABLE;
use super::cases::{AGENTGATEWAY, ALONE, Figure, OWN_TOOLS, SCENARIOS, Scenario};

/// Of some cases.
pub(in super::super) fn table(cases: &[Value]) -> String {
    let mut out = "| what | figure | beside | its | haft's | haft's is × (95%) | aim | command |\n\
                   | --- | --- | --- | ---: | ---: | --- | --- | --- |\n"
        .to_owned();
    let named = |scenario: &Scenario, against: &str| {
        let is_it = |case: &&Value| case["scenario"] == scenario.name && case["against"] == against;
        cases.iter().find(is_it)
    };
    for scenario in SCENARIOS {
        for against in scenario.beside {
            if let Some(case) = named(scenario, against) {
                out += &rows(scenario, against, case);
            }
        }
    }
    let notes = notes(&out);
    out + &notes
}

/// All of one case.
fn rows(scenario: &Scenario, against: &str, case: &Value) -> String {
    let beside = beside(against, case);
    let again = Wishes::told_again(case);
    let command = format!("`cargo xtask bench {TABLE} {} {against}{again}`", scenario.name);
    let title = scenario.title;
    if let Some(why) = faults::of(case) {
        // Vertical lines would make columns.
        let why = why.replace(['|', '\n'], " ");
        return format!("| {title} |  | {beside} | failed: {why} | | | | {command} |\n");
    }
    let row = |(figure, aim): &(Figure, Option<Aim>)| {
        let shown = figures(*figure, *aim, case).unwrap_or_else(|| "| | | ".to_owned());
        format!("| {title} | {} | {beside} {shown}| {command} |\n", figure.title())
    };
    scenario.figures(against).iter().map(row).collect()
}

/// Beside whom a case is, with the version if there is one.
pub(in super::super) fn beside(against: &str, case: &Value) -> String {
    let version = case["versions"][against].as_str();
    match (against, version) {
        (AGENTGATEWAY, _) => "agentgateway 1.4 as it was measured before".to_owned(),
        (OWN_TOOLS, _) => "haft with these tools of its own".to_owned(),
        (ALONE, _) => String::new(),
        (name, Some(version)) => format!("{name} {version}"),
        (name, None) => name.to_owned(),
    }
}

/// Its, ours, the ratio and the aim.
fn figures(figure: Figure, wanted: Option<Aim>, case: &Value) -> Option<String> {
    if figure == Figure::SessionBytes {
        let value = case["value"].as_f64()?;
        let sure = Interval { ratio: value, low: value, high: value };
        return Some(format!("|  | {} |  | {} ", grouped(value), aim(wanted, sure)));
    }
    let of = |side: &str| case[side][figure.name()].as_f64().map(short);
    let ratio = Interval::read(&case["ratios"][figure.name()])?;
    Some(format!(
        "| {} | {} | {} | {} ",
        of("theirs")?,
        of("haft")?,
        interval(ratio),
        aim(wanted, ratio)
    ))
}

/// A time to three digits, a rate to its last.
fn short(number: f64) -> String {
    if number >= 1000.0 { grouped(number) } else { times(number) }
}

#[cfg(test)]
mod tests {
    use super::table;
    use serde_json::json;

    #[test]
    fn each_figure_of_a_case_has_a_row() {
        let case = json!({
            "scenario": "legacy-echo-32", "against": "nginx", "versions": { "nginx": "1.2.3" },
            "seconds": 5,
            "theirs": { "per_core": 50_000, "per_second": 20_000 },
            "haft": { "per_core": 40_000, "per_second": 21_000 },
            "ratios": { "per_core": [0.8, 0.7, 0.85], "per_second": [1.05, 1.0, 1.1] },
        });
        let table = table(&[case]);
        let command = "`cargo xtask bench gateway legacy-echo-32 nginx`";
        let first = format!(
            "| echo, 32 connections | calls a second of its processor time | nginx 1.2.3 | 50 000 \
             | 40 000 | 0.80 (0.70 to 0.85) | ≥ 0.6: met | {command} |"
        );
        let second = format!(
            "| echo, 32 connections | calls a second | nginx 1.2.3 | 20 000 | 21 000 \
             | 1.05 (1.00 to 1.10) |  | {command} |"
        );
        assert_eq!(table.lines().skip(2).collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn who_is_missing_is_told_in_a_row_as_wide_as_all() {
        let case = json!({
            "scenario": "modern-echo-1", "against": "haproxy", "failed": "run `apt`\n| or not",
        });
        let table = table(&[case]);
        let row = table.lines().nth(2).expect("a row");
        assert!(row.contains("| haproxy | failed: run `apt`   or not |"), "{row}");
        assert_eq!(row.matches('|').count(), table.lines().next().unwrap().matches('|').count());
    }

    #[test]
    fn a_session_is_judged_by_its_bytes() {
        let case = json!({ "scenario": "idle-sessions", "against": "alone", "value": 4200 });
        let table = table(&[case]);
        let expected =
            "| idle legacy sessions | bytes for each |  |  | 4 200 |  | ≤ 4 096: not met ";
        assert!(table.contains(expected), "{table}");
    }
}
