//! Upstreams that speak MCP: what is typed is what is meant, and two readings tell what changed.

use crate::fixture::{Desk, check_fault};
use haft_manifest::limits::TOOLS;
use haft_manifest::{Given, Live, Reach, Reading, Rules, Sessions, Start, Upstream};
use haft_proto::version::Era;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

const SECRET: &str = "hunter-of-secrets";

/// A file with one of each kind, whose secrets are in the file `key`.
const FILE: &str = "server: { name: desk, processes: 40 }
defaults: { timeout: 7s }
upstreams:
  github:
    command: [github-mcp-server, stdio, '--key=${file:key}', 5]
    env: { TOKEN: '${file:key}', DEBUG: true }
    inherit_env: [GITHUB_HOST]
    instances: 3
    cwd: ./work
    prefix: gh-
    timeout: 2m
    era: legacy
    start: lazy
  petstore: { openapi: api.yaml, base_url: 'https://api.example.com' }
  docs:
    url: 'https://docs.example.com/mcp?key=${file:key}'
    headers: { authorization: 'Bearer ${file:key}', X-Team: blue }
    prefix: ''
    era: modern
  own_1: { command: [./bin/own], sessions: own, sessions_max: 5, sessions_idle: 30s }
";

const DOCUMENT: &str = "openapi: 3.0.3
info: { title: t, version: '1' }
paths: { /a: { get: { operationId: ask, summary: Ask } } }
";

fn desk(yaml: &str) -> Desk {
    let desk = Desk::with(yaml);
    desk.write("api.yaml", DOCUMENT);
    desk.write("key", SECRET);
    desk
}

fn texts(texts: &[&str]) -> Vec<OsString> {
    texts.iter().map(OsString::from).collect()
}

#[test]
fn what_is_typed_is_what_is_meant() {
    let desk = desk(FILE);
    let manifest = desk.manifest();
    assert_eq!(manifest.processes(), 40);
    let [github, docs, own] = manifest.upstreams() else {
        panic!("those that speak MCP: {:?}", manifest.upstreams())
    };
    let key = format!("--key={SECRET}");
    // Names have room for `mcp__NAME__` of the server before them.
    let (name_bytes_max, leaves_out_extra) = (Some(53), Some(false));
    let usual = Rules { name_bytes_max, tools_max: TOOLS, leaves_out_extra, ..Rules::default() };
    let usual = Arc::new(usual);
    let expected = Upstream {
        name: "github".to_owned(),
        prefix: "gh-".to_owned(),
        timeout: Some(Duration::from_secs(120)),
        era: Some(Era::Legacy),
        start: Start::Lazy,
        instances: 3,
        sessions: Sessions::Shared,
        sessions_max: 64,
        sessions_idle: Duration::from_secs(600),
        reach: Reach::Command {
            argv: texts(&["github-mcp-server", "stdio", &key, "5"]),
            env: [("TOKEN", SECRET), ("DEBUG", "true")].map(|(k, v)| (k.into(), v.into())).into(),
            inherit: Some(vec!["GITHUB_HOST".to_owned()]),
            directory: desk.path().join("./work"),
        },
        answer_bytes: None,
        list_bytes: None,
        secrets: Given(vec![SECRET.to_owned(); 2]),
        rules: Arc::clone(&usual),
    };
    assert_eq!(*github, expected);
    let (Start::Eager, Some(Era::Modern), "") = (docs.start, docs.era, &*docs.prefix) else {
        panic!("{docs:?}")
    };
    let Reach::Url { url, headers } = &docs.reach else { panic!("{docs:?}") };
    assert_eq!(url.to_string(), format!("https://docs.example.com/mcp?key={SECRET}"));
    assert_eq!(headers["authorization"], format!("Bearer {SECRET}"));
    assert_eq!((&headers["x-team"], headers.len()), (&"blue".parse().expect("a value"), 2));
    assert!(headers.values().all(|value| value.is_sensitive()));
    // What is not typed: the time of all calls, the era that is found out, a name and `_`.
    let expected = Upstream {
        name: "own_1".to_owned(),
        prefix: "own_1_".to_owned(),
        timeout: Some(Duration::from_secs(7)),
        era: None,
        start: Start::Eager,
        instances: 1,
        sessions: Sessions::Own,
        sessions_max: 5,
        sessions_idle: Duration::from_secs(30),
        reach: Reach::Command {
            argv: vec![desk.path().join("./bin/own").into()],
            env: Vec::new(),
            inherit: Some(Vec::new()),
            directory: desk.path().to_owned(),
        },
        answer_bytes: None,
        list_bytes: None,
        secrets: Given::default(),
        rules: Arc::clone(&usual),
    };
    assert_eq!(*own, expected);
}

