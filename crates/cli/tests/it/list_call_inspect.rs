//! `haft list`, `call` and `inspect` against servers that others wrote and against our own, over
//! stdio and HTTP, in both eras; and what they print and exit with when something is wrong.

use crate::desk::Desk;
use crate::foreign_servers::{everything, listening, official, own};
use crate::gateway_faults::bed::faulty;
use crate::haft::{Ran, haft, quickstart};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn quickstart_path() -> String {
    quickstart().display().to_string()
}

/// Runs a verb on a command, a URL or a file.
fn run(verb: &str, target: &str, more: &[&str]) -> Ran {
    let is_command = target.starts_with('\'') || !target.contains('/');
    let target = if is_command { vec!["--command", target] } else { vec![target] };
    haft([verb].into_iter().chain(target).chain(more.iter().copied()))
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

/// The JSON line on stderr.
fn error_of(ran: &Ran) -> Value {
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    let line: Value = serde_json::from_str(&ran.stderr).expect("a JSON line");
    line["error"].clone()
}

#[test]
fn tools_are_listed_as_a_table_and_as_the_servers_own_json() {
    let table = run("list", &quickstart_path(), &[]);
    let table = table.printed();
    assert!(table.starts_with("TOOL "), "{table}");
    let row = table.lines().find(|line| line.starts_with("word_count ")).expect("a row");
    assert!(row.contains("text: string") && row.ends_with("Counts the words of a text."), "{row}");
    assert!(!table.contains('\x1b'), "no colour into a pipe: {table:?}");

    let list = run("list", &quickstart_path(), &["--json"]).json();
    assert_eq!(list["server"]["name"], "quickstart");
    assert_eq!(list["protocolVersion"], "2026-07-28");
    assert!(names(&list).contains(&"word_count"), "{list}");
    let legacy = run("list", &quickstart_path(), &["--json", "--era", "legacy"]).json();
    assert_eq!(legacy["protocolVersion"], "2025-11-25");
    assert_eq!(names(&legacy), names(&list));
}

#[test]
fn our_own_server_is_reached_over_http_in_both_eras() {
    let server = own(&quickstart());
    for era in ["auto", "modern", "legacy"] {
        let ran = run("call", &server.url, &["word_count", "text=a b", "--era", era]);
        assert_eq!(ran.printed(), "2\n", "{era}");
    }
    let found = run("inspect", &server.url, &["--json"]).json();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25"]));
    assert_eq!(found["era"], "modern");
}

#[test]
fn the_official_server_is_reached_on_both_wires_in_both_eras() {
    let (both, modern) = (listening("http"), listening("http only-modern"));
    for (target, era) in [
        (official("stdio"), "auto"),
        (official("stdio"), "modern"),
        (official("stdio"), "legacy"),
        (official("stdio only-modern"), "auto"),
        (both.url.clone(), "auto"),
        (both.url.clone(), "modern"),
        (both.url.clone(), "legacy"),
        (modern.url.clone(), "auto"),
    ] {
        let ran = run("call", &target, &["greet", "name=Zoë", "--era", era]);
        assert_eq!(ran.printed(), "Hello, Zoë!\n", "{target} {era}");
    }
    for target in [official("stdio only-modern"), modern.url.clone()] {
        let ran = run("list", &target, &["--era", "legacy"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("does not speak the legacy era"), "{ran:?}");
    }
}

#[test]
fn marked_arguments_are_mirrored_in_headers() {
    let server = listening("http");
    for region in ["eu-1", "Zürich ", "=?base64?x?="] {
        let ran = run("call", &server.url, &["where", &format!("region=={region}")]);
        assert_eq!(ran.printed(), format!("{region}\n"));
    }
}

#[test]
fn progress_and_logs_go_to_stderr_and_the_answer_to_stdout() {
    let server = listening("http");
    let lines = "warning stairs: two steps to go\nprogress 1/2: up\nprogress 2/2: up\n";
    for target in [official("stdio"), server.url.clone()] {
        let ran = run("call", &target, &["steps"]);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("done\n", lines), "{target}");
        let ran = run("call", &target, &["steps", "--era", "legacy", "--log-level", "warning"]);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("done\n", lines), "{target}");
        let ran = run("call", &target, &["steps", "--json"]);
        assert_eq!((&ran.json()["content"][0]["text"], &*ran.stderr), (&json!("done"), ""));
    }
}

