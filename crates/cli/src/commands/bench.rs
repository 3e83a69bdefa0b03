//! `haft bench`: loads a server, checks every answer, and says how fast it was; alone, beside
//! another one in turns, or from cold.

use crate::args::{EraArg, ReachArgs};
use crate::exit::{Exit, Failure, exit_of_wrong};
use crate::load::{AimArgs, Look, LookArgs, Watch, Words, aim};
use crate::load::{show, show_cold, show_comparison};
use crate::print::Printer;
use crate::reach::{Route, route};
use haft_bench::{Crossed, End, Load, OfStage, Plan, Report, Threshold};
use haft_bench::{cold, compare, html, regressions};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measure how fast a server answers
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft bench [OPTIONS] <TARGET> [TOOL] [ARGUMENTS]...
       haft bench [OPTIONS] --command <COMMAND> [TOOL] [ARGUMENTS]...")]
#[command(
    after_help = "Every answer is checked: a wrong one is a failure and never a fast request. \
Without a TOOL, tools/list is asked.

Figures of --fail-if: p50, p90, p99, p99.9, max, average, per_second, failures, cpu, memory

Examples:
  haft bench haft.yaml word_count text='a b'          over stdio, one request at a time
  haft bench haft.yaml word_count text=a -f 64        with 64 requests in flight
  haft bench http://127.0.0.1:7300/mcp add a=1 b=2 -c 32
  haft bench http://127.0.0.1:7300/mcp --rate 1000    a thousand requests a second
  haft bench --command 'a-server' --cold 50           from nothing to the first answer
  haft bench haft.yaml --compare-command 'a-server'   two servers in turns
  haft bench haft.yaml word_count text=a --stages     where in the server the time goes
  haft bench haft.yaml --fail-if 'p99>5ms' --html report.html"
)]
pub(crate) struct Args {
    /// A .yaml file, a URL or a known name, unless --command is given; then a tool and its
    /// arguments
    #[arg(value_name = "TARGET, TOOL, ARGUMENTS")]
    words: Vec<String>,
    #[command(flatten)]
    aim: AimArgs,
    /// Begin so many times instead, each with a process or a connection of its own
    #[arg(long, value_name = "TIMES", help_heading = "Kind")]
    #[arg(conflicts_with_all = ["compare", "compare_command", "rate"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    cold: Option<u64>,
    /// Load this file or URL as well, in turns, and say how they compare
    #[arg(long, value_name = "TARGET", help_heading = "Kind", group = "other")]
    compare: Option<String>,
    /// Load this command as well
    #[arg(long, value_name = "COMMAND", help_heading = "Kind", group = "other")]
    compare_command: Option<String>,
    /// The era that the other server is asked in, instead of --era
    #[arg(long, value_enum, value_name = "ERA", help_heading = "Kind", requires = "other")]
    compare_era: Option<EraArg>,
    /// How many turns each of two servers has
    #[arg(long, value_name = "COUNT", help_heading = "Kind", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Fail with exit code 8 if this holds; may be repeated
    #[arg(long, value_name = "CONDITION", help_heading = "Verdict")]
    fail_if: Vec<Threshold>,
    /// Fail with exit code 8 if it is worse than this report, which an earlier --json printed
    #[arg(long, value_name = "FILE", help_heading = "Verdict")]
    #[arg(conflicts_with_all = ["compare", "compare_command"])]
    baseline: Option<PathBuf>,
    /// How much worse than the baseline it may be
    #[arg(long, value_name = "PER CENT", help_heading = "Verdict", default_value_t = 10.0)]
    #[arg(value_parser = per_cent)]
    tolerance: f64,
    /// Write a report with pictures, which needs nothing but a browser
    #[arg(long, value_name = "FILE", help_heading = "Verdict")]
    html: Option<PathBuf>,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let (target, words) = split(args)?;
    let first = (target, args.reach.command.as_deref(), args.reach.era);
    let first = Aimed::at(first, words, args, printer)?;
    // What cannot be read is said before the load, not after it.
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    if let Some(other) = baseline.as_ref().and_then(|then| then.of_another_load(&first.plan)) {
        let failure = Failure::usage(format!("--baseline: it is of another load: {other}"));
        return Err(failure.hint("load it as then, or take a report of this load"));
    }
    if let Some(times) = args.cold {
        return from_cold(&first, times, args, printer);
    }
    if args.compare.is_some() || args.compare_command.is_some() {
        let era = args.compare_era.unwrap_or(args.reach.era);
        let second = (args.compare.as_deref(), args.compare_command.as_deref(), era);
        let second = Aimed::at(second, words, args, printer)?;
        return in_turns(first, second, args, printer);
    }
    alone(first, baseline.as_ref(), args, printer)
}

