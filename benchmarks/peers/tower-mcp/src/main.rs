//! A server on tower-mcp, for measurements: `stdio` or `http PORT`. With TOOLS in the environment
//! it has so many tools of eight properties each, and otherwise `echo` and `add`.

use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, StdioTransport, ToolBuilder};

#[derive(Debug, Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
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

fn two_tools(router: McpRouter) -> McpRouter {
    let echo = ToolBuilder::new("echo").description("Returns the text.");
    let echo = echo.handler(|Text { text }| async move { Ok(CallToolResult::text(text)) });
    let add = ToolBuilder::new("add").description("Adds two integers.");
    let add = add
        .handler(|Numbers { a, b }| async move { Ok(CallToolResult::text((a + b).to_string())) });
    router.tool(echo.build()).tool(add.build())
}

/// So many tools that differ in their names.
fn many_tools(mut router: McpRouter, count: usize) -> McpRouter {
    for number in 0..count {
        let description = format!(
            "Looks through catalogue {number} and returns the records that have everything asked \
             for."
        );
        let tool = ToolBuilder::new(format!("search_{number}")).description(description);
        let run = |search: Search| async move { Ok(CallToolResult::text(search.query)) };
        router = router.tool(tool.handler(run).build());
    }
    router
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let router = McpRouter::new().server_info("tower-mcp-peer", "1.0.0");
    let count = std::env::var("TOOLS").ok().and_then(|count| count.parse().ok());
    let router = match count {
        Some(count) => many_tools(router, count),
        None => two_tools(router),
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        ["stdio"] => StdioTransport::new(router).run().await?,
        ["http", port] => {
            let app = HttpTransport::new(router).into_router_at("/mcp");
            let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            axum::serve(listener, app).await?;
        }
        _ => return Err("stdio, or http PORT".into()),
    }
    Ok(())
}
