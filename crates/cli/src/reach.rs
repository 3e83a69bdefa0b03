//! How a verb reaches the server that it is about: what its TARGET means, connecting, Ctrl-C, and
//! an orderly end. Used by `list`, `call` and `inspect`; what they do there is theirs.

use crate::args::{AuthArgs, ReachArgs};
use crate::consent::Consent;
use crate::exit::{Exit, Failure};
use crate::meter::Meter;
use crate::named::{file_and_name, named, targets_in};
use crate::outages::{Outages, last_failure};
use crate::print::Printer;
use crate::state;
use haft_client::{
    AuthError, Behalf, Client, ClientError, Launch, OAuth, Options, Proof, Registered, Secret,
    Stderr, Target, connect,
};
use haft_proto::version::Era;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// A connection, and what it took to make it.
pub(crate) struct Reached {
    pub(crate) client: Client,
    /// From nothing to a server that has said who it is.
    pub(crate) connect_time: Duration,
}

/// Where a server is and how to connect to it.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) target: Target,
    pub(crate) options: Options,
    /// What people call the target.
    pub(crate) name: String,
    /// The editor's file that it is from, if it is from one.
    pub(crate) origin: Option<PathBuf>,
    /// What is known of the servers behind it, if it is a file.
    pub(crate) outages: Outages,
    /// What moves while it is connected to, and is still while a person is asked.
    pub(crate) meter: Option<Arc<Meter>>,
}

/// Runs `work` to its end on one thread, unless Ctrl-C comes before.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Exit::Other, format!("cannot start: {error}")))?;
    let done = runtime.block_on(work);
    // A thread that still resolves a name should not keep us.
    runtime.shutdown_background();
    done
}

/// Connects, does `work` with the connection and ends it in an orderly way, also after Ctrl-C.
pub(crate) async fn with_server<T>(
    route: &Route,
    printer: Printer,
    work: impl AsyncFnOnce(&Reached) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let reached = tokio::select! {
        reached = reach(route, printer) => reached?,
        interrupted = interruption() => return Err(interrupted),
    };
    let done = tokio::select! {
        done = work(&reached) => done,
        interrupted = interruption() => Err(interrupted),
    };
    tokio::select! {
        () = reached.client.close() => {}
        // Who presses twice does not want to wait for a stubborn server.
        _ = interruption() => {}
    }
    // By now all of the log has come. Who sees it has seen this too.
    if !printer.is_verbose() {
        route.outages.tell(printer);
    }
    done
}

/// Reads what was typed. `target` is a file, a URL, or `None` if a command is given.
pub(crate) fn route(
    target: Option<&str>,
    args: &ReachArgs,
    printer: Printer,
) -> Result<Route, Failure> {
    let mut options = Options { era: args.era.era(), timeout: args.timeout, ..Options::default() };
    options.headers = headers(&args.headers)?;
    let stderr = if printer.is_verbose() { Stderr::Inherited } else { Stderr::Captured };
    let (mut origin, mut outages) = (None, Outages::of([]));
    let target = match (target, &args.command) {
        (None, None) if Path::new(HERE).is_file() => Some(HERE),
        _ => target,
    };
    let (target, name) = match (target, &args.command) {
        (None, Some(command)) => (from_command(command, stderr)?, command.clone()),
        (Some(url), None) if url.contains("://") => (Target::Url(url.to_owned()), url.to_owned()),
        (Some(name), None) if !is_path(name) || file_and_name(name).is_some() => {
            let named = named(name, stderr, || no_target(name))?;
            // What was typed counts more than what the editor's file says.
            for (header, value) in &named.headers {
                if !options.headers.contains_key(header) {
                    options.headers.append(header, value.clone());
                }
            }
            origin = Some(named.found.file);
            (named.target, name.to_owned())
        }
        (Some(file), None) => {
            // Our own server speaks both eras; there is nothing to find out.
            options.era = options.era.or(Some(Era::Modern));
            {
                let target;
                (target, outages) = from_file(Path::new(file), printer)?;
                (target, file.to_owned())
            }
        }
        _ => return Err(Failure::usage("name a target: there is no haft.yaml here").hint(TARGETS)),
    };
    if matches!(target, Target::Command(_)) && !args.headers.is_empty() {
        return Err(Failure::usage("--header is for URLs; a child process has no headers"));
    }
    Ok(Route { target, options, name, origin, outages, meter: None })
}

