//! `haft export`: bundles that run where they are unpacked, and entries as the registry wants them.

use crate::foreign::mcpb;
use crate::haft::{Ran, haft};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const YAML: &str = r#"server:
  name: city-desk
  version: 1.2.0
  title: City desk
  description: Answers questions about cities.
  website_url: https://desk.example/
tools:
  - name: show
    description: Shows what it was given.
    command: [./show.sh, "${env:DESK_TOKEN}"]
resources:
  - { uri: "docs://{+path}", description: The manual., directory: docs }
"#;

/// A directory with the file and all that it refers to.
fn project() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let root = directory.path();
    fs::create_dir(root.join("docs")).expect("it is ours");
    fs::write(root.join("docs/a.md"), "# A").expect("it is ours");
    fs::write(root.join("unrelated.txt"), "no").expect("it is ours");
    fs::write(root.join("show.sh"), "#!/bin/sh\necho \"got $1\"\n").expect("it is ours");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.join("show.sh"), mode).expect("it is ours");
    fs::write(root.join("haft.yaml"), YAML).expect("it is ours");
    let file = root.join("haft.yaml");
    (directory, file)
}

fn export(args: &[&str]) -> Ran {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_haft"));
    let output = command.arg("export").args(args).env("DESK_TOKEN", "hunter2").output();
    let output = output.expect("the binary is built");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A small program in the place of haft: bundles of it are quickly made.
fn small_binary() -> &'static str {
    "/bin/true"
}

fn unpacked(bundle: &Path, into: &Path) -> Vec<String> {
    let mut zip = zip::ZipArchive::new(File::open(bundle).expect("it is written")).expect("a zip");
    let mut names = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).expect("an entry");
        let path = into.join(entry.enclosed_name().expect("it stays inside"));
        fs::create_dir_all(path.parent().expect("it is inside")).expect("it is ours");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("it can be read");
        fs::write(&path, content).expect("it is ours");
        let mode = fs::Permissions::from_mode(entry.unix_mode().expect("a mode"));
        fs::set_permissions(&path, mode).expect("it is ours");
        names.push(entry.name().expect("UTF-8").into_owned());
    }
    names
}

