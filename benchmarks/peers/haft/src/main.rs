//! The server on haft that is measured beside its peers: `--stdio` or `--http ADDRESS`. With TOOLS
//! in the environment it has so many tools of eight properties each, and otherwise `echo` and
//! `add`.

use haft::Tool;

/// Returns the text.
#[haft::tool]
fn echo(text: String) -> String {
    text
}

/// Adds two integers.
#[haft::tool]
fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

#[derive(haft::serde::Deserialize, haft::schemars::JsonSchema)]
#[serde(crate = "haft::serde")]
#[schemars(crate = "haft::schemars")]
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

/// So many tools that differ in their names.
fn many_tools(count: usize) -> impl Iterator<Item = Tool> {
    (0..count).map(|number| {
        let description = format!(
            "Looks through catalogue {number} and returns the records that have everything asked \
             for."
        );
        let run = |search: Search| search.query;
        Tool::typed_function(format!("search_{number}"), run).description(description)
    })
}

fn main() -> haft::Result<()> {
    let server = haft::server("haft-peer", "1.0.0");
    let server = match std::env::var("TOOLS").ok().and_then(|count| count.parse().ok()) {
        Some(count) => server.tools(many_tools(count)),
        None => server.tool(echo::tool()).tool(add::tool()),
    };
    server.run()
}
