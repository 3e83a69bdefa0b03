//! Child processes that die, babble, fall silent, mix answers up or outlive their welcome: what the
//! client makes of each. They are shell scripts; `answer ID RESULT` in them writes a response.

use haft_client::{Client, ClientError, Launch, Notice, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::fs;
use std::io::Read;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
send() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
id_of() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
INFO='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}'
MODERN='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
OK='{"content":[{"type":"text","text":"ok"}]}'
silent() { while read -r line; do :; done; }
keep() { while read -r line; do printf '%s\n' "$line"; done > "$1"; }
shake() { read -r line; answer 1 "$INFO"; read -r line; }
"#;

fn script(body: &str) -> Target {
    Target::Command(Launch::new("sh", ["-c", &format!("{PRELUDE}\n{body}")]))
}

fn legacy(timeout_ms: u64) -> Options {
    let timeout = Duration::from_millis(timeout_ms);
    Options { era: Some(Era::Legacy), timeout, ..Options::default() }
}

/// Long enough for a loaded machine; only servers that answer are waited for like this.
const PATIENT_MS: u64 = 30_000;

async fn refused(body: &str, options: &Options) -> ClientError {
    connect(&script(body), options).await.expect_err("no connection")
}

async fn connected(body: &str, options: &Options) -> Client {
    connect(&script(body), options).await.expect("a connection")
}

fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("JSON")
}

