//! Reports of a load as lines for people: how fast, how the latencies are spread, what was wrong.
//! Nothing is computed here that a report does not have.

use crate::exit::Failure;
use crate::print::{BAD, DIM, GOOD, NAME, Printer, STRONG, bytes, one_line};
use crate::table::{Column, Table};
use anstyle::Style;
use haft_bench::{Cold, Comparison, Latency, Ratio, Report, shown_time as time};

/// From how much of its threads on the load may be what was measured.
const LOAD_BUSY: f64 = 0.9;
/// How many seconds that takes to know: the system counts processor time in hundredths of one.
const LOAD_KNOWN: f64 = 0.5;
/// The columns that a bar of the distribution may take.
const BAR: usize = 40;

/// Shows one report.
pub(crate) fn show(report: &Report, printer: Printer) -> Result<(), Failure> {
    heading(report, printer)?;
    let Report { answers, seconds, per_second, latency, .. } = report;
    let per_second = grouped(*per_second);
    printer.line(format_args!(
        "  answers  {STRONG}{per_second}/s{STRONG:#}   {} in {seconds:.1} s",
        grouped(*answers as f64)
    ))?;
    if *answers > 0 {
        let (average, deviation) = (time(latency.average_ns), time(latency.deviation_ns));
        printer.line(format_args!(
            "  latency  p50 {STRONG}{}{STRONG:#}   p90 {}   p99 {STRONG}{}{STRONG:#}   p99.9 {}   \
             max {}   average {average} ± {deviation}",
            time(latency.p50_ns as f64),
            time(latency.p90_ns as f64),
            time(latency.p99_ns as f64),
            time(latency.p99_9_ns as f64),
            time(latency.max_ns as f64),
        ))?;
    }
    let (sent, received) = (size(report.sent_bytes), size(report.received_bytes));
    printer.line(format_args!("  bytes    {sent} sent, {received} received"))?;
    if let Some(server) = report.server {
        printer.line(format_args!(
            "  server   {} of processor time an answer, {:.2} processors, memory {} → {}",
            time(server.cpu_ns_per_answer),
            server.processors,
            size(server.memory_before_bytes),
            size(server.memory_after_bytes),
        ))?;
    }
    if *answers > 0 {
        printer.line(format_args!(""))?;
        for (share, latency, bar) in bars(latency) {
            printer.line(format_args!(
                "  {DIM}{share:>6}{DIM:#}  {latency:>9}  {NAME}{bar}{NAME:#}"
            ))?;
        }
    }
    if report.requests.len() > 1 {
        printer.line(format_args!(""))?;
        printer.table(&by_request(report))?;
    }
    if !report.stages.is_empty() {
        printer.line(format_args!(""))?;
        printer.table(&by_stage(report))?;
    }
    remarks(report, printer);
    Ok(())
}

fn heading(report: &Report, printer: Printer) -> Result<(), Failure> {
    let what: Vec<&str> = report.requests.iter().map(|of| of.request.as_str()).collect();
    let connections = match report.connections {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    };
    let in_flight = match report.in_flight {
        1 => String::new(),
        count => format!(" of {count} requests in flight"),
    };
    let rate = report.rate.map_or(String::new(), |rate| format!(", {rate}/s asked for"));
    printer.line(format_args!(
        "{NAME}{}{NAME:#} of {NAME}{}{NAME:#} {DIM}{}, {}, {connections}{in_flight}{rate}{DIM:#}",
        one_line(&what.join(", ")),
        one_line(&report.target),
        report.wire,
        report.revision,
    ))
}

/// What may be overlooked, on stderr.
fn remarks(report: &Report, printer: Printer) {
    for wrong in &report.wrong {
        let (count, first) = (wrong.count, one_line(&wrong.first));
        printer.note(format_args!("{BAD}{count} wrong{BAD:#}: {first}"));
    }
    if report.load_use > LOAD_BUSY && report.seconds >= LOAD_KNOWN {
        printer.warn(&format!(
            "the load used {:.0}% of its threads: it may be what was measured; --threads adds more",
            report.load_use * 100.0
        ));
    }
    if report.unsent > 0 {
        printer.warn(&format!(
            "{} requests found no connection free in time; take more --connections or a lower \
             --rate",
            report.unsent
        ));
    }
    if let Some(ended) = &report.ended {
        printer.warn(&format!("it ended early: {ended}"));
    }
}

fn by_request(report: &Report) -> Table {
    let mut table = Table::new([
        Column { heading: "REQUEST", style: NAME, share_max: 50 },
        Column { heading: "ANSWERS", style: Style::new(), share_max: 20 },
        Column { heading: "P50", style: Style::new(), share_max: 20 },
        Column { heading: "P99", style: Style::new(), share_max: 20 },
        Column { heading: "MAX", style: Style::new(), share_max: 20 },
    ]);
    for of in &report.requests {
        let latency = &of.latency;
        let times =
            [latency.p50_ns, latency.p99_ns, latency.max_ns].map(|nanos| time(nanos as f64));
        let [p50, p99, max] = times;
        table.row([of.request.clone(), grouped(of.answers as f64), p50, p99, max]);
    }
    table
}

