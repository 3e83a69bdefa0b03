//! What can be wrong with upstreams that speak MCP: faults as they are drawn.

use crate::fixture::{Desk, check_fault};

/// Checks the fault of an upstream `up` of these lines, from line 4 and column 5 on.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    check_fault(&format!("server: {{ name: a }}\nupstreams:\n  up:\n{lines}"), expected);
}

/// Checks many faults: the lines, and what is said of them with line and column, and the help.
#[track_caller]
fn check_said(cases: &[(&str, &str, Option<&str>)]) {
    for (lines, expected, help) in cases {
        let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
        let desk = Desk::with(&format!("server: {{ name: a }}\nupstreams:\n  up:\n{lines}"));
        let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else {
            panic!("there is nothing wrong with\n{lines}")
        };
        let directory = format!("{}/haft.yaml:", desk.path().display());
        let said = fault.message().replace(&directory, "");
        assert_eq!((&*said, fault.help().as_deref()), (*expected, *help), "{lines}");
    }
}

#[test]
fn an_unknown_key_is_drawn_with_the_nearest() {
    check(
        "comand: [a]",
        &[
            "haft.yaml:4:5: `comand` is no known key of an upstream",
            "4 |     comand: [a]",
            "  |     ^^^^^^",
            "  = help: did you mean `command`?",
        ],
    );
}

