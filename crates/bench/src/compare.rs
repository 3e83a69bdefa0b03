//! Two servers side by side: they take turns, so that what else the machine does falls on both, and
//! the ratio of each pair of turns is what counts. It says how sure it is; it never judges.

use crate::error::BenchError;
use crate::limits::TURN_MAX;
use crate::load::{Load, Progress, Stretch};
use crate::plan::{End, Plan};
use crate::report::Report;
use crate::threshold::Figure;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Two servers' reports, and how they compare.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The first server, all turns together.
    pub first: Report,
    /// The second.
    pub second: Report,
    /// How many turns of each there are ratios of.
    pub rounds: usize,
    /// How many more there were in which one of them answered nothing, which no ratio tells.
    #[serde(default)]
    pub rounds_without_answers: usize,
    /// The second's figures divided by the first's.
    pub ratios: Vec<Ratio>,
}

/// How one figure of the second server is to that of the first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ratio {
    /// Which figure.
    pub figure: String,
    /// The second's divided by the first's: the geometric mean of all rounds.
    pub ratio: f64,
    /// With 95% confidence it is above this,
    pub low: f64,
    /// and below this.
    pub high: f64,
    /// What it is made of: the first's figure and the second's in each round, a time in
    /// nanoseconds.
    #[serde(default)]
    pub turns: Vec<[f64; 2]>,
}

/// What is compared.
const FIGURES: [(&str, Figure); 5] = [
    ("per_second", Figure::PerSecond),
    ("average", Figure::Average),
    ("p50", Figure::Quantile(500)),
    ("p99", Figure::Quantile(990)),
    ("cpu", Figure::Cpu),
];

/// How often the slower server could answer on one connection in a turn, at least: requests that
/// begin together are answered together, and a turn may miss the last of them.
const LATENCIES_A_TURN: u32 = 16;

/// Loads two servers in turns. `names` are what people call them; `watch` is told how it goes, all
/// turns together, and says whether to go on. A turn is longer than `turn` where one of them takes
/// so long for an answer that few would come in that time, up to [`TURN_MAX`].
///
/// # Errors
/// [`BenchError`] if one of them cannot be reached. Who fails in the middle has the reason in its
/// report.
pub fn compare(
    names: [&str; 2],
    plans: [Plan; 2],
    rounds: usize,
    turn: Duration,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Comparison, BenchError> {
    let warmup = plans[0].warmup;
    let [first, second] = &plans;
    let loads = [Load::open(first.clone())?, Load::open(second.clone())?];
    let mut turns = Turns { loads, done: Done::default(), watch };
    let mut round = turns.round(0, warmup, turn);
    let needed = round.latency(turn) * LATENCIES_A_TURN;
    let (turn, warmup) = if turn < needed && !round.is_over {
        // The first one was too short to count.
        let turn = needed.min(TURN_MAX.max(turn));
        round = turns.round(0, warmup, turn);
        (turn, turn / 10)
    } else {
        // What was idle meanwhile is warm in a moment.
        (turn, warmup.min(turn / 10))
    };
    let mut all = Rounds::default();
    for at in 1.. {
        let is_over = round.is_over;
        all.add(names, &plans, round);
        if is_over || at >= rounds {
            break;
        }
        round = turns.round(at, warmup, turn);
    }
    turns.loads.into_iter().for_each(Load::close);
    Ok(all.compared(names, &plans))
}

/// Two loads that take turns.
struct Turns<'w> {
    loads: [Load; 2],
    done: Done,
    watch: &'w mut dyn FnMut(Progress) -> bool,
}

/// A turn of each.
struct Round {
    stretches: [Option<Stretch>; 2],
    /// There is to be no other: somebody has had enough, or a server is gone.
    is_over: bool,
}

impl Turns<'_> {
    fn round(&mut self, number: usize, warmup: Duration, turn: Duration) -> Round {
        let mut round = Round { stretches: [None, None], is_over: false };
        // Who goes first takes turns too.
        for at in [number % 2, 1 - number % 2] {
            let (watch, done) = (&mut self.watch, &self.done);
            let mut tell = |progress: Progress| watch(done.with(progress));
            let stretch = self.loads[at].stretch(warmup, End::After(turn), &mut tell);
            self.done.add(&stretch, warmup);
            round.is_over = stretch.ended.is_some() || stretch.took < turn / 2;
            round.stretches[at] = Some(stretch);
            if round.is_over {
                break;
            }
        }
        round
    }
}

impl Round {
    /// What half of the answers of the slower server took, at most. Who answered nothing that was
    /// asked in the turn took longer than that.
    fn latency(&self, turn: Duration) -> Duration {
        let median = |stretch: &Stretch| match stretch.tally.answers() {
            0 => turn,
            _ => stretch.tally.median(),
        };
        self.stretches.iter().flatten().map(median).max().unwrap_or_default()
    }
}

/// What came of all rounds.
#[derive(Default)]
struct Rounds {
    stretches: [Option<Stretch>; 2],
    turns: [Vec<[f64; 2]>; FIGURES.len()],
    /// Rounds in which one of them answered nothing.
    without_answers: usize,
}

