//! Every warning, and what gives no reason for it.

use crate::fixture::Desk;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// The warnings of a tool of these lines, which has a description.
#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let desk = Desk::with_tools(&format!("  - name: t\n    description: Does it.\n{lines}"));
    let found: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{lines}");
}

#[test]
fn a_value_that_could_be_an_option_is_noticed() {
    let warning = "6:19: t: a value of `x` that begins with `-` would be an option; put `--` \
                   before it, or give `x` a `pattern`";
    for (input, command) in [
        ("{ x: string }", "[wc, '{{ x }}']"),
        ("{ x: 'string[]' }", "[wc, '{{ x }}']"),
        ("{ x: integer }", "[wc, '{{ x }}']"),
        ("{ x: string }", "[wc, '{{ x | lower }}.txt']"),
        ("{ x: string, y: string }", "[wc, '{{ x }}{{ y }}', --]"),
    ] {
        check(&format!("input: {input}\ncommand: {command}"), &[warning]);
    }
}

#[test]
fn a_value_that_cannot_be_an_option_is_not() {
    for (input, command) in [
        ("{ x: string }", "[wc, --, '{{ x }}']"),
        ("{ x: string }", "[wc, -n, '{{ x }}']"),
        ("{ x: string }", "[wc, '--n={{ x }}']"),
        ("{ x: { type: string, pattern: '^[a-z]' } }", "[wc, '{{ x }}']"),
        ("{ x: { type: string, enum: [a, b] } }", "[wc, '{{ x }}']"),
        ("{ x: { type: integer, minimum: 0 } }", "[wc, '{{ x }}']"),
        ("{ x: boolean }", "[wc, '{{ x }}']"),
    ] {
        check(&format!("input: {input}\ncommand: {command}"), &[]);
    }
}

#[test]
fn code_of_a_shell_with_arguments_in_it_is_noticed() {
    let warning = "a shell would run whatever a caller writes in `x`; hand it over as an \
                   argument of its own: [sh, -c, 'program \"$1\"', sh, \"{{ x }}\"]";
    for (command, column) in [
        ("[sh, -c, 'ls {{ x }}']", 23),
        ("[/bin/bash, -ec, 'ls {{ x }}']", 31),
        ("[python3, -c, 'print({{ x }})']", 28),
    ] {
        let expected = format!("6:{column}: t: {warning}");
        let tool =
            format!("input: {{ x: {{ type: string, pattern: '^a$' }} }}\ncommand: {command}");
        let desk = Desk::with_tools(&format!(
            "  - name: t\n    description: Does it.\n    {}\n",
            tool.replace('\n', "\n    ")
        ));
        let found: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
        assert!(found.contains(&expected), "{found:?}");
    }
    let safe = "input: { x: string }\ncommand: [sh, -c, 'ls -- \"$1\"', --, '{{ x }}']";
    check(safe, &[]);
}

#[test]
fn an_option_that_stays_behind_is_noticed() {
    let warning = |option: &str, joint: &str| {
        format!(
            "6:23: t: `{option}` stays behind when `x` is absent; write both as one argument: \
             \"{option}{joint}{{{{ x }}}}\""
        )
    };
    check("input: { 'x?': string }\ncommand: [wc, -n, '{{ x }}']", &[&warning("-n", "")]);
    let long = warning("--n", "=").replace("6:23", "6:24");
    check("input: { 'x?': string }\ncommand: [wc, --n, '{{ x }}']", &[&long]);
    check("input: { x: { type: string, default: a } }\ncommand: [wc, -n, '{{ x }}']", &[]);
    check("input: { 'x?': string }\ncommand: [wc, --n=1, '--m={{ x }}']", &[]);
    check("input: { 'x?': string }\ncommand: [wc, -q, '--m={{ x }}']", &[]);
    check("input: { 'x?': boolean }\ncommand: [wc, -q, '{% if x %}-a{% endif %}']", &[]);
}

#[test]
fn an_argument_that_nobody_reads_is_noticed() {
    let expected = "5:25: t: nothing reads the argument `b`";
    check("input: { a: string, b: string }\ntext: '{{ a }}'", &[expected]);
    check("input: { a: string }\ncommand: [cat]\nenv: { A: '{{ a }}' }", &[]);
    check("input: { a: string }\ncommand: [cat]\nstdin: '{{ a }}'", &[]);
}

#[test]
fn a_variable_in_another_spelling_is_noticed() {
    let expected = "6:12: t: `${API_KEY}` stays as it is; write `${env:API_KEY}` for the variable";
    check("command: [cat]\nstdin: '${API_KEY}'", &[expected]);
    check("command: [cat]\nstdin: '$${API_KEY} ${api_key} $API_KEY'", &[]);
}

