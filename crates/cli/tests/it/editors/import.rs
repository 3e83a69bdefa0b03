//! `haft import`: what editors' files say becomes `upstreams` of a haft.yaml, which is used then.

use super::{Home, example, serving};
use crate::haft::Ran;
use serde_json::{Map, Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Values that are secret in the files of these tests; no other text has them.
const SECRETS: [&str; 4] = ["ghp_S3cretS3cret01", "hunter2", "s3-of-header", "a b'c\"$d"];

/// The text of a file, as a tree.
fn tree(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"))
}

/// What was left of a run says no secret, and not the file either.
fn says_no_secret(ran: &Ran, file: &str) {
    for secret in SECRETS {
        for text in [&*ran.stdout, &*ran.stderr, file] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

/// Files with the modes of these, for their owner alone.
fn mode(home: &Home, inner: &str) -> u32 {
    let found = std::fs::metadata(home.path(inner)).expect("it was written");
    found.permissions().mode() & 0o777
}

/// Entries, and the upstreams that mean the same.
fn pairs() -> Vec<(Value, Value)> {
    vec![
        (json!({"command": "npx", "args": ["-y", "x"]}), json!({"command": ["npx", "-y", "x"]})),
        (
            json!({"command": "a", "env": {"ADA_KEY": "hunter2", "LEVEL": "debug"}}),
            json!({"command": ["a"], "env": {"ADA_KEY": "${env:ADA_KEY}", "LEVEL": "debug"}}),
        ),
        (
            json!({"command": "a", "args": ["--api-key", "hunter2", "--port=1"]}),
            json!({"command": ["a", "--api-key", "${env:R2_API_KEY}", "--port=1"]}),
        ),
        (json!({"command": "a", "cwd": "/d"}), json!({"command": ["a"], "cwd": "/d"})),
        (json!({"command": "a", "cwd": "d"}), json!({"command": ["a"], "cwd": "HOME/project/d"})),
        (json!({"command": "./a"}), json!({"command": ["HOME/project/a"]})),
        (json!({"command": "../a/b"}), json!({"command": ["HOME/a/b"]})),
        (json!({"url": "http://h/mcp"}), json!({"url": "http://h/mcp"})),
        (json!({"type": "http", "url": "http://h/a"}), json!({"url": "http://h/a"})),
        (json!({"type": "sse", "url": "http://h/sse"}), json!({"url": "http://h/sse"})),
        (json!({"serverUrl": "http://h/b"}), json!({"url": "http://h/b"})),
        (
            json!({"url": "http://h/c", "headers": {"Authorization": "Bearer hunter2"}}),
            json!({"url": "http://h/c", "headers": {"Authorization": "Bearer ${env:R11_TOKEN}"}}),
        ),
        (
            json!({"url": "http://h/d", "headers": {"Accept": "a", "X-Region": "eu"}}),
            json!({"url": "http://h/d", "headers": {"X-Region": "eu"}}),
        ),
        (
            json!({"url": "http://ada:hunter2@h/e?key=hunter2&x=1#f"}),
            json!({"url": "http://h/e?key=${env:R13_KEY}&x=1",
                "headers": {"Authorization": "Basic ${env:R13_TOKEN}"}}),
        ),
        (
            json!({"url": "https://${input:the-host}/mcp",
                "headers": {"X-Key": "${input:the key}"}}),
            json!({"url": "https://${env:THE_HOST}/mcp", "headers": {"X-Key": "${env:THE_KEY}"}}),
        ),
        (json!({"url": "${env:SOME_URL}"}), json!({"url": "${env:SOME_URL}"})),
        (
            json!({"command": "${workspaceFolder}/a", "args": ["${userHome}", "${HAFT_NO:-b}"]}),
            json!({"command": ["HOME/project/a", "HOME", "${env:HAFT_NO}"]}),
        ),
        (
            json!({"command": "a", "args": ["${", "${1}", "{{ x }}", "$5"]}),
            json!({"command": ["a", "$${", "$${1}", "${env:R17_ARGUMENT}", "$5"]}),
        ),
        (
            json!({"command": "a", "args": ["{file:~/key}"]}),
            json!({"command": ["a", "${file:HOME/key}"]}),
        ),
        (json!({"type": "local", "command": ["a", "b"]}), json!({"command": ["a", "b"]})),
        (
            json!({"command": "a", "args": ["A:${ADA_HEADER}", "${env:HAFT_NO}"],
                "env": {"ADA_HEADER": "Bearer hunter2"}}),
            json!({"command": ["a", "A:$${ADA_HEADER}", "${env:HAFT_NO}"],
                "env": {"ADA_HEADER": "${env:ADA_HEADER}"}}),
        ),
    ]
}

#[test]
fn each_entry_becomes_the_upstream_that_means_the_same() {
    let rows = pairs();
    let home = Home::new();
    home.write("key", "k");
    let root = home.path("").to_str().expect("UTF-8").trim_end_matches('/').to_owned();
    let servers: Map<String, Value> = rows
        .iter()
        .enumerate()
        .map(|(index, (entry, _))| (format!("r{index}"), entry.clone()))
        .collect();
    home.write("project/all.json", &json!({ "mcpServers": servers }).to_string());
    let ran = home.haft(&["import", "all.json", "--output", "-", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    let text = report["text"].as_str().unwrap_or_else(|| panic!("{report}"));
    says_no_secret(&ran, text);
    let upstreams = &tree(text)["upstreams"];
    for (index, (entry, expected)) in rows.iter().enumerate() {
        let expected = expected.to_string().replace("HOME", &root);
        let found = &upstreams[format!("r{index}")];
        let why = &report["leftOut"];
        assert_eq!(found.to_string(), expected, "row {index}: {entry}: {why}");
    }
}

#[test]
fn a_server_that_cannot_be_an_upstream_is_left_out_alone_with_its_reason() {
    let rows = [
        (json!(1), "is not a mapping"),
        (json!({}), "has neither a `command` nor a `url`"),
        (json!({"command": ""}), "has an empty `command`"),
        (json!({"type": "ws", "url": "ws://h"}), "has the unknown type \"ws\""),
        (json!({"url": "nonsense"}), "cannot be an upstream"),
        (json!({"url": "ftp://h/"}), "cannot be an upstream"),
        (json!({"url": "http://h/", "headers": {"a b": "c"}}), "cannot be an upstream"),
        (json!({"command": "a", "env": {"A=B": "c"}}), "cannot be an upstream"),
        (json!({"command": "a", "disabled": true}), "is switched off; --disabled takes it along"),
        (json!({"command": "a", "args": ["{{ ${env:X}"]}), "has braces and a variable"),
        (json!({"command": "a", "args": ["$${env:X}"]}), "has a `$` before what is filled in"),
        (json!({"command": "haft", "args": ["serve", "haft.yaml", "--stdio"]}), "this very file"),
        (json!({"url": "http://a:b@h/", "headers": {"authorization": "c"}}), "has both a user"),
    ];
    let home = Home::new();
    let mut servers: Map<String, Value> = rows
        .iter()
        .enumerate()
        .map(|(index, (entry, _))| (format!("r{index}"), entry.clone()))
        .collect();
    servers.insert("good".to_owned(), json!({"command": "x", "envFile": ".env"}));
    home.write("project/all.json", &json!({ "mcpServers": servers }).to_string());
    let ran = home.haft(&["import", "all.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (index, (entry, reason)) in rows.iter().enumerate() {
        let name = format!("`r{index}` ");
        let line = ran.stderr.lines().find(|line| line.contains(&name));
        let line = line.unwrap_or_else(|| panic!("row {index}: {entry}: {ran:?}"));
        assert!(line.contains(reason), "row {index}: {entry}: {line}");
    }
    assert!(ran.stderr.contains("good: `envFile` of its entry is not taken along"), "{ran:?}");
    let upstreams = tree(&home.read("project/haft.yaml"))["upstreams"].clone();
    assert_eq!(upstreams, json!({"good": {"command": ["x"]}}));
    let off = home.haft(&["import", "all.json", "--disabled", "--only", "r8", "-o", "b.yaml"]);
    assert_eq!(off.code, Some(0), "{off:?}");
    assert_eq!(tree(&home.read("project/b.yaml"))["upstreams"], json!({"r8": {"command": ["a"]}}));
}

#[test]
fn every_editors_file_is_read_and_what_all_know_is_taken_once() {
    let home = Home::new();
    let cursor = r#"{"mcpServers": {"same": {"command": "x"}, "twin": {"command": "one"},
        "again": {"command": "x"}}}"#;
    home.write(".cursor/mcp.json", cursor);
    home.write(
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers": {"same": {"command": "x"}, "twin": {"command": "two"}}}"#,
    );
    home.write(
        ".config/Code/User/mcp.json",
        r#"{"inputs": [{"type": "promptString", "id": "tok", "password": true}], "servers":
        {"code": {"type": "http", "url": "http://h", "headers": {"X-Key": "${input:tok}"}}}} // c"#,
    );
    let codex = "[mcp_servers.codex]\ncommand = \"c\"\n";
    home.write(".codex/config.toml", codex);
    home.write(".config/goose/config.yaml", "extensions:\n  goose: {type: stdio, cmd: g}\n");
    let zed = r#"{"context_servers": {"zed": {"command": "z", "args": [], "env": {}}}}"#;
    home.write(".config/zed/settings.json", zed);
    home.write(
        ".codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"wind": {"serverUrl": "http://w/${env:HAFT_NO}"}}}"#,
    );
    let ran = home.haft(&["import", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = json!({
        "same": {"command": ["x"]},
        "twin": {"command": ["two"]},
        "codex": {"command": ["c"]},
        "twin-cursor": {"command": ["one"]},
        "goose": {"command": ["g"]},
        "code": {"url": "http://h", "headers": {"X-Key": "${env:TOK}"}},
        "wind": {"url": "http://w/${env:HAFT_NO}"},
        "zed": {"command": ["z"]},
    });
    let upstreams = tree(&home.read("project/haft.yaml"))["upstreams"].clone();
    assert_eq!(upstreams.to_string(), expected.to_string());
    let needed = ran.json()["needed"].clone();
    let names: Vec<&str> =
        needed.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["TOK", "HAFT_NO"]);
    assert_eq!(needed[0]["state"], "to set");
    assert_eq!(ran.json()["notes"], json!(["same: `again` is the same server"]));
    // An editor by its name, and a file that is no editor's, of either kind.
    for (source, name) in [("zed", "zed"), ("windsurf", "wind"), ("vs-code", "code")] {
        let ran = home.haft(&["import", source, "-o", "-"]);
        assert!(ran.code == Some(0) && ran.stdout.contains(&format!("  {name}:\n")), "{ran:?}");
    }
    home.write("project/some.toml", codex);
    home.write("project/some.json", zed);
    for (source, name) in [("some.toml", "codex"), ("./some.json", "zed")] {
        let ran = home.haft(&["import", source, "-o", "-"]);
        assert!(ran.code == Some(0) && ran.stdout.contains(&format!("  {name}:\n")), "{ran:?}");
    }
}

/// A server with secrets of each kind.
const WITH_SECRETS: &str = r#"{"mcpServers": {
    "github": {"command": "x", "args": ["--token", "hunter2"],
        "env": {"ADA_TOKEN": "ghp_S3cretS3cret01", "ADA_SECRET": "a b'c\"$d"}},
    "remote": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Api-Key": "s3-of-header"}}}}"#;

#[test]
fn secrets_are_named_and_kept_for_their_owner_alone_and_never_said() {
    let home = Home::new();
    home.write("project/a.json", WITH_SECRETS);
    // Only named.
    let ran = home.haft(&["import", "a.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    says_no_secret(&ran, &home.read("project/haft.yaml"));
    for name in ["ADA_TOKEN", "ADA_SECRET", "REMOTE_X_API_KEY"] {
        let is_named = |line: &str| line.starts_with(name) && line.contains("to set");
        assert!(ran.stdout.lines().any(is_named), "{name}: {ran:?}");
    }
    assert_eq!(home.haft(&["check"]).code, Some(2), "nobody has set them");
    // In a file of variables, to which the next import adds.
    let ran = home.haft(&["import", "a.json", "--env-file", "haft.env"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    says_no_secret(&ran, &home.read("project/haft.yaml"));
    assert_eq!(mode(&home, "project/haft.env"), 0o600);
    let kept = home.read("project/haft.env");
    assert_eq!(kept.lines().count(), 4, "{kept}");
    home.write(
        "project/b.json",
        r#"{"mcpServers": {"b": {"command": "b", "env": {
        "ADA_TOKEN": "ghp_S3cretS3cret01", "B_KEY": "hunter2"}}}}"#,
    );
    let ran = home.haft(&["import", "b.json", "--env-file", "haft.env"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let added = home.read("project/haft.env");
    assert_eq!(added, format!("{kept}B_KEY=hunter2\n"), "what is there stays, and is used again");
    assert_eq!(mode(&home, "project/haft.env"), 0o600);
    let shell = "set -eu; set -a; . ./haft.env; printf '%s' \"$ADA_SECRET\"; exec >&2; $HAFT check";
    let output = Command::new("sh")
        .args(["-c", shell])
        .current_dir(home.path("project"))
        .env("HAFT", env!("CARGO_BIN_EXE_haft"))
        .output()
        .expect("there is a shell");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), SECRETS[3]);
    // In files, which are read where they are.
    let ran = home.haft(&["import", "a.json", "--secrets", "file", "--output", "files/haft.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = home.read("project/files/haft.yaml");
    says_no_secret(&ran, &text);
    assert!(text.contains("${file:haft.secrets/ADA_TOKEN}"), "{text}");
    assert_eq!(mode(&home, "project/files/haft.secrets"), 0o700);
    assert_eq!(home.read("project/files/haft.secrets/ADA_SECRET"), format!("{}\n", SECRETS[3]));
    assert_eq!(mode(&home, "project/files/haft.secrets/ADA_SECRET"), 0o600);
    assert_eq!(home.haft(&["check", "files/haft.yaml"]).code, Some(0));
    // JSON is YAML, too.
    assert_eq!(home.haft(&["import", "a.json", "-o", "new.json"]).code, Some(0));
    assert_eq!(tree(&home.read("project/new.json"))["upstreams"]["github"]["command"][0], "x");
    let again = home.haft(&["import", "a.json", "--secrets", "file", "-o", "files/haft.yaml"]);
    assert_eq!((again.code, home.read("project/files/haft.yaml")), (Some(0), text));
}

#[test]
fn secrets_are_not_put_where_others_see_them() {
    let home = Home::new();
    home.write("project/a.json", WITH_SECRETS);
    home.write("project/haft.secrets/x", "");
    home.write("project/long.env", &"#".repeat(1024 * 1024 + 1));
    home.write("project/odd.env", "A='");
    let open = home.path("project/haft.secrets");
    std::fs::set_permissions(open, PermissionsExt::from_mode(0o755)).expect("it is ours");
    for (args, said) in [
        (&["--secrets", "file"][..], "others can reach it"),
        (&["--secrets", "file", "--output", "-"], "secrets in files need a file"),
        (&["--secrets", "file", "--env-file", "e"], "--env-file is for --secrets env"),
        (&["--env-file", "."], "cannot keep secrets: it is no file"),
        (&["--env-file", "long.env"], "cannot keep secrets: it is too long"),
        (&["--env-file", "odd.env"], "cannot keep secrets: a quote is not closed"),
    ] {
        let ran = home.haft(&[&["import", "a.json"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {ran:?}");
        says_no_secret(&ran, "");
        assert!(!home.path("project/haft.yaml").exists(), "{args:?}");
    }
}

const THERE: &str = "# The first line.
server: { name: there } # its name

# What is behind it:
upstreams:
  # Ours.
  old:
    command: [x, y] # in a list
    env: { KEY: \"${env:OLD_KEY}\" }

tools:
  - { name: own, description: Ours., text: ours }
# The last line.
";

#[test]
fn a_file_that_is_there_keeps_every_line() {
    let home = Home::new();
    home.write("project/haft.yaml", THERE);
    let a = r#"{"mcpServers": {"a": {"command": "a", "env": {"OLD_KEY": "other"}}}}"#;
    home.write("project/a.json", a);
    let ran = home.haft(&["import", "a.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = home.read("project/haft.yaml");
    let added = "  a:\n    command: [a]\n    env: {OLD_KEY: \"${env:A_OLD_KEY}\"}\n";
    assert_eq!(text, THERE.replace("upstreams:\n", &format!("upstreams:\n{added}")));
    // Once more changes no byte.
    let ran = home.haft(&["import", "a.json", "--json"]);
    assert_eq!((ran.code, home.read("project/haft.yaml")), (Some(0), text.clone()), "{ran:?}");
    assert_eq!(ran.json()["upstreams"][0]["change"], "unchanged");
    let of = |home: &Home| std::fs::metadata(home.path("project/haft.yaml")).expect("it is there");
    let written = of(&home).modified().expect("a time");
    assert_eq!(home.haft(&["import", "a.json"]).code, Some(0));
    assert_eq!(of(&home).modified().expect("a time"), written, "nobody sees an edit");
    // Another of that name is refused, or replaces it.
    home.write("project/b.json", r#"{"mcpServers": {"a": {"command": "b"}}}"#);
    let ran = home.haft(&["import", "b.json"]);
    assert_eq!((ran.code, home.read("project/haft.yaml")), (Some(2), text.clone()), "{ran:?}");
    for part in ["has `a` already, with other settings", "--force", "--output"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let ran = home.haft(&["import", "b.json", "--force"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let replaced = "  a:\n    command: [b]\n";
    assert_eq!(home.read("project/haft.yaml"), text.replace(added, replaced));
}

#[test]
fn a_file_that_cannot_be_edited_is_left_and_said_what_to_do_about() {
    let home = Home::new();
    home.write("project/a.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    for (there, reason) in [
        ("server: { name: x }\nupstreams: { old: { command: [x] } }\n", "does not edit"),
        ("server: { name: x }\nupstreams: [1]\n", "mapping"),
        ("server: { name: x }\nnonsense: 1\n", "haft.yaml: line 2:1: "),
        ("server: {\n", "YAML"),
        (
            "server: { name: x }\nupstreams:\n  a_:\n    command: [x]\n    prefix: a_\n",
            "begin with \"a_\"",
        ),
    ] {
        home.write("project/haft.yaml", there);
        let ran = home.haft(&["import", "a.json"]);
        assert_eq!(
            (ran.code, home.read("project/haft.yaml").as_str()),
            (Some(2), there),
            "{ran:?}"
        );
        for part in ["nothing can be put into", reason, "--output FILE, or --output -"] {
            assert!(ran.stderr.contains(part), "{there}: {part}: {ran:?}");
        }
        assert_eq!(home.beside("project/haft.yaml"), [".git", "a.json", "haft.yaml"], "{there}");
        let printed = home.haft(&["import", "a.json", "--output", "-"]);
        assert_eq!(tree(printed.printed())["upstreams"], json!({"a": {"command": ["a"]}}));
    }
}

#[test]
fn a_file_that_is_too_long_is_left_alone() {
    let home = Home::new();
    home.write("project/a.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    home.write("project/haft.yaml", &"#".repeat(10_000_001));
    let ran = home.haft(&["import", "a.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("it is too long"), "{ran:?}");
}

#[test]
fn what_is_no_source_is_said_so() {
    let home = Home::new();
    home.write("project/empty.json", r#"{"mcpServers": {}}"#);
    home.write("project/a.json", r#"{"mcpServers": {"a": {"command": "a"}}}"#);
    for (args, said) in [
        (&["nowhere.json"][..], "there is no file nowhere.json"),
        (&["./nowhere"], "there is no file ./nowhere"),
        (&["cursr"], "did you mean cursor?"),
        (&["empty.json"], "there is no server to import"),
        (&[], "there is no server to import"),
        (&["a.json", "--only", "other"], "there is no server named \"other\" there"),
        (&["a.json", "--only", "a", "--only", "other"], "there are a"),
    ] {
        let ran = home.haft(&[&["import"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {ran:?}");
        assert!(!home.path("project/haft.yaml").exists(), "{args:?}");
    }
}

#[test]
fn what_was_imported_is_served() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        &json!({"mcpServers": {"my tools": serving(&example())}}).to_string(),
    );
    assert_eq!(home.haft(&["import", "cursor"]).code, Some(0));
    let ran = home.haft(&["call", "haft.yaml", "my-tools_greet", "name=Ada"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "Hello, Ada!\n"), "{ran:?}");
}