#[tokio::test]
async fn a_program_that_does_not_exist_cannot_start() {
    let target = Target::Command(Launch::new("no-such-program-here", ["x"]));
    let error = connect(&target, &Options::default()).await.expect_err("no program");
    assert!(matches!(error, ClientError::CannotStart { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_is_reported_with_its_status_and_last_words() {
    let body = "read -r line; echo 'error: no key' >&2; echo 'see the manual' >&2; exit 3";
    let error = refused(body, &legacy(PATIENT_MS)).await;
    let ClientError::ServerExited { status, words, .. } = &error else { panic!("{error}") };
    assert_eq!((&**status, &**words), ("exit status: 3", "error: no key"));
}

#[tokio::test]
async fn a_silent_server_that_wrote_something_else_is_told_from_a_silent_one() {
    let error = refused("echo 'Listening on stdio!'; silent", &legacy(2000)).await;
    let ClientError::GarbageOnStdout { line } = &error else { panic!("{error}") };
    assert_eq!(line, "Listening on stdio!");
    let error = refused("silent", &legacy(2000)).await;
    assert!(matches!(error, ClientError::TimedOut { method: "initialize", .. }), "{error}");
}

#[tokio::test]
async fn a_banner_before_the_answer_is_forgiven() {
    let client = connected("echo 'Welcome!'; shake; silent", &legacy(PATIENT_MS)).await;
    assert_eq!(client.handshake().server.name, "s");
    client.close().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_told_from_none() {
    let body = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"resu'"#;
    let error = refused(body, &legacy(PATIENT_MS)).await;
    assert!(matches!(error, ClientError::ClosedMidAnswer { .. }), "{error}");
}

#[tokio::test]
async fn a_last_answer_without_a_line_end_counts() {
    let body = r#"shake; read -r line; printf '{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}'"#;
    let client = connected(body, &legacy(PATIENT_MS)).await;
    assert!(client.list_tools().await.expect("a list").tools.is_empty());
}

#[tokio::test]
async fn an_answer_to_a_request_that_was_never_sent_explains_a_silence() {
    let body = r#"read -r line; answer '"1"' "$INFO"; silent"#;
    let error = refused(body, &legacy(2000)).await;
    let ClientError::AnsweredAnotherId { ours, theirs } = &error else { panic!("{error}") };
    assert_eq!((&**ours, &**theirs), ("1", "\"1\""));
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_connection() {
    let mut options = legacy(PATIENT_MS);
    options.limits.message_bytes = 1000;
    let body = "read -r line; head -c 5000 /dev/zero | tr '\\0' x; silent";
    let error = refused(body, &options).await;
    assert!(matches!(error, ClientError::MessageTooLarge { limit: 1000 }), "{error}");
}

#[tokio::test]
async fn a_server_that_closes_its_stdout_and_lives_on_is_not_called_dead() {
    let error = refused("exec >&-; silent", &legacy(PATIENT_MS)).await;
    assert!(matches!(error, ClientError::StdoutClosed { .. }), "{error}");
}

#[tokio::test]
async fn an_unreadable_answer_is_given_to_whoever_waits_for_it() {
    let body = r#"read -r line; printf '{"jsonrpc":"1.0","id":1,"result":{}}\n'; silent"#;
    let error = refused(body, &legacy(PATIENT_MS)).await;
    assert!(matches!(error, ClientError::NotJsonRpc { .. }), "{error}");
}

#[tokio::test]
async fn answers_in_any_order_find_their_requests() {
    let body = r#"shake; read -r one; read -r two
        answer "$(id_of "$two")" "$(printf '%s' "$two" | sed 's/.*"params"://; s/.$//')"
        answer "$(id_of "$one")" "$(printf '%s' "$one" | sed 's/.*"params"://; s/.$//')"
        silent"#;
    let client = connected(body, &legacy(PATIENT_MS)).await;
    let none = no_arguments();
    let (mut quiet, mut silent) = (|_| {}, |_| {});
    let (first, second) = tokio::join!(
        client.call_tool("first", &none, &mut quiet),
        client.call_tool("second", &none, &mut silent),
    );
    for (result, name) in [(first, "first"), (second, "second")] {
        let raw = result.expect("an answer").raw;
        assert!(raw.get().contains(&format!("{name:?}")), "{name}: {raw}");
    }
    client.close().await;
}

#[tokio::test]
async fn notices_arrive_in_order_before_the_answer_and_only_with_our_token() {
    let body = r#"shake; read -r line
        send '"method":"notifications/progress","params":{"progressToken":2,"progress":1,"total":2}'
        send '"method":"notifications/progress","params":{"progressToken":9,"progress":9}'
        send '"method":"notifications/message","params":{"level":"info","data":"hello"}'
        send '"method":"notifications/progress","params":{"progressToken":2,"progress":2}'
        send '"method":"notifications/of/tomorrow"'
        answer 2 "$OK"; silent"#;
    let client = connected(body, &legacy(PATIENT_MS)).await;
    let mut heard = Vec::new();
    let mut listener = |notice| {
        heard.push(match notice {
            Notice::Progress { progress, .. } => format!("{progress}"),
            Notice::Log { level, data, .. } => format!("{level} {data}"),
            Notice::Status { message } => message,
            Notice::Unasked { method } => method.name().to_owned(),
            Notice::Task => "a task".to_owned(),
        });
    };
    client.call_tool("x", &no_arguments(), &mut listener).await.expect("an answer");
    assert_eq!(heard, ["1", r#"info "hello""#, "2"]);
    client.close().await;
}

#[tokio::test]
async fn a_server_that_asks_back_gets_an_answer() {
    let body = r#"shake; read -r line
        send '"id":"p","method":"ping"'; read -r pong
        send '"id":7,"method":"sampling/createMessage","params":{}'; read -r no
        answer 2 "{\"content\":[],\"structuredContent\":{\"pong\":$pong,\"no\":$no}}"
        silent"#;
    let client = connected(body, &legacy(PATIENT_MS)).await;
    let result = client.call_tool("x", &no_arguments(), &mut |_| {}).await.expect("an answer");
    let answers: serde_json::Value = serde_json::from_str(result.raw.get()).expect("JSON");
    let answers = &answers["structuredContent"];
    assert_eq!(answers["pong"]["result"], serde_json::json!({}));
    assert_eq!(answers["no"]["error"]["code"], -32601);
    client.close().await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("heard");
    let body = format!("shake; read -r call; keep '{}'", file.display());
    let client = connected(&body, &legacy(2000)).await;
    let error = client.call_tool("x", &no_arguments(), &mut |_| {}).await.expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { method: "tools/call", .. }), "{error}");
    client.close().await;
    let heard = fs::read_to_string(file).expect("what the server heard");
    assert!(heard.contains("notifications/cancelled") && heard.contains("\"requestId\":2"));
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_not_cancelled() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("heard");
    let body = format!("keep '{}'", file.display());
    let options = Options { era: Some(Era::Modern), ..legacy(2000) };
    let error = refused(&body, &options).await;
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    let heard = fs::read_to_string(file).unwrap_or_default();
    assert!(!heard.contains("cancelled"), "{heard}");
}

#[tokio::test]
async fn requests_in_flight_are_bounded() {
    let mut options = legacy(2000);
    options.limits.requests_in_flight = 1;
    let client = connected("shake; silent", &options).await;
    let none = no_arguments();
    let (mut quiet, mut silent) = (|_| {}, |_| {});
    let second = async {
        let error = client.call_tool("b", &none, &mut silent).await.expect_err("one too many");
        assert!(matches!(error, ClientError::TooManyInFlight { limit: 1 }), "{error}");
    };
    tokio::select! {
        biased;
        first = client.call_tool("a", &none, &mut quiet) => panic!("answered: {first:?}"),
        () = second => {}
    }
    client.close().await;
}

#[tokio::test]
async fn a_list_without_end_is_given_up() {
    let body = r#"shake; while read -r line; do id="$(id_of "$line")"
        answer "$id" '{"tools":[],"nextCursor":"'"$id"'"}'; done"#;
    let client = connected(body, &legacy(PATIENT_MS)).await;
    let error = client.list_tools().await.expect_err("no end");
    assert!(matches!(error, ClientError::ListWithoutEnd { .. }), "{error}");
    client.close().await;
}

#[tokio::test]
async fn a_server_that_dies_of_a_modern_question_is_started_again() {
    let body = r#"read -r line
        case "$line" in *server/discover*) exit 1;; esac
        answer "$(id_of "$line")" "$INFO"; silent"#;
    let client = connected(body, &Options::default()).await;
    assert_eq!(client.handshake().era, Era::Legacy);
    client.close().await;
}

#[tokio::test]
async fn a_server_that_is_silent_to_a_modern_question_is_asked_to_shake_hands() {
    let body = r#"while read -r line; do
        case "$line" in *initialize*) answer "$(id_of "$line")" "$INFO"; break;; esac; done
        silent"#;
    let options = Options { discover_timeout: Duration::from_millis(50), ..Options::default() };
    let client = connected(body, &options).await;
    assert_eq!(client.handshake().era, Era::Legacy);
    client.close().await;
}

#[tokio::test]
async fn a_modern_server_that_is_slow_to_start_is_not_taken_for_a_legacy_one() {
    let body = r#"read -r discover; read -r initialize
        answer "$(id_of "$discover")" "$MODERN"; silent"#;
    let options = Options { discover_timeout: Duration::from_millis(50), ..Options::default() };
    let client = connected(body, &options).await;
    assert_eq!(client.handshake().era, Era::Modern);
    client.close().await;
}

#[tokio::test]
async fn an_era_that_was_asked_for_and_is_not_spoken_is_named() {
    let body = r#"read -r line; send '"id":1,"error":{"code":-32601,"message":"what?"}'; silent"#;
    for era in [Era::Modern, Era::Legacy] {
        let options = Options { era: Some(era), ..legacy(PATIENT_MS) };
        let error = refused(body, &options).await;
        assert!(matches!(error, ClientError::EraNotSpoken { era: e, .. } if e == era), "{error}");
    }
}

#[tokio::test]
async fn closing_asks_a_stubborn_process_to_end_before_it_is_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("asked");
    let body = format!(
        "trap 'echo yes > {file}; exit 0' TERM; shake; while :; do sleep 60; done",
        file = file.display()
    );
    let client = connected(&body, &legacy(PATIENT_MS)).await;
    client.close().await;
    assert_eq!(fs::read_to_string(file).expect("the trap's file"), "yes\n");
}

#[tokio::test]
async fn dropping_a_client_ends_everything_that_its_process_started() {
    let directory = tempfile::tempdir().expect("a directory");
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let body = format!("sleep 600 > '{}' & shake; silent", fifo.display());
    let client = connected(&body, &legacy(PATIENT_MS)).await;
    // Opening waits for the process at the other end; the pipe ends when the last one has ended.
    let opening = tokio::task::spawn_blocking(|| fs::File::open(fifo).expect("the pipe"));
    let mut pipe = opening.await.expect("a thread");
    drop(client);
    let mut rest = Vec::new();
    let reading = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut rest));
    assert_eq!(reading.await.expect("a thread").expect("the end of the pipe"), 0);
}

#[tokio::test]
async fn what_a_server_left_behind_ends_with_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is everywhere");
    assert!(made.success());
    // The child of the server holds the pipe open for as long as it lives.
    let body = format!("sleep 300 >'{}' 2>&1 </dev/null & shake; silent", pipe.display());
    let opened = std::thread::spawn(move || fs::File::open(pipe).expect("the pipe is there"));
    let client = connected(&body, &legacy(PATIENT_MS)).await;
    let mut left_behind = opened.join().expect("it is opened");
    client.close().await;
    let mut said = Vec::new();
    left_behind.read_to_end(&mut said).expect("the pipe ends with its last writer");
}

