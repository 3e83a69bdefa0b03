//! Where no datagrams pass: the same link over TLS and TCP.

use crate::pair::{Gateway, Running, client, here, whole};
use crate::relay::Relay;
use haft_agent::Dialled;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Passes on what comes over TCP, and nothing that comes over UDP.
struct Firewall {
    at: SocketAddr,
    /// Nothing passes any more, and nobody is told.
    is_shut: watch::Sender<bool>,
    /// How long whoever comes waits.
    lag: watch::Sender<Duration>,
    task: JoinHandle<()>,
}

impl Firewall {
    async fn before(gateway: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let at = listener.local_addr().expect("it has one");
        let (is_shut, shut) = watch::channel(false);
        let lag = watch::Sender::new(Duration::ZERO);
        let late = lag.subscribe();
        let task = tokio::spawn(async move {
            while let Ok((mut inside, _)) = listener.accept().await {
                let (mut shut, lag) = (shut.clone(), *late.borrow());
                tokio::spawn(async move {
                    _ = tokio::time::timeout(lag, pending::<()>()).await;
                    let Ok(mut outside) = TcpStream::connect(gateway).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut inside, &mut outside) => return,
                        _ = shut.wait_for(|is_shut| *is_shut) => {}
                    }
                    // Both stay open for as long as somebody shuts it.
                    _ = shut.wait_for(|is_shut| !is_shut).await;
                });
            }
        });
        Self { at, is_shut, lag, task }
    }
}