/// What `haft` does with a server that is a shell script: it reads `id` and writes `answer RESULT`.
fn on_script(verb: &str, script: &str, more: &[&str]) -> Ran {
    const PRELUDE: &str = r#"
id() { read -r line || exit 0; id=${line#*\"id\":}; id=${id%%[!0-9]*}; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
id; answer '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
"#;
    let command =
        format!("sh -c {}", shlex::try_quote(&format!("{PRELUDE}{script}")).expect("text"));
    haft([verb, "--command", &command].into_iter().chain(more.iter().copied()))
}

#[test]
fn json_is_printed_as_it_came() {
    let content = "{\"content\":[{\"type\":\"text\", \"text\":\"a\u{7f}\u{9b}b\"}]}";
    let script = format!("id; answer '{{\"tools\":[{{\"name\":\"t\"}}]}}'; id; answer '{content}'");
    let ran = on_script("call", &script, &["t", "--json"]);
    assert_eq!(ran.printed(), format!("{content}\n"));
}

#[test]
fn a_failure_is_one_json_line_of_harmless_characters() {
    let error = r#"{"code":-1,"message":"a\u001b[2J\n\u009bb\u007f\u202ec"}"#;
    let script = format!(r#"id; printf '{{"jsonrpc":"2.0","id":%s,"error":%s}}\n' $id '{error}'"#);
    let said = error_of(&on_script("call", &script, &["t", "--json"]));
    assert_eq!(said["message"], "the server refused `tools/list`: a[2J bc (-1)");
}

#[test]
fn a_legacy_server_of_others_is_listed_called_and_inspected() {
    let target = everything();
    let list = run("list", &target, &["--json"]).json();
    assert_eq!(list["protocolVersion"], "2025-11-25");
    assert!(names(&list).contains(&"get-sum"), "{list}");
    let ran = run("call", &target, &["get-sum", "a=1", "b=2.5"]);
    assert_eq!(ran.printed(), "The sum of 1 and 2.5 is 3.5.\n");
    let ran = run("call", &target, &["get-tiny-image"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.starts_with("[image image/png, "), "{ran:?}");
    let found = run("inspect", &target, &[]);
    let found = found.printed();
    for part in ["mcp-servers/everything 2.0.0", "2025-11-25, the legacy era", "Instructions"] {
        assert!(found.contains(part), "{part}: {found}");
    }
}

#[test]
fn inspect_says_who_a_server_is_in_text_and_in_json() {
    let found = run("inspect", &official("stdio"), &[]);
    let found = found.printed();
    for part in ["official 2.4.0  The official one", "2026-07-28, 2025-11-25", "  Greet first."] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let found = run("inspect", &official("stdio only-modern"), &["--json"]).json();
    assert_eq!(found["server"]["title"], "The official one");
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["tools"]["count"], 5);
    assert!(found["tools"]["bytes"].as_u64() > Some(500), "{found}");
    assert!(found["timings"]["connectMs"].as_f64() > Some(0.0), "{found}");
}

#[test]
fn a_tool_that_fails_exits_with_5_and_says_why_on_stderr() {
    let ran = run("call", &official("stdio"), &["fail"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(5), ""));
    assert_eq!(ran.stderr, "error: It cannot be done.\n");
    let ran = run("call", &official("stdio"), &["fail", "--json"]);
    assert_eq!((ran.code, &ran.json()["isError"]), (Some(5), &json!(true)));
    let expected = json!({"code": "tool_failed", "message": "It cannot be done."});
    assert_eq!(error_of(&ran), expected);
}

#[test]
fn a_tool_that_does_not_exist_exits_with_5_and_the_nearest_name() {
    let ran = run("call", &quickstart_path(), &["wordcount", "text=x"]);
    assert_eq!(ran.code, Some(5));
    let expected = "error: the server has no tool `wordcount`\nhint: did you mean `word_count`?\n";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn a_call_that_takes_too_long_exits_with_7_on_both_wires() {
    let server = listening("http");
    for target in [official("stdio"), server.url.clone()] {
        let ran = run("call", &target, &["wait", "--timeout", "3s", "--json"]);
        assert_eq!(ran.code, Some(7), "{ran:?}");
        assert_eq!(error_of(&ran)["code"], "timed_out");
    }
}

#[test]
fn a_server_that_is_not_there_exits_with_4() {
    for target in ["http://127.0.0.1:1/mcp", "no-such-program", "false"] {
        let ran = run("list", target, &["--json"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(4), ""), "{target}");
        assert_eq!(error_of(&ran)["code"], "unreachable", "{target}");
        let ran = run("list", target, &[]);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() <= 2, "{ran:?}");
    }
}

#[test]
fn what_makes_no_sense_exits_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "server: { name: x }\ntols: []\n").expect("a file");
    let broken = broken.display().to_string();
    for args in [
        &["list"][..],
        &["list", "nonsense"],
        &["list", "/no/such.yaml"],
        &["list", &broken],
        &["list", "--command", "a 'b"],
        &["list", "--command", "a", "b.yaml"],
        &["list", "ftp://x/"],
        &["list", "http://a/", "--timeout", "soon"],
        &["list", "http://a/", "--header", "no colon"],
        &["list", "--command", "a", "--header", "A: b"],
        &["call", "http://a/"],
        &["nonsense"],
    ] {
        let ran = haft(args.iter().copied().chain(["--json"]));
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{args:?}: {ran:?}");
        assert_eq!(error_of(&ran)["code"], "usage", "{args:?}");
    }
    let missing = error_of(&haft(["call", "--json"]));
    let message =
        "the following required arguments were not provided: <TARGET, TOOL, ARGUMENTS>...";
    assert_eq!(missing, json!({ "code": "usage", "message": message }));
    let misspelt = error_of(&haft(["lits", "--json"]));
    assert_eq!(misspelt["hint"], "a similar subcommand exists: 'list'", "{misspelt}");
    let ran = haft(["list", &broken]);
    assert!(ran.stderr.contains("did you mean `tools`?"), "{ran:?}");
}

#[test]
fn a_header_reaches_the_server_and_nobody_else() {
    let ran = haft(["list", "http://127.0.0.1:1/mcp", "-v", "-H", "Authorization: hunter2"]);
    assert_eq!(ran.code, Some(4));
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
}

#[test]
fn a_pipe_that_nobody_reads_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["list", &quickstart_path(), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
    let status = child.wait().expect("the child is ours");
    assert_eq!((status.code(), &*said), (Some(0), ""));
}

#[test]
fn an_interrupted_call_ends_with_130() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_haft"))
        .args(["call", "--command", &official("stdio"), "wait"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("UTF-8");
    assert_eq!(line, "info: waiting\n");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    line.clear();
    stderr.read_to_string(&mut line).expect("UTF-8");
    let status = child.wait().expect("the child is ours");
    assert_eq!((status.code(), &*line), (Some(130), "error: interrupted\n"));
}

#[test]
fn every_verb_has_help_with_examples() {
    for verb in ["list", "call", "inspect"] {
        let help = haft([verb, "--help"]);
        assert!(help.printed().contains("Examples:"), "{verb}");
    }
}

#[test]
fn without_a_path_the_usual_one_is_meant_and_without_a_target_the_file_of_this_directory() {
    let desk = Desk::with("server: { name: s }\ntools: [{ name: hi, text: hi }]\n");
    let server = own(&desk.file);
    let bare = server.url.strip_suffix("/mcp").expect("the usual path");
    for url in [bare, &format!("{bare}/"), &server.url] {
        let listed = haft(["list", url, "--json"]).json();
        assert_eq!(listed["tools"][0]["name"], "hi", "{url}");
    }
    let wrong = haft(["list", &format!("{bare}/elsewhere")]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    for verb in ["list", "inspect", "doctor"] {
        let run = |at: &Path| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
            command.arg(verb).current_dir(at).output().expect("it is built")
        };
        let here = run(desk.file.parent().expect("a folder"));
        assert!(here.status.success() && !here.stdout.is_empty(), "{here:?}");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let none = run(elsewhere.path());
        assert_eq!(none.status.code(), Some(2), "{none:?}");
        let said = String::from_utf8_lossy(&none.stderr);
        assert!(said.contains("there is no haft.yaml here"), "{said}");
    }
}

#[test]
fn lists_whose_pages_do_not_end_are_given_up_in_time() {
    let page =
        r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{"tools":[],"nextCursor":"$n"} }"#;
    let command = format!("{} 'tools/list wait 300' '{page}'", faulty());
    for verb in [&["list"][..], &["call", "any"]] {
        let since = Instant::now();
        let mut words = vec![verb[0], "--command", &command, "--timeout", "2s"];
        words.extend(&verb[1..]);
        let run = haft(&words);
        assert_eq!(run.code, Some(7), "{run:?}");
        assert!(run.stderr.contains("did not end within 2s"), "{run:?}");
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    }
}
