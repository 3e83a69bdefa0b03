//! Views: what of a file each has, and what becomes of them when the file is edited.

use crate::fixture::{Desk, refusal, text};
use haft_manifest::{Guest, Guests, Live, Reading};
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{Missing, Server, Tool};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;

const FILE: &str = "server: { name: desk, instructions: All of it. }
tools:
  - { name: docs_own, text: a }
  - { name: ops_own, text: b }
  - { name: report, pipeline: [{ call: ops_own }] }
resources:
  - { uri: 'docs://a', text: a }
  - { uri: 'ops://{b}', command: [echo, '{{ b }}'] }
prompts:
  - { name: ask, text: a }
upstreams:
  shop: { openapi: shop.yaml }
  docs: { command: [a] }
  ops: { command: [b] }
views:
  docs:
    title: The docs
    instructions: Read first.
    upstreams: [docs]
    include: { tools: ['docs_*'], resources: ['docs://*'] }
    exclude: { prompts: [ask] }
  reports: { path: /r, upstreams: [shop], include: { tools: [report, 'shop_*'] } }
  rest: { exclude: { tools: ['docs_*', '*_own'], resources: ['ops://secret*'] } }
";

const SHOP: &str = "openapi: 3.0.3
info: { title: t, version: '1' }
servers: [{ url: 'https://shop.example' }]
paths: { /a: { get: { operationId: buy, summary: Buys } } }
";

fn desk(yaml: &str) -> (Desk, Arc<Live>) {
    let desk = Desk::with(yaml);
    desk.write("shop.yaml", SHOP);
    let live = Live::new(&desk.file("haft.yaml"), Reading::Edits, false);
    (desk, Arc::new(live.unwrap_or_else(|fault| panic!("{fault}"))))
}

struct Nobody;

impl Handler for Nobody {
    fn call(&self, _: Call<'_>, answer: Answer<'_>) -> Made {
        answer.text("nobody");
        Made::Now
    }
}

/// What an upstream has: a tool.
fn guest(upstream: &str, tool: &str) -> Guest {
    let definition = r#"{"name":"x","inputSchema":{"type":"object"}}"#.to_owned();
    let definition = RawValue::from_string(definition).expect("JSON");
    let tools = vec![Tool::relayed(tool, definition, Nobody)];
    Guest { upstream: upstream.to_owned(), tools, ..Guest::default() }
}

fn view(live: &Live, name: &str) -> (String, Arc<Server>) {
    let views = live.views();
    let found = views.into_iter().find(|(view, _)| view.name == name);
    let (view, server) = found.unwrap_or_else(|| panic!("no view {name}"));
    (view.path, server)
}

fn tools(live: &Live, name: &str) -> Vec<String> {
    view(live, name).1.tool_names()
}

#[test]
fn a_view_has_what_it_says_of_the_file_its_documents_and_its_upstreams() {
    let (_desk, live) = desk(FILE);
    let (own, shop) = (["docs_own", "ops_own", "report"], "shop_buy");
    assert_eq!(live.server().tool_names(), [own.as_slice(), &[shop]].concat());
    assert_eq!(tools(&live, "docs"), ["docs_own"]);
    assert_eq!(tools(&live, "reports"), ["report", "shop_buy"]);
    assert_eq!(tools(&live, "rest"), ["report", "shop_buy"]);
    let of = vec![guest("docs", "docs_find"), guest("ops", "docs_ops"), guest("ops", "restart")];
    live.set_guests(Guests { of, ..Guests::default() }).expect("they can be served");
    assert_eq!(tools(&live, "docs"), ["docs_own", "docs_find"]);
    assert_eq!(tools(&live, "reports"), ["report", "shop_buy"]);
    assert_eq!(tools(&live, "rest"), ["report", "shop_buy", "restart"]);
    assert_eq!(live.server().tool_names().len(), 7);
}

#[test]
fn a_view_has_its_own_name_and_path() {
    let (_desk, live) = desk(FILE);
    let (docs, reports) = (view(&live, "docs"), view(&live, "reports"));
    assert_eq!((&*docs.0, &*docs.1.name()), ("/docs/mcp", "docs"));
    assert_eq!((&*reports.0, &*reports.1.name()), ("/r", "reports"));
    assert_eq!(live.server().name(), "desk");
}

