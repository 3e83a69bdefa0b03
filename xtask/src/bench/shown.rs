//! How figures look in the tables: ratios, intervals, aims, and the marks that are explained below
//! them. Every table uses it; nothing is computed here.

use super::aim::{Aim, Interval};

/// What marks a rate that the load may have bounded.
pub(super) const LOADED: char = '†';
/// What marks one that was bounded by neither the load nor the server.
pub(super) const WAITING: char = '§';
/// What marks a wide interval.
const WIDE: char = '‡';
const EXPLAINED: [(char, &str); 3] = [
    (LOADED, "the load was at the end of its processor, not the server."),
    (
        WAITING,
        "neither the server nor the load was at the end of its processor: both waited to be woken; \
         CPU × says more.",
    ),
    (WIDE, "the rounds differ by more than a quarter: a first impression, to be measured again."),
];

/// What they mean where server and load share all processors.
const EXPLAINED_OF_SHARED: [(char, &str); 3] = [
    (LOADED, "the load was at the end of its threads, not the server at that of the processors."),
    (
        WAITING,
        "neither the load was at the end of its threads, nor were both together at that of the \
         processors: both waited to be woken.",
    ),
    EXPLAINED[2],
];

/// The notes below a table, for the marks that are in it.
pub(super) fn notes(table: &str) -> String {
    used(table, &EXPLAINED)
}

/// The same where server and load share all processors.
pub(super) fn shared_notes(table: &str) -> String {
    used(table, &EXPLAINED_OF_SHARED)
}

fn used(table: &str, all: &[(char, &str)]) -> String {
    let used = all.iter().filter(|(mark, _)| table.contains(*mark));
    used.map(|(mark, why)| format!("\n{mark} {why}\n")).collect()
}

/// A ratio, between which it is, and the mark if that is wide.
pub(super) fn interval(of: Interval) -> String {
    let high = if of.high == f64::MAX { "∞".to_owned() } else { times(of.high) };
    let mark = if of.is_wide() { format!(" {WIDE}") } else { String::new() };
    format!("{} ({} to {high}){mark}", times(of.ratio), times(of.low))
}

/// An aim and whether it is met.
pub(super) fn aim(aim: Option<Aim>, of: Interval) -> String {
    aim.map_or_else(String::new, |aim| format!("{}: {}", aimed(aim), aim.judge(of).words()))
}

pub(super) fn aimed(aim: Aim) -> String {
    let number = |aim: f64| if aim < 1000.0 { aim.to_string() } else { grouped(aim) };
    match aim {
        Aim::AtLeast(aim) => format!("≥ {}", number(aim)),
        Aim::AtMost(aim) => format!("≤ {}", number(aim)),
    }
}

/// A ratio to about three digits.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 100.0 => format!("{ratio:.0}"),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ if ratio >= 0.1 || ratio == 0.0 => format!("{ratio:.2}"),
        _ => format!("{ratio:.4}"),
    }
}

pub(super) fn milliseconds(number: f64) -> String {
    format!("{number:.1} ms")
}

/// Thousands with a gap after each three digits.
pub(super) fn grouped(number: f64) -> String {
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
    use super::super::aim::Interval;
    use super::{grouped, interval, times};

    #[test]
    fn a_ratio_is_read_at_a_glance() {
        let shown = [0.004_32, 0.85, 2.314, 43.21, 1234.5].map(times);
        assert_eq!(shown, ["0.0043", "0.85", "2.31", "43.2", "1234"]);
        assert_eq!(grouped(1_051_000.4), "1 051 000");
    }

    #[test]
    fn an_interval_without_an_end_is_shown_as_one() {
        let open = Interval { ratio: 2.0, low: 0.0, high: f64::MAX };
        assert_eq!(interval(open), "2.00 (0.00 to ∞) ‡");
    }
}
