//! Clients that go while something they asked for is at work.

use crate::everywhere::{Anybody, everybody};
use crate::pipe_client::{DEADLINE, PipeClient};
use crate::raw_client::RawClient;
use haft_proto::limits::Limits;
use haft_proto::service::Ask;
use haft_transport::stop::Stop;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const WAIT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#;

async fn in_a_call() -> PipeClient {
    let limits = Limits { shutdown_grace: Duration::from_secs(3600), ..Limits::default() };
    let mut client = PipeClient::hooked(limits, |_: &Ask<'_>, _: &mut Vec<u8>| None);
    client.initialize("2025-11-25").await;
    client.send(WAIT).await;
    client.gate.began.notified().await;
    client
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_call() {
    let client = in_a_call().await;
    let gate = Arc::clone(&client.gate);
    client.leave().await;
    assert_eq!(gate.cancelled(), 1);
}

#[tokio::test]
async fn a_client_that_still_reads_gets_its_answer_after_its_last_word() {
    let mut client = in_a_call().await;
    client.close_input();
    client.gate.open.notify_one();
    let rest = client.end().await;
    assert_eq!((rest.len(), &rest[0]["id"]), (1, &1.into()));
}

#[tokio::test]
async fn an_order_to_stop_after_the_last_word_ends_the_call_at_once() {
    let mut client = in_a_call().await;
    let gate = Arc::clone(&client.gate);
    client.close_input();
    // Each time, the server is given its turn: nothing else is there to be awaited.
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    client.stop(Stop::Gracefully);
    client.end().await;
    assert_eq!(gate.cancelled(), 1);
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_call_on_each_wire() {
    for (wire, mut client) in everybody("2025-06-18").await {
        let gate = client.gate();
        // Whoever waits for the answer as for anything else, and is gone before it comes.
        let waiting = tokio::select! {
            biased;
            answer = client.ask(WAIT.as_bytes()) => panic!("{wire}: {answer}"),
            () = gate.began.notified() => wire,
        };
        let has_gone = match client {
            // A client of such a session may come back for the answer (2025-06-18, "Sending
            // Messages to the Server"): it goes by saying so.
            Anybody::Session(_, session, fixture) => {
                let mut other = RawClient::connect(fixture.address).await;
                assert_eq!(other.ask(&session.delete()).await.status, 204);
                Some(fixture)
            }
            Anybody::Http3(mut client, session, fixture) => {
                assert_eq!(client.ask(&session.delete()).await.status, 204);
                Some(fixture)
            }
            Anybody::Socket(socket, fixture) => {
                drop(socket);
                Some(fixture)
            }
            Anybody::TwoPaths(events, _, fixture) => {
                drop(events);
                Some(fixture)
            }
            Anybody::Sessionless(fixture) => Some(fixture),
            Anybody::Pipe(client) => {
                client.leave().await;
                None
            }
        };
        let ended = timeout(DEADLINE, gate.ended.notified()).await;
        ended.unwrap_or_else(|_| panic!("{waiting}: it goes on"));
        assert_eq!(gate.cancelled(), 1, "{waiting}");
        drop(has_gone);
    }
}
