//! A report as one page with pictures, which needs no network and no script: figures, how latencies
//! are spread, and how each second was. What servers and users wrote is escaped.

use crate::chart::{Chart, Line, Scale};
use crate::compare::Ratio;
use crate::report::{Report, ServerUse};
use crate::shown::shown_time as time;
use crate::stages::OfStage;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#68707a;--rule:#d8dde3;--paper:#fff;\
--a:#0b6bcb;--b:#c2410c;--bad:#b42318}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--dim:#98a1ac;--rule:#363c44;--paper:#16191d;\
--a:#63b3ff;--b:#ff9a5c;--bad:#ff8a7a}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;\
max-width:60rem;padding:0 1rem}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}\
table{border-collapse:collapse}td,th{padding:.25rem .9rem .25rem 0;text-align:right;\
border-bottom:1px solid var(--rule);font-variant-numeric:tabular-nums}\
td:first-child,th:first-child{text-align:left}th{color:var(--dim);font-weight:500}\
svg{width:100%;height:auto}svg text{fill:var(--dim);font:12px system-ui,sans-serif}\
.axis{stroke:var(--rule)}.a{stroke:var(--a)}.b{stroke:var(--b)}.line{fill:none;stroke-width:2}\
.thin{stroke-dasharray:4 3}.bad{color:var(--bad)}.key{font-size:.9rem;color:var(--dim)}\
.key b.a{color:var(--a)}.key b.b{color:var(--b)}";

/// One page about one report, or about two and how they compare.
#[must_use]
pub fn of(reports: &[&Report], ratios: &[Ratio]) -> String {
    let mut page = String::from("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    let titles: Vec<String> = reports.iter().map(|report| escaped(&report.target)).collect();
    let title = titles.join(" and ");
    // Writing to a string cannot fail.
    _ = write!(page, "<title>haft bench: {title}</title><style>{STYLE}</style><h1>{title}</h1>");
    if let [_, _] = reports {
        _ = write!(
            page,
            "<p class=key><b class=a>━ {}</b> &nbsp; <b class=b>━ {}</b></p>",
            titles[0], titles[1]
        );
    }
    figures(&mut page, reports);
    if !ratios.is_empty() {
        compared(&mut page, ratios);
    }
    stages(&mut page, reports);
    page.push_str("<h2>How latencies are spread</h2>");
    page.push_str(&spread(reports));
    page.push_str(
        "<p class=key>Across: share of answers; up: how long the slowest of them took.</p>",
    );
    page.push_str("<h2>Answers each second</h2>");
    page.push_str(&rates(reports));
    page.push_str("<h2>Latency over time</h2>");
    page.push_str(&latencies(reports));
    page.push_str("<p class=key>Solid: p50; dashed: p99.</p>");
    wrong(&mut page, reports);
    page.push_str("</html>\n");
    page
}

fn figures(page: &mut String, reports: &[&Report]) {
    page.push_str("<table><tr><th>");
    for report in reports {
        _ = write!(page, "<th>{}", escaped(&report.target));
    }
    let mut row = |name: &str, value: &dyn Fn(&Report) -> String| {
        _ = write!(page, "<tr><td>{name}");
        for report in reports {
            _ = write!(page, "<td>{}", value(report));
        }
    };
    let asked = |report: &Report| {
        let all: Vec<&str> = report.requests.iter().map(|of| of.request.as_str()).collect();
        escaped(&all.join(", "))
    };
    row("asked", &asked);
    row("over", &|report| format!("{}, {}", report.wire, report.revision));
    row("load", &|report| {
        let rate = report.rate.map_or(String::new(), |rate| format!(", {rate}/s"));
        format!("{} × {}{rate}", report.connections, report.in_flight)
    });
    row("answers a second", &|report| format!("{:.0}", report.per_second));
    row("answers", &|report| format!("{} in {:.1} s", report.answers, report.seconds));
    row("wrong", &|report| report.failures.to_string());
    row("not sent in time", &|report| report.unsent.to_string());
    row("p50", &|report| time(report.latency.p50_ns as f64));
    row("p90", &|report| time(report.latency.p90_ns as f64));
    row("p99", &|report| time(report.latency.p99_ns as f64));
    row("p99.9", &|report| time(report.latency.p99_9_ns as f64));
    row("max", &|report| time(report.latency.max_ns as f64));
    row("average", &|report| time(report.latency.average_ns));
    row("deviation", &|report| time(report.latency.deviation_ns));
    let of_server = |report: &Report, show: &dyn Fn(ServerUse) -> String| {
        report.server.map_or_else(|| "–".to_owned(), show)
    };
    row("processor time an answer", &|report| {
        of_server(report, &|server| time(server.cpu_ns_per_answer))
    });
    row("memory after", &|report| {
        of_server(report, &|server| format!("{:.1} MB", server.memory_after_bytes as f64 / 1e6))
    });
    page.push_str("</table>");
}

fn stages(page: &mut String, reports: &[&Report]) {
    for report in reports.iter().filter(|report| !report.stages.is_empty()) {
        page.push_str("<h2>Where in the server the time goes</h2><table>");
        page.push_str("<tr><th>stage<th>share<th>average<th>p50<th>p99<th>max");
        for OfStage { stage, share, average_ns, p50_ns, p99_ns, max_ns, .. } in &report.stages {
            let (stage, share) = (escaped(stage), share * 100.0);
            _ = write!(page, "<tr><td>{stage}<td>{share:.1}%<td>{}", time(*average_ns));
            for nanos in [p50_ns, p99_ns, max_ns] {
                _ = write!(page, "<td>{}", time(*nanos as f64));
            }
        }
        page.push_str("</table>");
    }
}

fn compared(page: &mut String, ratios: &[Ratio]) {
    page.push_str("<h2>The second beside the first</h2><table><tr><th>figure<th>ratio<th>95% sure");
    for Ratio { figure, ratio, low, high, .. } in ratios {
        _ = write!(page, "<tr><td>{}<td>× {ratio:.3}", escaped(figure));
        _ = if *high < f64::MAX {
            write!(page, "<td>{low:.3} to {high:.3}")
        } else {
            write!(page, "<td>one round")
        };
    }
    page.push_str("</table>");
}

/// The class of a report's lines.
fn class(index: usize) -> &'static str {
    if index == 0 { "a" } else { "b" }
}

