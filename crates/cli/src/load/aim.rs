//! What was typed becomes a plan: which server, which era, what is asked with which arguments. Asks
//! the server where that cannot be known otherwise.

use crate::args::{EraArg, duration};
use crate::arguments::Typed;
use crate::commands::call::{find, fitting_arguments};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::reach::{Reached, Route, run as run_async, with_server};
use haft_bench::limits::{PAYLOAD_BYTES_MAX, WEIGHTS_MAX};
use haft_bench::{Ask, End, HttpVersion, LoadPlan, Plan, Target};
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::time::Duration;

/// What is asked, how hard, and for how long.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct AimArgs {
    /// How many connections there are at once; over stdio each is a process
    #[arg(long, short, value_name = "COUNT", default_value_t = 1)]
    pub(crate) connections: usize,
    /// How many requests each connection has in flight; HTTP/1.1 has one
    #[arg(long, short = 'f', value_name = "COUNT", default_value_t = 1)]
    pub(crate) in_flight: usize,
    /// How long answers are counted
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// End after so many answers instead
    #[arg(long, short = 'n', value_name = "COUNT")]
    #[arg(conflicts_with_all = ["duration", "cold", "compare", "compare_command"])]
    pub(crate) requests: Option<u64>,
    /// Send so many requests a second, as far as there is room in flight; latencies count from when
    /// a request should have gone
    #[arg(long, value_name = "PER SECOND")]
    pub(crate) rate: Option<f64>,
    /// Close each connection after so many requests and open another
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests_per_connection: Option<u64>,
    /// How long answers are checked and not yet counted
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration_or_none)]
    pub(crate) warmup: Duration,
    /// How many threads make the load
    #[arg(long, short, value_name = "COUNT", default_value_t = 1)]
    pub(crate) threads: usize,
    /// Speak HTTP/2, over http:// with prior knowledge
    #[arg(long)]
    pub(crate) http2: bool,
    /// What is asked and how often, beside each other: 'tools/list=1,tools/call=9'
    #[arg(long, value_name = "METHOD=WEIGHT,…")]
    pub(crate) mix: Option<String>,
    /// The resource that resources/read reads
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Option<String>,
    /// Add a text of this size to the tool's arguments: text=64KiB
    #[arg(long, value_name = "NAME=SIZE")]
    pub(crate) payload: Option<String>,
    /// Count an answer as wrong unless its result has this text in it, as it stands in the JSON
    #[arg(long, value_name = "TEXT")]
    pub(crate) expect: Option<String>,
    /// The tool's arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) input_json: Option<String>,
}

/// What was typed behind the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) tool: Option<&'a str>,
    pub(crate) arguments: &'a [String],
}

/// Makes a plan.
pub(crate) fn aim(
    args: &AimArgs,
    words: Words<'_>,
    route: &Route,
    era: EraArg,
    printer: Printer,
) -> Result<Plan, Failure> {
    let mix = mix(args, words)?;
    let known = known(args, words, route, era)?;
    let (revision, call) = match known {
        Some(known) => known,
        None => ask_server(args, words, route, printer)?,
    };
    let is_only = mix.len() == 1;
    let mut asks = Vec::new();
    for (method, weight) in mix {
        let ask = match method {
            Method::ToolsCall => call.clone().ok_or_else(no_tool)?,
            Method::ResourcesRead => Ask::read(args.uri.as_deref().ok_or_else(no_uri)?),
            method => Ask::new(method),
        };
        let expect = args
            .expect
            .clone()
            .filter(|_| matches!(method, Method::ToolsCall | Method::ResourcesRead) || is_only);
        asks.push(Ask { weight, expect, ..ask });
    }
    check_era(&asks, revision)?;
    Ok(Plan {
        target: target(route, args.http2)?,
        revision,
        asks,
        load: LoadPlan {
            connections: args.connections,
            in_flight: args.in_flight,
            requests_per_connection: args.requests_per_connection,
            rate: args.rate,
        },
        end: args.requests.map_or(End::After(args.duration), End::Answers),
        warmup: args.warmup,
        timeout: route.options.timeout,
        threads: args.threads,
    })
}

/// What can be asked, in the words of `--mix`.
const ASKABLE: [Method; 8] = [
    Method::Discover,
    Method::Initialize,
    Method::Ping,
    Method::PromptsList,
    Method::ResourcesList,
    Method::ResourcesRead,
    Method::ToolsCall,
    Method::ToolsList,
];

fn mix(args: &AimArgs, words: Words<'_>) -> Result<Vec<(Method, u32)>, Failure> {
    let Some(mix) = &args.mix else {
        let method = match (words.tool, &args.uri) {
            (Some(_), _) => Method::ToolsCall,
            (None, Some(_)) => Method::ResourcesRead,
            (None, None) => Method::ToolsList,
        };
        return Ok(vec![(method, 1)]);
    };
    let read = |part: &str| {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let method = ASKABLE.into_iter().find(|method| method.name() == name.trim());
        let method = method.ok_or_else(|| {
            let names = ASKABLE.map(Method::name);
            let failure = Failure::usage(format!("--mix: {:?} cannot be asked", name.trim()));
            match haft_server::nearest(name.trim(), names) {
                Some(nearest) => failure.hint(format!("did you mean {nearest}?")),
                None => failure.hint(format!("there are {}", names.join(", "))),
            }
        })?;
        match weight.trim().parse() {
            Ok(weight @ 1..=WEIGHTS_MAX) => Ok((method, weight)),
            _ => Err(Failure::usage(format!("--mix: {weight:?} is no weight; write {name}=1"))),
        }
    };
    let mix: Vec<(Method, u32)> = mix.split(',').map(read).collect::<Result<_, _>>()?;
    if words.tool.is_some() && !mix.iter().any(|(method, _)| *method == Method::ToolsCall) {
        return Err(Failure::usage("there is a tool, and no tools/call in --mix"));
    }
    Ok(mix)
}

