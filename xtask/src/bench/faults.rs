//! Why the figures of a case are no figures: rounds without an answer, and a server that had more
//! processor time than its one processor has. `comparing` asks when it has measured, the tables
//! when they show what was kept; nothing is measured here.

use serde_json::Value;

/// How many processors a server on one of them may have used, at most: more is processor time of
/// before or after the time that was counted.
const PROCESSORS_MAX: f64 = 1.1;
/// From how many seconds of load on processor time is told finely enough to be judged.
const SECONDS_MIN: f64 = 1.0;
/// What binds a program to a processor.
const PINNED: &str = "taskset -c ";

/// Why a case failed; none if it did not.
pub(super) fn of(case: &Value) -> Option<String> {
    let told = || case["failed"].as_str().map(str::to_owned);
    told().or_else(|| unanswered(case)).or_else(|| too_busy(case))
}

/// A comparison of the rounds in which a server answered says nothing of the others.
fn unanswered(case: &Value) -> Option<String> {
    let without = case["rounds_without_answers"].as_u64().filter(|count| *count > 0)?;
    let all = without + case["rounds"].as_u64().unwrap_or_default();
    Some(format!("{without} of {all} rounds had no answer: --seconds more"))
}

fn too_busy(case: &Value) -> Option<String> {
    let sides = ["theirs", "haft"].into_iter().zip(case["start"].as_array()?);
    let mut pinned = sides.filter(|(_, start)| is_pinned(start));
    if case["seconds"].as_f64().is_none_or(|seconds| seconds < SECONDS_MIN) {
        return None;
    }
    let busy = |side: &str| case[side]["processors"].as_f64().filter(|it| *it > PROCESSORS_MAX);
    pinned.find_map(|(side, _)| {
        let (whose, used) = (if side == "haft" { "haft's" } else { "its" }, busy(side)?);
        Some(format!("{whose} one processor was {used} times busy: --seconds more"))
    })
}

fn is_pinned(start: &Value) -> bool {
    start.as_str().is_some_and(|line| line.contains(PINNED))
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::bench::place::Place;
    use serde_json::{Value, json};

    fn case(start: &str) -> Value {
        json!({
            "start": [format!("{start}their-server"), format!("{start}haft-peer")],
            "seconds": 2, "rounds": 8,
            "theirs": { "processors": 0.99 }, "haft": { "processors": 1.1 },
        })
    }

    fn pinned() -> Value {
        case(&format!("TOOLS=130 {} ", Place::Apart.server().join(" ")))
    }

    #[test]
    fn a_case_with_a_round_without_answers_failed() {
        let mut case = pinned();
        assert_eq!(of(&case), None, "files of before do not say");
        case["rounds_without_answers"] = 0.into();
        assert_eq!(of(&case), None);
        case["rounds_without_answers"] = 2.into();
        let said = of(&case);
        assert_eq!(said.as_deref(), Some("2 of 10 rounds had no answer: --seconds more"));
        case["failed"] = "it is down".into();
        assert_eq!(of(&case).as_deref(), Some("it is down"));
    }

    #[test]
    fn a_server_uses_no_more_than_the_processor_that_it_is_bound_to() {
        for (side, whose) in [("theirs", "its"), ("haft", "haft's")] {
            let mut case = pinned();
            case[side]["processors"] = 1.235.into();
            let said = of(&case).expect("too busy");
            assert_eq!(said, format!("{whose} one processor was 1.235 times busy: --seconds more"));
            case["seconds"] = 0.4.into();
            assert_eq!(of(&case), None, "a quick run tells too little");
        }
        let mut free = case("");
        free["haft"]["processors"] = 1.9.into();
        assert_eq!(of(&free), None, "it may use all of them");
    }
}
