//! A gateway's end and an agent's end, each on a socket of its own, that trust one authority.

use haft_agent::{
    ALPN, Agent, AgentSettings, Dialled, Door, Guests, Hub, HubSettings, Member, Presence,
    client_config,
};
use haft_client::{Carrier, Client, Options, connect_carried};
use haft_server::{Server, Tool, handler};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::Deserialize;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Whoever signs.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("it is signed").der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn sign(&self, name: &str) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let mut params =
            CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("it is an address");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        (vec![certificate.der().clone()], key.into())
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate");
        Arc::new(roots)
    }

    pub(crate) fn gateway(&self) -> Arc<ServerConfig> {
        let verifier = WebPkiClientVerifier::builder(self.roots()).build().expect("roots");
        let (chain, key) = self.sign("gateway");
        let versions = &[&rustls::version::TLS13];
        let config = ServerConfig::builder_with_protocol_versions(versions);
        let config = config.with_client_cert_verifier(verifier).with_single_cert(chain, key);
        let mut config = config.expect("they fit");
        config.alpn_protocols = vec![ALPN.to_vec()];
        Arc::new(config)
    }

    pub(crate) fn agent(&self, name: &str) -> Arc<ClientConfig> {
        let (chain, key) = self.sign(name);
        let versions = &[&rustls::version::TLS13];
        let config = ClientConfig::builder_with_protocol_versions(versions);
        let config = config.with_root_certificates(self.roots()).with_client_auth_cert(chain, key);
        let mut config = config.expect("they fit");
        config.alpn_protocols = vec![ALPN.to_vec()];
        Arc::new(config)
    }
}

/// The common name of a certificate that this authority signed: its last.
fn identify(chain: &[CertificateDer<'_>]) -> Option<String> {
    const COMMON_NAME: [u8; 5] = [6, 3, 0x55, 4, 3];
    let der: &[u8] = chain.first()?;
    let at = der.windows(5).rposition(|bytes| bytes == COMMON_NAME)? + 5;
    let length = usize::from(*der.get(at + 1)?);
    String::from_utf8(der.get(at + 2..at + 2 + length)?.to_vec()).ok()
}

/// A hub, and the socket that it is at.
pub(crate) struct Gateway {
    pub(crate) hub: Arc<Hub>,
    pub(crate) at: SocketAddr,
    /// Why links ended.
    ended: Arc<Mutex<Vec<String>>>,
    door: JoinHandle<()>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.door.abort();
    }
}

impl Gateway {
    pub(crate) async fn new(authority: &Authority) -> Self {
        Self::named(authority, "gw-1", Vec::new()).await
    }

    pub(crate) async fn named(authority: &Authority, gateway: &str, peers: Vec<String>) -> Self {
        let settings = HubSettings {
            gateway: gateway.into(),
            epoch: 1,
            peers,
            software: "test".into(),
            identify,
        };
        let hub = Hub::new(settings);
        let here = (Ipv4Addr::LOCALHOST, 0).into();
        let door = Door::open(here, authority.gateway()).await.expect("a port");
        let at = door.address().expect("it has one");
        let ended: Arc<Mutex<Vec<String>>> = Arc::default();
        let guests: Guests = {
            let ended = Arc::clone(&ended);
            Arc::new(move |_, why| ended.lock().expect("no panics").push(why.to_owned()))
        };
        let door = tokio::spawn(door.serve(Arc::clone(&hub), guests));
        Self { hub, at, ended, door }
    }

    /// Why links ended so far.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.ended.lock().expect("no panics").clone()
    }

    pub(crate) fn member(&self, name: &str) -> Arc<Member> {
        self.hub.member(name).expect("there is room")
    }
}

/// An agent that runs.
pub(crate) struct Running {
    heard: Arc<Mutex<Vec<Dialled>>>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    /// How it went so far.
    pub(crate) fn heard(&self) -> Vec<Dialled> {
        self.heard.lock().expect("no panics").clone()
    }

    /// Why it had no link, each time.
    pub(crate) fn failures(&self) -> Vec<String> {
        let heard = self.heard.lock().expect("no panics");
        let why = |said: &Dialled| match said {
            Dialled::Failed { why, .. } => Some(why.clone()),
            _ => None,
        };
        heard.iter().filter_map(why).collect()
    }

    /// Waits until it hears that it has no link for that reason.
    pub(crate) async fn fails_with(&self, why: &str) {
        let waited = tokio::time::timeout(Duration::from_secs(10), async {
            while !self.failures().iter().any(|said| said == why) {
                tokio::task::yield_now().await;
            }
        });
        assert!(waited.await.is_ok(), "{why}: {:?}", self.failures());
    }
}

pub(crate) fn agent(
    authority: &Authority,
    name: &str,
    gateways: &[SocketAddr],
    server: Server,
) -> Running {
    agent_as(authority, (name, name), gateways, server)
}

/// One that has a certificate for the first name, and says the second.
pub(crate) fn agent_as(
    authority: &Authority,
    (certified, name): (&str, &str),
    gateways: &[SocketAddr],
    server: Server,
) -> Running {
    let heard: Arc<Mutex<Vec<Dialled>>> = Arc::default();
    let settings = AgentSettings {
        name: name.into(),
        software: "test".into(),
        gateways: gateways.iter().map(ToString::to_string).collect(),
        dialling: client_config(authority.agent(certified), 8).expect("it has ciphers"),
        tls: authority.agent(certified),
        slots: 8,
        limits: haft_proto::limits::Limits::default(),
        hears: {
            let heard = Arc::clone(&heard);
            Arc::new(move |said| heard.lock().expect("no panics").push(said.clone()))
        },
    };
    let agent = Agent::new(Arc::new(server), settings).expect("random bytes");
    Running { heard, task: tokio::spawn(agent.run(pending())) }
}

/// Waits until it is there and has said what it has.
pub(crate) async fn here(member: &Member) {
    let mut presence = member.presence();
    let is_here = |now: &Presence| matches!(now, Presence::Here { revision: 1.., .. });
    let waited = tokio::time::timeout(Duration::from_secs(10), presence.wait_for(is_here));
    waited.await.expect("in time").expect("it is told");
}

/// A client of whatever the agent has.
pub(crate) async fn client(member: &Arc<Member>) -> Client {
    let carrier: Arc<dyn Carrier> = Arc::<Member>::clone(member);
    let client = connect_carried(&carrier, &Options::default(), pending()).await;
    client.expect("it answers").expect("nobody gives it up")
}

#[derive(Deserialize)]
struct Words {
    text: String,
}

#[derive(Deserialize)]
struct Size {
    bytes: usize,
}

/// What the agents of these tests have.
pub(crate) fn tools() -> Server {
    let text = r#"{"type":"object","properties":{"text":{"type":"string"}}}"#;
    let size = r#"{"type":"object","properties":{"bytes":{"type":"integer"}}}"#;
    let echo = Tool::new("echo", handler::function(|words: Words| words.text)).input_schema(text);
    let long = Tool::new("long", handler::function(|size: Size| "~".repeat(size.bytes)));
    Server::builder("far", "1").tool(echo).tool(long.input_schema(size)).build().expect("right")
}
