//! Clients that watch a resource of a server behind the gateway.

use super::{ERAS, Gate, call, kill, run};
use crate::gateway::DEADLINE;
use haft_client::{Change, Client, Interest};
use haft_proto::version::Era;
use serde_json::{Value, json};
use std::time::Instant;

const WATCHED: &str = "test://watched-resource";

#[test]
fn a_resource_is_watched_once_for_all_who_watch_it_and_they_alone_are_told() {
    for upstream in ERAS {
        let gate = Gate::piped(upstream);
        run(async {
            let watching =
                |uri: &str| Interest { uris: vec![uri.to_owned()], ..Interest::default() };
            let mut clients = Vec::new();
            let mut lines = Vec::new();
            for era in [Era::Legacy, Era::Modern, Era::Legacy, Era::Modern] {
                let (client, _) = gate.client(era).await;
                lines.push(client.listen(watching(WATCHED)).await.expect("it tells"));
                clients.push(client);
            }
            let (bystander, _) = gate.client(Era::Modern).await;
            let other = bystander.listen(watching("test://static-text")).await;
            let mut other = other.expect("it tells");
            until_watched(&gate, 1).await;
            for line in &mut lines {
                // What changed before the server was told to tell is nobody's.
                update(&clients[0]).await;
                let change = line.next().await.expect("a change").expect("no error");
                assert_eq!(change, Change::Resource(WATCHED.to_owned()));
            }
            if upstream == Era::Legacy {
                let subscribed = gate.sent("resources/subscribe");
                let of_it = |one: &&Value| one["params"]["uri"] == WATCHED;
                assert_eq!(subscribed.iter().filter(of_it).count(), 1, "{subscribed:?}");
                drop(lines);
                drop(clients);
                until(|| gate.sent("resources/unsubscribe").iter().any(|one| of_it(&one))).await;
            }
            drop(gate.served);
            assert!(!matches!(other.next().await, Some(Ok(_))), "it was told of another");
        });
    }
}

#[test]
fn what_is_watched_is_watched_again_when_its_server_is_back() {
    for upstream in ERAS {
        let gate = Gate::piped(upstream);
        run(async {
            let (client, _) = gate.client(Era::Modern).await;
            let interest = Interest { uris: vec![WATCHED.to_owned()], ..Interest::default() };
            let mut line = client.listen(interest).await.expect("it tells");
            until_watched(&gate, 1).await;
            kill(&gate);
            // What it missed, if anything, it looks at again.
            let change = line.next().await.expect("a change").expect("no error");
            assert_eq!(change, Change::Resource(WATCHED.to_owned()));
            update(&client).await;
            let change = line.next().await.expect("a change").expect("no error");
            assert_eq!(change, Change::Resource(WATCHED.to_owned()));
        });
    }
}

async fn update(client: &Client) {
    call(client, "test_update_watched", json!({})).await.expect("an answer");
}

/// Waits until the fixture was told to tell of the watched resource.
async fn until_watched(gate: &Gate, count: usize) {
    until(|| {
        let listens = gate.sent("subscriptions/listen");
        let wanted = |one: &Value| one.to_string().contains(WATCHED);
        let legacy = gate.sent("resources/subscribe");
        listens.iter().chain(&legacy).filter(|one| wanted(one)).count() >= count
    })
    .await;
    // It has answered a request that came after that.
    let (client, _) = gate.client(Era::Modern).await;
    call(&client, "test_simple_text", json!({})).await.expect("an answer");
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < DEADLINE);
        tokio::task::yield_now().await;
    }
}