#[tokio::test]
async fn a_server_that_dies_is_missed_though_its_stdout_is_held_open() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is everywhere");
    assert!(made.success());
    // The child of the server has its stdout and stderr, and the pipe for as long as it lives.
    let body =
        format!("shake; read -r line; sleep 300 3>'{}' & echo bye >&2; exit 3", pipe.display());
    let opened = std::thread::spawn(move || fs::File::open(pipe).expect("the pipe is there"));
    let client = connected(&body, &legacy(PATIENT_MS)).await;
    let error = client.call_tool("x", &no_arguments(), &mut |_| {}).await.expect_err("it died");
    let ClientError::ServerExited { status, words, .. } = &error else { panic!("{error}") };
    assert_eq!((&**status, &**words), ("exit status: 3", "bye"));
    let mut left_behind = opened.join().expect("it is opened");
    let mut said = Vec::new();
    left_behind.read_to_end(&mut said).expect("the pipe ends with its last writer");
}

#[tokio::test]
async fn a_server_that_dies_while_nothing_is_asked_is_told_by_its_end_alone() {
    for (body, told) in [
        (
            "shake; echo 'error: no key' >&2; echo bye >&2; exit 3",
            "the server process ended (exit status: 3); its last words: error: no key",
        ),
        ("shake; kill -9 $$", "the server process ended (signal: 9 (SIGKILL))"),
        (
            "shake; echo bye >&2; exec >&-; silent",
            "the server closed its stdout; its last words: bye",
        ),
        // Half a message is nobody's answer.
        ("shake; printf '{'; exit 4", "the server process ended (exit status: 4)"),
    ] {
        let client = connected(body, &legacy(PATIENT_MS)).await;
        client.ended().await;
        assert_eq!(client.why_ended().await.to_string(), told, "{body}");
    }
}