#[test]
fn a_bundle_runs_where_it_is_unpacked() {
    let (directory, file) = project();
    let out = directory.path().join("desk.mcpb");
    let (file, out_text) = (file.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let ran = export(&["mcpb", file, "--out", out_text, "--author", "Ada"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let elsewhere = tempfile::tempdir().expect("a directory");
    let names = unpacked(&out, elsewhere.path());
    let expected =
        ["manifest.json", "server/haft", "server/docs/a.md", "server/haft.yaml", "server/show.sh"];
    assert_eq!(names, expected);
    let manifest = elsewhere.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("it is there");
    let judged = mcpb().arg("validate").arg(&manifest).output().expect("node is there");
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success() && said.contains("passes"), "{judged:?}");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    assert!(!text.contains("hunter2"));
    assert_eq!(manifest["user_config"]["DESK_TOKEN"]["sensitive"], true);
    // As a desktop starts it: its variables filled in, its own directory.
    let config = &manifest["server"]["mcp_config"];
    let fill = |text: &Value| {
        let text = text.as_str().expect("text");
        let home = elsewhere.path().to_str().expect("UTF-8");
        text.replace("${__dirname}", home).replace("${user_config.DESK_TOKEN}", "secret")
    };
    let words: Vec<String> = [&config["command"]]
        .into_iter()
        .chain(config["args"].as_array().expect("a list"))
        .map(fill)
        .collect();
    let token = fill(&config["env"]["DESK_TOKEN"]);
    let line = format!("env DESK_TOKEN={token} {}", words.join(" "));
    let ran = haft(["call", "--command", &line, "show"]);
    // It has the token, which is told to nobody.
    assert_eq!(ran.printed(), "got [redacted]\n");
    let ran = haft(["read", "--command", &line, "docs://a.md"]);
    assert_eq!(ran.printed(), "# A\n");
}

#[test]
fn a_bundles_manifest_has_what_its_format_wants() {
    let (directory, file) = project();
    let out = directory.path().join("desk.mcpb");
    let (file, out_text) = (file.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let args = ["mcpb", file, "--out", out_text, "--binary", small_binary(), "--json"];
    let first = export(&args).json();
    let bytes = fs::read(&out).expect("it is written");
    assert_eq!(export(&args).json()["sha256"], first["sha256"]);
    assert_eq!(fs::read(&out).expect("it is written"), bytes);
    let expected = json!({
        "manifest_version": "0.3",
        "name": "city-desk",
        "display_name": "City desk",
        "version": "1.2.0",
        "description": "Answers questions about cities.",
        "author": { "name": "city-desk" },
        "homepage": "https://desk.example/",
        "server": {
            "type": "binary",
            "entry_point": "server/haft",
            "mcp_config": {
                "command": "${__dirname}/server/haft",
                "args": ["serve", "${__dirname}/server/haft.yaml", "--stdio"],
                "env": { "DESK_TOKEN": "${user_config.DESK_TOKEN}" },
            },
        },
        "tools": [{ "name": "show", "description": "Shows what it was given." }],
        "compatibility": { "platforms": ["linux"] },
        "user_config": { "DESK_TOKEN": {
            "type": "string",
            "title": "DESK_TOKEN",
            "description": "The value of DESK_TOKEN",
            "sensitive": true,
            "required": true,
        } },
    });
    assert_eq!(first["manifest"], expected);
}

#[test]
fn what_cannot_be_bundled_says_why() {
    let (directory, file) = project();
    let text = file.to_str().expect("UTF-8");
    let ran = export(&["mcpb", text, "--binary", text]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no program of Linux"), "{ran:?}");
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).expect("it is ours");
    let outside = "server: { name: x }\ntools:\n  - { name: a, description: A., command: [cat, \
                   ../unrelated.txt] }\n";
    fs::write(inner.join("haft.yaml"), outside).expect("it is ours");
    let inner = inner.join("haft.yaml");
    let ran = export(&["mcpb", inner.to_str().expect("UTF-8"), "--binary", small_binary()]);
    assert!(ran.code == Some(2) && ran.stderr.contains("outside"), "{ran:?}");
}

#[test]
fn a_registry_entry_says_where_the_server_is() {
    let (directory, file) = project();
    let bundle = directory.path().join("desk.mcpb");
    fs::write(&bundle, "abc").expect("it is ours");
    let args = [
        "server.json",
        file.to_str().expect("UTF-8"),
        "--name",
        "io.github.ada/city-desk",
        "--remote",
        "https://desk.example/mcp",
        "--bundle",
        bundle.to_str().expect("UTF-8"),
        "--bundle-url",
        "https://github.com/ada/desk/releases/download/v1/desk.mcpb",
        "--repository",
        "https://github.com/ada/desk",
    ];
    let entry = export(&[&args[..], &["--out", "-"]].concat()).json();
    let expected = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.ada/city-desk",
        "description": "Answers questions about cities.",
        "title": "City desk",
        "version": "1.2.0",
        "websiteUrl": "https://desk.example/",
        "repository": { "url": "https://github.com/ada/desk", "source": "github" },
        "packages": [{
            "registryType": "mcpb",
            "identifier": "https://github.com/ada/desk/releases/download/v1/desk.mcpb",
            "version": "1.2.0",
            "fileSha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "transport": { "type": "stdio" },
            "environmentVariables": [{
                "name": "DESK_TOKEN",
                "description": "The value of DESK_TOKEN",
                "isRequired": true,
                "isSecret": true,
            }],
        }],
        "remotes": [{ "type": "streamable-http", "url": "https://desk.example/mcp" }],
    });
    assert_eq!(entry, expected);
}

#[test]
fn what_the_registry_would_refuse_is_refused() {
    let (directory, file) = project();
    let file = file.to_str().expect("UTF-8");
    for (args, expected) in [
        (vec!["--remote", "https://h/mcp"], "io.github.you/city-desk"),
        (vec!["--name", "desk", "--remote", "https://h/mcp"], "no name for the registry"),
        (vec!["--name", "a/b/c", "--remote", "https://h/mcp"], "no name for the registry"),
        (vec!["--name", "io.x/desk"], "--remote URL"),
        (vec!["--name", "io.x/desk", "--remote", "h"], "no http:// or https:// URL"),
        (
            vec!["--name", "io.x/desk", "--remote", "https://h", "--repository", "x"],
            "github.com/you",
        ),
    ] {
        let ran = export(&[&["server.json", file], &args[..]].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
    for (from, to, expected) in [
        (
            "description: Answers questions about cities.\n",
            "instructions: x\n",
            "wants a description",
        ),
        ("about cities.", &"about cities ".repeat(9), "characters, too many"),
        ("1.2.0", "^1.2.0", "no version that the registry takes"),
    ] {
        fs::write(directory.path().join("haft.yaml"), YAML.replace(from, to)).expect("it is ours");
        let args = ["server.json", file, "--name", "io.x/desk", "--remote", "https://h/mcp"];
        let ran = export(&args);
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{to}: {ran:?}");
    }
}