/// A server, and what is asked of it.
struct Aimed {
    name: String,
    plan: Plan,
}

impl Aimed {
    fn at(
        (target, command, era): (Option<&str>, Option<&str>, EraArg),
        words: Words<'_>,
        args: &Args,
        printer: Printer,
    ) -> Result<Self, Failure> {
        let reach = ReachArgs { command: command.map(str::to_owned), era, ..args.reach.clone() };
        let route = route(target, &reach, printer)?;
        check_near(target, &route)?;
        let plan = aim(&args.aim, words, &route, era, printer)?;
        // A report is shown to others; what lets in stays out of it.
        let name = match &route.target {
            haft_client::Target::Url(_) => haft_editors::shown_url(&route.name),
            haft_client::Target::Command(launch) if command.is_some() => {
                let words = launch.args().iter().map(|word| word.to_string_lossy().into_owned());
                let words: Vec<String> = words.collect();
                let program = launch.program().to_string_lossy();
                format!("{program} {}", haft_editors::shown_args(&words).join(" "))
            }
            haft_client::Target::Command(_) => route.name,
        };
        Ok(Self { name, plan })
    }
}

/// A load goes to this machine, or to the address that somebody typed: a name in an editor's file
/// may stand for a server that others use too.
fn check_near(target: Option<&str>, route: &Route) -> Result<(), Failure> {
    let haft_client::Target::Url(url) = &route.target else { return Ok(()) };
    if target.is_some_and(|typed| typed.contains("://")) || haft_bench::is_near(url) {
        return Ok(());
    }
    let message = format!("`{}` is not on this machine, and others may use it", route.name);
    Err(Failure::usage(message).hint("give its URL instead of its name to load it all the same"))
}

fn split(args: &Args) -> Result<(Option<&str>, Words<'_>), Failure> {
    let (target, words) = match (&*args.words, &args.reach.command) {
        (words, Some(_)) => (None, words),
        ([target, words @ ..], None) => (Some(target.as_str()), words),
        ([], None) => {
            let failure = Failure::usage("name a TARGET, or give --command");
            return Err(failure.hint("haft bench haft.yaml word_count text='a b'"));
        }
    };
    let words = match words {
        [] => Words { tool: None, arguments: &[] },
        [tool, arguments @ ..] => Words { tool: Some(tool), arguments },
    };
    Ok((target, words))
}