#[tokio::test]
async fn all_calls_in_flight_are_told_at_once_that_a_server_closed_its_stdout() {
    const CALLS: usize = 20;
    let body = format!("shake; for _ in $(seq {CALLS}); do read -r line; done; exec >&-; silent");
    let client = connected(&body, &legacy(PATIENT_MS)).await;
    let none = no_arguments();
    let began = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    let client = Arc::new(client);
    for _ in 0..CALLS {
        let (client, none) = (Arc::clone(&client), none.clone());
        calls.spawn(async move { client.call_tool("x", &none, &mut |_| {}).await });
    }
    for called in calls.join_all().await {
        let error = called.expect_err("nothing can come");
        assert!(matches!(error, ClientError::StdoutClosed { .. }), "{error}");
    }
    // Each would be waited for for a second, one after the other.
    let told = began.elapsed();
    assert!(told < Duration::from_secs(CALLS as u64 / 2), "{told:?}");
}

#[tokio::test]
async fn what_is_heard_of_stderr_is_short_and_plain() {
    let heard = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heard);
    let body = r#"head -c 8000 /dev/zero | tr '\0' '\377' >&2; echo >&2
        head -c 20000 /dev/zero | tr '\0' x >&2; echo >&2
        printf '\033[31mred\033[0m\n' >&2; exit 3"#;
    let Target::Command(launch) = script(body) else { panic!("it is a command") };
    let hearing = Arc::new(move |line: &str| kept.lock().expect("no panics").push(line.to_owned()));
    let target = Target::Command(launch.hearing(hearing));
    connect(&target, &legacy(PATIENT_MS)).await.expect_err("it ends");
    let heard = std::mem::take(&mut *heard.lock().expect("no panics"));
    let lengths: Vec<_> = heard.iter().map(String::len).collect();
    assert_eq!(lengths, [8 * 1024 / 3 * 3, 8 * 1024, 3]);
    assert_eq!(heard[2], "red");
}
