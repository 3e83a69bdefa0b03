//! The table of `bench links`: a row for each figure of a case. Made of what was kept and of
//! nothing else; the pages and the command print it.

use serde_json::Value;

use super::super::aim::{Aim, Interval};
use super::super::faults;
use super::super::shown::{aim, grouped, interval, notes, times};
use super::super::wishes::Wishes;
use super::cases::{CASES, Case};
use super::{FIGURES, TABLE};

/// Of some cases.
pub(in super::super) fn table(cases: &[Value]) -> String {
    let mut out = "| what | figure | beside | its | haft's | haft's is × (95%) | aim | command |\n\
                   | --- | --- | --- | ---: | ---: | --- | --- | --- |\n"
        .to_owned();
    for case in CASES {
        if let Some(kept) = cases.iter().find(|kept| case.is(kept)) {
            out += &rows(case, kept);
        }
    }
    let notes = notes(&out);
    out + &notes
}

/// All of one case.
fn rows(case: &Case, kept: &Value) -> String {
    let (title, beside) = (case.title, case.beside());
    let again = Wishes::told_again(kept);
    let command = format!("`cargo xtask bench {TABLE} {} {}{again}`", case.name, case.against);
    if let Some(why) = faults::of(kept) {
        // Vertical lines would make columns.
        let why = why.replace(['|', '\n'], " ");
        return format!("| {title} |  | {beside} | failed: {why} | | | | {command} |\n");
    }
    let row = |((figure, shown), wanted): ((&str, &str), Option<Aim>)| {
        let figures = figures(figure, wanted, kept).unwrap_or_else(|| "| | | | ".to_owned());
        format!("| {title} | {shown} | {beside} {figures}| {command} |\n")
    };
    FIGURES.into_iter().zip(case.aims).map(row).collect()
}

/// Its, ours, the ratio and the aim.
fn figures(figure: &str, wanted: Option<Aim>, kept: &Value) -> Option<String> {
    let of = |side: &str| kept[side][figure].as_f64().map(short);
    let ratio = Interval::read(&kept["ratios"][figure])?;
    let (theirs, ours) = (of("theirs")?, of("haft")?);
    Some(format!("| {theirs} | {ours} | {} | {} ", interval(ratio), aim(wanted, ratio)))
}

/// A time to three digits, a longer one to its last.
fn short(number: f64) -> String {
    if number >= 1000.0 { grouped(number) } else { times(number) }
}

#[cfg(test)]
mod tests {
    use super::table;
    use serde_json::json;

    #[test]
    fn each_figure_of_a_case_has_a_row() {
        let mut case = json!({
            "scenario": "echo-1", "against": "http", "seconds": 10,
            "theirs": { "p50_us": 400, "p99_us": 1200 },
            "haft": { "p50_us": 500, "p99_us": 1800 },
            "ratios": { "p50_us": [1.25, 1.2, 1.28], "p99_us": [1.5, 1.4, 1.6] },
        });
        let shown = table(&[case.clone()]);
        let rows: Vec<&str> = shown.lines().skip(2).collect();
        assert!(rows[0].contains("| 400 | 500 | 1.25 (1.20 to 1.28) | ≤ 1.3: met |"), "{shown}");
        assert!(rows[1].contains("| 1 200 | 1 800 | 1.50 (1.40 to 1.60) | ≤ 1.3: not met |"));
        assert!(
            rows[1].ends_with("| `cargo xtask bench links echo-1 http --seconds 10` |"),
            "{shown}"
        );
        case["failed"] = "it | is down".into();
        let shown = table(&[case]);
        let row = shown.lines().nth(2).expect("a row");
        assert_eq!(row.matches('|').count(), shown.lines().next().unwrap().matches('|').count());
    }
}