#[test]
fn a_program_or_directory_that_is_not_there_is_noticed() {
    let expected = "5:15: t: there is no program `haft-no-such-program` on this machine";
    check("command: [haft-no-such-program]", &[expected]);
    check("command: [./nowhere]", &["5:15: t: there is no program `./nowhere` on this machine"]);
    check("command: [cat]\ncwd: ./nowhere", &["6:10: t: this directory does not exist"]);
    let path = "command: [cat]\nenv: { PATH: /nowhere }";
    check(path, &["5:15: t: there is no program `cat` on this machine"]);
}

/// What keeps a program from being started, as a tool's and as a server's behind this one.
#[test]
fn a_program_that_cannot_be_started_is_noticed_with_the_reason() {
    for (name, content, mode, expected) in [
        ("good", "#!/bin/sh\n", 0o755, None),
        ("machine", "\u{7f}ELF\0\0", 0o755, None),
        ("plain", "#!/bin/sh\n", 0o644, Some("is not executable; run `chmod +x ./plain`")),
        ("bare", "echo hello\n", 0o755, Some("has no `#!` in its first line")),
        ("windows", "#!/bin/sh\r\n", 0o755, Some("ends its lines as Windows does")),
        ("lost", "#!/no/such/python -u\n", 0o755, Some("is run by `/no/such/python`")),
    ] {
        let text = format!(
            "server: {{ name: s }}\ntools: [{{ name: t, description: Does it., command: [./{name}] \
             }}]\nupstreams:\n  u: {{ command: [./{name}] }}\n"
        );
        let desk = Desk::with(&text);
        let file = desk.file(name);
        fs::write(&file, content).expect("a folder of ours");
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a file of ours");
        let found: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
        let Some(expected) = expected else {
            assert_eq!(found, [""; 0], "{name}");
            continue;
        };
        let [tool, upstream] = &*found else { panic!("{name}: {found:?}") };
        let begins = format!("`./{name}` {}", expected.trim_start_matches("`"));
        assert!(tool.starts_with("2:") && tool.contains(&begins), "{tool}");
        assert!(upstream.starts_with("4:3: u: ") && upstream.contains(&begins), "{upstream}");
    }
}

#[test]
fn a_server_behind_this_one_that_cannot_be_started_is_noticed() {
    for (keys, expected) in [
        ("command: [cat]", None),
        ("command: [no-such-server]", Some("there is no program `no-such-server` on this machine")),
        ("command: [cat, a], cwd: nowhere", Some("nowhere does not exist")),
        ("command: [cat], env: { PATH: /nowhere }", Some("there is no program `cat`")),
        ("command: ['cat  a.txt']", Some("write its arguments one by one: [cat, a.txt]")),
        ("url: 'http://127.0.0.1:1/mcp'", None),
    ] {
        let text = format!("server: {{ name: s }}\nupstreams:\n  u: {{ {keys} }}\n");
        let warnings = Desk::with(&text).manifest().warnings();
        let found: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), usize::from(expected.is_some()), "{keys}: {found:?}");
        let is_as_expected = expected.is_none_or(|words| found[0].contains(words));
        assert!(is_as_expected, "{keys}: {found:?}");
    }
}

#[test]
fn a_reference_in_a_schema_is_noticed() {
    let schema = "input_schema:
  type: object
  $defs: { a: { type: string } }
  properties: { x: { $ref: '#/$defs/a' } }
text: '{{ x }}'";
    check(schema, &["6:7: t: some clients do not follow `$ref`; write the schema out"]);
}

#[test]
fn names_and_descriptions_that_clients_dislike_are_noticed() {
    let long = "n".repeat(65);
    let tools = format!(
        "  - {{ name: {long}, description: x, text: y }}
  - {{ name: silent, text: y }}
  - {{ name: talkative, description: {}, text: y }}\n",
        "d".repeat(1025)
    );
    let found: Vec<_> =
        Desk::with_tools(&tools).manifest().warnings().iter().map(ToString::to_string).collect();
    let short = format!("{}_57a0c450", "n".repeat(55));
    let expected = [
        format!(
            "3:13: {long}: some clients refuse names of more than 64 characters; they are told \
             `{short}`"
        ),
        "4:13: silent: a model cannot tell what it does; add a `description`".to_owned(),
        "5:37: talkative: every client pays for a description of 1025 bytes".to_owned(),
    ];
    assert_eq!(found, expected);
}

/// The warnings of a manifest of these lines, from line 2 on, beside files `a.md` and `docs/a.md`.
#[track_caller]
fn check_lines(lines: &str, expected: &[&str]) {
    let desk = Desk::with(&format!("server: {{ name: a }}\n{lines}"));
    desk.write("a.md", "12345");
    desk.write("docs/a.md", "12345");
    let found: Vec<_> = desk.manifest().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{lines}");
}

