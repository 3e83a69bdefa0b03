//! A server on two real pipes in this process, and the client at their other ends: sends lines, and
//! reads what comes back as slowly as a test wants.

use crate::fixture::{Gate, server};
use crate::hook::{Hook, Hooked};
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use haft_transport::stdio;
use haft_transport::stop::Stop;
use rustix::pipe::pipe;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long anything may take that should take milliseconds.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// One connection.
pub(crate) struct PipeClient {
    pub(crate) gate: Arc<Gate>,
    requests: Option<Sender>,
    answers: BufReader<Receiver>,
    stop: Option<oneshot::Sender<Stop>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl PipeClient {
    pub(crate) fn start() -> Self {
        Self::hooked(Limits::default(), |_: &Ask<'_>, _: &mut Vec<u8>| None)
    }

    pub(crate) fn hooked(limits: Limits, hook: impl Hook) -> Self {
        let gate = Arc::new(Gate::default());
        let service = Arc::new(Hooked { server: server(&gate, limits.clone()), hook });
        let (input, requests) = pipe().expect("a pipe");
        let (answers, output) = pipe().expect("a pipe");
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stop = async { stopped.await.unwrap_or(Stop::AtOnce) };
            stdio::serve_pipes(service, &limits, (input, output), stop).await
        });
        Self {
            gate,
            requests: Some(Sender::from_owned_fd(requests).expect("a pipe")),
            answers: BufReader::new(Receiver::from_owned_fd(answers).expect("a pipe")),
            stop: Some(stop),
            serving,
        }
    }

    /// Begins a conversation in that revision, with a client that can do everything.
    pub(crate) async fn initialize(&mut self, version: &str) {
        let hello = self.ask(&initialize(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(line.replace('\n', " ").as_bytes()).await;
    }

    async fn send_bytes(&mut self, line: &[u8]) {
        let line = [line, b"\n"].concat();
        let requests = self.requests.as_mut().expect("it is open");
        let sent = timeout(DEADLINE, requests.write_all(&line)).await;
        sent.expect("the server reads in time").expect("the server reads");
    }

    pub(crate) async fn read(&mut self) -> Value {
        self.read_if_any().await.expect("the server has more to say")
    }

    /// The next message; `None` at the end.
    pub(crate) async fn read_if_any(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(DEADLINE, self.answers.read_line(&mut line)).await;
        let count = read.expect("an answer in time").expect("the server writes");
        (count > 0).then(|| serde_json::from_str(&line).expect("a line is a message"))
    }

    pub(crate) async fn ask(&mut self, line: &str) -> Value {
        self.send(line).await;
        self.read().await
    }

    pub(crate) async fn ask_bytes(&mut self, line: &[u8]) -> Value {
        self.send_bytes(line).await;
        self.read().await
    }

    pub(crate) fn close_input(&mut self) {
        self.requests = None;
    }

    /// Is gone: nobody writes, nobody reads. Waits for the server's end.
    pub(crate) async fn leave(self) {
        drop((self.requests, self.answers));
        let served = timeout(DEADLINE, self.serving).await.expect("it ends in time");
        served.expect("the server does not panic").expect("no error");
    }

    pub(crate) fn stop(&mut self, how: Stop) {
        self.stop.take().expect("it stops once").send(how).expect("the server listens");
    }

    /// Waits for the end, and returns what was said before it.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(message) = self.read_if_any().await {
            rest.push(message);
        }
        self.serving.await.expect("the server does not panic").expect("no error");
        rest
    }
}

/// An `initialize` of a client that can do everything.
pub(crate) fn initialize(version: &str) -> String {
    serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version,
        "capabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
        "clientInfo": {"name": "t", "version": "1"},
    }})
    .to_string()
}
