//! What people who know other tools write into a haft.yaml, and what they mean by it. Asked by
//! `problem` for the line of help below a mistake.

/// A key that other tools have: where it stands, how it is called there, and what to do here.
const KEYS: &[(&[&str], &[&str], &str)] = &[
    (
        &["a manifest", "a server"],
        &["auth", "authentication", "authorization", "login", "oauth", "api_key", "token", "users"],
        "haft asks nobody who they are; listen at this machine alone, or put a proxy with logins \
         before it",
    ),
    (
        &["a manifest", "a server"],
        &["port", "host", "http", "address", "bind", "url", "transport", "endpoint"],
        "where it listens is `listen` of the file: [{ http: 127.0.0.1:7300 }]",
    ),
    (
        &["a manifest"],
        &["mcpServers", "mcp_servers", "servers"],
        "servers behind this one are `upstreams`; `haft import FILE` makes them of such a file",
    ),
    (
        &["a tool", "an upstream", "a resource"],
        &["args", "argv"],
        "arguments follow the program in one list: command: [program, first, second]",
    ),
    (
        &["a tool", "an upstream", "a resource"],
        &["cmd", "run", "exec", "shell", "program", "script"],
        "the program and its arguments are `command`: [program, first, second]",
    ),
    (
        &["a tool"],
        &["inputSchema", "parameters", "params", "arguments", "schema", "properties"],
        "its arguments are `input`: { name: string }; a whole JSON Schema is `input_schema`",
    ),
    (
        &["a tool"],
        &["url", "uri", "method", "get", "post", "headers", "allow_private"],
        "a request is `http`: { get: https://…, headers: { … } }, and all of it stands there",
    ),
    (
        &["`http`"],
        &["url", "uri", "method", "path"],
        "the method is the key of the address: get: https://…",
    ),
    (
        &["an upstream"],
        &["type", "transport", "protocol"],
        "a `command` is spoken to over its pipes and a `url` over HTTP; nothing else says it",
    ),
];

/// What to write instead of a key that is not known.
pub(crate) fn of_key(key: &str, owner: &str) -> Option<&'static str> {
    let is_it =
        |(owners, keys, _): &&(&[&str], &[&str], _)| owners.contains(&owner) && keys.contains(&key);
    KEYS.iter().find(is_it).map(|(_, _, help)| *help)
}

/// What to write instead of a value of another type. `example` is how it would be a list.
pub(crate) fn of_type(key: &str, example: &str) -> Option<String> {
    let words = example.split_once('[').map(|(_, words)| words.trim_end_matches(']'));
    match key {
        "listen" => words.map(|words| format!("write it as a list: [{{ http: {words} }}]")),
        "command" => words.filter(|words| !words.contains(',')).map(|program| {
            format!("write it as a list: [{program}]; its arguments are further items")
        }),
        _ => None,
    }
}

/// What to do about a schema that cannot be used, for this reason.
pub(crate) fn of_schema(reason: &str) -> Option<&'static str> {
    let is_flag = ["`required`: true ", "`required`: false "];
    is_flag.iter().any(|begin| reason.starts_with(begin)).then_some(
        "take `required` out: an argument is required unless its name ends with `?`, or it has a \
         `default`",
    )
}

/// Whether the arguments of `input` are a JSON Schema by mistake: by its `type` and the kind of its
/// `properties`.
pub(crate) fn is_json_schema(kind: Option<&str>, has_properties: bool) -> bool {
    kind == Some("object") && has_properties
}
