//! A server on pforge-runtime, for measurements, over stdio alone: `stdio`. With TOOLS in the
//! environment it has so many tools of eight properties each, and otherwise `echo` and `add`.

use pforge_config::{
    ForgeConfig, ForgeMetadata, HandlerRef, OptimizationLevel, ParamSchema, ToolDef, TransportType,
};
use pforge_runtime::server::McpServer;
use pforge_runtime::{Error, Handler, HandlerRegistry, Result};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the others are there to be listed")]
struct Searched {
    /// What to look for, in the words of the search language of the catalogue
    query: String,
    /// Whose records to look through, by the name that they log in with
    owner: String,
    /// A label that each record must have, as it is spelled in the catalogue
    label: String,
    /// The state that records must be in: open, closed, or all of them
    state: String,
    /// Leave out what has not changed since this time, in ISO 8601 format
    since: String,
    /// Which page of the results to return, where the first page is number 1
    page: i64,
    /// How many results a page has, of which there can be one hundred at most
    per_page: i64,
    /// Whether to look through records that were put into the archive as well
    archived: bool,
}

struct Echo;
struct Add;
struct Search;

#[async_trait::async_trait]
impl Handler for Echo {
    type Input = Text;
    type Output = String;
    type Error = Error;

    async fn handle(&self, input: Text) -> Result<String> {
        Ok(input.text)
    }
}

#[async_trait::async_trait]
impl Handler for Add {
    type Input = Numbers;
    type Output = String;
    type Error = Error;

    async fn handle(&self, input: Numbers) -> Result<String> {
        Ok((input.a + input.b).to_string())
    }
}

#[async_trait::async_trait]
impl Handler for Search {
    type Input = Searched;
    type Output = String;
    type Error = Error;

    async fn handle(&self, input: Searched) -> Result<String> {
        Ok(input.query)
    }
}

/// What the package wants to know of a tool, besides its handler.
fn told(name: String, description: String) -> ToolDef {
    let handler = HandlerRef { path: format!("handlers::{name}"), inline: None };
    let params = ParamSchema { fields: Default::default() };
    ToolDef::Native { name, description, handler, params, timeout_ms: None }
}

fn two_tools(registry: &mut HandlerRegistry) -> Vec<ToolDef> {
    registry.register("echo", Echo);
    registry.register("add", Add);
    let told = |name: &str, text: &str| told(name.to_owned(), text.to_owned());
    vec![told("echo", "Returns the text."), told("add", "Adds two integers.")]
}

/// So many tools that differ in their names.
fn many_tools(registry: &mut HandlerRegistry, count: usize) -> Vec<ToolDef> {
    let mut tools = Vec::new();
    for number in 0..count {
        let name = format!("search_{number}");
        registry.register(name.clone(), Search);
        let description = format!(
            "Looks through catalogue {number} and returns the records that have everything asked \
             for."
        );
        tools.push(told(name, description));
    }
    tools
}

#[tokio::main]
async fn main() -> Result<()> {
    if !std::env::args().skip(1).eq(["stdio"]) {
        return Err(Error::Handler("it takes stdio".to_owned()));
    }
    let mut registry = HandlerRegistry::new();
    let tools = match std::env::var("TOOLS").ok().and_then(|count| count.parse().ok()) {
        Some(count) => many_tools(&mut registry, count),
        None => two_tools(&mut registry),
    };
    let forge = ForgeMetadata {
        name: "pforge-peer".to_owned(),
        version: "1.0.0".to_owned(),
        transport: TransportType::Stdio,
        optimization: OptimizationLevel::Release,
    };
    let (resources, prompts, state) = (Vec::new(), Vec::new(), None);
    let server = McpServer::new(ForgeConfig { forge, tools, resources, prompts, state });
    *server.registry().write().await = registry;
    server.run().await
}
