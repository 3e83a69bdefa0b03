//! `haft doctor`: why a server does not work. Each step between us and it, how long it took, and
//! what to do about the one that fails; its exit code is that of any verb that fails there.

use crate::args::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::meter::wait;
use crate::print::{BAD, DIM, GOOD, NAME, Printer, one_line};
use crate::probe::{Findings, Step, probe};
use crate::reach::{interruption, route, run as run_async, with_kept};
use serde_json::{Value, json};

/// Find out why a server does not work
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft doctor [OPTIONS] [TARGET]
       haft doctor [OPTIONS] --command <COMMAND>")]
#[command(after_help = "Examples:
  haft doctor https://host/mcp                  name, port, TLS, MCP, version, credentials
  haft doctor --command 'npx -y some-server'    program, answers, version, tools
  haft doctor github                            a server of an editor, as the editor starts it
  haft doctor haft.yaml --json | jq '.steps[] | select(.ok | not)'")]
pub(crate) struct Args {
    /// A .yaml file, a URL, or a name that `haft discover` shows; without one, the haft.yaml of
    /// this directory
    #[arg(conflicts_with = "command")]
    target: Option<String>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let mut route = route(args.target.as_deref(), &args.reach, printer)?;
    with_kept(&mut route);
    let findings = run_async(async {
        tokio::select! {
            findings = wait(printer, "looking", probe(&route, printer)) => Ok(findings),
            interrupted = interruption() => Err(interrupted),
        }
    })?;
    if printer.is_json() {
        printer.document(&report(&route.name, &findings).to_string())?;
        return findings.failure().map_or(Ok(Exit::Ok), |failure| Err(failure.clone()));
    }
    if let Some(origin) = &route.origin {
        printer.note(format_args!("{DIM}from {}{DIM:#}", crate::named::shown(origin)));
    }
    for step in &findings.steps {
        print(step, printer)?;
    }
    Ok(findings.failure().map_or(Exit::Ok, |failure| failure.exit))
}

fn print(step: &Step, printer: Printer) -> Result<(), Failure> {
    let time = format!("{:.1} ms", millis(step));
    let name = step.name;
    match &step.outcome {
        Ok(said) => {
            let said = one_line(said);
            printer.line(format_args!(
                "{GOOD}ok    {GOOD:#} {NAME}{name:<12}{NAME:#} {said} {DIM}({time}){DIM:#}"
            ))?;
        }
        Err(failure) => {
            let said = one_line(&failure.message);
            printer.line(format_args!(
                "{BAD}failed{BAD:#} {NAME}{name:<12}{NAME:#} {said} {DIM}({time}){DIM:#}"
            ))?;
            if let Some(hint) = &failure.hint {
                printer.line(format_args!("{:>7}{:<13}{}", "", "", one_line(hint)))?;
            }
        }
    }
    if let Some(warning) = &step.warning {
        printer.line(format_args!("{:>7}{:<13}{}", "", "", one_line(warning)))?;
    }
    Ok(())
}

fn millis(step: &Step) -> f64 {
    (step.time.as_secs_f64() * 10_000.0).round() / 10.0
}

fn report(target: &str, findings: &Findings) -> Value {
    let step = |step: &Step| {
        let mut shown = json!({
            "step": step.name,
            "ok": step.outcome.is_ok(),
            "ms": millis(step),
        });
        match &step.outcome {
            Ok(said) => shown["message"] = json!(said),
            Err(failure) => {
                shown["message"] = json!(failure.message);
                shown["code"] = json!(failure.exit.name());
                shown["hint"] = json!(failure.hint);
            }
        }
        if let Some(warning) = &step.warning {
            shown["warning"] = json!(warning);
        }
        shown
    };
    let steps: Vec<Value> = findings.steps.iter().map(step).collect();
    json!({ "target": target, "ok": findings.failure().is_none(), "steps": steps })
}