fn alone(
    aimed: Aimed,
    baseline: Option<&Report>,
    args: &Args,
    printer: Printer,
) -> Result<Exit, Failure> {
    let Aimed { name, mut plan } = aimed;
    let mut look = Look::into(&mut plan, &args.look)?;
    let (warmup, end) = (plan.warmup, plan.end);
    let whole = match end {
        End::After(time) => warmup + time,
        End::Answers(_) => Duration::MAX,
    };
    let mut load = Load::open(plan.clone())?;
    if let Some(look) = &mut look {
        look.meet(plan.load.connections)?;
        if warmup.is_zero() {
            look.begin()?;
        }
    }
    // Until here Ctrl-C ends it at once.
    let mut watch = Watch::new(printer, whole)?;
    let mut unseen = Ok(());
    let stretch = load.stretch(warmup, end, &mut |progress| {
        if let Some(look) = look.as_mut().filter(|_| progress.elapsed >= warmup && unseen.is_ok()) {
            unseen = look.begin();
        }
        watch.tell(progress)
    });
    let seen = unseen.and_then(|()| look.map_or(Ok(None), Look::end));
    load.close();
    let is_interrupted = watch.is_interrupted();
    drop(watch);
    let mut report = Report::new(&name, &plan, &stretch);
    if let Ok(Some(seen)) = &seen {
        report.stages = OfStage::all(seen);
    }
    if printer.is_json() {
        printer.document(&json(&report)?)?;
    } else {
        show(&report, printer)?;
    }
    if let Some(file) = &args.html {
        write_html(file, &html::of(&[&report], &[]))?;
    }
    let are_counted = args.fail_if.iter().any(Threshold::is_of_failures);
    judge(&report, is_interrupted, are_counted)?;
    // After that: a server that died tells nothing more, and that it died is what counts.
    seen?;
    let mut crossed: Vec<Crossed> =
        args.fail_if.iter().filter_map(|threshold| threshold.crossed(&report)).collect();
    if let Some(earlier) = baseline {
        crossed.extend(regressions(&report, earlier, args.tolerance / 100.0));
    }
    verdict(&crossed.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn in_turns(first: Aimed, second: Aimed, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let rounds = usize::from(args.rounds);
    // As long as one would have been loaded alone, each is loaded in all its turns together.
    let turn = args.aim.duration / u32::from(args.rounds);
    let warmup = first.plan.warmup;
    let whole = (args.aim.duration + warmup) * 2;
    let mut watch = Watch::new(printer, whole)?;
    let names = [first.name.as_str(), second.name.as_str()];
    let mut tell = |progress| watch.tell(progress);
    let both = compare(names, [first.plan, second.plan], rounds, turn, &mut tell)?;
    let is_interrupted = watch.is_interrupted();
    drop(watch);
    if printer.is_json() {
        printer.document(&json(&both)?)?;
    } else {
        show_comparison(&both, printer)?;
    }
    if let Some(file) = &args.html {
        write_html(file, &html::of(&[&both.first, &both.second], &both.ratios))?;
    }
    let are_counted = args.fail_if.iter().any(Threshold::is_of_failures);
    let mut crossed = Vec::new();
    for (place, report) in [("first", &both.first), ("second", &both.second)] {
        judge(report, is_interrupted, are_counted)?;
        let found = args.fail_if.iter().filter_map(|threshold| threshold.crossed(report));
        crossed.extend(found.map(|found| format!("the {place} server: {found}")));
    }
    verdict(&crossed)
}

fn from_cold(aimed: &Aimed, times: u64, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    if !args.fail_if.is_empty() || args.html.is_some() || args.baseline.is_some() {
        return Err(Failure::usage("--cold has no --fail-if, --baseline or --html"));
    }
    let watch = Watch::new(printer, Duration::MAX)?;
    let cold = cold(&aimed.name, &aimed.plan, times, &mut |done| watch.count(done, times))?;
    let is_interrupted = watch.is_interrupted();
    drop(watch);
    if printer.is_json() {
        printer.document(&json(&cold)?)?;
    } else {
        show_cold(&cold, printer)?;
    }
    match &cold.ended {
        Some(ended) => Err(Failure::new(Exit::Unreachable, format!("it ended early: {ended}"))),
        None if is_interrupted => Err(Failure::new(Exit::Interrupted, "interrupted")),
        None => Ok(Exit::Ok),
    }
}

/// Whether the answers were what they should be; wrong ones are somebody else's business where a
/// condition counts them.
fn judge(report: &Report, is_interrupted: bool, are_counted: bool) -> Result<(), Failure> {
    if let Some(ended) = &report.ended {
        let measured = format!("{} answers were measured until then", report.answers);
        return Err(Failure::new(Exit::Unreachable, ended.clone()).hint(measured));
    }
    // What has no answer may only wait behind what was answered wrongly.
    let worst = report.wrong.iter().max_by_key(|wrong| (wrong.count, Reverse(wrong.kind)));
    if let Some(wrong) = worst.filter(|_| !are_counted) {
        let exit = exit_of_wrong(wrong.kind);
        let (failures, all) = (report.failures, report.failures + report.answers);
        let message = format!("{failures} of {all} answers were wrong: {}", wrong.first);
        return Err(Failure::new(exit, message));
    }
    if is_interrupted {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    if report.answers == 0 && report.failures == 0 {
        let failure = Failure::new(Exit::Other, "no answer came in the time that was counted");
        return Err(failure.hint("take a longer --duration, a shorter --warmup or a higher --rate"));
    }
    Ok(())
}

fn per_cent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "write a number of 0 or more, like 10".to_owned())
}

fn verdict(crossed: &[String]) -> Result<Exit, Failure> {
    if crossed.is_empty() {
        return Ok(Exit::Ok);
    }
    Err(Failure::new(Exit::CheckFailed, crossed.join("; ")))
}

fn json(report: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(report)
        .map_err(|error| Failure::new(Exit::Other, format!("cannot write the report: {error}")))
}

fn read_baseline(file: &Path) -> Result<Report, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--baseline: cannot read {shown}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| {
        let failure = Failure::usage(format!("--baseline: {shown} is no report: {error}"));
        failure.hint("haft bench … --json > FILE makes one")
    })
}

fn write_html(file: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(file, page).map_err(|error| {
        Failure::new(Exit::Other, format!("cannot write {}: {error}", file.display()))
    })
}
