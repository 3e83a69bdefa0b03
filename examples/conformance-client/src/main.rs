//! The client that the official conformance suite of MCP tests, built on `haft-client`. It knows no
//! scenario: it connects, lists everything, calls every tool, reads every resource, fills in every
//! prompt, and agrees to all that it is asked. `cargo xtask conformance` runs the suite with it.
//!
//! ```text
//! haft-conformance-client URL
//! ```
//!
//! The suite says in `MCP_CONFORMANCE_PROTOCOL_VERSION` which revision its server speaks, and in
//! `MCP_CONFORMANCE_CONTEXT`, as JSON, what a person would have told the client.

#![expect(clippy::print_stderr, reason = "the suite keeps what its clients write there")]

mod arguments;
mod browser;
mod context;
mod person;
mod voucher;

use browser::Browser;
use context::Context;
use haft_client::{Client, ClientError, Options, Target, connect};
use haft_proto::version::Revision;
use person::Person;
use serde_json::value::to_raw_value;
use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "usage: haft-conformance-client URL";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("haft-conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let Some(url) = env::args().nth(1) else { return Err(USAGE.into()) };
    let context = Context::from_env()?;
    let client = connect(&Target::Url(url), &options(&context)?).await?;
    let tried = try_everything(&client, &context).await;
    client.close().await;
    tried
}

fn options(context: &Context) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        answerer: Some(Arc::new(Person)),
        authorizer: Some(Arc::new(Browser)),
        oauth: context.oauth(),
        ..Options::default()
    };
    "haft-conformance-client".clone_into(&mut options.name);
    if let Ok(date) = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        let revision = Revision::parse(&date).ok_or("the suite wants an unknown revision")?;
        options.era = Some(revision.era());
    }
    Ok(options)
}

async fn try_everything(client: &Client, context: &Context) -> Result<(), Box<dyn Error>> {
    let list = client.list_tools().await?;
    for tool in &list.tools {
        let arguments = to_raw_value(&arguments::of(tool, &list.tools, context))?;
        let called = client.call_tool(&tool.name, &arguments, &mut |_| {}).await;
        or_refused(called.map(drop), &tool.name)?;
    }
    let has = |capability| client.handshake().capabilities.get(capability).is_some();
    if has("resources") {
        for resource in client.list_resources().await?.entries {
            let read = client.read_resource(&resource.uri, &mut |_| {}).await;
            or_refused(read.map(drop), &resource.uri)?;
        }
    }
    if has("prompts") {
        for prompt in client.list_prompts().await?.entries {
            let names = prompt.arguments.iter().map(|argument| (argument.name.as_str(), "text"));
            let arguments: Vec<(&str, &str)> = names.collect();
            let filled = client.get_prompt(&prompt.name, &arguments, &mut |_| {}).await;
            or_refused(filled.map(drop), &prompt.name)?;
        }
    }
    Ok(())
}

/// That a server does not know what it has listed is its own business; some of the suite's do not.
fn or_refused(done: Result<(), ClientError>, what: &str) -> Result<(), ClientError> {
    match done {
        Err(ClientError::Refused { error, .. }) => {
            eprintln!("{what}: {error}");
            Ok(())
        }
        done => done,
    }
}