/// One address, at which TCP leads to the first and datagrams to the second.
async fn both_ways(tcp: SocketAddr, udp: SocketAddr) -> (Relay, Firewall) {
    loop {
        let firewall = Firewall::before(tcp).await;
        // Somebody else may have the port for datagrams.
        if let Ok(relay) = Relay::at(firewall.at, udp).await {
            return (relay, firewall);
        }
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn calls_go_over_tcp_where_udp_is_blocked_and_the_agent_says_so() {
    let gateway = Gateway::new().await;
    let firewall = Firewall::before(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[firewall.at]);
    here(&member).await;
    let client = client(&member).await;
    for bytes in [0, 1, 3 * 1024 * 1024] {
        let arguments = format!(r#"{{"bytes":{bytes}}}"#);
        let passed = client.call_tool_raw("long", &arguments, &mut |_| {}).await.expect("it comes");
        let text = whole(passed).await;
        assert_eq!(text.matches('~').count(), bytes);
    }
    let is_over_tcp = |said: &Dialled| matches!(said, Dialled::Linked { is_over_tcp: true, .. });
    assert!(agent.heard().iter().any(is_over_tcp), "{:?}", agent.heard());
}

#[tokio::test]
async fn more_calls_than_yamux_leaves_unacknowledged_are_worked_on_at_once() {
    const MANY: usize = 280;
    let gateway = Gateway::new().await;
    let firewall = Firewall::before(gateway.at).await;
    let member = gateway.member("plant-7");
    let identity = gateway.joined("plant-7").await;
    let agent = Running::with_slots(2 * MANY, identity, &[firewall.at]);
    here(&member).await;
    let client = Arc::new(client(&member).await);
    let call = |tool: &'static str, arguments: &'static str| {
        let client = Arc::clone(&client);
        async move { client.call_tool_raw(tool, arguments, &mut |_| {}).await.expect("it comes") }
    };
    // Calls that take as long however many there are make room for so many.
    let has_room = || gateway.hub.told().iter().any(|told| told.limit > MANY);
    let make_room = async {
        while !has_room() {
            let mut naps = JoinSet::new();
            (0..2 * MANY).for_each(|_| _ = naps.spawn(call("nap", r#"{"text":"well"}"#)));
            naps.join_all().await;
        }
    };
    let made = tokio::time::timeout(Duration::from_secs(120), make_room).await;
    assert!(made.is_ok(), "{:?}", gateway.hub.told());
    let mut slow = JoinSet::new();
    (0..MANY).for_each(|_| _ = slow.spawn(call("wait", r#"{"bytes":1}"#)));
    agent.begun(MANY as u64).await;
    call("echo", r#"{"text":"and one more"}"#).await;
    (0..MANY).for_each(|_| agent.let_go());
    assert_eq!(gateway.ended().len(), 1, "only who joined has gone: {:?}", gateway.ended());
}

#[tokio::test]
async fn a_gateway_that_answers_late_whatever_it_is_asked_over_is_reached_over_quic() {
    let gateway = Gateway::new().await;
    let (relay, firewall) = both_ways(gateway.at, gateway.at).await;
    let identity = gateway.joined("plant-7").await;
    let member = gateway.member("plant-7");
    // TCP is asked after 0.7 s, and there after 1.0; QUIC after 1.2: its address is shown first.
    relay.change(|way| way.delay = Duration::from_millis(300));
    firewall.lag.send_replace(Duration::from_millis(300));
    let agent = Running::begin(identity, &[relay.at]);
    here(&member).await;
    let is_over_tcp = |said: &Dialled| matches!(said, Dialled::Linked { is_over_tcp: true, .. });
    assert!(!agent.heard().iter().any(is_over_tcp), "{:?}", agent.heard());
}

#[tokio::test]
async fn a_link_over_tcp_is_over_udp_once_that_passes_and_its_calls_go_on() {
    let gateway = Gateway::new().await;
    let (relay, _firewall) = both_ways(gateway.at, gateway.at).await;
    relay.cut(true);
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[relay.at]);
    here(&member).await;
    let client = client(&member).await;
    let waiting = async { client.call_tool_raw("wait", r#"{"bytes":9}"#, &mut |_| {}).await };
    let lifted = async {
        agent.begun(1).await;
        relay.cut(false);
        let is_over_udp =
            |said: &Dialled| matches!(said, Dialled::Linked { is_over_tcp: false, .. });
        while !agent.heard().iter().any(is_over_udp) {
            tokio::task::yield_now().await;
        }
        agent.let_go();
    };
    let both = async { tokio::join!(waiting, lifted) };
    let both = tokio::time::timeout(Duration::from_secs(15), both).await;
    let (passed, ()) = both.unwrap_or_else(|_| panic!("{:?}", agent.heard()));
    assert_eq!(whole(passed.expect("it is answered")).await.matches('~').count(), 9);
    assert_eq!(agent.done(), 1, "it ran once");
    assert_eq!(agent.failures(), Vec::<String>::new());
}

#[tokio::test]
async fn a_link_over_tcp_is_kept_while_datagrams_lead_to_another_replica() {
    let directory = Arc::new(TempDir::new().expect("a directory"));
    let gateway = Gateway::replica(Arc::clone(&directory), "gw-1", Vec::new()).await;
    let other = Gateway::replica(directory, "gw-2", Vec::new()).await;
    let (relay, _firewall) = both_ways(gateway.at, other.at).await;
    relay.cut(true);
    let (member, elsewhere) = (gateway.member("plant-7"), other.member("plant-7"));
    let agent = Running::begin(gateway.joined("plant-7").await, &[relay.at]);
    here(&member).await;
    relay.cut(false);
    let is_told = |why: &String| why.starts_with("this gateway is connected already");
    let told = async {
        while other.ended().iter().filter(|why| is_told(why)).count() < 2 {
            tokio::task::yield_now().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(15), told).await;
    assert!(told.is_ok(), "{:?}", other.ended());
    client(&member).await.list_tools().await.expect("it is there as before");
    assert!(elsewhere.presence().borrow().session().is_none());
    assert_eq!((agent.heard().len(), gateway.ended().len()), (1, 1), "{:?}", gateway.ended());
}

#[tokio::test]
async fn a_link_over_tcp_that_nothing_comes_over_is_given_up_at_both_ends_and_calls_go_on() {
    let gateway = Gateway::new().await;
    let firewall = Firewall::before(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[firewall.at]);
    here(&member).await;
    let client = client(&member).await;
    let waiting = async { client.call_tool_raw("wait", r#"{"bytes":9}"#, &mut |_| {}).await };
    let shut = async {
        agent.begun(1).await;
        firewall.is_shut.send_replace(true);
        let quiet = "nothing came over it any more";
        agent.fails_with(quiet).await;
        while !gateway.ended().iter().any(|why| why == quiet) {
            tokio::task::yield_now().await;
        }
        firewall.is_shut.send_replace(false);
        agent.let_go();
    };
    let both = async { tokio::join!(waiting, shut) };
    let both = tokio::time::timeout(Duration::from_secs(50), both).await;
    let (passed, ()) = both.unwrap_or_else(|_| panic!("{:?}", agent.heard()));
    assert_eq!(whole(passed.expect("it is answered")).await.matches('~').count(), 9);
    assert_eq!(agent.done(), 1, "it ran once");
}

#[tokio::test]
async fn why_a_link_ends_is_said_over_tcp_too() {
    let gateway = Gateway::new().await;
    let firewall = Firewall::before(gateway.at).await;
    let unknown = Running::begin(gateway.joined("plant-8").await, &[firewall.at]);
    unknown.fails_with("no upstream of the gateway's file has this agent").await;
}
