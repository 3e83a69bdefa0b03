//! What is kept of what `haft bench` said: the figures that the tables are made of, to four digits.
//! `comparing` calls it; what only a picture needs is left out, and no figure is judged.

use serde_json::{Map, Value, json};

use super::aim::{Interval, round};

/// What is kept of two servers under load. None if there are no figures to compare.
pub(super) fn rates(said: &Value) -> Option<Value> {
    let (mut ratios, mut turns) = (Map::new(), [Map::new(), Map::new()]);
    for ratio in said["ratios"].as_array()?.iter().filter(|it| it["figure"] != "average") {
        let at = |key: &str| ratio[key].as_f64();
        let interval = Interval { ratio: at("ratio")?, low: at("low")?, high: at("high")? };
        let figure = ratio["figure"].as_str()?;
        ratios.insert(figure.to_owned(), interval.to_json());
        for (at, turns) in turns.iter_mut().enumerate() {
            let (name, all) = of_each_round(figure, &ratio["turns"], at)?;
            turns.insert(name, all);
        }
    }
    let [theirs, haft] = turns;
    ratios.contains_key("per_second").then(|| {
        json!({
            "rounds": said["rounds"],
            "rounds_without_answers": said["rounds_without_answers"],
            "theirs": side(&said["first"], theirs),
            "haft": side(&said["second"], haft),
            "ratios": ratios,
        })
    })
}

/// One server's figure in each round, and what it is called: times are in microseconds.
fn of_each_round(figure: &str, turns: &Value, at: usize) -> Option<(String, Value)> {
    let (name, by) =
        if figure == "per_second" { (figure.into(), 1.0) } else { (format!("{figure}_us"), 1e3) };
    let of = |turn: &Value| turn[at].as_f64().map(|it| round(it / by));
    Some((name, turns.as_array()?.iter().map(of).collect::<Option<_>>()?))
}

/// One server, all its rounds together, and each.
fn side(said: &Value, turns: Map<String, Value>) -> Value {
    let kept = |value: &Value, by: f64| value.as_f64().map_or(Value::Null, |it| round(it / by));
    let latency = &said["latency"];
    json!({
        "per_second": kept(&said["per_second"], 1.0),
        "p50_us": kept(&latency["p50_ns"], 1e3),
        "p90_us": kept(&latency["p90_ns"], 1e3),
        "p99_us": kept(&latency["p99_ns"], 1e3),
        "p99_9_us": kept(&latency["p99_9_ns"], 1e3),
        "cpu_us": kept(&said["server"]["cpu_ns_per_answer"], 1e3),
        "load_use": kept(&said["load_use"], 1.0),
        "processors": kept(&said["server"]["processors"], 1.0),
        "turns": turns,
    })
}

/// What is kept of two servers' beginnings: of each round the median, in turns, and the interval of
/// the rounds' ratios. None if a round has none.
pub(super) fn beginnings(rounds: &[[Value; 2]]) -> Option<Value> {
    let of = |at: usize| -> Option<Vec<f64>> {
        rounds.iter().map(|round| round[at]["answered"]["p50_ns"].as_f64()).collect()
    };
    let (theirs, haft) = (of(0)?, of(1)?);
    let interval = Interval::of(haft.iter().zip(&theirs).map(|(of, to)| of / to).collect())?;
    let kept = |nanos: &[f64]| nanos.iter().map(|nanos| round(nanos / 1e6)).collect::<Vec<_>>();
    Some(json!({
        "rounds": rounds.len(),
        "theirs": { "p50_ms": kept(&theirs) },
        "haft": { "p50_ms": kept(&haft) },
        "ratios": { "p50": interval.to_json() },
    }))
}

#[cfg(test)]
mod tests {
    use super::{beginnings, rates};
    use serde_json::json;

    #[test]
    fn of_a_comparison_its_figures_are_kept() {
        let side = json!({
            "per_second": 23_000.4, "revision": "2025-11-25", "load_use": 0.271_83,
            "latency": { "p50_ns": 66_559, "p99_ns": 3_409_919 },
            "series": [1, 2, 3],
            "server": { "cpu_ns_per_answer": 60_859.6, "processors": 0.987_65 },
        });
        let ratio = |figure: &str| {
            let (low, high) = (1.08, 1.27);
            let turns = [[23_000.4, 27_000.0], [22_000.0, 26_123.4]];
            json!({
                "figure": figure, "ratio": 1.175_15, "low": low, "high": high, "turns": turns,
            })
        };
        let ratios = ["per_second", "average", "cpu"].map(ratio);
        let said = json!({
            "first": side, "second": side, "ratios": ratios,
            "rounds": 10, "rounds_without_answers": 3,
        });
        let kept = rates(&said).expect("figures");
        assert_eq!(kept["ratios"]["per_second"], json!([1.175, 1.08, 1.27]));
        assert_eq!(kept["haft"]["p50_us"], json!(66.56));
        assert_eq!(kept["theirs"]["cpu_us"], json!(60.86));
        assert_eq!((&kept["haft"]["processors"], &kept["rounds"]), (&json!(0.9877), &json!(10)));
        assert_eq!(kept["rounds_without_answers"], json!(3));
        assert!(!kept.to_string().contains("series"), "{kept}");
        let turns = |side: &str, figure: &str| kept[side]["turns"][figure].to_string();
        assert_eq!(turns("theirs", "per_second"), "[23000,22000]");
        assert_eq!(turns("haft", "per_second"), "[27000,26120]");
        assert_eq!(turns("theirs", "cpu_us"), "[23,22]", "as its figure of all rounds is");
        assert!(kept["ratios"].get("average").is_none(), "no table has it");
        assert!(rates(&json!({ "ratios": [] })).is_none(), "nothing to compare");
    }

    #[test]
    fn of_beginnings_each_round_is_kept() {
        let round = |theirs: u64, haft: u64| {
            [theirs, haft].map(|nanos| json!({ "answered": { "p50_ns": nanos } }))
        };
        let rounds: Vec<_> = (0..10).map(|turn| round(2_000_000, 3_000_000 + turn)).collect();
        let kept = beginnings(&rounds).expect("figures");
        assert_eq!(kept["theirs"]["p50_ms"], json!(vec![2; 10]));
        assert_eq!(kept["ratios"]["p50"], json!([1.5, 1.5, 1.5]));
        assert!(beginnings(&[[json!({}), json!({})]]).is_none());
    }
}