/// Revision and call, where nothing needs to be asked for them.
fn known(
    args: &AimArgs,
    words: Words<'_>,
    route: &Route,
    era: EraArg,
) -> Result<Option<(Revision, Option<Ask>)>, Failure> {
    let era = era.era().or(route.options.era);
    let revision = match era {
        Some(Era::Modern) => Revision::LATEST,
        Some(Era::Legacy) => Revision::LATEST_LEGACY,
        None => return Ok(None),
    };
    let call = match (words.tool, &args.input_json) {
        (None, _) => None,
        (Some(tool), Some(json)) if words.arguments.is_empty() => {
            let read: Result<Map<String, Value>, _> = serde_json::from_str(json);
            let arguments = read.map_err(|error| {
                let message = format!("--input-json must be a JSON object: {error}");
                Failure::new(Exit::InvalidArguments, message)
            })?;
            Some(Ask::call(tool, &with_payload(arguments, args)?.to_string()))
        }
        (Some(_), _) => return Ok(None),
    };
    Ok(Some((revision, call)))
}

fn ask_server(
    args: &AimArgs,
    words: Words<'_>,
    route: &Route,
    printer: Printer,
) -> Result<(Revision, Option<Ask>), Failure> {
    run_async(with_server(route, printer, async |reached: &Reached| {
        let revision = reached.client.handshake().revision;
        let Some(name) = words.tool else { return Ok((revision, None)) };
        let list = reached.client.list_tools().await?;
        let tool = find(name, &list)?;
        let payload = args.payload.as_deref().map(payload).transpose()?;
        // The payload is an argument like the others, so that all of them can be checked at once.
        let mut typed = words.arguments.to_vec();
        typed.extend(payload.map(|(name, text)| format!("{name}=={text}")));
        let typed = Typed { words: &typed, json: args.input_json.as_deref() };
        let arguments: Box<RawValue> = fitting_arguments(typed, tool)?;
        let mut call = Ask::call(name, arguments.get());
        if revision.has_mirrored_headers() {
            let value = serde_json::from_str(arguments.get()).unwrap_or_default();
            call.headers = tool.headers_for(&value);
        }
        Ok((revision, Some(call)))
    }))
}

fn with_payload(mut arguments: Map<String, Value>, args: &AimArgs) -> Result<Value, Failure> {
    if let Some((name, text)) = args.payload.as_deref().map(payload).transpose()? {
        arguments.insert(name.to_owned(), Value::String(text));
    }
    Ok(Value::Object(arguments))
}

/// Reads `text=64KiB`.
fn payload(typed: &str) -> Result<(&str, String), Failure> {
    let wrong = |why: &str| Failure::usage(format!("--payload: {why}; write it like text=64KiB"));
    let (name, size) = typed.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
    let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &size[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1000,
        "KiB" => 1024,
        "MB" => 1_000_000,
        "MiB" => 1024 * 1024,
        _ => return Err(wrong("a size is in B, kB, KiB, MB or MiB")),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|count| count.checked_mul(factor));
    match bytes {
        Some(bytes) if bytes <= PAYLOAD_BYTES_MAX => Ok((name, "x".repeat(bytes))),
        Some(_) => Err(wrong("it is more than a bench sends")),
        None => Err(wrong("there is no size")),
    }
}

/// What an era has not cannot be asked in it.
fn check_era(asks: &[Ask], revision: Revision) -> Result<(), Failure> {
    let foreign = asks.iter().find(|ask| !ask.method.is_for_server(revision, true));
    match foreign {
        None => Ok(()),
        Some(ask) => {
            let (method, date) = (ask.method.name(), revision.as_str());
            let failure = Failure::usage(format!("{method} cannot be asked in {date}"));
            Err(failure.hint("--era legacy or --era modern picks the other era"))
        }
    }
}

fn target(route: &Route, http2: bool) -> Result<Target, Failure> {
    match &route.target {
        haft_client::Target::Command(_) if http2 => {
            Err(Failure::usage("--http2 is for URLs; a child process speaks no HTTP"))
        }
        haft_client::Target::Command(launch) => Ok(Target::Command(launch.clone())),
        haft_client::Target::Url(url) => {
            let uri = url.parse().map_err(|_| Failure::usage(format!("{url:?} is no URL")))?;
            let headers = &route.options.headers;
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
            let version = if http2 { HttpVersion::Two } else { HttpVersion::One };
            Ok(Target::Url { uri, headers: headers.collect(), version })
        }
    }
}

fn no_tool() -> Failure {
    let failure = Failure::usage("tools/call needs a tool");
    failure.hint("haft bench TARGET TOOL key=value --mix …; `haft list TARGET` shows the tools")
}

fn no_uri() -> Failure {
    Failure::usage("resources/read needs --uri")
}

/// A time, or 0 for none.
fn duration_or_none(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s" | "0ms") { Ok(Duration::ZERO) } else { duration(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_a_name_a_size_and_a_bound() {
        let (name, text) = payload("text=2KiB").expect("a payload");
        assert_eq!((name, text.len()), ("text", 2048));
        for wrong in ["text", "text=", "text=x", "text=1GB", "text=9999999999999999999MiB"] {
            assert_eq!(payload(wrong).expect_err("no payload").exit, Exit::Usage, "{wrong}");
        }
        let most = format!("text={}B", PAYLOAD_BYTES_MAX + 1);
        assert!(payload(&most).is_err());
    }
}
