//! A file of pforge with every command that takes a file: the built binary, and nothing else.

use crate::dev::Served;
use crate::haft::{Ran, haft};
use haft_client::Content;
use haft_proto::version::Era;
use serde_json::{json, value::to_raw_value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const YAML: &str = r#"forge:
  name: old-desk
  version: 0.3.0
  description: Tools of a desk.
  transport: websocket
tools:
  - type: native
    name: greet
    description: Greets somebody.
    handler: { path: handlers::greet }
    params: { name: string }
  - type: cli
    name: say
    description: Says a word.
    command: sh
    args: [./say.sh, "{{word}}"]
    env: { TOKEN: "${DESK_TOKEN}" }
    params: { word: string, loud: { type: boolean, default: false } }
  - type: pipeline
    name: twice
    description: Says a word twice.
    steps:
      - { tool: say, input: { word: "{{word}}" }, output_var: first }
      - { tool: say, input: { word: "{{first.stdout}}", loud: true } }
resources:
  - { uri: "file://./notes.md", name: notes, description: Notes. }
prompts:
  - { name: ask, description: Asks., template: "What is {{thing}}?" }
"#;

/// A directory with the file and all that it names.
fn project() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let root = directory.path();
    fs::write(root.join("notes.md"), "# Notes\n").expect("it is ours");
    fs::write(root.join("say.sh"), "echo \"$1\" \"$2\"\n").expect("it is ours");
    let file = root.join("pforge.yaml");
    fs::write(&file, YAML).expect("it is ours");
    (directory, file)
}

/// Runs haft with the variable that the file names.
fn run(args: &[&str], file: &Path) -> Ran {
    let file = file.to_str().expect("UTF-8");
    let args = args.iter().map(|arg| if *arg == "FILE" { file } else { arg });
    let output = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(args)
        .env("DESK_TOKEN", "hunter2")
        .output()
        .expect("the binary is built");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn check_tells_what_is_left_out_and_that_is_no_failure_unless_strict() {
    let (_directory, file) = project();
    let report = run(&["check", "--json", "FILE"], &file).json();
    let tools: Vec<_> = ["say", "twice"].map(|name| json!(name)).to_vec();
    let served: Vec<_> = report["tools"].as_array().expect("a list").iter().collect();
    assert_eq!(served.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>(), tools);
    let warnings = report["warnings"].as_array().expect("a list");
    assert_eq!(warnings[0]["file"], "transport");
    assert_eq!((&warnings[1]["tool"], &warnings[1]["line"]), (&json!("greet"), &json!(8)));
    let told = run(&["check", "FILE"], &file);
    assert_eq!(told.code, Some(0));
    let line = "pforge.yaml:8:11: greet: left out: it is compiled code (`handlers::greet`)";
    assert!(told.stderr.contains(line), "{told:?}");
    assert_eq!(run(&["check", "--strict", "FILE"], &file).code, Some(8));
    let unset = haft(["check".as_ref(), file.as_os_str()]);
    let said = "left out: the environment variable `DESK_TOKEN` is not set";
    assert!(unset.code == Some(0) && unset.stderr.contains(said), "{unset:?}");
}

#[test]
fn tools_are_listed_and_called() {
    let (_directory, file) = project();
    let list = run(&["list", "FILE"], &file);
    assert!(list.stdout.contains("say") && !list.stdout.contains("greet"), "{list:?}");
    let said = run(&["call", "FILE", "say", "word=a b", "--json"], &file).json();
    let report = json!({"stdout": "a b false\n", "stderr": "", "exit_code": 0});
    assert_eq!(said["structuredContent"], report, "{said}");
    let variables = r#"variables={"word":"x"}"#;
    let twice = run(&["call", "FILE", "twice", variables, "--json"], &file).json();
    let results = &twice["structuredContent"]["results"];
    assert_eq!(results[1]["output"]["stdout"], "x false\n true\n", "{twice}");
    let read = run(&["read", "FILE", "file://./notes.md"], &file);
    assert_eq!(read.stdout, "# Notes\n");
    let asked = run(&["prompt", "FILE", "ask", "thing=it"], &file);
    assert!(asked.stdout.contains("What is it?"), "{asked:?}");
}

#[test]
fn it_is_served_over_stdio() {
    let (_directory, file) = project();
    let line = format!("{} serve {} --stdio", env!("CARGO_BIN_EXE_haft"), file.display());
    let said = run(&["call", "--command", &line, "say", "word=hi"], &file);
    assert!(said.code == Some(0) && said.stdout.contains("hi false"), "{said:?}");
}

#[test]
fn a_bundle_has_what_it_names_and_asks_for_its_variables() {
    let (directory, file) = project();
    let bundle = directory.path().join("desk.mcpb");
    let output = bundle.to_str().expect("UTF-8");
    let made =
        run(&["export", "mcpb", "FILE", "--binary", "/bin/true", "--out", output, "--json"], &file);
    assert_eq!(made.code, Some(0), "{made:?}");
    let zip = fs::File::open(&bundle).expect("it is written");
    let mut zip = zip::ZipArchive::new(zip).expect("a zip");
    let mut entry = |name: &str| {
        let mut text = String::new();
        let mut entry = zip.by_name(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::io::Read::read_to_string(&mut entry, &mut text).expect("UTF-8");
        text
    };
    let manifest = entry("manifest.json");
    for word in ["old-desk", "0.3.0", "Tools of a desk.", "DESK_TOKEN"] {
        assert!(manifest.contains(word), "{word}: {manifest}");
    }
    for name in ["say.sh", "notes.md", "pforge.yaml"] {
        let is_it = |entry: &str| entry.ends_with(name);
        assert!(zip.file_names().any(|entry| is_it(&entry.expect("UTF-8"))), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_swapped_in() {
    let yaml = |word: &str| {
        format!(
            "forge: {{ name: a, version: 1 }}\ntools:\n  - {{ type: cli, name: say, command: echo, \
             args: [{word}] }}\n"
        )
    };
    let mut served = Served::start("dev", &yaml("old"), &[]).await;
    let client = served.client(Era::Modern).await;
    served.edit(&yaml("new"));
    let told = served.hear("was read again in").await;
    assert!(told.ends_with("tools ~ say"), "{told}");
    let none = to_raw_value(&json!({})).expect("it is JSON");
    let result = client.call_tool("say", &none, &mut |_| {}).await.expect("no call fails");
    let Some(Content::Text(text)) = result.content.first() else { panic!("a text") };
    assert!(text.contains(r#""stdout":"new\n""#), "{text}");
}