/// The way to a file, served by this program.
pub(crate) fn route_to_file(file: &Path, printer: Printer) -> Result<Route, Failure> {
    let name = file.display().to_string();
    let (target, outages) = from_file(file, printer)?;
    let options = Options { era: Some(Era::Modern), ..Options::default() };
    Ok(Route { target, options, name, origin: None, outages, meter: None })
}

/// Lets a person at a terminal be asked for consent when the server wants an access token, and what
/// they consented to be kept for the next time, which needs no terminal.
pub(crate) fn with_consent(
    route: &mut Route,
    args: &AuthArgs,
    meter: &Arc<Meter>,
    printer: Printer,
) -> Result<(), Failure> {
    let AuthArgs { client_id, callback_port } = args;
    if !matches!(route.target, Target::Url(_)) {
        return match client_id {
            Some(_) => Err(Failure::usage("--client-id is for URLs; a child process has none")),
            None => Ok(()),
        };
    }
    let secret = std::env::var("HAFT_CLIENT_SECRET").ok().filter(|secret| !secret.is_empty());
    let client = client_id.clone().map(|id| Registered {
        id,
        proof: secret.map_or(Proof::None, |secret| Proof::Secret(Secret::new(secret))),
        issuer: None,
        behalf: Behalf::Person,
    });
    route.meter = Some(Arc::clone(meter));
    route.options.oauth = OAuth { client, document: None, credentials: credentials() };
    if printer.can_ask() {
        let consent = Consent::new(printer, Arc::clone(meter), *callback_port);
        route.options.authorizer = Some(Arc::new(consent));
    }
    Ok(())
}

/// Lets what a person consented to before be used, and asks nobody.
pub(crate) fn with_kept(route: &mut Route) {
    if matches!(route.target, Target::Url(_)) {
        route.options.oauth.credentials = credentials();
    }
}

/// Where credentials are kept.
fn credentials() -> Option<PathBuf> {
    Some(state::directory()?.join("credentials.json"))
}

/// What is meant where no target is named.
const HERE: &str = "haft.yaml";
const TARGETS: &str =
    "a target is a .yaml file, a URL, --command 'argv', or a name that `haft discover` shows";

/// Whether a target is meant to be a file, and no name.
fn is_path(target: &str) -> bool {
    let is_file = |end: &std::ffi::OsStr| end == "yaml" || end == "yml" || end == "json";
    let path = Path::new(target);
    path.extension().is_some_and(is_file) || target.contains('/')
}

async fn reach(route: &Route, printer: Printer) -> Result<Reached, Failure> {
    let started = Instant::now();
    let what = format!("connecting to {}", crate::print::one_line(&route.name));
    let own = Meter::new(printer);
    let meter = route.meter.as_deref().unwrap_or(&own);
    let connecting = async {
        let error = match connect(&route.target, &route.options).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        // Where no path was typed, the usual one is meant.
        match usual_endpoint(&route.target).filter(|_| is_elsewhere(&error)) {
            Some(target) => connect(&target, &route.options).await.map_err(|_| error),
            None => Err(error),
        }
    };
    let client = meter.wait(&what, connecting).await;
    let client = client.map_err(|error| explain(error, route, printer))?;
    Ok(Reached { client, connect_time: started.elapsed() })
}

/// The endpoint of a URL without a path.
fn usual_endpoint(target: &Target) -> Option<Target> {
    let Target::Url(url) = target else { return None };
    let uri: Uri = url.parse().ok()?;
    let is_bare = uri.path().trim_end_matches('/').is_empty() && uri.query().is_none();
    is_bare.then(|| Target::Url(format!("{}/mcp", url.trim_end_matches('/'))))
}

/// Whether something else than a server of MCP answers there.
fn is_elsewhere(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::NotAnEndpoint { .. }
            | ClientError::HttpStatus { status: 404 | 405, .. }
            | ClientError::Refused { status: Some(404), .. }
    )
}

