//! What an address gets of a gateway that has not shown that it is there: anybody may have written
//! it, so that it is at most three times what came from there (RFC 9000, 8.1).

use crate::pair::Gateway;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// How long what a gateway sends again, as nobody says that it came, is waited for.
const REPEATS: Duration = Duration::from_secs(4);

/// The first datagram of an agent that has joined there, which has never been at the gateway.
async fn first_datagram(gateway: &Gateway, name: &str) -> Vec<u8> {
    let identity = gateway.joined(name).await;
    let identity = haft_agent::trust::Identity::load(&identity, SystemTime::now());
    let tls = identity.expect("it has joined").client_config().expect("they fit");
    let config = QuicClientConfig::try_from(tls).expect("it has ciphers");
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let at = nobody.local_addr().expect("it has one");
    let config = ClientConfig::new(Arc::new(config));
    let _dialled = endpoint.connect_with(config, at, "gateway.haft.internal").expect("it dials");
    let mut datagram = vec![0; 65536];
    let came = timeout(Duration::from_secs(15), nobody.recv(&mut datagram)).await;
    datagram.truncate(came.expect("in time").expect("it comes"));
    datagram
}

/// What comes back for these datagrams, in bytes.
async fn comes_back(gateway: std::net::SocketAddr, datagrams: Vec<Vec<u8>>) -> usize {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    for datagram in &datagrams {
        socket.send_to(datagram, gateway).await.expect("it is sent");
    }
    let (until, mut bytes, mut buffer) = (Instant::now() + REPEATS, 0, vec![0; 65536]);
    while let Ok(came) = timeout_at(until, socket.recv(&mut buffer)).await {
        bytes += came.expect("it comes");
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_may_be_anybodys_gets_three_times_what_it_sent_at_most() {
    let gateway = Gateway::new().await;
    let mut rows = JoinSet::new();
    // How many bytes that say nothing are behind the first datagram, and in others after it.
    let all: [(&str, usize, &[usize]); 6] = [
        ("as it is", 0, &[]),
        ("one byte more", 1, &[]),
        ("a fifth more", 240, &[]),
        ("as long as a datagram is", 252, &[]),
        ("a short one behind it", 0, &[40]),
        ("many short ones behind it", 0, &[30; 20]),
    ];
    for (row, (case, behind, others)) in all.into_iter().enumerate() {
        let first = first_datagram(&gateway, &format!("plant-{row}")).await;
        let mut datagrams = vec![first.clone()];
        datagrams[0].resize(first.len() + behind, 0);
        // They are of the same connection, and cannot be read.
        datagrams.extend(others.iter().map(|length| first[..*length].to_vec()));
        let sent: usize = datagrams.iter().map(Vec::len).sum();
        let at = gateway.at;
        rows.spawn(async move { (case, sent, comes_back(at, datagrams).await) });
    }
    let mut wrong = Vec::new();
    while let Some(row) = rows.join_next().await {
        let (case, sent, came) = row.expect("no panic");
        println!("{case}: {came} bytes for {sent}");
        if came == 0 || came > 3 * sent {
            wrong.push(format!("{case}: {came} bytes for {sent}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