impl Rounds {
    fn add(&mut self, names: [&str; 2], plans: &[Plan; 2], round: Round) {
        if let [Some(first), Some(second)] = &round.stretches {
            let reports =
                [Report::new(names[0], &plans[0], first), Report::new(names[1], &plans[1], second)];
            if reports.iter().any(|report| report.per_second == 0.0) {
                self.without_answers += 1;
            }
            for ((_, figure), turns) in FIGURES.iter().zip(&mut self.turns) {
                let turn = figure.of(&reports[0]).zip(figure.of(&reports[1]));
                let turn = turn.map(|(to, of)| [to, of]);
                turns.extend(turn.filter(|[to, of]| (of / to).is_finite() && of / to > 0.0));
            }
        }
        for (all, stretch) in self.stretches.iter_mut().zip(round.stretches) {
            match (all, stretch) {
                (Some(all), Some(stretch)) => all.add(stretch),
                (none, stretch) => *none = none.take().or(stretch),
            }
        }
    }

    fn compared(self, names: [&str; 2], plans: &[Plan; 2]) -> Comparison {
        let of = |at: usize| match &self.stretches[at] {
            Some(stretch) => Report::new(names[at], &plans[at], stretch),
            None => Report { target: names[at].to_owned(), ..Report::default() },
        };
        let (first, second) = (of(0), of(1));
        let rounds = self.turns[0].len();
        // A figure that some rounds lack would be that of the others.
        let ratio = |((name, _), turns): (&(&str, Figure), Vec<[f64; 2]>)| {
            if turns.len() == rounds { Ratio::of(name, turns) } else { None }
        };
        let ratios = FIGURES.iter().zip(self.turns).filter_map(ratio).collect();
        let rounds_without_answers = self.without_answers;
        Comparison { first, second, rounds, rounds_without_answers, ratios }
    }
}

/// What is over of all turns.
#[derive(Default)]
struct Done {
    elapsed: Duration,
    answers: u64,
    failures: u64,
}

impl Done {
    fn add(&mut self, stretch: &Stretch, warmup: Duration) {
        self.elapsed += warmup + stretch.took;
        self.answers += stretch.tally.answers();
        self.failures += stretch.tally.failures();
    }

    fn with(&self, progress: Progress) -> Progress {
        Progress {
            elapsed: self.elapsed + progress.elapsed,
            answers: self.answers + progress.answers,
            failures: self.failures + progress.failures,
        }
    }
}

impl Ratio {
    /// The mean of the turns' ratios, with the interval of Student's distribution on their
    /// logarithms: twice as fast and half as fast are as far from 1.
    fn of(figure: &str, turns: Vec<[f64; 2]>) -> Option<Self> {
        let count = turns.len();
        if count == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "rounds are few")]
        let number = count as f64;
        let logs: Vec<f64> = turns.iter().map(|[to, of]| (of / to).ln()).collect();
        let mean = logs.iter().sum::<f64>() / number;
        let half = if count == 1 {
            f64::INFINITY
        } else {
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            student(count - 1) * (squares / (number - 1.0) / number).sqrt()
        };
        let (low, high) = ((mean - half).exp(), (mean + half).exp());
        // One round says nothing of how sure it is; JSON has no infinity.
        let high = if high.is_finite() { high } else { f64::MAX };
        Some(Self { figure: figure.to_owned(), ratio: mean.exp(), low, high, turns })
    }
}

/// The quantile 0.975 of Student's t, by degrees of freedom.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    let beyond = || 1.96 + 2.4 / freedom as f64;
    TABLE.get(freedom - 1).copied().unwrap_or_else(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of these ratios.
    fn of(ratios: &[f64]) -> Option<Ratio> {
        Ratio::of("p50", ratios.iter().map(|ratio| [1.0, *ratio]).collect())
    }

    #[test]
    fn equal_rounds_are_sure_and_scattered_ones_are_not() {
        let sure = of(&[2.0, 2.0, 2.0]).expect("rounds");
        assert!((sure.ratio - 2.0).abs() < 1e-9 && (sure.high - sure.low).abs() < 1e-9);
        let unsure = of(&[1.0, 4.0]).expect("rounds");
        assert!((unsure.ratio - 2.0).abs() < 1e-9, "twice and half are as far from 1");
        assert!(unsure.low < 0.01 && unsure.high > 100.0);
        assert!(of(&[]).is_none());
        assert_eq!(of(&[2.0]).expect("a round").low, 0.0);
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // ln: 0.0953, 0.1823, 0.1398; mean 0.13914, deviation 0.04353, t(2) 4.303.
        let ratio = of(&[1.1, 1.2, 1.15]).expect("rounds");
        assert!((ratio.ratio - 1.1493).abs() < 1e-3, "{ratio:?}");
        assert!(
            (ratio.low - 1.0315).abs() < 2e-3 && (ratio.high - 1.2805).abs() < 2e-3,
            "{ratio:?}"
        );
    }
}