/// Latency by share of answers, the slowest ones drawn apart: each step to the right is a tenth of
/// the answers before.
fn spread(reports: &[&Report]) -> String {
    let across = |share: f64| (1.0 / (1.0 - share.min(0.999_999))).log10();
    let lines = reports.iter().enumerate().map(|(index, report)| Line {
        class: class(index).to_owned(),
        points: report
            .latency
            .distribution
            .iter()
            .map(|(share, nanos)| (across(*share), *nanos as f64))
            .collect(),
    });
    let marks = [(0.0, "0%"), (0.5, "50%"), (0.9, "90%"), (0.99, "99%"), (0.999, "99.9%")]
        .map(|(share, name)| (across(share), name.to_owned()));
    let mut marks = marks.to_vec();
    marks.push((across(0.9999), "99.99%".to_owned()));
    Chart { lines: lines.collect(), up: Scale::Powers, across: marks, name: &time }.svg()
}

fn rates(reports: &[&Report]) -> String {
    let lines = reports.iter().enumerate().map(|(index, report)| Line {
        class: class(index).to_owned(),
        points: report.series.iter().map(|point| (point.from_second, point.per_second)).collect(),
    });
    let lines: Vec<Line> = lines.collect();
    let across = seconds(reports);
    Chart { lines, up: Scale::FromZero, across, name: &|rate| format!("{rate:.0}") }.svg()
}

fn latencies(reports: &[&Report]) -> String {
    let mut lines = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        let points = |of: fn(&crate::report::Point) -> u64| {
            report.series.iter().map(|point| (point.from_second, of(point) as f64)).collect()
        };
        lines.push(Line { class: class(index).to_owned(), points: points(|point| point.p50_ns) });
        let thin = format!("{} thin", class(index));
        lines.push(Line { class: thin, points: points(|point| point.p99_ns) });
    }
    Chart { lines, up: Scale::Powers, across: seconds(reports), name: &time }.svg()
}

/// Marks below a picture of time.
fn seconds(reports: &[&Report]) -> Vec<(f64, String)> {
    let ends = reports.iter().filter_map(|report| report.series.last());
    let end = ends.map(|point| point.from_second).fold(0.0, f64::max);
    let steps = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0, 7200.0, 14_400.0];
    let step = steps.into_iter().find(|step| end / step <= 10.0).unwrap_or(14_400.0);
    let mut marks = Vec::new();
    let mut at = 0.0;
    while at <= end {
        marks.push((at, format!("{at:.0} s")));
        at += step;
    }
    marks
}

fn wrong(page: &mut String, reports: &[&Report]) {
    for report in reports {
        for wrong in &report.wrong {
            let (count, first) = (wrong.count, escaped(&wrong.first));
            _ = write!(page, "<p class=bad>{count} wrong answers: {first}</p>");
        }
        if let Some(ended) = &report.ended {
            _ = write!(page, "<p class=bad>It ended early: {}</p>", escaped(ended));
        }
    }
}

/// Text that is no markup, whatever it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Point, WrongCount};
    use crate::wrong::WrongKind;

    #[test]
    fn nothing_that_a_server_says_becomes_markup_and_nothing_is_fetched() {
        let evil = "<script>alert(1)</script>\"'&".to_owned();
        let first = WrongCount { kind: WrongKind::Refused, count: 1, first: evil.clone() };
        let report = Report {
            target: evil.clone(),
            wrong: vec![first],
            ended: Some(evil),
            ..Report::default()
        };
        let page = of(&[&report, &report], &[]);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        for loads in ["http://", "https://", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{loads}");
        }
    }

    #[test]
    fn a_report_without_answers_is_a_page_all_the_same() {
        let page = of(&[&Report::default()], &[]);
        assert!(page.contains("</html>") && !page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn a_run_of_one_second_is_drawn() {
        let point = Point {
            from_second: 0.0,
            per_second: 10.0,
            failures: 0,
            p50_ns: 5,
            p99_ns: 9,
            max_ns: 9,
        };
        let page = of(&[&Report { series: vec![point], ..Report::default() }], &[]);
        assert!(!page.contains("NaN") && page.contains("<path"), "{page}");
    }
}
