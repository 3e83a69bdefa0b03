//! A server is found in every editor's file and reached by its name.

use super::{Home, example, serving};
use crate::foreign_servers::own;
use crate::haft::quickstart;
use serde_json::json;

#[test]
fn discover_shows_every_hosts_servers_and_what_is_wrong() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["--token", "hunter2"]}}}"#,
    );
    home.write(
        ".config/Code/User/mcp.json",
        "{\"servers\": {\"b\": {\"type\": \"http\", \"url\": \
        \"https://u:hunter2@h/mcp?key=hunter2\", \"headers\": {\"A\": \"${input:t}\"}}, // c\n}}",
    );
    home.write(".codex/config.toml", "[mcp_servers.c]\ncommand = \"x\"\nenabled = false\n");
    home.write(
        ".config/goose/config.yaml",
        "extensions:\n  d: {type: stdio, cmd: x}\n  e: {type: builtin}\n",
    );
    home.write(
        ".config/opencode/opencode.json",
        r#"{"mcp": {"f": {"type": "local", "command": ["x", "y"]}}}"#,
    );
    home.write(
        ".config/zed/settings.json",
        r#"{"context_servers": {"g": {"command": {"path": "x"}}}}"#,
    );
    home.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"h": {"command": "${HAFT_NO}"}, "bad": {}}}"#,
    );
    home.write(".gemini/settings.json", "{ broken");
    let ran = home.haft(&["discover"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in ["HOST", "x --token …", "https://h/mcp?key=…", "c (off)", "~/.codex/config.toml"]
    {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    assert!(ran.stderr.contains("~/.gemini/settings.json: it is not JSON"), "{ran:?}");
    assert!(ran.stderr.contains("`bad` has neither a `command` nor a `url`"), "{ran:?}");
    let json = home.haft(&["discover", "--json"]);
    let report = json.json();
    let names: Vec<&str> = report["servers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|server| server["name"].as_str())
        .collect();
    assert_eq!(names, ["h", "c", "a", "d", "f", "b", "g"]);
    assert_eq!(report["faults"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["servers"][0]["needs"], json!(["the variable HAFT_NO"]));
    assert_eq!(report["servers"][5]["needs"], json!(["the input `t`, which its editor asks for"]));
    assert!(!format!("{ran:?}{json:?}").contains("hunter2"));
    let one = home.haft(&["discover", "--source", "codex", "--json"]).json();
    assert_eq!(one["servers"].as_array().map(Vec::len), Some(1));
    let ran = home.haft(&["discover", "--source", "gose"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean goose?"), "{ran:?}");
}

#[test]
fn a_target_may_be_a_name_from_an_editors_file() {
    let home = Home::new();
    let server = json!({"mcpServers": {"desk": serving(&example())}});
    home.write(".cursor/mcp.json", &server.to_string());
    let ran = home.haft(&["call", "desk", "greet", "name=Ada"]);
    assert_eq!(ran.printed(), "Hello, Ada!\n");
    // A directory that happens to have the name is no target.
    std::fs::create_dir(home.path("project/desk")).expect("it is ours");
    let ran = home.haft(&["list", "cursor:desk", "--json"]);
    assert_eq!(ran.json()["server"]["name"], "quickstart");
    let ran = home.haft(&["list", "desk", "--json"]);
    assert_eq!(ran.json()["server"]["name"], "quickstart");
    let ran = home.haft(&["inspect", "dsek"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean desk?"), "{ran:?}");
}

#[test]
fn a_name_is_reached_over_http_with_its_headers() {
    let home = Home::new();
    let server = own(&quickstart());
    let url = json!({"servers": {"web": {"type": "http", "url": server.url,
        "headers": {"X-A": "${env:HAFT_TEST_A}"}}}});
    home.write("project/.vscode/mcp.json", &url.to_string());
    let ran = home.haft(&["call", "web", "greet", "name=Ada"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("needs the variable HAFT_TEST_A"), "{ran:?}");
    let ran = home.haft_with(&["call", "web", "greet", "name=Ada"], &[("HAFT_TEST_A", "b")]);
    assert_eq!(ran.printed(), "Hello, Ada!\n");
}

#[test]
fn a_program_gets_the_environment_and_directory_of_its_entry() {
    let home = Home::new();
    home.write(
        "project/sub/haft.yaml",
        "server: { name: desk }\ntools:\n  - name: show\n    \
        description: Shows.\n    command: [printenv, DESK_A]\n    env: \
        { DESK_A: \"${env:DESK_A}\" }\n",
    );
    let mut entry = serving("haft.yaml");
    entry["env"] = json!({"DESK_A": "${env:HAFT_TEST_B} b"});
    entry["cwd"] = json!("${workspaceFolder}/sub");
    home.write("project/.cursor/mcp.json", &json!({"mcpServers": {"desk": entry}}).to_string());
    let ran = home.haft_with(&["call", "desk", "show"], &[("HAFT_TEST_B", "a")]);
    assert_eq!(ran.printed(), "a b\n");
}

#[test]
fn a_name_with_two_meanings_is_asked_about() {
    let home = Home::new();
    let one = json!({"mcpServers": {"desk": serving(&example())}});
    home.write(".cursor/mcp.json", &one.to_string());
    home.write(".gemini/settings.json", &one.to_string());
    // Twice the same is no question.
    home.haft(&["list", "desk"]).printed();
    let two = json!({"context_servers": {"desk": {"command": "other"}}});
    home.write(".config/zed/settings.json", &two.to_string());
    let ran = home.haft(&["list", "desk"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("cursor:desk, gemini:desk, zed:desk"), "{ran:?}");
    home.haft(&["list", "gemini:desk"]).printed();
    // Nor does a project decide what the name of a server means that its user has.
    home.write(
        "project/.zed/settings.json",
        &json!({"context_servers": {"desk": serving(&example())}}).to_string(),
    );
    let ran = home.haft(&["list", "zed:desk"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let files = [".zed/settings.json:desk", "~/.config/zed/settings.json:desk"];
    assert!(files.iter().all(|file| ran.stderr.contains(file)), "{ran:?}");
    home.haft(&["list", ".zed/settings.json:desk"]).printed();
}

#[test]
fn a_server_in_any_file_is_a_target() {
    let home = Home::new();
    let one = json!({"mcpServers": {"desk": serving(&example())}});
    home.write("project/servers.json", &one.to_string());
    let ran = home.haft(&["list", "servers.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("try servers.json:desk"), "{ran:?}");
    home.haft(&["list", "servers.json:desk"]).printed();
    let ran = home.haft(&["list", "./servers.json:dsek"]);
    let meant = "did you mean ./servers.json:desk?";
    assert!(ran.code == Some(2) && ran.stderr.contains(meant), "{ran:?}");
}

#[test]
fn servers_that_claude_code_keeps_for_one_project_are_found() {
    let home = Home::new();
    let project = home.path("project").canonicalize().expect("it is there");
    let server = json!({"mcpServers": {"desk": serving(&example())}});
    let file = json!({"projects": {project.to_str().expect("UTF-8"): server, "/other": {
        "mcpServers": {"other": {"command": "x"}}}}});
    home.write(".claude.json", &file.to_string());
    let found = home.haft(&["discover", "--json"]).json();
    assert_eq!(found["servers"].as_array().map(Vec::len), Some(1), "{found}");
    home.haft(&["list", "desk"]).printed();
}
