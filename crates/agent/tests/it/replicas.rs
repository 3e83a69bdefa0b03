//! Several gateways: an agent finds those that one names, and keeps one link to each.

use crate::pair::{Gateway, Running, client, here};
use haft_agent::Dialled;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

#[tokio::test]
async fn an_agent_keeps_a_link_to_each_replica_by_whatever_address_it_heard_of_it() {
    let directory = Arc::new(TempDir::new().expect("a directory"));
    let second = Gateway::replica(Arc::clone(&directory), "gw-2", Vec::new()).await;
    // By two names: it is dialled by both, and one link stays.
    let peers = vec![second.at.to_string(), format!("localhost:{}", second.at.port())];
    let first = Gateway::replica(directory, "gw-1", peers).await;
    let members = [first.member("plant-7"), second.member("plant-7")];
    let agent = Running::begin(first.joined("plant-7").await, &[first.at]);
    for member in &members {
        here(member).await;
        client(member).await.list_tools().await.expect("it answers");
    }
    let linked = agent.heard().into_iter().filter_map(|said| match said {
        Dialled::Linked { gateway, .. } => Some(gateway),
        _ => None,
    });
    let linked: Vec<String> = linked.collect();
    assert_eq!(linked.iter().collect::<HashSet<_>>().len(), linked.len(), "{linked:?}");
    let is_told = |why: &String| why.starts_with("this gateway is connected already");
    let told = async {
        while !second.ended().iter().any(is_told) {
            tokio::task::yield_now().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(15), told).await;
    assert!(told.is_ok(), "{:?}", second.ended());
    assert_eq!(agent.failures(), Vec::<String>::new());
}