/// Adds to an error what this command line can do about it.
pub(crate) fn explain(mut error: ClientError, route: &Route, printer: Printer) -> Failure {
    if let ClientError::ServerExited { words, .. } | ClientError::StdoutClosed { words, .. } =
        &mut error
        && let Some(failure) = last_failure(words)
    {
        *words = failure;
    }
    let is_process = matches!(route.target, Target::Command(_));
    let hint = match &error {
        ClientError::AuthenticationNeeded { .. } if route.meter.is_some() && !printer.can_ask() => {
            let hint = "in a terminal you are asked for consent; \
                        --header 'Authorization: Bearer …' sends a token";
            Some(hint.to_owned())
        }
        ClientError::AuthenticationNeeded { .. } => {
            Some("--header 'Authorization: Bearer …' sends a token".to_owned())
        }
        ClientError::Authorization(AuthError::NoRegistration { .. }) => {
            Some("--client-id gives it".to_owned())
        }
        ClientError::TimedOut { .. } if is_process => {
            Some("--verbose shows its stderr; --timeout 2m waits longer".to_owned())
        }
        ClientError::ServerExited { .. } | ClientError::StdoutClosed { .. }
            if !printer.is_verbose() =>
        {
            Some("--verbose shows all of its stderr".to_owned())
        }
        _ => None,
    };
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Ends when somebody wants us to stop.
pub(crate) async fn interruption() -> Failure {
    let ended = async {
        let mut order = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::select! {
            _ = hangup.recv() => Ok(()),
            pressed = tokio::signal::ctrl_c() => pressed,
            _ = order.recv() => Ok(()),
        }
    };
    match ended.await {
        Ok(()) => Failure::new(Exit::Interrupted, "interrupted"),
        Err(error) => Failure::new(Exit::Other, format!("cannot wait for signals: {error}")),
    }
}

fn from_command(command: &str, stderr: Stderr) -> Result<Target, Failure> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let Some(words) = words else {
        return Err(Failure::usage("--command needs a program and its arguments, quotes closed"));
    };
    let (program, args) = words.split_at(1);
    let Some(program) = program.first() else { return Err(Failure::usage("--command is empty")) };
    Ok(Target::Command(Launch::new(program, args).stderr(stderr)))
}

fn from_file(path: &Path, printer: Printer) -> Result<(Target, Outages), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if !matches!(extension, Some("yaml" | "yml" | "json")) {
        return Err(no_target(&path.to_string_lossy()));
    }
    // What is wrong with the file is said by us, not by a child that dies of it.
    let manifest = haft_manifest::load(path).map_err(|fault| {
        targets_in(&path.to_string_lossy()).unwrap_or_else(|| Failure::from(fault))
    })?;
    let outages = Outages::of(manifest.upstreams().iter().map(|upstream| upstream.name.clone()));
    let cannot_start = |error| Failure::new(Exit::Other, format!("cannot start haft: {error}"));
    let program = std::env::current_exe().map_err(cannot_start)?;
    // A path that begins with `-` would be read as an option.
    let path = std::path::absolute(path).map_err(cannot_start)?;
    let args = ["serve".into(), path.into_os_string(), "--stdio".into(), "--json".into()];
    let launch = Launch::new(program, args).hearing(outages.hearing(printer));
    Ok((Target::Command(launch), outages))
}

fn no_target(typed: &str) -> Failure {
    let failure = Failure::usage(format!("{typed:?} is no target"));
    let inside = Path::new(typed).join("haft.yaml");
    let address = typed.split('/').next().unwrap_or_default().rsplit_once(':');
    if inside.is_file() {
        failure.hint(format!("did you mean {}?", inside.display()))
    } else if address.is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        failure.hint(format!("did you mean http://{typed}?"))
    } else {
        failure.hint(TARGETS)
    }
}

/// Reads headers; their values are never shown.
fn headers(lines: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| {
            Failure::usage("--header must be 'Name: value'; there is no `:` in it")
        })?;
        let name: HeaderName = name.trim().parse().map_err(|_| {
            Failure::usage(format!("--header: {:?} is no header name", name.trim()))
        })?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
            Failure::usage(format!("--header: the value of `{name}` has illegal characters"))
        })?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_value_never_shows() {
        let lines = ["Authorization: Bearer hunter2".to_owned(), "X-A: 1".to_owned()];
        let read = headers(&lines).expect("two headers");
        assert_eq!(read.len(), 2);
        assert!(!format!("{read:?}").contains("hunter2"));
        for bad in ["hunter2", "Authorization: hunter2\u{1}", "a b: hunter2"] {
            let failure = headers(&[bad.to_owned()]).expect_err("no header");
            assert!(!failure.message.contains("hunter2"), "{}", failure.message);
            assert_eq!(failure.exit, Exit::Usage);
        }
    }

    #[test]
    fn a_command_is_split_as_a_shell_would_and_never_run_by_one() {
        let Ok(Target::Command(launch)) = from_command("a 'b c' $HOME;d", Stderr::Captured) else {
            panic!("a command")
        };
        let expected = Launch::new("a", ["b c", "$HOME;d"]);
        assert_eq!(format!("{launch:?}"), format!("{expected:?}"));
        assert!(from_command("a 'b", Stderr::Captured).is_err());
        assert!(from_command(" ", Stderr::Captured).is_err());
    }
}
