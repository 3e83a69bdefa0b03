//! A server on rmcp, for measurements: `stdio` or `http PORT`. With TOOLS in the environment it has
//! so many tools of eight properties each, and otherwise `echo` and `add`.

use rmcp::handler::server::common::schema_for_type;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::Tool;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;
use std::error::Error;
use std::sync::Arc;

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the others are there to be listed")]
struct Search {
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

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    #[tool(description = "Returns the text.")]
    async fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Adds two integers.")]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> String {
        (a + b).to_string()
    }

    /// So many tools that differ in their names.
    fn with_tools(count: usize) -> Self {
        let mut tool_router = ToolRouter::new();
        for number in 0..count {
            let description = format!(
                "Looks through catalogue {number} and returns the records that have everything \
                 asked for."
            );
            let schema = schema_for_type::<Parameters<Search>>();
            let tool = Tool::new(format!("search_{number}"), description, schema);
            let run = |Parameters(search): Parameters<Search>| async move { search.query };
            tool_router.add_route(ToolRoute::new(tool, run));
        }
        Self { tool_router }
    }

    fn begin() -> Self {
        match std::env::var("TOOLS").ok().and_then(|count| count.parse().ok()) {
            Some(count) => Self::with_tools(count),
            None => Self { tool_router: Self::tool_router() },
        }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        ["stdio"] => {
            Server::begin().serve(stdio()).await?.waiting().await?;
        }
        ["http", port] => {
            // The service asks for a server at each request of the stateless mode: always for this.
            let server = Arc::new(Server::begin());
            let config = StreamableHttpServerConfig::default()
                .with_legacy_session_mode(false)
                .with_json_response(true);
            let sessions = LocalSessionManager::default();
            let service = StreamableHttpService::new(
                move || Ok(Arc::clone(&server)),
                sessions.into(),
                config,
            );
            let router = axum::Router::new().nest_service("/mcp", service);
            let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            axum::serve(listener, router).await?;
        }
        _ => return Err("stdio, or http PORT".into()),
    }
    Ok(())
}
