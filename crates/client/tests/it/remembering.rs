//! Child processes that shook hands once and do otherwise when they are started again: what a
//! client that remembers makes of them. Shell scripts, with the prelude of `hostile_process`.

use crate::hostile_process::PRELUDE;
use haft_client::{Client, ClientError, Eras, Launch, Options, Target, connect, connect_unless};
use haft_proto::version::Era;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::Notify;

/// A legacy server that is another one from its second start on.
struct Server {
    /// Has a line for each start.
    directory: TempDir,
    then: String,
    options: Options,
}

impl Server {
    /// It has been met once.
    async fn met(then: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let starts = directory.path().join("starts");
        let then = format!(
            "{PRELUDE}\necho >>'{0}'; count=$(wc -l <'{0}'); if [ $count = 1 ]; then
            read -r line; send '\"id\":1,\"error\":{{\"code\":-32601}}'
            read -r line; answer \"$(id_of \"$line\")\" \"$INFO\"; silent; fi\n{then}",
            starts.display()
        );
        let (timeout, soon) = (Duration::from_secs(30), Duration::from_millis(50));
        let eras = Eras::default();
        let options = Options { timeout, discover_timeout: soon, eras, ..Options::default() };
        let server = Self { directory, then, options };
        let client = server.again().await.expect("it is there");
        assert_eq!(client.handshake().era, Era::Legacy);
        client.close().await;
        server
    }

    fn launch(&self) -> Launch {
        Launch::new("sh", ["-c", &self.then])
    }

    async fn again(&self) -> Result<Client, ClientError> {
        connect(&Target::Command(self.launch()), &self.options).await
    }

    fn starts(&self) -> usize {
        let starts = fs::read_to_string(self.directory.path().join("starts"));
        starts.expect("it was started").lines().count()
    }
}

#[tokio::test]
async fn one_that_has_become_modern_and_is_silent_to_a_handshake_is_found() {
    let server = Server::met(
        r#"while read -r line; do case "$line" in
            *server/discover*) answer "$(id_of "$line")" "$MODERN";; esac; done"#,
    )
    .await;
    let client = server.again().await.expect("it is there");
    assert_eq!((client.handshake().era, server.starts()), (Era::Modern, 2));
}

#[tokio::test]
async fn one_that_is_slow_to_shake_hands_is_waited_for() {
    let server = Server::met(
        r#"read -r slow; read -r line; send "\"id\":$(id_of "$line"),\"error\":{\"code\":-32601}"
            answer "$(id_of "$slow")" "$INFO"; silent"#,
    )
    .await;
    let client = server.again().await.expect("it is there");
    assert_eq!((client.handshake().era, server.starts()), (Era::Legacy, 2));
}

#[tokio::test]
async fn one_that_fails_at_its_start_is_started_once_and_remembered() {
    let shakes = r#"read -r line; case "$line" in *initialize*) ;; *) exit 4;; esac
        answer "$(id_of "$line")" "$INFO"; silent"#;
    let then = format!("if [ $count = 2 ]; then exit 3; fi; {shakes}");
    let server = Server::met(&then).await;
    let error = server.again().await.expect_err("it fails");
    let ClientError::ServerExited { status, .. } = &error else { panic!("{error}") };
    assert_eq!((&**status, server.starts()), ("exit status: 3", 2));
    let client = server.again().await.expect("it is there");
    assert_eq!((client.handshake().era, server.starts()), (Era::Legacy, 3));
}

#[tokio::test]
async fn one_that_has_become_modern_and_dies_of_a_handshake_is_found_soon() {
    let server = Server::met(
        r#"while read -r line; do case "$line" in *initialize*) exit 3;;
            *server/discover*) answer "$(id_of "$line")" "$MODERN";; esac; done"#,
    )
    .await;
    for _ in 0..2 {
        let error = server.again().await.expect_err("it fails");
        assert!(matches!(error, ClientError::ServerExited { .. }), "{error}");
    }
    let client = server.again().await.expect("it is there");
    assert_eq!((client.handshake().era, server.starts()), (Era::Modern, 4));
}

#[tokio::test]
async fn nobody_who_gives_up_waits_for_the_end_of_one_that_is_asked_anew() {
    let server = Server::met(
        r#"trap '' TERM; read -r line
            send "\"id\":$(id_of "$line"),\"error\":{\"code\":-32601}"
            silent; echo closing >&2; while :; do sleep 1; done"#,
    )
    .await;
    let closing = Arc::new(Notify::new());
    let heard = Arc::clone(&closing);
    let launch = server.launch().hearing(Arc::new(move |_| heard.notify_one()));
    let given_up = async {
        closing.notified().await;
        Instant::now()
    };
    let target = Target::Command(launch);
    let since = std::sync::OnceLock::new();
    let given_up = async { _ = since.set(given_up.await) };
    let none = connect_unless(&target, &server.options, given_up).await.expect("no error");
    let waited = since.get().expect("it was given up").elapsed();
    // It ends after four seconds, if it is waited for.
    assert!(none.is_none() && waited < Duration::from_secs(1), "{waited:?}");
}
