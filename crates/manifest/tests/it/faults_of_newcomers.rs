//! What people write who know other tools: each mistake says what to write here.

use crate::fixture::Desk;

const TOOL: &str = "tools: [{ name: t, text: x }]";

/// The mistake of a file, and what helps.
fn fault(yaml: &str) -> (String, String) {
    let desk = Desk::with(yaml);
    let fault = haft_manifest::load(&desk.file("haft.yaml"));
    let fault = fault.err().unwrap_or_else(|| panic!("{yaml}: it is right"));
    (fault.message(), fault.help().unwrap_or_default())
}

#[test]
fn what_other_tools_call_otherwise_is_told_with_its_name_here() {
    let tool = |keys: &str| format!("server: {{ name: a }}\ntools: [{{ name: t, {keys} }}]\n");
    let up = |keys: &str| format!("server: {{ name: a }}\nupstreams: {{ u: {{ {keys} }} }}\n");
    let file = |line: &str| format!("server: {{ name: a }}\n{line}\n{TOOL}\n");
    for (yaml, message, help) in [
        (file("listen: 127.0.0.1:80"), "`listen` must be a list", "[{ http: 127.0.0.1:80 }]"),
        (file("listen: :8080"), "`listen` must be a list", "[{ http: :8080 }]"),
        (file("auth: { token: x }"), "`auth` is no known key", "a proxy with logins"),
        (file("port: 8080"), "`port` is no known key", "listen` of the file: [{ http: "),
        (file("mcpServers: {}"), "`mcpServers` is no known key", "haft import FILE"),
        (
            tool("command: ls, args: [-l]"),
            "`command` must be a list",
            "[ls]; its arguments are further items",
        ),
        (tool("command: [ls], args: [-l]"), "`args` is no known key", "[program, first, second]"),
        (tool("cmd: ls"), "`cmd` is no known key", "are `command`"),
        (tool("inputSchema: {}, text: x"), "`inputSchema` is no", "is `input_schema`"),
        (tool("http: { url: 'https://a.example' }"), "`url` is no known key", "get: https://…"),
        (tool("url: 'https://a.example'"), "`url` is no known key", "is `http`: { get: "),
        (
            tool("allow_private: true, http: { get: 'http://127.0.0.1:1/' }"),
            "`allow_private` is no known key of a tool",
            "all of it stands there",
        ),
        (
            tool("text: x, input: { type: object, properties: { q: { type: string } } }"),
            "this is a JSON Schema",
            "call it `input_schema`",
        ),
        (
            tool("text: x, input: { q: { type: string, required: true } }"),
            "`required`: true is not",
            "unless its name ends with `?`",
        ),
        (
            tool("text: x, input: { q: { type: string, required: false } }"),
            "`required`: false is not",
            "take `required` out",
        ),
        (up("command: npx, args: [-y, a]"), "`command` must be a list", "[npx]; its arguments are"),
        (up("command: [npx], args: [-y]"), "`args` is no known key", "in one list"),
        (up("type: stdio, command: [npx]"), "`type` is no known key", "over its pipes"),
        (
            up("url: 'http://127.0.0.1:1/mcp', allow_private: true"),
            "`allow_private` belongs to",
            "take it out",
        ),
    ] {
        let (said, helps) = fault(&yaml);
        assert!(said.contains(message), "{yaml}: {said}");
        assert!(helps.contains(help), "{yaml}: {helps}");
    }
}

/// Arguments may be called like keywords.
#[test]
fn arguments_that_are_called_like_keywords_are_arguments() {
    for input in
        ["{ type: string }", "{ type: string, properties: object }", "{ required: boolean }"]
    {
        let tool = format!("tools: [{{ name: t, text: x, input: {input} }}]");
        let yaml = format!("server: {{ name: a }}\n{tool}\n");
        assert_eq!(Desk::with(&yaml).manifest().costs().len(), 1, "{input}");
    }
}
