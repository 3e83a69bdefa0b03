//! What a pforge file puts around calls: time limits, retries, breakers, bulkheads, middleware.
//! What haft has becomes that, the rest is a note. Called by `server` for all tools, by `tool`, and
//! by `pipeline` for its steps.

use super::build::{self, Mapping};
use super::section::{Section, Work, text_of};
use crate::amount;
use crate::cost::Part;
use crate::fault::Wrong;
use crate::limits::{FAILURES_MAX, PAUSE_MAX, RUNNING_MAX, TIMEOUT_MAX, WAITING_DEFAULT};
use crate::place::Place;
use crate::tree::{Entry, Node, Tree};
use haft_server::around::Retry;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Around all tools: `fault_tolerance` and `middleware`.
pub(super) fn of_all(
    sections: [Section<'_>; 2],
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let mut defaults = Mapping::new(sections[0].tree.place);
    for section in sections {
        if let Some(tree) = section.get("fault_tolerance") {
            let section = Section { name: "fault_tolerance", ..section };
            recovery(section.within(tree, "fault_tolerance")?, true, &mut defaults, work)?;
        }
        middleware(section, true, &mut defaults, work)?;
    }
    if !defaults.is_empty() {
        out.put("defaults", defaults.tree());
    }
    Ok(())
}

/// Around one tool. `repeats` is whether it may be called twice for one call.
pub(super) fn of_tool(
    tool: Section<'_>,
    repeats: bool,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    if let Some(timeout) = tool.any(&["timeout_ms", "timeout"]) {
        out.put_at("timeout", timeout.key_place, time(tool, timeout, TIMEOUT_MAX, work)?);
    }
    if let Some(entry) = tool.entry("retry") {
        match repeats {
            true => retry(tool.within(&entry.value, "retry")?, entry, out, work)?,
            false => not_twice(tool, entry.key_place, work),
        }
    }
    if let Some(tree) = tool.get("circuit_breaker") {
        breaker(tool.within(tree, "circuit_breaker")?, tree.place, out, work)?;
    }
    if let Some(entry) = tool.entry("fallback") {
        work.note(
            tool,
            entry.key_place,
            "`fallback` is left out: make a pipeline that calls this tool with `error_policy: \
             continue`, and then another on the `condition` that there is no result",
        );
    }
    middleware(tool, repeats, out, work)
}

/// `fault_tolerance`, and the middleware that is called `recovery`.
fn recovery(
    section: Section<'_>,
    repeats: bool,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    if let Some(tree) = section.get("circuit_breaker") {
        breaker(section.within(tree, "circuit_breaker")?, tree.place, out, work)?;
    }
    let again = section.any(&["retry", "max_retries"]);
    match again.filter(|_| repeats) {
        Some(entry) if entry.key == "retry" => {
            retry(section.within(&entry.value, "retry")?, entry, out, work)?;
        }
        Some(entry) => attempts(entry, section, out, work)?,
        None => again.into_iter().for_each(|entry| not_twice(section, entry.key_place, work)),
    }
    if let Some(entry) = section.entry("error_tracking") {
        work.note(section, entry.key_place, "nothing reads `error_tracking`; remove it");
    }
    const KNOWN: [&str; 6] =
        ["type", "enabled", "circuit_breaker", "retry", "max_retries", "error_tracking"];
    section.know(&KNOWN, work);
    Ok(())
}

fn breaker(
    section: Section<'_>,
    place: Place,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    if !section.is_on()? || out.has("breaker") {
        return Ok(());
    }
    let mut breaker = Mapping::new(place);
    if let Some(failures) = section.entry("failure_threshold") {
        let number = bounded(section, failures, 1..=FAILURES_MAX as u64, work)?;
        let value = build::number(failures.value.place, number);
        breaker.put_at("failures", failures.key_place, value);
    }
    if let Some(rest) = section.any(&["timeout_ms", "timeout"]) {
        breaker.put_at("rest", rest.key_place, time(section, rest, TIMEOUT_MAX, work)?);
    }
    let is_one = |entry: &Entry| matches!(&entry.value.node, Node::Number(_, text) if text == "1");
    if let Some(entry) = section.entry("success_threshold").filter(|entry| !is_one(entry)) {
        work.note(
            section,
            entry.key_place,
            "`success_threshold` is 1: after its rest, one call that succeeds ends it",
        );
    }
    const KNOWN: [&str; 5] =
        ["enabled", "failure_threshold", "timeout", "timeout_ms", "success_threshold"];
    section.know(&KNOWN, work);
    out.put("breaker", breaker.tree());
    Ok(())
}

/// That a call is not made again.
fn not_twice(section: Section<'_>, place: Place, work: &mut Work<'_>) {
    let message = "`retry` is left out: what failed may have been done, and would be done twice";
    work.note(section, place, message);
}

/// How often a call is made at most.
fn most() -> u64 {
    u64::from(Retry::ATTEMPTS_MAX)
}

/// How often a call is made, where it is said how often it is made again.
fn attempts(
    entry: &Entry,
    section: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let again = bounded(section, entry, 0..=most() - 1, work)?;
    if again > 0 && !out.has("retry") {
        let place = entry.value.place;
        let mut retry = Mapping::new(place);
        retry.put("attempts", build::number(place, again + 1));
        out.put("retry", retry.tree());
    }
    Ok(())
}

/// A whole number within bounds: the nearest to the one that is written, and a note if that is
/// another.
fn bounded(
    section: Section<'_>,
    entry: &Entry,
    bounds: RangeInclusive<u64>,
    work: &mut Work<'_>,
) -> Result<u64, Wrong> {
    let (least, most) = bounds.into_inner();
    let number = match &entry.value.node {
        Node::Number(number, _) => number.as_f64(),
        Node::Text(text) => text.parse::<f64>().ok(),
        _ => None,
    };
    let Some(number) = number else {
        return Err(entry.value.wrong_type(&entry.key, "a number"));
    };
    // What is below nothing, or no number at all, is nothing.
    let taken = (number as u64).clamp(least, most);
    if taken as f64 != number {
        let text = text_of(&entry.value, &entry.key)?.value;
        let message =
            format!("`{}` is from {least} to {most}: {text} is taken as {taken}", entry.key);
        work.note(section, entry.value.place, message);
    }
    Ok(taken)
}

fn retry(
    section: Section<'_>,
    entry: &Entry,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    if !section.is_on()? || out.has("retry") {
        return Ok(());
    }
    const DEFAULT: u64 = 3;
    let mut retry = Mapping::new(entry.value.place);
    let attempts = section.any(&["max_attempts", "attempts"]);
    let (place, attempts) = match attempts {
        Some(entry) => (entry.value.place, bounded(section, entry, 1..=most(), work)?),
        None => (entry.value.place, DEFAULT),
    };
    if attempts < 2 {
        return Ok(());
    }
    retry.put("attempts", build::number(place, attempts));
    let first = section.any(&["backoff_ms", "initial_delay_ms", "initial_delay", "delay"]);
    for (key, entry) in
        [("delay", first), ("max_delay", section.any(&["max_delay_ms", "max_delay"]))]
    {
        let Some(entry) = entry else { continue };
        retry.put_at(key, entry.key_place, time(section, entry, PAUSE_MAX, work)?);
    }
    let is_two = |entry: &Entry| match &entry.value.node {
        Node::Number(number, _) => number.as_f64() == Some(2.0),
        _ => false,
    };
    let factor = section.any(&["multiplier", "backoff_multiplier"]);
    if let Some(entry) = factor.filter(|entry| !is_two(entry)) {
        let message = format!("`{}` is 2: each pause may be twice as long as the last", entry.key);
        work.note(section, entry.key_place, message);
    }
    if section.truth("jitter")? == Some(false) {
        let place = section.entry("jitter").map_or(section.tree.place, |entry| entry.key_place);
        work.note(section, place, "how long a pause is, is always left to chance");
    }
    const KNOWN: [&str; 13] = [
        "type",
        "enabled",
        "max_attempts",
        "attempts",
        "backoff_ms",
        "initial_delay_ms",
        "initial_delay",
        "delay",
        "max_delay_ms",
        "max_delay",
        "multiplier",
        "backoff_multiplier",
        "jitter",
    ];
    section.know(&KNOWN, work);
    out.put_at("retry", entry.key_place, retry.tree());
    Ok(())
}

/// `bulkhead`, and its answer: how many calls wait for their turn, where that is said.
pub(super) fn bulkhead(
    tool: Section<'_>,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<Option<usize>, Wrong> {
    let Some(tree) = tool.get("bulkhead") else { return Ok(None) };
    let section = tool.within(tree, "bulkhead")?;
    section.know(&["enabled", "max_concurrent", "max_queued", "timeout"], work);
    if !section.is_on()? {
        return Ok(None);
    }
    if let Some(entry) = section.entry("max_concurrent") {
        let number = bounded(section, entry, 1..=RUNNING_MAX as u64, work)?;
        out.put_at("concurrency", entry.key_place, build::number(entry.value.place, number));
    }
    if let Some(entry) = section.entry("timeout") {
        let message = "nothing reads `timeout`: a call waits for as long as it may take";
        work.note(section, entry.key_place, message);
    }
    let Some(entry) = section.entry("max_queued") else { return Ok(None) };
    let number = bounded(section, entry, 0..=WAITING_DEFAULT as u64, work)?;
    Ok(usize::try_from(number).ok())
}

/// A list of what stands around calls, by its types.
fn middleware(
    section: Section<'_>,
    repeats: bool,
    out: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<(), Wrong> {
    let is_of_file = section.part == Part::File;
    let section = if is_of_file { Section { name: "middleware", ..section } } else { section };
    for item in section.list("middleware")? {
        let one = section.within(item, "middleware")?;
        if !one.is_on()? {
            continue;
        }
        let kind = one.need("type")?;
        let note = match &*kind.value {
            "recovery" => {
                recovery(one, repeats, out, work)?;
                continue;
            }
            "retry" if !repeats => {
                not_twice(one, kind.place, work);
                continue;
            }
            "retry" => {
                let entry = Entry {
                    key: "retry".to_owned(),
                    key_place: kind.place,
                    value: one.tree.clone(),
                };
                retry(one, &entry, out, work)?;
                continue;
            }
            "timeout" => {
                let entry = one.any(&["timeout_ms", "duration_ms", "timeout", "duration"]);
                if let Some(entry) = entry.filter(|_| !out.has("timeout")) {
                    out.put("timeout", time(one, entry, TIMEOUT_MAX, work)?);
                }
                continue;
            }
            "logging" => "haft writes no log of calls; a proxy before `haft serve` can",
            "metrics" => "`haft serve --metrics` tells Prometheus what is asked",
            "validation" => "arguments are always checked against `params`: say it there",
            "auth" => "put a proxy that knows who may call before `haft serve`",
            "ratelimit" | "rate_limit" => {
                "say how many calls may run at once: `bulkhead: { \
                max_concurrent: 4 }`"
            }
            _ => "haft has none like it",
        };
        let message = format!("middleware `{}` is left out: {note}", kind.value);
        work.note(section, kind.place, message);
    }
    Ok(())
}

/// A length of time up to a maximum: the nearest to the one that is written, and a note if that is
/// another. A number alone is one of seconds, unless its key says that it is of milliseconds.
pub(super) fn time(
    section: Section<'_>,
    entry: &Entry,
    max: Duration,
    work: &mut Work<'_>,
) -> Result<Tree, Wrong> {
    const LEAST: Duration = Duration::from_millis(1);
    let Entry { key, value, .. } = entry;
    let text = match (&value.node, key.ends_with("_ms")) {
        (Node::Number(number, _), true) => format!("{number}ms"),
        (Node::Number(number, _), false) => format!("{number}s"),
        (_, true) => return Err(value.wrong_type(key, "a number of milliseconds")),
        (_, false) => text_of(value, key)?.value,
    };
    let is_negative = text.trim_start().starts_with('-');
    let taken = match amount::duration(&text) {
        Some(time) => time.clamp(LEAST, max),
        None if is_negative => LEAST,
        // Too many hours to be counted, or no time at all.
        None if matches!(value.node, Node::Number(..)) => max,
        None => return Ok(build::text(value.place, text)),
    };
    if amount::duration(&text) == Some(taken) {
        return Ok(build::text(value.place, text));
    }
    let taken = match taken {
        LEAST => "1ms".to_owned(),
        _ => amount::hours_or_less(taken),
    };
    let (written, most) = (text_of(value, key)?.value, amount::hours_or_less(max));
    let message = format!("`{key}` is from 1ms to {most}: {written} is taken as {taken}");
    work.note(section, value.place, message);
    Ok(build::text(value.place, taken))
}
