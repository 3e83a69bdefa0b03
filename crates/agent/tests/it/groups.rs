//! Several agents behind one name: what one has not begun another does.

use crate::pair::{Gateway, Running, client, client_of, here, whole};
use haft_agent::Group;
use haft_client::{Carrier, Client};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinSet, yield_now};

/// More than an agent of these tests works on at once.
const MANY: u64 = 12;

async fn wait(client: &Client) -> Option<String> {
    let passed = client.call_tool_raw("wait", r#"{"bytes":5}"#, &mut |_| {}).await.ok()?;
    Some(whole(passed).await)
}

#[tokio::test]
async fn a_call_that_an_agent_has_not_begun_when_it_goes_is_done_by_another() {
    let gateway = Gateway::new().await;
    let members = ["plant-7", "plant-8"].map(|name| gateway.member(name));
    let identity = gateway.joined("plant-7").await;
    let first = Running::begin(identity.clone(), &[gateway.at]);
    let second = gateway.agent("plant-8").await;
    here(&members[0]).await;
    here(&members[1]).await;
    let group: Arc<dyn Carrier> = Arc::new(Group::new(members.to_vec()).expect("it has two"));
    let of_group = client_of(&group).await;
    let mut busy = JoinSet::new();
    for (member, count) in members.iter().zip([MANY, MANY + 1]) {
        let client = Arc::new(client(member).await);
        for _ in 0..count {
            let client = Arc::clone(&client);
            busy.spawn(async move { wait(&client).await });
        }
        while member.load() < count {
            yield_now().await;
        }
    }
    // It waits for the one that has less to do, which is then started again.
    let called = tokio::spawn(async move { wait(&of_group).await });
    while members[0].load() <= MANY {
        yield_now().await;
    }
    drop(first);
    let again = Running::begin(identity, &[gateway.at]);
    let answered = tokio::time::timeout(Duration::from_secs(30), async {
        while !called.is_finished() {
            second.let_go();
            yield_now().await;
        }
        called.await.expect("no panics")
    });
    let answered = answered.await.expect("in time").expect("it is answered");
    assert_eq!(answered.matches('~').count(), 5);
    assert_eq!((second.done(), again.done()), (MANY + 2, 0));
}
