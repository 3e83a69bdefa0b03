//! Who comes to a gateway and breaks the rules: the link is closed with a reason that both ends
//! hear, and nobody else notices.

use crate::pair::{Gateway, Running, client, here};
use haft_agent::limits::STRANGERS_ALIKE_MAX;
use haft_agent::trust::Identity;
use haft_agent::{ALPN, Ending};
use haft_link::{Frame, Hello, Register, StreamResponse, VERSION, write};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustls::pki_types::ServerName;
use std::collections::HashMap;
use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::Mode;

/// Somebody who says what an agent never would.
struct Stranger {
    link: Connection,
    _endpoint: Endpoint,
}

impl Stranger {
    /// With the certificate of an agent of that name.
    async fn named(gateway: &Gateway, name: &str) -> Self {
        let identity = gateway.joined(name).await;
        let identity = Identity::load(&identity, SystemTime::now()).expect("it has joined");
        Self::with(gateway, identity.client_config().expect("they fit")).await
    }

    async fn with(gateway: &Gateway, tls: Arc<rustls::ClientConfig>) -> Self {
        let config = QuicClientConfig::try_from(tls).expect("it has ciphers");
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let config = ClientConfig::new(Arc::new(config));
        let link = endpoint.connect_with(config, gateway.at, "gateway.haft.internal");
        let link = link.expect("it can be dialled").await.expect("it is let in by TLS");
        Self { link, _endpoint: endpoint }
    }

    /// Says that on the control stream; why the link ended then.
    async fn says(&self, bytes: &[u8]) -> String {
        let (mut send, _receive) = self.link.open_bi().await.expect("it may open one");
        send.write_all(bytes).await.expect("it is sent");
        let closed = timeout(Duration::from_secs(20), self.link.closed()).await;
        match closed.expect("in time") {
            ConnectionError::ApplicationClosed(close) => {
                String::from_utf8_lossy(&close.reason).into_owned()
            }
            error => error.to_string(),
        }
    }
}

fn said(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| write(frame, &mut bytes));
    bytes
}

fn hello(agent: &str) -> Frame<'_> {
    Hello { version: VERSION, agent, session_id: &[7; 16], ..Default::default() }.into()
}

#[tokio::test]
async fn whoever_breaks_the_rules_is_sent_away_with_a_reason() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let _agent = gateway.agent("plant-7").await;
    here(&member).await;
    let client = client(&member).await;
    gateway.member("stranger");
    let breach = "it broke the rules of the link";
    let register: Frame<'_> = Register { slots: 4 }.into();
    let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let no_session: Frame<'_> =
        Hello { version: VERSION, agent: "stranger", ..Default::default() }.into();
    let newer = Hello { version: VERSION + 1, agent: "stranger", ..Default::default() }.into();
    let mut then_huge = said(&[hello("stranger"), register.clone()]);
    then_huge.extend_from_slice(&huge);
    let mut said_so = HashMap::new();
    let mut breaches = |expected: &'static str| {
        let count = said_so.entry(expected).or_insert(0);
        *count += 1;
        *count
    };
    for (bytes, expected) in [
        (huge.to_vec(), breach),
        (vec![0x0a, 3, 0x12, 1, 0xff], breach),
        (said(&[register]), breach),
        (said(&[no_session]), breach),
        (said(&[hello("stranger"), StreamResponse::default().into()]), breach),
        (then_huge, breach),
        (said(&[newer]), "it speaks another version of the link: update the older one"),
        (said(&[hello("plant-7")]), "its certificate is not that of the name that it gives"),
    ] {
        let stranger = Stranger::named(&gateway, "stranger").await;
        assert_eq!(stranger.says(&bytes).await, expected, "{bytes:?}");
        let expected_count = breaches(expected);
        let told = |why: &String| why.starts_with(expected);
        let heard = async {
            while gateway.ended().iter().filter(|why| told(why)).count() < expected_count {
                tokio::task::yield_now().await;
            }
        };
        assert!(timeout(Duration::from_secs(5), heard).await.is_ok(), "{:?}", gateway.ended());
        client.list_tools().await.expect("nobody else notices");
    }
}

