//! What lies between us and a server, looked at one step after the other: the first that fails is
//! the reason for all that do not work. Used by `doctor`; prints nothing.

mod network;

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::reach::{Route, explain};
use haft_client::{Client, ClientError, Launch, Target, connect};
use haft_editors::shown_args;
use haft_proto::version::Era;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Something that was looked at.
#[derive(Debug)]
pub(crate) struct Step {
    /// What it is called.
    pub(crate) name: &'static str,
    /// How long it took.
    pub(crate) time: Duration,
    /// What was seen, or what is wrong.
    pub(crate) outcome: Result<String, Failure>,
    /// Something odd that keeps nobody from going on.
    pub(crate) warning: Option<String>,
}

/// Everything that was looked at, up to the first step that failed; of upstreams each.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) steps: Vec<Step>,
}

impl Findings {
    /// The step that failed.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.steps.iter().find_map(|step| step.outcome.as_ref().err())
    }

    fn add(
        &mut self,
        name: &'static str,
        since: Instant,
        outcome: Result<String, Failure>,
    ) -> bool {
        let is_good = outcome.is_ok();
        self.steps.push(Step { name, time: since.elapsed(), outcome, warning: None });
        is_good
    }

    fn warn(&mut self, warning: String) {
        if let Some(step) = self.steps.last_mut() {
            step.warning = Some(warning);
        }
    }
}

/// Looks at all that is between us and the server.
pub(crate) async fn probe(route: &Route, printer: Printer) -> Findings {
    let mut findings = Findings::default();
    let is_reachable = match &route.target {
        Target::Command(launch) => {
            let since = Instant::now();
            let is_there = findings.add("program", since, found(launch.program()));
            if let Some(file) = served(launch).filter(|_| is_there) {
                look_into(file, &mut findings);
            }
            is_there
        }
        Target::Url(url) => network::probe(url, route, &mut findings).await,
    };
    if is_reachable {
        speak(route, printer, &mut findings).await;
    }
    findings
}

/// The file that a haft which is started like this serves.
fn served(launch: &Launch) -> Option<&Path> {
    let is_haft = Path::new(launch.program()).file_stem().is_some_and(|name| name == "haft");
    let mut words = launch.args().iter().skip_while(|word| *word != "serve");
    words.next().filter(|_| is_haft)?;
    words.find(|word| !word.to_string_lossy().starts_with('-')).map(Path::new)
}

/// What is odd about a file that can be served, like a program that is not there.
fn look_into(file: &Path, findings: &mut Findings) {
    // What keeps it from being served, the server says itself.
    let Ok(manifest) = haft_manifest::load(file) else { return };
    let warnings = manifest.warnings();
    let said = match warnings.len() {
        0 => "nothing is odd about it".to_owned(),
        1 => "one thing is odd about it".to_owned(),
        count => format!("{count} things are odd about it; `haft check` tells all"),
    };
    findings.add("file", Instant::now(), Ok(said));
    let worst = warnings.iter().find(|warning| warning.message.contains("there is no program"));
    if let Some(warning) = worst.or_else(|| warnings.first()) {
        findings.warn(format!("{}:{}: {}", file.display(), warning.line, warning.message));
    }
}

/// From the first message on.
async fn speak(route: &Route, printer: Printer, findings: &mut Findings) {
    let since = Instant::now();
    let what = match &route.target {
        Target::Command(_) => "answers",
        Target::Url(_) => "http",
    };
    let client = match connect(&route.target, &route.options).await {
        Ok(client) => client,
        Err(error) => {
            let hint = hint(&error, route).await;
            return blame(error, what, since, hint, route, printer, findings);
        }
    };
    let server = &client.handshake().server;
    let name = if server.name.is_empty() { "(no name)" } else { &server.name };
    findings.add(what, since, Ok(format!("{name} {}", server.version).trim_end().to_owned()));
    if let Some(line) = client.stray_line() {
        findings.warn(format!(
            "it writes {line:?} on stdout, which belongs to MCP; many clients give up there; let \
             it log to stderr"
        ));
    }
    let handshake = client.handshake();
    let era = if handshake.era == Era::Modern { "modern" } else { "legacy" };
    let said = format!(
        "{}, the {era} era; supports {}",
        handshake.revision.as_str(),
        handshake.supported.join(", ")
    );
    findings.add("version", Instant::now(), Ok(said));
    if matches!(route.target, Target::Url(_)) {
        let has_credentials = route.options.headers.contains_key(http::header::AUTHORIZATION);
        let said = if has_credentials { "the credentials are taken" } else { "none is asked for" };
        findings.add("credentials", Instant::now(), Ok(said.to_owned()));
    }
    list(&client, route, printer, findings).await;
    look_behind(route, findings).await;
    client.close().await;
}