#[test]
fn resources_of_a_family_that_are_left_out_are_not_in_it() {
    let (_desk, live) = desk(FILE);
    for (name, uri, has) in [
        ("docs", "docs://a", true),
        ("docs", "ops://b", false),
        ("rest", "ops://b", true),
        ("rest", "ops://secret", false),
        ("rest", "ops://secret-plans", false),
        ("rest", "ops://%73ecret", false),
        ("rest", "ops://%", false),
    ] {
        assert_eq!(view(&live, name).1.has_resource(uri), has, "{name} {uri}");
    }
    assert!(live.server().has_resource("ops://secret"));
}

#[test]
fn edits_add_change_and_remove_views_and_keep_their_servers() {
    let (desk, live) = desk(FILE);
    let rest = view(&live, "rest").1;
    live.set_guests(Guests { of: vec![guest("ops", "restart")], ..Guests::default() })
        .expect("it can be served");
    let edited = FILE
        .replace("'docs_*', '*_own'", "report")
        .replace("  reports: { path: /r,", "  all: {}\n  sums: {");
    desk.write("haft.yaml", edited);
    let edit = live.reload().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(edit.views.to_string(), "+ all, sums; ~ rest; - reports");
    assert!(edit.tools.is_empty() && edit.upstreams.is_empty() && !edit.server);
    let names: Vec<_> = live.views().into_iter().map(|(view, _)| view.name).collect();
    assert_eq!(names, ["docs", "all", "sums", "rest"]);
    assert_eq!(rest.tool_names(), ["docs_own", "ops_own", "shop_buy", "restart"]);
    assert!(Arc::ptr_eq(&rest, &view(&live, "rest").1));
    assert_eq!(tools(&live, "all").len(), 5);
    assert_eq!(tools(&live, "sums"), ["report", "shop_buy"]);
    assert_eq!(live.manifest().views().len(), 4);
}

#[tokio::test]
async fn a_pipeline_calls_what_its_view_has_not() {
    let (_desk, live) = desk(FILE);
    let server = view(&live, "reports").1;
    assert_eq!(text(&server, "report", json!({})).await, "b");
    let (_, answer) = refusal(&server, "tools/call", json!({"name": "ops_own"})).await;
    assert!(answer.contains("Unknown tool"), "{answer}");
}

#[tokio::test]
async fn what_is_away_is_away_where_it_would_be() {
    let (_desk, live) = desk(FILE);
    let away = |upstream: &str| Guest {
        upstream: upstream.to_owned(),
        missing: vec![Missing::new("", "away")],
        ..Guest::default()
    };
    live.set_guests(Guests { of: vec![away("ops")], ..Guests::default() })
        .expect("it can be served");
    for (server, told) in [
        (Arc::new(live.server().clone()), "away"),
        (view(&live, "rest").1, "away"),
        (view(&live, "docs").1, "Unknown tool"),
    ] {
        let (_, answer) = refusal(&server, "tools/call", json!({"name": "restart"})).await;
        assert!(answer.contains(told), "{}: {answer}", server.name());
    }
}

#[test]
fn what_a_view_may_not_say_of_tools_is_drawn() {
    let file = |tools: &str| {
        format!(
            "server: {{ name: a }}\ntools: [{{ name: own, text: b }}]\n\
             upstreams: {{ up: {{ command: [a] }} }}\nviews:\n  v:\n    tools: {tools}\n"
        )
    };
    for (tools, told) in [
        ("{ own: { hidden: [b] } }", "14: `own` is a tool of this file, and rules are for those"),
        ("{ up_a: { name: own } }", "28: the tool of line 2 is called `own` already"),
        (
            "{ up_a: { name: b }, up_c: { name: b } }",
            "47: the tool of line 6 is called `b` already",
        ),
        ("{ up_a: { name: find_tools } }", "28: `find_tools` is the name of a tool of `search`"),
        ("{ 'up_*': { name: b } }", "24: `name` is for one tool, and `up_*` may be many"),
        ("{ up_a: { name: a b } }", "28: \"a b\" is no name for a tool"),
        (
            "{ up_a: { fixed: { b: 1 }, hidden: [b] } }",
            "48: `b` has a value in `fixed`, and clients are not told of it then",
        ),
    ] {
        let desk = Desk::with(&file(tools));
        let loaded = haft_manifest::load(&desk.file("haft.yaml")).map(drop);
        let fault = loaded.expect_err(tools).to_string();
        assert!(fault.contains(&format!(":6:{told}")), "{tools}: {fault}");
    }
}
