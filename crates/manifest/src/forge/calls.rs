//! Which pipelines can run: those that call tools of the file, and do not come back to themselves.
//! Called by `tool`, once all tools are made.

use super::section::Work;
use super::tool::One;
use haft_server::nearest;
use std::collections::HashMap;

/// Leaves out every pipeline that calls what is not there, or itself by way of others too.
pub(super) fn leave_out(tools: &mut [One<'_>], work: &mut Work<'_>) {
    let by_name: HashMap<String, usize> =
        tools.iter().enumerate().map(|(at, one)| (one.name.value.clone(), at)).collect();
    // For each tool, those that it calls: `None` is no tool of the file.
    let called: Vec<Vec<Option<usize>>> = tools
        .iter()
        .map(|one| {
            let calls = one.made.as_ref().map_or(&[][..], |made| &made.calls);
            calls.iter().map(|name| by_name.get(&name.value).copied()).collect()
        })
        .collect();
    let is_made: Vec<bool> = tools.iter().map(|one| one.made.is_some()).collect();
    let runs = runs(&is_made, &called);
    let circles = circles(&is_made, &called, &runs);
    for at in (0..tools.len()).filter(|at| is_made[*at] && !runs[*at]) {
        let is_missing = |next: &Option<usize>| next.is_none_or(|next| !runs[next]);
        let which = called[at].iter().position(is_missing).unwrap_or_default();
        let calls = tools[at].made.as_ref().map_or(&[][..], |made| &made.calls);
        let Some(call) = calls.get(which) else { continue };
        let name = &call.value;
        let why = match called[at][which] {
            Some(_) if circles[at] => {
                format!("`{name}` calls it in turn, and there would be no end")
            }
            Some(_) => format!("it calls `{name}`, which is left out"),
            None => match nearest(name, tools.iter().map(|one| one.name.value.as_str())) {
                Some(near) => format!("it calls `{name}`; did you mean `{near}`?"),
                None => format!("it calls `{name}`, and no tool of this file is called so"),
            },
        };
        work.note(tools[at].section, call.place, format!("left out: {why}"));
    }
    for (one, runs) in tools.iter_mut().zip(runs) {
        one.made = one.made.take().filter(|_| runs);
    }
}

/// Whether each tool can run: all that it calls can, and do so before it.
fn runs(is_made: &[bool], called: &[Vec<Option<usize>>]) -> Vec<bool> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); called.len()];
    let mut open: Vec<usize> = called.iter().map(Vec::len).collect();
    for (at, calls) in called.iter().enumerate() {
        for next in calls.iter().flatten() {
            callers[*next].push(at);
        }
    }
    let mut runs = vec![false; called.len()];
    let mut ready: Vec<usize> =
        (0..called.len()).filter(|at| is_made[*at] && open[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        runs[at] = true;
        for caller in &callers[at] {
            open[*caller] -= 1;
            if open[*caller] == 0 && is_made[*caller] {
                ready.push(*caller);
            }
        }
    }
    runs
}

/// Whether each tool comes back to itself by the first call of each that cannot run.
fn circles(is_made: &[bool], called: &[Vec<Option<usize>>], runs: &[bool]) -> Vec<bool> {
    let next = |at: usize| {
        let missing = called[at].iter().find(|next| next.is_none_or(|next| !runs[next]))?;
        missing.filter(|next| is_made[*next])
    };
    let mut circles = vec![false; called.len()];
    // The walk in which each was seen first.
    let mut seen = vec![usize::MAX; called.len()];
    for start in 0..called.len() {
        let mut at = Some(start);
        while let Some(here) = at.filter(|here| seen[*here] == usize::MAX) {
            seen[here] = start;
            at = next(here);
        }
        while let Some(here) = at.filter(|here| seen[*here] == start && !circles[*here]) {
            circles[here] = true;
            at = next(here);
        }
    }
    circles
}