#[tokio::test]
async fn who_has_no_certificate_or_says_nothing_is_sent_away() {
    let gateway = Gateway::new().await;
    gateway.member("stranger");
    let now = SystemTime::now();
    let token = gateway.authority.invite("stranger", now, Duration::from_secs(60)).expect("one");
    let nobody = Identity::joining(&token).expect("it can be dialled");
    assert_eq!(nobody.alpn_protocols, [ALPN]);
    let stranger = Stranger::with(&gateway, nobody).await;
    let said = stranger.says(&said(&[hello("stranger")])).await;
    assert_eq!(said, "it has no certificate: join with a token first");
    let silent = Stranger::named(&gateway, "stranger").await;
    // The beginning of a frame, which never comes whole.
    assert_eq!(silent.says(&[0x0a, 9]).await, "it did not say who it is");
}

#[tokio::test]
async fn many_from_one_address_who_say_nothing_keep_nobody_else_out() {
    more_files();
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let identity = gateway.joined("plant-7").await;
    let mut idle = Vec::new();
    for _ in 0..STRANGERS_ALIKE_MAX {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).expect("it is this machine's");
        idle.push(socket.connect(gateway.at).await.expect("it listens"));
    }
    // The gateway takes them one after the other, and the next of these is one too many.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).expect("it is this machine's");
    let mut more = socket.connect(gateway.at).await.expect("it listens");
    let read = timeout(Duration::from_secs(5), more.read_u8()).await;
    assert!(read.expect("it is closed at once").is_err());
    let crowd = "too many have come from its address and not said who they are: try later";
    let mut endpoint = Endpoint::client((Ipv4Addr::new(127, 0, 0, 2), 0).into()).expect("a port");
    let tls = Identity::load(&identity, SystemTime::now()).expect("it has joined");
    let tls = QuicClientConfig::try_from(tls.client_config().expect("they fit")).expect("ciphers");
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(tls)));
    let refused = endpoint.connect(gateway.at, "gateway.haft.internal").expect("it is dialled");
    assert_eq!(Ending::why(&refused.await.expect_err("it is refused")), crowd);
    assert_eq!(gateway.ended().iter().filter(|why| *why == crowd).count(), 2);
    let _agent = Running::begin(identity, &[gateway.at]);
    here(&member).await;
    drop(idle);
}

/// Lets this process open as many files as it may.
fn more_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("it is no more than it may be");
}

#[tokio::test]
async fn an_agent_may_open_one_stream_and_no_flood_of_them() {
    let gateway = Gateway::new().await;
    gateway.member("stranger");
    let stranger = Stranger::named(&gateway, "stranger").await;
    let _first = stranger.link.open_bi().await.expect("the control stream");
    let second = timeout(Duration::from_millis(300), stranger.link.open_bi()).await;
    assert!(second.is_err(), "the gateway lets no other be opened");
    let one_way = timeout(Duration::from_millis(300), stranger.link.open_uni()).await;
    assert!(one_way.is_err());
}

#[tokio::test]
async fn so_it_is_over_tcp_and_whoever_opens_more_has_nothing_kept() {
    let gateway = Gateway::new().await;
    let now = SystemTime::now();
    let token = gateway.authority.invite("stranger", now, Duration::from_secs(60)).expect("one");
    let nobody = TlsConnector::from(Identity::joining(&token).expect("it can be dialled"));
    let name = ServerName::try_from("gateway.haft.internal").expect("a name");
    let tcp = TcpStream::connect(gateway.at).await.expect("it listens");
    let tls = nobody.connect(name, tcp).await.expect("it is let in by TLS");
    let mut link = yamux::Connection::new(tls.compat(), yamux::Config::default(), Mode::Client);
    for _ in 0..3 {
        let opened = poll_fn(|cx| link.poll_new_outbound(cx)).await;
        let mut stream = opened.expect("nobody has refused it yet").compat();
        // The beginning of a frame; the gateway hears of a stream when something is said on it.
        tokio::spawn(async move {
            stream.write_all(&[0x0a]).await.expect("it is taken");
            stream.read_to_end(&mut Vec::new()).await
        });
    }
    let ended = async { while let Some(Ok(_)) = poll_fn(|cx| link.poll_next_inbound(cx)).await {} };
    timeout(Duration::from_secs(5), ended).await.expect("it is broken off at once");
    let told = async {
        while gateway.ended().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(5), told).await.expect("its place is free");
}