#[test]
fn an_upstream_is_of_one_kind() {
    check(
        "url: https://a.example/mcp\ncommand: [a]",
        &[
            "haft.yaml:4:5: `url` and `command` exclude each other",
            "4 |     url: https://a.example/mcp",
            "  |     ^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "openapi: a.yaml\nurl: https://a.example/mcp",
        &[
            "haft.yaml:4:5: `openapi` and `url` exclude each other",
            "4 |     openapi: a.yaml",
            "  |     ^^^^^^^",
            "  = help: keep one of them",
        ],
    );
    check(
        "timeout: 5s",
        &[
            "haft.yaml:3:3: there is no way to the upstream `up`",
            "3 |   up:",
            "  |   ^^",
            "  = help: give it a `command` to start, a `url` to ask, an `openapi` document, \
             or the name of an `agent`",
        ],
    );
}

#[test]
fn a_key_of_another_kind_is_refused_with_the_kinds_that_have_it() {
    check(
        "command: [a]\nheaders: { authorization: b }",
        &[
            "haft.yaml:5:5: `headers` belongs to upstreams with `url` or `openapi`",
            "5 |     headers: { authorization: b }",
            "  |     ^^^^^^^",
        ],
    );
    let url = "url: https://a.example/mcp";
    let of = |kinds: &str, key: &str| format!("5:5: `{key}` belongs to upstreams with {kinds}");
    for (kind, key, kinds) in [
        (url, "env: { A: b }", "`command`"),
        (url, "cwd: /tmp", "`command`"),
        (url, "inherit_env: true", "`command`"),
        (url, "instances: 2", "`command`"),
        (url, "sessions: own", "`command`"),
        (url, "base_url: https://a.example", "`openapi`"),
        ("command: [a]", "output_schemas: true", "`openapi`"),
        ("command: [a]", "allow_private: true", "`openapi`"),
        ("openapi: a.yaml", "era: legacy", "`command` or `url`"),
        ("openapi: a.yaml", "start: lazy", "`command`, `url` or `agent`"),
        ("openapi: a.yaml", "env: { A: b }", "`command`"),
    ] {
        let name = key.split(':').next().unwrap_or_default();
        let help = (name == "allow_private").then_some(
            "only documents and their calls are kept from private addresses; take it out",
        );
        check_said(&[(&format!("{kind}\n{key}"), &of(kinds, name), help)]);
    }
}

#[test]
fn a_command_that_cannot_be_run_is_drawn() {
    check(
        "command: []",
        &[
            "haft.yaml:4:14: `command` is an empty list",
            "4 |     command: []",
            "  |              ^",
            "  = help: name a program and its arguments: [github-mcp-server, stdio]",
        ],
    );
    check(
        "command: npx -y server",
        &[
            "haft.yaml:4:14: `command` must be a list, not text",
            "4 |     command: npx -y server",
            "  |              ^^^^^^^^^^^^^",
            "  = help: write it as a list: [npx, -y, server]",
        ],
    );
    let nul = Some("remove it: no program can be given one");
    let no_template = "cannot be a template: it is needed before anything is called";
    check_said(&[
        (
            "command: ['', a]",
            "4:15: `command` has no value",
            Some("give it one, or remove the line"),
        ),
        ("command: [a, \"b\\0\"]", "4:18: a text of `command` has a character 0 in it", nul),
        ("command: [a]\ninstances: 0", "5:16: `instances` must be from 1 to 64", None),
        (
            "command: [a]\nsessions: own\ninstances: 2",
            "6:16: `instances` and `sessions` exclude each other",
            Some("keep one of them"),
        ),
        ("command: [a]\ninstances: 65", "5:16: `instances` must be from 1 to 64", None),
        (
            "command: [a]\nsessions_max: 2",
            "5:19: `sessions_max` is for sessions that have a process of their own",
            Some("write `sessions: own`, or remove it"),
        ),
        (
            "command: [a]\nsessions: own\nsessions_max: 0",
            "6:19: `sessions_max` must be from 1 to 1024",
            None,
        ),
        (
            "command: [a]\nsessions: own\nsessions_idle: 25h",
            "6:20: `sessions_idle` must be longer than nothing and at most 24h",
            None,
        ),
        ("command: [a]\nenv: { B: \"\\0\" }", "5:15: a text of `env` has a character 0 in it", nul),
        ("command: [a]\ncwd: \"\\0\"", "5:10: a text of `cwd` has a character 0 in it", nul),
        (
            "command: [a]\nenv: { B=C: d }",
            "5:12: \"B=C\" cannot be the name of an environment variable",
            Some("a name has no `=` and is not empty"),
        ),
        ("command: [a, '{{ b }}']", &format!("4:18: `command` {no_template}"), None),
        ("command: [a]\nenv: { B: '{{ c }}' }", &format!("5:15: `env` {no_template}"), None),
    ]);
}

#[test]
fn a_url_that_cannot_be_asked_is_drawn() {
    check(
        "url: docs.example.com/mcp",
        &[
            "haft.yaml:4:10: the address cannot be used: it must begin with http:// or https://",
            "4 |     url: docs.example.com/mcp",
            "  |          ^^^^^^^^^^^^^^^^^^^^",
            "  = help: write it like https://docs.example.com/mcp",
        ],
    );
    let help = Some("write it like https://docs.example.com/mcp");
    let refused = |reason: &str| format!("4:10: the address cannot be used: {reason}");
    check_said(&[
        ("url: wss://a.example", &refused("it must begin with http:// or https://"), help),
        (
            "url: https://me:secret@a.example/mcp",
            &refused("it holds a user name or password; send them in `headers`"),
            help,
        ),
        (
            "url: 'https://a.example/mcp#x'",
            &refused("it has a fragment, `#…`, which no server sees"),
            help,
        ),
        ("url: https:///mcp", &refused("it cannot be read"), help),
    ]);
}

#[test]
fn a_header_that_cannot_be_sent_is_told() {
    let own = Some("remove it; haft sends it where it is needed");
    let with = |headers: &str| format!("url: https://a.example/mcp\nheaders: {headers}");
    for name in ["Host", "accept", "Content-Type", "mcp-session-id", "Mcp-Method", "mcp-param-a"] {
        let said = format!("5:16: the header `{name}` is the connection's own");
        check_said(&[(&with(&format!("{{ {name}: x }}")), &said, own)]);
    }
    check_said(&[
        (
            &with("{ 'a b': x }"),
            "5:16: \"a b\" cannot be the name of a header",
            Some("use letters, digits and `-`, like x-api-key"),
        ),
        (
            &with("{ a: \"x\\ny\" }"),
            "5:19: the value of `a` is no text of a header",
            Some("remove line ends and control characters"),
        ),
        (&with("{ A: x, a: y }"), "5:22: the header `a` is there twice", Some("keep one of them")),
    ]);
}

#[test]
fn a_word_that_is_none_is_drawn() {
    check(
        "command: [a]\nera: legasy",
        &[
            "haft.yaml:5:10: `era` cannot be \"legasy\"",
            "5 |     era: legasy",
            "  |          ^^^^^^",
            "  = help: did you mean `legacy`?",
        ],
    );
    check_said(&[
        (
            "command: [a]\nera: 2025-11-25",
            "5:10: `era` cannot be \"2025-11-25\"",
            Some("known words are legacy, modern"),
        ),
        (
            "command: [a]\nstart: never",
            "5:12: `start` cannot be \"never\"",
            Some("known words are lazy, eager"),
        ),
        (
            "command: [a]\ntimeout: 5",
            "5:14: `timeout`: \"5\" is no length of time",
            Some("write a number and a unit, like 500ms, 5s, 2m or 1h"),
        ),
    ]);
}

#[test]
fn what_cannot_be_filled_in_is_drawn() {
    check(
        "command: [a]\nenv: { TOKEN: 'x ${env:HAFT_NOT_SET}' }",
        &[
            "haft.yaml:5:22: the environment variable `HAFT_NOT_SET` is not set",
            "5 |     env: { TOKEN: 'x ${env:HAFT_NOT_SET}' }",
            "  |                      ^^^^^^^^^^^^^^^^^^^",
            "  = help: set it before haft starts; `$${` writes `${` itself",
        ],
    );
    check_said(&[(
        "url: https://a.example/mcp\nheaders: { authorization: 'Bearer ${file:no}' }",
        "5:39: cannot read \"no\": there is no such file",
        Some("the path is relative to the manifest's directory"),
    )]);
}

#[test]
fn a_name_has_no_more_than_letters_digits_and_two_signs() {
    let help = "  = help: use 1 to 31 letters, digits, `_` or `-`";
    check_fault(
        "server: { name: a }\nupstreams:\n  my docs: { url: 'https://a.example/mcp' }\n",
        &[
            "haft.yaml:3:3: \"my docs\" is no name for an upstream",
            "3 |   my docs: { url: 'https://a.example/mcp' }",
            "  |   ^^^^^^^",
            help,
        ],
    );
    let yaml =
        |name: &str| format!("server: {{ name: a }}\nupstreams: {{ {name}: {{ command: [a] }} }}");
    let longest = "a".repeat(31);
    assert_eq!(Desk::with(&yaml(&longest)).manifest().upstreams()[0].name, longest);
    for name in ["ü", "''", "a.b", &"a".repeat(32)] {
        let desk = Desk::with(&yaml(name));
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(name);
        assert!(fault.message().ends_with("is no name for an upstream"), "{fault}");
    }
}

#[test]
fn a_prefix_is_one_for_names_and_of_one_upstream() {
    check(
        "command: [a]\nprefix: 'a b'",
        &[
            "haft.yaml:5:13: \"a b\" cannot begin the names of tools",
            "5 |     prefix: 'a b'",
            "  |             ^^^^^",
            "  = help: use at most 32 letters, digits, `_` and `-`, like pet_",
        ],
    );
    let with = |length: usize| format!("command: [a]\nprefix: {}", "p".repeat(length));
    check_said(&[(
        &with(33),
        &format!("5:13: \"{}\" cannot begin the names of tools", "p".repeat(33)),
        Some("use at most 32 letters, digits, `_` and `-`, like pet_"),
    )]);
    let longest = format!(
        "server: {{ name: a }}\nupstreams: {{ up: {{ {} }} }}",
        with(32).replace('\n', ", ")
    );
    assert_eq!(Desk::with(&longest).manifest().upstreams()[0].prefix.len(), 32);
    let two = |first: &str, second: &str| {
        format!("server: {{ name: a }}\nupstreams:\n  up: {{ {first} }}\n  web: {{ {second} }}\n")
    };
    check_fault(
        &two("command: [a]", "url: 'https://a.example', prefix: up_"),
        &[
            "haft.yaml:4:44: the names of the upstream of line 3 begin with \"up_\", too",
            "4 |   web: { url: 'https://a.example', prefix: up_ }",
            "  |                                            ^^^",
            "  = help: give one of them another `prefix`",
        ],
    );
    check_fault(
        &two("command: [a], prefix: web_", "url: 'https://a.example'"),
        &[
            "haft.yaml:4:3: the names of the upstream of line 3 begin with \"web_\", too",
            "4 |   web: { url: 'https://a.example' }",
            "  |   ^^^",
            "  = help: give one of them another `prefix`",
        ],
    );
    // What is known of a document does not make room for what nobody knows of the other.
    check_fault(
        &two("command: [a], prefix: ''", "openapi: web.yaml, prefix: ''"),
        &[
            "haft.yaml:4:37: the names of the upstream of line 3 begin with \"\", too",
            "4 |   web: { openapi: web.yaml, prefix: '' }",
            "  |                                     ^^",
            "  = help: give one of them another `prefix`",
        ],
    );
}

#[test]
fn processes_have_a_bound() {
    for (typed, expected) in [("1", Some(1)), ("4096", Some(4096)), ("0", None), ("4097", None)] {
        let desk = Desk::with(&format!("server:\n  name: a\n  processes: {typed}\n"));
        match haft_manifest::load(&desk.file("haft.yaml")) {
            Ok(manifest) => assert_eq!(Some(manifest.processes()), expected, "{typed}"),
            Err(fault) => {
                let said = "haft.yaml:3:14: `processes` must be from 1 to 4096";
                assert!(expected.is_none() && fault.message().ends_with(said), "{typed}: {fault}");
            }
        }
    }
}

#[test]
fn agents_are_named_once_and_by_names() {
    let help = "use 1 to 64 letters, digits, `_` or `-`";
    check_said(&[
        ("agent: plant 7", "4:12: \"plant 7\" is no name for an agent", Some(help)),
        ("agent: ''", "4:12: \"\" is no name for an agent", Some(help)),
        ("agent: [a, ../b]", "4:16: \"../b\" is no name for an agent", Some(help)),
        ("agent: [a, b, a]", "4:19: the agent `a` is there twice", Some("keep one of them")),
        (
            "agent: []",
            "4:12: `agent` is an empty list",
            Some("name the agents: [plant-7, plant-8]"),
        ),
    ]);
    let longest = "a".repeat(64);
    let desk = Desk::with(&format!(
        "server: {{ name: a }}\nupstreams: {{ up: {{ agent: [{longest}, plant-7] }} }}"
    ));
    let manifest = haft_manifest::load(&desk.file("haft.yaml")).expect("they are names");
    let names = vec![longest, "plant-7".to_owned()];
    assert_eq!(manifest.upstreams()[0].reach, haft_manifest::Reach::Agent { names });
}
