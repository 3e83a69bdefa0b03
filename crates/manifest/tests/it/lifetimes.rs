//! No process outlives its call, however the call ends; and no call outlives its program. A process
//! is known to be dead when the pipe that it held open ends.

use crate::fixture::{Begun, Desk, Fifo, begin, failure, text};
use haft_server::Server;
use serde_json::json;

/// A script that holds the pipe `held` open, as everything does that it starts.
struct Holding {
    desk: Desk,
    server: Server,
    held: Fifo,
}

fn holding(script: &str, keys: &str) -> Holding {
    let desk = Desk::with_tools(&format!(
        "  - name: run
    command: [sh, -c, 'exec 9>held; {script}']
    {keys}
"
    ));
    let held = desk.fifo("held");
    Holding { server: desk.server(), desk, held }
}

/// A program and a process that it started, neither of which ends by itself; it tells both numbers.
const ENDLESS: &str = "sleep 1000 & echo $$ $! >&9; wait";

#[tokio::test]
async fn after_a_timeout_the_whole_group_is_dead() {
    let Holding { server, held, desk: _desk } = holding(ENDLESS, "timeout: 300ms");
    let why = failure(&server, "run", json!({})).await;
    assert_eq!(why, "The tool `run` was stopped: it took longer than 300ms.");
    check_gone(&held.text().await).await;
}

#[tokio::test]
async fn a_dropped_call_kills_its_group_at_once() {
    let Holding { desk, server, held } =
        holding(&format!("echo up > ready; {ENDLESS}"), "timeout: 1h");
    let ready = desk.fifo("ready");
    let Begun::Later(mut later) = begin(&server, "run", &json!({})) else { panic!("it runs") };
    tokio::select! {
        _ = &mut later => panic!("it does not end by itself"),
        text = ready.text() => assert_eq!(text, "up\n"),
    }
    drop(later);
    check_gone(&held.text().await).await;
}

/// The processes are no zombies either.
async fn check_gone(numbers: &str) {
    if !cfg!(target_os = "linux") {
        return;
    }
    for number in numbers.split_whitespace() {
        let path = format!("/proc/{number}/stat");
        // The second one is waited for by whatever adopts it, which is not us.
        let is_running = |stat: String| {
            let state = stat.rsplit(')').next().unwrap_or_default().trim().chars().next();
            state != Some('Z') || numbers.starts_with(number)
        };
        let gone = async {
            while std::fs::read_to_string(&path).is_ok_and(is_running) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(20), gone).await;
        assert!(waited.is_ok(), "process {number} is still there");
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed() {
    let Holding { server, held, desk: _desk } = holding("sleep 1000 & echo done", "timeout: 1h");
    assert_eq!(text(&server, "run", json!({})).await, "done");
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn what_is_left_behind_in_silence_is_killed_too() {
    let script = "sleep 1000 </dev/null >/dev/null 2>&1 & echo done";
    let Holding { server, held, desk: _desk } = holding(script, "timeout: 1h");
    assert_eq!(text(&server, "run", json!({})).await, "done");
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn a_program_that_prints_too_much_dies_with_what_it_started() {
    let Holding { server, held, desk: _desk } =
        holding("sleep 1000 & yes", "output: { limit: 1KiB }");
    let why = failure(&server, "run", json!({})).await;
    assert!(why.contains("printed more than 1024 bytes"), "{why}");
    assert_eq!(held.text().await, "");
}

#[tokio::test]
async fn a_program_that_closes_its_output_can_still_time_out() {
    let script = "exec >&- 2>&-; sleep 1000 & wait";
    let Holding { server, held, desk: _desk } = holding(script, "timeout: 300ms");
    let why = failure(&server, "run", json!({})).await;
    assert_eq!(why, "The tool `run` was stopped: it took longer than 300ms.");
    assert_eq!(held.text().await, "");
}

/// A process in a session of its own is out of reach of who does not adopt, as this one; the call
/// ends without it all the same. The command `haft` adopts: its tests have more of this.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_out_of_reach_does_not_hold_up_the_call() {
    let desk = Desk::with_tools(
        "  - name: run
    command:
      - sh
      - -c
      - 'setsid sh -c \"echo \\$\\$ > away; exec sleep 1000\" & read go < gate; echo done'
    timeout: 1h
",
    );
    let (away, gate) = (desk.fifo("away"), desk.gate("gate"));
    let server = desk.server();
    let Begun::Later(mut later) = begin(&server, "run", &json!({})) else { panic!("it runs") };
    let number = tokio::select! {
        _ = &mut later => panic!("it waits for the gate"),
        number = away.text() => number.trim().parse::<i32>().expect("a process has a number"),
    };
    gate.open();
    let result = crate::fixture::result_of(&later.await.message);
    assert_eq!(result["content"][0]["text"], "done");
    let number = rustix::process::Pid::from_raw(number).expect("a process has a number");
    rustix::process::kill_process(number, rustix::process::Signal::KILL)
        .expect("it is alive, for nothing could reach it");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_gets_no_files_that_are_not_its_own() {
    let direct = std::process::Command::new("ls")
        .arg("/proc/self/fd")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("ls is there");
    let direct = String::from_utf8(direct.stdout).expect("numbers are UTF-8");
    let _open = std::fs::File::open("/dev/null").expect("it is there");
    let server = Desk::with_tools("  - { name: run, command: [ls, /proc/self/fd] }\n").serve();
    assert_eq!(text(&server, "run", json!({})).await, direct.trim_end());
}