async fn list(client: &Client, route: &Route, printer: Printer, findings: &mut Findings) {
    let since = Instant::now();
    let outcome = match client.list_tools().await {
        Ok(list) => Ok(match (list.tools.len(), list.dropped.len()) {
            (1, 0) => "1 tool".to_owned(),
            (count, 0) => format!("{count} tools"),
            (count, dropped) => format!("{count} tools, and {dropped} that are malformed"),
        }),
        Err(error) => Err(explain(error, route, printer)),
    };
    findings.add("tools", since, outcome);
}

/// The servers behind it, of which it has said by now what became.
async fn look_behind(route: &Route, findings: &mut Findings) {
    let since = Instant::now();
    route.outages.settle(route.options.timeout).await;
    for (name, reason) in route.outages.list() {
        let message = format!("`{name}` is {reason}");
        findings.add("upstream", since, Err(Failure::new(Exit::Unreachable, message)));
    }
}

/// Puts an error on the step that it is about; those before it went well.
fn blame(
    error: ClientError,
    what: &'static str,
    since: Instant,
    hint: Option<String>,
    route: &Route,
    printer: Printer,
    findings: &mut Findings,
) {
    let step = match &error {
        ClientError::AuthenticationNeeded { status, .. } => {
            findings.add(what, since, Ok(format!("HTTP {status}")));
            "credentials"
        }
        ClientError::EraNotSpoken { .. } | ClientError::NoCommonVersion { .. } => {
            findings.add(what, since, Ok("it answers".to_owned()));
            "version"
        }
        ClientError::CannotStart { .. } => "starts",
        _ => what,
    };
    let failure = explain(error, route, printer);
    let failure = match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    };
    findings.add(step, since, Err(failure));
}

/// What to do about it, found by trying what is wrong most often.
async fn hint(error: &ClientError, route: &Route) -> Option<String> {
    match (&route.target, error) {
        (
            Target::Url(url),
            ClientError::NotAnEndpoint { .. }
            | ClientError::HttpStatus { .. }
            | ClientError::Refused { status: Some(404), .. },
        ) => network::endpoint_near(url, route).await.map(|near| format!("try {near}")),
        (Target::Url(url), _) => network::other_scheme(url).await,
        (Target::Command(launch), ClientError::ServerExited { .. }) => {
            let words = launch.args().iter().map(|word| word.to_string_lossy().into_owned());
            let mut line = shown_args(&words.collect::<Vec<_>>());
            line.insert(0, launch.program().to_string_lossy().into_owned());
            let line = line.join(" ");
            Some(format!("run `{line}` by hand to see what it says; --verbose shows its stderr"))
        }
        (Target::Command(_), ClientError::TimedOut { .. }) => Some(
            "it runs and says nothing: it may wait for something on stdin, or not speak MCP over \
             stdio at all; --verbose shows its stderr"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Where a program is.
fn found(program: &OsStr) -> Result<String, Failure> {
    let path = Path::new(program);
    let shown = path.display();
    if path.components().count() > 1 {
        let problem = match std::fs::metadata(path) {
            Err(error) => error.to_string(),
            Ok(meta) if meta.is_dir() => "it is a directory".to_owned(),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => "it is not executable".to_owned(),
            Ok(_) => return Ok(shown.to_string()),
        };
        let failure = Failure::new(Exit::Unreachable, format!("cannot run {shown}: {problem}"));
        return Err(if problem.ends_with("executable") {
            failure.hint(format!("chmod +x {shown}"))
        } else {
            failure.hint("check the path")
        });
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&directories).collect();
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let candidates = directories.iter().map(|directory| directory.join(program));
    if let Some(path) = candidates.into_iter().find(is_program) {
        return Ok(path.display().to_string());
    }
    let message = format!("there is no program `{shown}` in PATH");
    let failure = Failure::new(Exit::Unreachable, message);
    Err(match near_program(&program.to_string_lossy(), &directories) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("install it, or give its whole path"),
    })
}

/// How many programs of a directory are compared with a name that is not there.
const PROGRAMS_MAX: usize = 20_000;

fn near_program(name: &str, directories: &[PathBuf]) -> Option<String> {
    let entries = directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok());
    let names: Vec<String> = entries
        .flatten()
        .take(PROGRAMS_MAX)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    haft_server::nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}
