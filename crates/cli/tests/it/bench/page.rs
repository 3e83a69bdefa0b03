//! The page of `haft bench --html` as readers see it, in a real browser: its pictures, its figures
//! beside those of the same run's JSON, and that it needs nobody.

use super::browser::{Opened, open, open_within};
use super::{bench, desk};
use crate::desk::Desk;
use crate::foreign_servers::own;
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Put behind a copy of the page: writes what is drawn and where, in numbers, behind it.
const LOOK: &str = r#"<script>
const box = of => { const b = of.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; };
const seen = {
    pictures: [...document.querySelectorAll("svg")].map(svg => ({
        title: svg.previousElementSibling.textContent,
        frame: [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height],
        wide: svg.getBoundingClientRect().width,
        lines: [...svg.querySelectorAll("path.line")].map(line => ({
            class: line.getAttribute("class"),
            colour: getComputedStyle(line).stroke,
            length: line.getTotalLength(),
            box: box(line),
            points: line.getAttribute("d").match(/[ML][^MLh]*/g)
                .map(at => at.slice(1).split(" ").map(Number)),
        })),
        marks: [...svg.querySelectorAll("path.axis")].map(axis => ({
            name: axis.nextElementSibling.textContent,
            box: box(axis.nextElementSibling),
            y: axis.getPointAtLength(0).y,
        })),
        names: [...svg.querySelectorAll("text")].map(name => ({
            text: name.textContent, box: box(name),
        })),
    })),
    tables: [...document.querySelectorAll("table")].map(table =>
        [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))),
};
const out = document.createElement("script");
out.type = "application/json";
out.textContent = JSON.stringify(seen);
document.body.append(out);
</script>"#;
const BEGIN: &str = r#"<script type="application/json">"#;

