//! Every step that a client of MCP can take, taken by the clients that others wrote, against the
//! fixture of the conformance suite. Cargo runs it.

use std::thread;

use serde_json::json;

use super::client::{Client, Era};
use super::fixture;
use super::process::Wire;
use super::report::{Outcome, Step, steps};
use super::unable::{self, UNABLE};

/// The steps in order, each with what it is on the page and whether the modern era has it.
pub(super) const STEPS: [(&str, &str, bool); 20] = [
    ("connect", "connects", true),
    ("list_tools", "lists tools", true),
    ("call_tool", "calls a tool", true),
    ("tool_error", "sees that a tool failed", true),
    ("list_resources", "lists resources", true),
    ("read_resource", "reads a resource", true),
    ("list_templates", "lists templates", true),
    ("read_template", "reads what a template stands for", true),
    ("list_prompts", "lists prompts", true),
    ("get_prompt", "gets a prompt", true),
    ("complete", "completes an argument", true),
    ("progress", "receives progress", true),
    ("log", "receives log messages", true),
    ("elicit", "answers a question to the user", true),
    ("sample", "answers a question to a model", true),
    ("roots", "tells its roots", true),
    ("resource_updated", "subscribes to a resource, and hears that it changed", true),
    ("list_changed", "hears that the list of tools changed", true),
    ("cancel", "cancels a call", true),
    ("ping", "pings", false),
];

#[test]
fn typescript_v2_takes_every_step() {
    walks_everywhere(Client::TypescriptV2);
}

#[test]
fn typescript_v1_takes_every_step() {
    walks_everywhere(Client::TypescriptV1);
}

#[test]
fn python_takes_every_step() {
    walks_everywhere(Client::Python);
}

#[test]
fn go_takes_every_step() {
    walks_everywhere(Client::Go);
}

#[test]
fn rust_takes_every_step() {
    walks_everywhere(Client::Rust);
}

#[test]
fn the_inspector_takes_the_steps_that_it_has() {
    walks_everywhere(Client::Inspector);
}

#[test]
fn every_inability_is_one_that_could_show() {
    for entry in UNABLE {
        let title = format!("{:?} {}", entry.client, entry.step);
        let step = STEPS.iter().find(|(name, ..)| *name == entry.step);
        let (_, _, in_modern) = step.unwrap_or_else(|| panic!("{title}: no such step"));
        for era in entry.eras {
            assert!(entry.client.eras().contains(era), "{title}: it does not speak {era:?}");
        }
        assert!(*in_modern || entry.eras == [Era::Legacy], "{title}: the modern era has no such");
        assert!(!entry.reason.is_empty(), "{title}: why?");
    }
}

#[test]
fn an_outcome_is_right_only_if_it_was_to_be_expected() {
    let done = || Outcome::Done(json!(3));
    let failed = || Outcome::Failed("it broke".to_owned());
    let skipped = |reason: &str| Outcome::Skipped(reason.to_owned());
    for (outcome, exists, unable, expected) in [
        (done(), true, None, None),
        (skipped("no such"), false, None, None),
        (skipped("it is small"), true, Some("it is small"), None),
        (failed(), true, Some("it is small"), None),
        (done(), false, None, Some("there is no such thing: 3")),
        (failed(), true, None, Some("it failed: it broke")),
        (failed(), false, None, Some("it failed: it broke")),
        (skipped("it is small"), true, None, Some("it says: it is small")),
        (skipped("it is old"), true, Some("it is small"), Some("it says: it is old")),
        (done(), true, Some("it is small"), Some("it can by now; on the list is: it is small")),
    ] {
        assert_eq!(judge(&outcome, exists, unable).as_deref(), expected, "{outcome:?}");
    }
}

/// Over each wire and in each era, at once. Each has a server of its own, so that none hears what
/// another caused.
fn walks_everywhere(client: Client) {
    let complaints = thread::scope(|scope| {
        let mut walks = Vec::new();
        for wire in Wire::ALL {
            for &era in client.eras() {
                walks.push(scope.spawn(move || walk(client, wire, era)));
            }
        }
        let ended = walks.into_iter().map(|walk| walk.join().expect("the walk came to its end"));
        ended.flatten().collect::<Vec<String>>()
    });
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Everything that is not as it should be.
fn walk(client: Client, wire: Wire, era: Era) -> Vec<String> {
    let target = wire.target(fixture::words());
    let taken = steps(client.command(era, &[], &target));
    let where_to = format!("{} over {wire:?}, {}", client.title(), era.name());
    let names: Vec<&str> = taken.iter().map(|step| step.name.as_str()).collect();
    if names != STEPS.map(|(name, ..)| name) {
        return vec![format!("{where_to}: it took the steps {names:?}")];
    }
    let complaint = |(step, (_, _, in_modern)): (&Step, (_, _, bool))| {
        let exists = in_modern || era == Era::Legacy;
        let reason = unable::reason(client, era, wire, &step.name);
        let wrong = judge(&step.outcome, exists, reason)?;
        Some(format!("{where_to}, {}: {wrong}", step.name))
    };
    taken.iter().zip(STEPS).filter_map(complaint).collect()
}

/// What is wrong with an outcome of a step, which the era may not have, or which the client may be
/// known to be unable to take.
fn judge(outcome: &Outcome, exists: bool, unable: Option<&str>) -> Option<String> {
    match (outcome, exists, unable) {
        (Outcome::Done(_), true, None)
        | (Outcome::Skipped(_), false, _)
        | (Outcome::Failed(_), true, Some(_)) => None,
        (Outcome::Skipped(said), true, Some(reason)) if said == reason => None,
        (Outcome::Done(_), true, Some(reason)) => {
            Some(format!("it can by now; on the list is: {reason}"))
        }
        (Outcome::Done(detail), false, _) => Some(format!("there is no such thing: {detail}")),
        (Outcome::Failed(said), ..) => Some(format!("it failed: {said}")),
        (Outcome::Skipped(said), true, _) => Some(format!("it says: {said}")),
    }
}
