//! `haft read`: what is in one resource, on stdout.

use crate::args::{AskedArgs, AuthArgs, ReachArgs};
use crate::asked::Person;
use crate::exit::{Exit, Failure};
use crate::meter::Meter;
use crate::print::{DIM, Printer, bytes, one_line};
use crate::reach::{Reached, route, run as run_async, with_consent, with_server};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_client::{ClientError, ReadResult, ResourceBody, ResourcePart};
use std::sync::Arc;

/// Read a resource
#[derive(Debug, clap::Args)]
#[command(override_usage = "haft read [OPTIONS] <TARGET> <URI>
       haft read [OPTIONS] --command <COMMAND> <URI>")]
#[command(after_help = "Examples:
  haft read http://127.0.0.1:7300/mcp docs://intro      its text, or its bytes, on stdout
  haft read haft.yaml docs://logo > logo.png
  haft read --command 'npx -y some-server' docs://intro --json")]
pub(crate) struct Args {
    /// A .yaml file, a URL or a known name, unless --command is given; then the resource's address
    #[arg(required = true, num_args = 1..=2, value_name = "TARGET, URI")]
    words: Vec<String>,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    auth: AuthArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs it.
pub(crate) fn run(args: Args, printer: Printer) -> Result<Exit, Failure> {
    let (target, uri) = match (&*args.words, &args.reach.command) {
        ([target, uri], None) => (Some(target.as_str()), uri),
        ([uri], Some(_)) => (None, uri),
        _ => {
            let hint = "haft read TARGET URI; `haft list TARGET` shows the resources";
            return Err(Failure::usage("name one resource to read").hint(hint));
        }
    };
    let mut route = route(target, &args.reach, printer)?;
    let meter = Arc::new(Meter::new(printer));
    with_consent(&mut route, &args.auth, &meter, printer)?;
    let person = Person::new(&args.asked, &route.name, printer, Arc::clone(&meter))?;
    route.options.answerer = Some(Arc::clone(&person) as _);
    run_async(with_server(&route, printer, async |reached: &Reached| {
        let mut listener = |notice| meter.show(&notice);
        let reading = reached.client.read_resource(uri, &mut listener);
        let result = meter.wait(&format!("reading {}", one_line(uri)), reading).await;
        person.settle()?;
        show(&result.map_err(explain)?, printer)
    }))
}

/// What a refused address mostly means: it was mistyped.
fn explain(error: ClientError) -> Failure {
    let is_refused = matches!(error, ClientError::Refused { .. });
    match Failure::from(error) {
        failure if is_refused && failure.hint.is_none() => {
            failure.hint("`haft list` shows the resources")
        }
        failure => failure,
    }
}

fn show(result: &ReadResult, printer: Printer) -> Result<Exit, Failure> {
    if printer.is_json() {
        printer.document(result.raw.get())?;
        return Ok(Exit::Ok);
    }
    for ResourcePart { uri, mime_type, body } in &result.contents {
        match body {
            ResourceBody::Text(text) => printer.text(text)?,
            ResourceBody::Base64(text) => {
                let broken = |_| {
                    let message = format!("the content of {} is no Base64", one_line(uri));
                    Failure::new(Exit::Other, message)
                };
                let content = STANDARD.decode(text).map_err(broken)?;
                let kind = one_line(mime_type.as_deref().unwrap_or("bytes"));
                if !printer.bytes(&content)? {
                    printer.note(format_args!(
                        "{DIM}[{kind}, {}; redirect stdout into a file]{DIM:#}",
                        bytes(content.len())
                    ));
                }
            }
        }
    }
    Ok(Exit::Ok)
}