/// Runs a bench of a few seconds, and returns its JSON, its page as it is opened, and what is seen
/// there.
fn run(desk: &Desk, asked: &[&str], more: &[&str]) -> (Value, Opened, Value) {
    let [page, copy] = ["page.html", "copy.html"].map(|name| desk.path(name));
    let html = ["--html", page.to_str().expect("a path of text"), "--json"];
    let ran = bench(asked, &[&["-d", "4s"], more, &html].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let opened = open(&page);
    let text = fs::read_to_string(page).expect("it was written");
    fs::write(&copy, text + LOOK).expect("a folder of ours");
    let looked = open(&copy);
    let (_, seen) = looked.page.split_once(BEGIN).unwrap_or_else(|| panic!("{:?}", looked.console));
    let (seen, _) = seen.split_once("</script>").expect("it has an end");
    (ran.json(), opened, serde_json::from_str(seen).expect("the browser wrote it"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The cells behind the first one of the row of a name.
fn cells<'a>(table: &'a Value, name: &str) -> Vec<&'a str> {
    let row = list(table).iter().find(|row| row[0] == name);
    let row = row.unwrap_or_else(|| panic!("no row {name:?} in {table}"));
    list(row)[1..].iter().map(|cell| cell.as_str().expect("text")).collect()
}

/// Nanoseconds of a time as it is shown.
fn nanos(shown: &str) -> f64 {
    let (number, unit) = shown.split_once(' ').unwrap_or_else(|| panic!("{shown:?} is no time"));
    let unit = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => panic!("{shown:?} is no time"),
    };
    number.parse::<f64>().expect("a number") * unit
}

/// Each figure of the table is that of the report.
fn figures_are_those_of(table: &Value, reports: &[&Value]) {
    for (at, report) in reports.iter().enumerate() {
        let cell = |name: &str| cells(table, name)[at];
        assert_eq!(cell("answers a second"), format!("{:.0}", number(&report["per_second"])));
        let counted = format!("{} in {:.1} s", report["answers"], number(&report["seconds"]));
        assert_eq!(cell("answers"), counted);
        assert_eq!(cell("wrong"), report["failures"].to_string());
        let revision = report["revision"].as_str().expect("text");
        assert!(cell("over").ends_with(revision), "{}", cell("over"));
        let latency = &report["latency"];
        let times = [
            ("p50", &latency["p50_ns"]),
            ("p90", &latency["p90_ns"]),
            ("p99", &latency["p99_ns"]),
            ("p99.9", &latency["p99_9_ns"]),
            ("max", &latency["max_ns"]),
            ("average", &latency["average_ns"]),
            ("deviation", &latency["deviation_ns"]),
            ("processor time an answer", &report["server"]["cpu_ns_per_answer"]),
        ];
        for (name, exact) in times {
            let (shown, exact) = (nanos(cell(name)), number(exact));
            // Three digits are shown.
            assert!((shown - exact).abs() <= exact * 0.0051, "{name}: {shown} for {exact}");
        }
    }
}

/// The scale of a picture upwards, as readers take it from the names of its marks.
struct Scale {
    /// From how a value is drawn to where that is: the lowest mark and the highest.
    ends: [(f64, f64); 2],
    is_of_powers: bool,
}

impl Scale {
    fn of_times(picture: &Value) -> Self {
        Self::of(picture, true, nanos)
    }

    fn of_rates(picture: &Value) -> Self {
        Self::of(picture, false, |name| name.parse().expect("a number"))
    }

    fn of(picture: &Value, is_of_powers: bool, value: fn(&str) -> f64) -> Self {
        let marks = list(&picture["marks"]).iter().map(|mark| {
            let ([top, bottom], y) = ([1, 3].map(|at: usize| number(&mark["box"][at])), &mark["y"]);
            assert!((top..=bottom).contains(&number(y)), "the name is elsewhere: {mark}");
            (value(mark["name"].as_str().expect("text")), number(y))
        });
        let mut marks: Vec<(f64, f64)> = marks.collect();
        marks.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [lowest, .., highest] = *marks else { panic!("no scale: {picture}") };
        let bent = |(value, y)| (if is_of_powers { f64::log10(value) } else { value }, y);
        Self { ends: [bent(lowest), bent(highest)], is_of_powers }
    }

    /// Where a value is, if it can be drawn: powers have no place for a second without an answer.
    fn at(&self, value: f64) -> Option<f64> {
        let [(low, low_y), (high, high_y)] = self.ends;
        let bent = if self.is_of_powers { value.log10() } else { value };
        let y = low_y + (bent - low) / (high - low) * (high_y - low_y);
        y.is_finite().then_some(y)
    }
}

/// What a line is made of: each value where the scale has it, and as it is drawn from the left to
/// the right.
fn drawn(line: &Value, scale: &Scale, values: &[f64]) {
    let places = values.iter().filter_map(|value| Some((*value, scale.at(*value)?)));
    let places: Vec<(f64, f64)> = places.collect();
    let points = list(&line["points"]);
    assert_eq!(points.len(), places.len(), "a point for each: {line}");
    for (point, (value, y)) in points.iter().zip(&places) {
        // Of 240 in which a picture has a power of ten or more, so that the unit has to be right.
        assert!((number(&point[1]) - y).abs() < 0.5, "{value} is not at {y}: {line}");
    }
    for (one, of_one) in points.iter().zip(&places) {
        for (other, of_other) in points.iter().zip(&places) {
            // Downwards the numbers of a picture grow; less than one of them nobody sees.
            let is_more = of_one.0 > of_other.0 * 1.05 && of_other.1 - of_one.1 > 1.0;
            let is_higher = number(&one[1]) < number(&other[1]);
            assert!(!is_more || is_higher, "{} not above {}: {line}", of_one.0, of_other.0);
        }
    }
    let across: Vec<f64> = points.iter().map(|point| number(&point[0])).collect();
    assert!(across.is_sorted(), "{line}");
}

/// Each picture is there, each line in its frame, in a colour, and as high as its figures are.
fn pictures_are_of(seen: &Value, reports: &[&Value]) {
    let pictures = list(&seen["pictures"]);
    let titles: Vec<&Value> = pictures.iter().map(|picture| &picture["title"]).collect();
    assert_eq!(titles, ["How latencies are spread", "Answers each second", "Latency over time"]);
    for picture in pictures {
        assert!(number(&picture["wide"]) > 300.0, "it cannot be seen: {picture}");
        let frame = [0, 1].map(|at: usize| number(&picture["frame"][at]));
        for part in list(&picture["lines"]).iter().chain(list(&picture["names"])) {
            let edge = |at: usize| number(&part["box"][at]);
            let is_within = edge(0) >= 0.0 && edge(1) >= 0.0;
            assert!(is_within && edge(2) <= frame[0] && edge(3) <= frame[1], "outside: {part}");
        }
        for line in list(&picture["lines"]) {
            assert!(line["colour"].as_str().is_some_and(|it| it.starts_with("rgb(")), "{line}");
            assert!(number(&line["length"]) > 100.0, "{line}");
        }
        assert!(list(&picture["names"]).len() >= 4, "no scale: {picture}");
    }
    let of = |picture: usize| list(&pictures[picture]["lines"]);
    let counts = [0, 1, 2].map(|picture| of(picture).len());
    assert_eq!(counts, [1, 1, 2].map(|lines| lines * reports.len()), "{seen}");
    for (at, report) in reports.iter().enumerate() {
        let series = |key: &str| -> Vec<f64> {
            list(&report["series"]).iter().map(|point| number(&point[key])).collect()
        };
        // None in a second without an answer.
        let middles = series("p50_ns").into_iter().filter(|middle| *middle > 0.0);
        let middles: Vec<f64> = middles.collect();
        assert!(middles.len() > 1, "a line has two ends: {report}");
        // To two digits each second, to three all of it.
        let whole = number(&report["latency"]["p50_ns"]);
        let is_between = middles.iter().any(|middle| *middle <= whole * 1.02)
            && middles.iter().any(|middle| *middle >= whole * 0.98);
        assert!(is_between, "the middle of all is between those of the seconds: {report}");
        let spread = list(&report["latency"]["distribution"]).iter();
        let spread: Vec<f64> = spread.map(|point| number(&point[1])).collect();
        assert!(spread.len() > 5, "{report}");
        let [times, over_time] = [0, 2].map(|picture| Scale::of_times(&pictures[picture]));
        drawn(&of(0)[at], &times, &spread);
        drawn(&of(1)[at], &Scale::of_rates(&pictures[1]), &series("per_second"));
        drawn(&of(2)[2 * at], &over_time, &series("p50_ns"));
        drawn(&of(2)[2 * at + 1], &over_time, &series("p99_ns"));
    }
}

/// It asks nobody for anything, and nothing in it is wrong.
fn stands_alone(opened: &Opened) {
    assert_eq!(opened.fetched, [""; 0], "it fetches");
    assert_eq!(opened.console, [""; 0], "something is wrong with it");
    assert!(!opened.page.contains("<script"), "it needs a script");
}

#[test]
fn a_browser_shows_a_report_as_it_was_measured() {
    let desk = desk();
    let (report, opened, seen) = run(&desk, &[desk.file(), "echo", "text=a"], &["-f", "4"]);
    stands_alone(&opened);
    pictures_are_of(&seen, &[&report]);
    figures_are_those_of(&seen["tables"][0], &[&report]);
    let target = report["target"].as_str().expect("text");
    assert!(opened.page.contains(&format!("<h1>{target}</h1>")), "{target}");
}

#[test]
fn a_second_without_an_answer_has_a_rate_and_no_latency() {
    let desk = Desk::with(
        "server: { name: desk }\ntools:\n  \
         - { name: wait, description: Takes long., command: [sleep, \"1.1\"] }\n",
    );
    let (report, _, seen) = run(&desk, &[desk.file(), "wait"], &[]);
    let is_empty = |point: &Value| number(&point["p50_ns"]) == 0.0;
    assert!(list(&report["series"]).iter().any(is_empty), "{report}");
    pictures_are_of(&seen, &[&report]);
}

#[test]
fn a_browser_shows_two_servers_side_by_side() {
    let desk = desk();
    let server = own(&desk.file);
    let more = ["--rounds", "4", "--compare", &server.url];
    let (both, opened, seen) = run(&desk, &[desk.file(), "echo", "text=a"], &more);
    stands_alone(&opened);
    let reports = [&both["first"], &both["second"]];
    pictures_are_of(&seen, &reports);
    let tables = list(&seen["tables"]);
    figures_are_those_of(&tables[0], &reports);
    let ratios = list(&both["ratios"]);
    assert!(ratios.len() > 3, "{both}");
    for ratio in ratios {
        let shown = cells(&tables[1], ratio["figure"].as_str().expect("text"));
        let of = |key: &str| number(&ratio[key]);
        let sure = format!("{:.3} to {:.3}", of("low"), of("high"));
        assert_eq!(shown, [format!("× {:.3}", of("ratio")), sure]);
    }
    let colours = list(&seen["pictures"][1]["lines"]).iter().map(|line| &line["colour"]);
    let colours: Vec<&Value> = colours.collect();
    assert_ne!(colours[0], colours[1], "one cannot be told from the other");
}

#[test]
fn a_browser_tells_of_what_a_page_fetches_and_gets_wrong() {
    // Where no browser goes; that it was asked for is told all the same.
    let page = "<!doctype html><img src='http://127.0.0.1:9/a.png'>\
                <style>body { background: url(http://haft.invalid/b.png) }</style>\
                <script>console.error('it is wrong')</script>";
    let desk = desk();
    let path = desk.path("page.html");
    fs::write(&path, page).expect("a folder of ours");
    let mut opened = open(&path);
    opened.fetched.sort();
    assert_eq!(opened.fetched, ["http://127.0.0.1:9/a.png", "http://haft.invalid/b.png"]);
    assert!(opened.console.iter().any(|line| line.contains("it is wrong")), "{:?}", opened.console);
}

#[test]
fn a_browser_that_is_never_done_is_ended() {
    let desk = desk();
    let path = desk.path("page.html");
    fs::write(&path, "<!doctype html><script>while (true) {}</script>").expect("a folder of ours");
    let late = open_within(&path, Duration::from_secs(5)).err().expect("it cannot be done");
    assert!(late.contains("page.html") && late.contains("within 5s"), "{late}");
}
