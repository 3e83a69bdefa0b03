//! What becomes of the rounds of a case: what a gateway adds to its upstream, and how many times
//! that of another haft's is. `gateway` measures the rounds; nothing is run here.

use serde_json::{Map, Value, json};

use super::super::aim::{Interval, median, round};
use super::cases::{AGENTGATEWAY, Figure, LONG_BYTES};

/// One server in one round; times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) per_second: f64,
    /// Of the server alone, for each answer.
    pub(super) cpu: f64,
}

/// Three servers, round by round.
pub(super) struct Rounds<'a> {
    /// The upstream, asked without a gateway; empty where nobody is in front of one.
    pub(super) direct: &'a [Turn],
    /// Empty where it is no process.
    pub(super) theirs: &'a [Turn],
    pub(super) haft: &'a [Turn],
}

impl Figure {
    /// The figure of a server in a round in which its upstream alone was like that.
    fn of(self, turn: Turn, direct: Option<Turn>) -> Option<f64> {
        const MEGABYTES: f64 = LONG_BYTES as f64 / 1e6;
        Some(match self {
            Self::AddedP50 => turn.p50 - direct?.p50,
            Self::AddedP99 => turn.p99 - direct?.p99,
            Self::P50 => turn.p50,
            Self::Cpu => turn.cpu,
            Self::CpuPerMegabyte => turn.cpu / MEGABYTES,
            Self::PerCore => 1e6 / turn.cpu,
            Self::PerSecond => turn.per_second,
            Self::SessionBytes => return None,
        })
    }
}

impl Rounds<'_> {
    /// All that is kept of some figures beside one server. None if one has no ratio.
    pub(super) fn kept(&self, against: &str, figures: &[Figure]) -> Option<Value> {
        let (mut ratios, mut sides) = (Map::new(), [Map::new(), Map::new()]);
        for figure in figures {
            let haft = self.each(*figure, self.haft)?;
            let theirs = if against == AGENTGATEWAY {
                vec![figure.of_agentgateway()?; haft.len()]
            } else {
                self.each(*figure, self.theirs)?
            };
            let of = haft.iter().zip(&theirs).map(|(haft, theirs)| ratio(*haft, *theirs));
            ratios.insert(figure.name().to_owned(), Interval::of(of.collect())?.to_json());
            for (side, all) in sides.iter_mut().zip([theirs, haft]) {
                side.insert(figure.name().to_owned(), round(middle(all)?));
            }
        }
        let [mut theirs, mut haft] = sides.map(Value::from);
        theirs["turns"] = turns(self.theirs);
        haft["turns"] = turns(self.haft);
        Some(json!({
            "rounds": self.haft.len(),
            "direct": turns(self.direct),
            "theirs": theirs,
            "haft": haft,
            "ratios": ratios,
        }))
    }

    /// A figure of one server in every round.
    fn each(&self, figure: Figure, turns: &[Turn]) -> Option<Vec<f64>> {
        let of = |(at, turn): (usize, &Turn)| figure.of(*turn, self.direct.get(at).copied());
        let all: Option<Vec<f64>> = turns.iter().enumerate().map(of).collect();
        all.filter(|all| all.len() == self.haft.len())
    }
}

/// A ratio that says nothing of how much more it is; an end of an interval there is nowhere.
const ANY: f64 = 1e12;

/// What haft adds, times what the other adds. In a short round either may have added nothing: who
/// added nothing was ahead by any factor, and haft is the one that was not where neither did.
fn ratio(haft: f64, theirs: f64) -> f64 {
    match (haft > 0.0, theirs > 0.0) {
        (true, true) => haft / theirs,
        (false, true) => 0.0,
        (_, false) => ANY,
    }
}

fn middle(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    median(&all)
}

/// Every round, as it is kept. Null where there is none.
fn turns(all: &[Turn]) -> Value {
    if all.is_empty() {
        return Value::Null;
    }
    let each = |of: fn(&Turn) -> f64| all.iter().map(|turn| round(of(turn))).collect::<Vec<_>>();
    json!({
        "p50_us": each(|turn| turn.p50),
        "p99_us": each(|turn| turn.p99),
        "per_second": each(|turn| turn.per_second),
        "cpu_us": each(|turn| turn.cpu),
    })
}

#[cfg(test)]
mod tests {
    use super::super::cases::{AGENTGATEWAY, Figure, NGINX};
    use super::{ANY, Rounds, Turn, ratio};
    use serde_json::json;

    fn turn(p50: f64, p99: f64, cpu: f64) -> Turn {
        Turn { p50, p99, per_second: 1e6 / p50, cpu }
    }

    #[test]
    fn what_is_added_is_set_beside_what_is_added() {
        // The machine is slower in each round, for all of them.
        let of = |p50: f64, p99: f64, cpu: f64| -> Vec<Turn> {
            (0..6).map(|at| turn(p50 + f64::from(at), p99 + f64::from(at), cpu)).collect()
        };
        let (direct, theirs, haft) =
            (of(40.0, 90.0, 9.0), of(70.0, 110.0, 10.0), of(85.0, 140.0, 20.0));
        let rounds = Rounds { direct: &direct, theirs: &theirs, haft: &haft };
        let figures = [Figure::AddedP50, Figure::AddedP99, Figure::PerCore];
        let kept = rounds.kept(NGINX, &figures).expect("figures");
        assert_eq!(kept["ratios"]["added_p50_us"], json!([1.5, 1.5, 1.5]), "45 beside 30");
        assert_eq!(kept["ratios"]["added_p99_us"], json!([2.5, 2.5, 2.5]), "50 beside 20");
        assert_eq!(kept["ratios"]["per_core"], json!([0.5, 0.5, 0.5]), "more calls are better");
        assert_eq!((&kept["theirs"]["added_p50_us"], &kept["rounds"]), (&json!(30), &json!(6)));
        assert_eq!(kept["haft"]["per_core"], json!(50_000));
        assert_eq!(kept["direct"]["p50_us"], json!([40, 41, 42, 43, 44, 45]));
    }

    #[test]
    fn what_is_known_of_agentgateway_is_no_process() {
        let (direct, haft) = (vec![turn(40.0, 90.0, 9.0); 6], vec![turn(64.0, 90.0, 30.0); 6]);
        let rounds = Rounds { direct: &direct, theirs: &[], haft: &haft };
        let figures = [Figure::AddedP50, Figure::Cpu];
        let kept = rounds.kept(AGENTGATEWAY, &figures).expect("figures");
        assert_eq!(kept["ratios"]["added_p50_us"], json!([0.1, 0.1, 0.1]), "24 of 240");
        assert_eq!(kept["ratios"]["cpu_us"], json!([0.25, 0.25, 0.25]), "30 of 120");
        assert!(kept["theirs"]["turns"].is_null());
        assert!(rounds.kept(NGINX, &figures).is_none(), "it has no rounds");
    }

    #[test]
    fn a_round_without_a_difference_is_no_advantage_of_ours() {
        assert_eq!((ratio(-1.0, 5.0), ratio(5.0, -1.0), ratio(-1.0, 0.0)), (0.0, ANY, ANY));
        let (direct, theirs) = (vec![turn(40.0, 90.0, 9.0); 6], vec![turn(40.0, 80.0, 9.0); 6]);
        let rounds = Rounds { direct: &direct, theirs: &theirs, haft: &direct };
        let kept = rounds.kept(NGINX, &[Figure::AddedP99]).expect("figures");
        let all = &kept["ratios"]["added_p99_us"];
        assert!(all[2].is_null(), "nothing is known of how much more: {all}");
    }
}
