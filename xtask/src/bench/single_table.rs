//! What single messages and checks take as tables in Markdown. `single` prints them and `pages`
//! writes them; they are made of results alone.

use serde_json::Value;

use super::aim::{Aim, Interval};
use super::pairs::Table;
use super::shown::{aim, grouped, interval, notes};

/// A count of each side, for which there is a pair of columns if any case has it.
const COUNTS: [&str; 3] = ["instructions", "allocations", "bytes"];

/// The table of some cases.
pub(super) fn of(table: Table, cases: &[Value]) -> String {
    let has = |count: &&&str| cases.iter().any(|case| case["haft"][**count].is_u64());
    let counts: Vec<&str> = COUNTS.iter().filter(has).copied().collect();
    let heads: String = counts.iter().map(|count| format!("its {count} | haft's | ")).collect();
    let mut out = format!(
        "| what | beside | its ns | haft's | haft is × as fast (95%) | aim | {heads}command |\n\
         | --- | --- | ---: | ---: | --- | --- | {}--- |\n",
        "---: | ---: | ".repeat(counts.len())
    );
    cases.iter().filter_map(|case| row(table, case, &counts)).for_each(|row| out += &row);
    let notes = notes(&out);
    out + &notes
}

fn row(table: Table, case: &Value, counts: &[&str]) -> Option<String> {
    let (scenario, against) = (case["scenario"].as_str()?, case["against"].as_str()?);
    let (title, beside) = table
        .titles(scenario, against)
        .unwrap_or_else(|| (scenario.to_owned(), against.to_owned()));
    let versions = case["versions"].as_object()?.iter();
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
        .collect();
    let beside =
        if versions.is_empty() { beside } else { format!("{beside} ({})", versions.join(", ")) };
    let nanos = |side: &str| case[side]["median_ns"].as_f64().map(shown);
    let faster = Interval::read(&case["ratios"]["time"])?;
    let mut counted = String::new();
    for count in counts {
        for side in ["theirs", "haft"] {
            let number = case[side][*count].as_f64().map_or_else(String::new, grouped);
            counted += &format!("{number} | ");
        }
    }
    Some(format!(
        "| {title} | {beside} | {} | {} | {} | {} | {counted}`cargo xtask bench {} {scenario} \
         {against}` |\n",
        nanos("theirs")?,
        nanos("haft")?,
        interval(faster),
        aim(case["aim"].as_f64().map(Aim::AtLeast), faster),
        table.name(),
    ))
}

fn shown(nanos: f64) -> String {
    if nanos < 100.0 { format!("{nanos:.1}") } else { grouped(nanos) }
}

#[cfg(test)]
mod tests {
    use super::{Table, of};
    use serde_json::{Value, json};

    fn case(counts: Value) -> Value {
        let side = |nanos: f64, counts: &Value| {
            let mut side = json!({ "median_ns": nanos });
            side.as_object_mut().unwrap().extend(counts.as_object().unwrap().clone());
            side
        };
        json!({
            "scenario": "error", "against": "dom_twice", "aim": 5.0,
            "versions": { "serde_json": "1.0.154" },
            "theirs": side(1234.5, &counts), "haft": side(99.12, &counts),
            "ratios": { "time": [12.4, 12.1, 13.0] },
        })
    }

    #[test]
    fn a_row_says_what_is_compared_and_how_to_repeat_it() {
        let table = of(Table::Codec, &[case(json!({}))]);
        let expected = "| an error | serde_json, a DOM twice (serde_json 1.0.154) | 1 234 | 99.1 \
                        | 12.4 (12.1 to 13.0) | ≥ 5: met \
                        | `cargo xtask bench codec error dom_twice` |";
        assert_eq!(table.lines().nth(2), Some(expected), "{table}");
    }

    #[test]
    fn counts_have_columns_where_there_are_any() {
        let table = of(Table::Codec, &[case(json!({})), case(json!({ "instructions": 2051 }))]);
        let columns: Vec<_> = table.lines().map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [10; 4], "{table}");
        assert!(table.contains("| 2 051 | 2 051 |") && !table.contains("allocations"), "{table}");
    }
}