fn by_stage(report: &Report) -> Table {
    let column = |heading| Column { heading, style: Style::new(), share_max: 20 };
    let stage = Column { heading: "STAGE", style: NAME, share_max: 30 };
    let mut table = Table::new([
        stage,
        Column { heading: "SHARE", style: STRONG, share_max: 20 },
        column("AVERAGE"),
        column("P50"),
        column("P99"),
        column("MAX"),
    ]);
    for of in &report.stages {
        let share = format!("{:.1}%", of.share * 100.0);
        let [p50, p99, max] = [of.p50_ns, of.p99_ns, of.max_ns].map(|nanos| time(nanos as f64));
        table.row([of.stage.clone(), share, time(of.average_ns), p50, p99, max]);
    }
    table
}

/// Some shares of the distribution, each with its latency and a bar on a scale of powers.
fn bars(latency: &Latency) -> Vec<(String, String, String)> {
    let at = |share: f64| {
        latency.distribution.iter().find(|(to, _)| *to >= share).map_or(0, |(_, nanos)| *nanos)
    };
    let shares =
        [(0.1, "10%"), (0.5, "50%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%"), (1.0, "max")];
    let low = (latency.min_ns.max(1) as f64).ln();
    let high = (latency.max_ns.max(2) as f64).ln();
    let bar = |nanos: u64| {
        let share = ((nanos.max(1) as f64).ln() - low) / (high - low).max(1e-9);
        "▇".repeat(1 + (share.clamp(0.0, 1.0) * (BAR - 1) as f64) as usize)
    };
    let line = |(share, name): (f64, &str)| {
        let nanos = at(share);
        (name.to_owned(), time(nanos as f64), bar(nanos))
    };
    shares.into_iter().map(line).collect()
}

/// Shows two servers and how they compare.
pub(crate) fn show_comparison(both: &Comparison, printer: Printer) -> Result<(), Failure> {
    for report in [&both.first, &both.second] {
        show(report, printer)?;
        printer.line(format_args!(""))?;
    }
    let (first, second) = (one_line(&both.first.target), one_line(&both.second.target));
    printer.line(format_args!(
        "{NAME}{second}{NAME:#} beside {NAME}{first}{NAME:#} {DIM}{} rounds in turns, 95% sure \
         of the interval{DIM:#}",
        both.rounds
    ))?;
    if both.rounds_without_answers > 0 {
        let count = both.rounds_without_answers;
        printer.warn(&format!(
            "in {count} more rounds one of them answered nothing, which no ratio tells"
        ));
    }
    for ratio in &both.ratios {
        let style = verdict(ratio);
        let (figure, value) = (&ratio.figure, ratio.ratio);
        let interval = if ratio.high < f64::MAX {
            format!("{:.3} to {:.3}", ratio.low, ratio.high)
        } else {
            "one round says nothing of chance".to_owned()
        };
        printer.line(format_args!(
            "  {figure:<10}  {style}× {value:.3}{style:#}  {DIM}{interval}{DIM:#}"
        ))?;
    }
    Ok(())
}

/// Green is surely better, red surely worse.
fn verdict(ratio: &Ratio) -> Style {
    let is_more_better = ratio.figure == "per_second";
    match (ratio.low > 1.0, ratio.high < 1.0) {
        (true, _) if is_more_better => GOOD,
        (_, true) if is_more_better => BAD,
        (true, _) => BAD,
        (_, true) => GOOD,
        _ => Style::new(),
    }
}

/// Shows beginnings.
pub(crate) fn show_cold(cold: &Cold, printer: Printer) -> Result<(), Failure> {
    printer.line(format_args!(
        "{NAME}{}{NAME:#} of {NAME}{}{NAME:#} {DIM}{}, {} beginnings{DIM:#}",
        one_line(&cold.request),
        one_line(&cold.target),
        cold.revision,
        cold.beginnings
    ))?;
    let mut table = Table::new([
        Column { heading: "FROM NOTHING TO", style: NAME, share_max: 40 },
        Column { heading: "P50", style: STRONG, share_max: 20 },
        Column { heading: "P90", style: Style::new(), share_max: 20 },
        Column { heading: "P99", style: Style::new(), share_max: 20 },
        Column { heading: "MAX", style: Style::new(), share_max: 20 },
    ]);
    let stages = [
        ("an open connection", &cold.opened),
        ("the end of the greeting", &cold.greeted),
        ("the first answer", &cold.answered),
    ];
    for (name, latency) in stages {
        let Latency { p50_ns, p90_ns, p99_ns, max_ns, .. } = *latency;
        let [p50, p90, p99, max] = [p50_ns, p90_ns, p99_ns, max_ns].map(|nanos| time(nanos as f64));
        table.row([name.to_owned(), p50, p90, p99, max]);
    }
    printer.table(&table)?;
    if let Some(ended) = &cold.ended {
        printer.warn(&format!("it ended early: {ended}"));
    }
    Ok(())
}

fn size(count: u64) -> String {
    bytes(usize::try_from(count).unwrap_or(usize::MAX))
}

/// A whole number with a gap after each three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(999.0), "999");
    }
}