#[test]
fn a_resource_that_cannot_be_read_is_noticed() {
    let check = |keys: &str, expected: &[&str]| {
        check_lines(
            &format!("resources: [{{ uri: 'a:{{p}}', description: d, {keys} }}]"),
            expected,
        );
    };
    check("directory: docs", &[]);
    check("directory: nowhere", &["2:56: a:{p}: this directory does not exist"]);
    check("directory: a.md", &["2:56: a:{p}: this is no directory"]);
    let own = "2:56: a:{p}: it serves this file too; move what is to be read to a directory of \
               its own";
    check("directory: docs/..", &[own]);
    let check = |keys: &str, expected: &[&str]| {
        check_lines(&format!("resources: [{{ uri: 'a:b', description: d, {keys} }}]"), expected);
    };
    check("file: a.md", &[]);
    check("file: nowhere", &["2:49: a:b: this file does not exist"]);
    let folder = "2:49: a:b: this is no file; to serve what is below it, write `directory`";
    check("file: docs", &[folder]);
    let large = "2:49: a:b: this file has 5 bytes, which is more than `limit`";
    check("file: a.md, limit: 4", &[large]);
}

#[test]
fn a_directory_that_another_one_hides_is_noticed() {
    let entries = |first: &str, second: &str| {
        format!(
            "resources:
  - {{ uri: '{first}', directory: docs, description: d }}
  - {{ uri: '{second}', directory: docs, description: d }}"
        )
    };
    let hidden = "4:12: a:x/{+p}: all its addresses belong to line 3; put it before that";
    check_lines(&entries("a:{+p}", "a:x/{+p}"), &[hidden]);
    check_lines(&entries("a:x/{+p}", "a:{+p}"), &[]);
    check_lines(&entries("a:{p}", "a:x/{+p}"), &[]);
}

#[test]
fn what_a_prompt_lacks_or_does_not_use_is_noticed() {
    let check = |keys: &str, expected: &[&str]| {
        check_lines(&format!("prompts: [{{ name: p, {keys} }}]"), expected);
    };
    let silent = "2:19: p: nobody can tell what it is for; add a `description`";
    check("text: a", &[silent]);
    let unread = "2:53: p: no message reads the argument `b`";
    check("description: d, arguments: [a, b], text: '{{ a }}'", &[unread]);
    check("description: d, arguments: [a], messages: [{ user: x }, { user: '{{ a }}' }]", &[]);
    let spelled = "2:44: p: `${KEY}` stays as it is; write `${env:KEY}` for the variable";
    check("description: d, text: '${KEY}'", &[spelled]);
    let gone = "2:58: p: this file does not exist";
    check("description: d, messages: [{ image: nowhere.png }]", &[gone]);
    let long = "n".repeat(65);
    let expected = format!("2:19: {long}: some clients refuse names of more than 64 characters");
    check_lines(&format!("prompts: [{{ name: {long}, description: d, text: x }}]"), &[&expected]);
}

#[test]
fn a_resource_without_a_description_is_noticed() {
    let silent = "2:20: a:b: a model cannot tell what it is; add a `description`";
    check_lines("resources: [{ uri: 'a:b', text: x }]", &[silent]);
}

#[test]
fn the_quickstart_gives_no_reason_to_warn() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart/haft.yaml");
    let manifest = haft_manifest::load(path.as_ref()).expect("it is right");
    // A machine without git is warned of git, and rightly so.
    let warnings: Vec<_> = manifest
        .warnings()
        .into_iter()
        .filter(|warning| !warning.message.starts_with("there is no program"))
        .collect();
    assert_eq!(warnings, []);
}

#[test]
fn a_request_that_is_not_safe_is_noticed() {
    let secure = "http: { get: 'https://a.example/', auth: { bearer: x } }";
    check(secure, &[]);
    check("http: { get: 'http://127.0.0.1:1/', auth: { bearer: x } }", &[]);
    check(
        "http: { get: 'http://a.example/', auth: { bearer: x } }",
        &["5:11: t: `auth` travels in the clear; use https"],
    );
    check(
        "input: { a: string }\n\
         http: { get: '{{ a }}', allow_dynamic_host: true, allow_private: true }",
        &["6:11: t: a caller may name any host, of private networks too; list those that are \
           meant in `allow_private`"],
    );
    check(
        "annotations: { readOnly: true }\nhttp: { delete: 'https://a.example/' }",
        &["6:11: t: a tool that is `readOnly` does not DELETE"],
    );
}

#[test]
fn an_argument_that_no_request_reads_is_noticed() {
    let used = "input: { a: string, b: string, c: string, d: string, e: string, f: string }\n\
                http: { post: 'https://x/{{ a }}?b={{ b }}', query: { c: '{{ c }}' }, \
                headers: { d: 'd {{ d }}' }, json: { e: ['{{ e }}'], f: 'f {{ f }}' } }";
    check(used, &[]);
    check(
        &used.replace("{{ e }}", "e").replace("{{ f }}", "${HOME}"),
        &[
            "5:58: t: nothing reads the argument `e`",
            "5:69: t: nothing reads the argument `f`",
            "6:125: t: `${HOME}` stays as it is; write `${env:HOME}` for the variable",
        ],
    );
}