#[test]
fn the_tools_of_documents_are_what_they_are_without_such_upstreams() {
    let server = desk(FILE).server();
    assert_eq!(server.tool_names(), ["petstore_ask"]);
    let twice = "server: { name: desk }
upstreams:
  a: { openapi: api.yaml, base_url: 'https://api.example.com', prefix: '' }
  my docs: { openapi: other.yaml, base_url: 'https://api.example.com', prefix: '' }
";
    let desk = desk(twice);
    desk.write("other.yaml", DOCUMENT.replace("ask", "tell"));
    assert_eq!(desk.server().tool_names(), ["ask", "tell"]);
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?} {0:#?}", desk(FILE).manifest().upstreams());
    assert!(!shown.contains(SECRET), "{shown}");
    for name in ["github", "TOKEN", "work", "https://docs.example.com", "authorization"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
    // Not in a fault either, wherever it is filled in.
    let files = [
        ("url: '${file:key}'", "4:10", "the address cannot be used: "),
        ("command: [a]\n    prefix: '${file:key}!'", "5:13", "\"${file:key}!\" cannot begin"),
        ("command: [a]\n    timeout: '${file:key}'", "5:14", "`timeout`: \"${file:key}\" is no"),
        ("command: [a, \"${file:key}\\0\"]", "4:18", "a text of `command` has"),
        ("url: https://a.example\n    headers: { a: \"${file:key}\\n\" }", "5:19", "the value of"),
    ];
    for (lines, place, said) in files {
        let desk = desk(&format!("server: {{ name: a }}\nupstreams:\n  up:\n    {lines}\n"));
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(lines);
        let (drawn, debugged) = (fault.to_string(), format!("{fault:?}"));
        assert!(drawn.contains(&format!("haft.yaml:{place}: {said}")), "{drawn}");
        assert!(!drawn.contains(SECRET) && !debugged.contains(SECRET), "{drawn} {debugged}");
    }
}

#[test]
fn a_reading_tells_which_upstreams_have_changed() {
    let desk = desk(FILE);
    let live = Live::new(&desk.file("haft.yaml"), Reading::Edits, false);
    let live = live.unwrap_or_else(|fault| panic!("{fault}"));
    let check = |what: &str, upstreams: &str, tools: &str| {
        let edit = live.reload().unwrap_or_else(|fault| panic!("{fault}"));
        let told = (edit.upstreams.to_string(), edit.tools.to_string());
        assert_eq!(told, (upstreams.to_owned(), tools.to_owned()), "{what}");
        let again = live.reload().unwrap_or_else(|fault| panic!("{fault}"));
        assert!(again.is_empty(), "{what}");
    };
    let headers = FILE.replace("X-Team: blue", "X-Team: red");
    let defaults = headers.replace("7s", "8s");
    let without = defaults.replace(
        "  own_1: { command: [./bin/own], sessions: own, sessions_max: 5, \
             sessions_idle: 30s }\n",
        "",
    );
    let typed_out = without.replace("X-Team: red }", "x-team: red } # The same.");
    for (what, yaml, upstreams, tools) in [
        ("a comment", FILE.replace("upstreams:", "# Many.\nupstreams:"), "", ""),
        ("a header", headers, "~ docs", ""),
        ("the time of all calls", defaults, "~ docs, own_1", "~ petstore_ask"),
        ("one fewer", without, "- own_1", ""),
        ("another way to type the same", typed_out.clone(), "", ""),
        ("a program", typed_out.replace(", stdio,", ", http,"), "~ github", ""),
        ("one more", format!("{typed_out}  more: {{ command: [a] }}\n"), "+ more; ~ github", ""),
    ] {
        desk.write("haft.yaml", yaml);
        check(what, upstreams, tools);
    }
    desk.write("key", "another");
    check("a secret", "~ github, docs", "");
    let names: Vec<_> = live.manifest().upstreams().iter().map(|one| one.name.clone()).collect();
    assert_eq!(names, ["github", "docs", "more"], "those of the last reading");
}

#[test]
fn what_is_typed_where_braces_stand_is_no_template() {
    let yaml = "server: { name: a }\nupstreams: { up: { url: 'https://{{ a }}.example' } }";
    check_fault(
        yaml,
        &[
            "haft.yaml:2:25: `url` cannot be a template: it is needed before anything is called",
            "2 | upstreams: { up: { url: 'https://{{ a }}.example' } }",
            "  |                         ^^^^^^^^^^^^^^^^^^^^^^^^^",
        ],
    );
}
