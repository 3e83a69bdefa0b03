//! Handshakes of TLS between an agent and gateways, without a wire: what of one the next needs no
//! more, what is heard early, and clocks that differ.

use crate::trust::kept;
use haft_agent::limits::{CERTIFICATE_LIFE, CLOCK_SLACK, SECRET_BYTES_MIN};
use haft_agent::trust::{Authority, EarlyData, Identity, TicketSecret, TrustError};
use rustls::client::Resumption;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ServerConfig, ServerConnection};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A clock that stands.
#[derive(Debug)]
struct At(SystemTime);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0.duration_since(UNIX_EPOCH).expect("it is later")))
    }
}

fn authority(directory: &Path) -> Authority {
    Authority::open(&directory.join("gateway"), SystemTime::now()).expect("it is opened")
}

fn replica(directory: &Path, early: EarlyData) -> Arc<ServerConfig> {
    authority(directory).server_config(SystemTime::now(), early, None).expect("keys can be made")
}

/// How an agent dials that has joined there.
fn agent(directory: &Path) -> Arc<ClientConfig> {
    let now = SystemTime::now();
    let path = kept(&authority(directory), "plant-7", now, directory);
    Identity::load(&path, now).expect("it holds").client_config().expect("they fit")
}

fn dial(config: &Arc<ClientConfig>) -> ClientConnection {
    let name = ServerName::try_from("gateway.haft.internal").expect("it is a name");
    ClientConnection::new(Arc::clone(config), name).expect("it may begin")
}

/// Moves what each says to the other, until neither says more.
fn talk(agent: &mut ClientConnection, gateway: &mut ServerConnection) -> Result<(), String> {
    while agent.wants_write() || gateway.wants_write() {
        let mut said = Vec::new();
        while agent.wants_write() {
            agent.write_tls(&mut said).expect("it is memory");
        }
        let heard = hear(gateway, &said);
        let mut said = Vec::new();
        while gateway.wants_write() {
            gateway.write_tls(&mut said).expect("it is memory");
        }
        let mut rest = &said[..];
        while !rest.is_empty() {
            agent.read_tls(&mut rest).expect("it is memory");
            agent.process_new_packets().map_err(|error| format!("agent: {error}"))?;
        }
        heard.map_err(|error| format!("gateway: {error}"))?;
    }
    Ok(())
}

fn hear(gateway: &mut ServerConnection, mut said: &[u8]) -> Result<(), rustls::Error> {
    while !said.is_empty() {
        gateway.read_tls(&mut said).expect("it is memory");
        gateway.process_new_packets()?;
    }
    Ok(())
}

/// A handshake, after which the agent has read what it may resume with.
fn shake(
    agent: &Arc<ClientConfig>,
    gateway: &Arc<ServerConfig>,
) -> Result<ServerConnection, String> {
    let mut agent = dial(agent);
    let mut gateway = ServerConnection::new(Arc::clone(gateway)).expect("it may begin");
    talk(&mut agent, &mut gateway)?;
    Ok(gateway)
}

fn kind(gateway: &Result<ServerConnection, String>) -> Option<HandshakeKind> {
    gateway.as_ref().expect("it is let in").handshake_kind()
}

fn now() -> SystemTime {
    SystemTime::now()
}

#[test]
fn who_was_at_one_replica_needs_no_certificate_at_another() {
    for early in [EarlyData::Refused, EarlyData::Taken] {
        let directory = TempDir::new().expect("a directory");
        let (one, other) = (replica(directory.path(), early), replica(directory.path(), early));
        let agent = agent(directory.path());
        assert_eq!(kind(&shake(&agent, &one)), Some(HandshakeKind::Full));
        let again = shake(&agent, &other);
        assert_eq!(kind(&again), Some(HandshakeKind::Resumed), "{early:?}");
        let chain = again.expect("it is let in").peer_certificates().map(<[_]>::to_vec);
        let name = authority(directory.path()).agent_of(&chain.expect("it had one"), now());
        assert_eq!(name.expect("it holds"), "plant-7");
        assert_eq!(kind(&shake(&agent, &one)), Some(HandshakeKind::Resumed), "{early:?}");
    }
}

#[test]
fn replicas_without_a_directory_in_common_resume_by_a_secret_and_hear_nothing_early() {
    let (here, there) = (TempDir::new().expect("a directory"), TempDir::new().expect("another"));
    let agent = agent(here.path());
    // The same authority, as its file was copied there before anybody came.
    fs::create_dir(there.path().join("gateway")).expect("it is new");
    fs::set_permissions(there.path().join("gateway"), Permissions::from_mode(0o700)).expect("mine");
    for file in fs::read_dir(here.path().join("gateway")).expect("it is there").flatten() {
        let copy = there.path().join("gateway").join(file.file_name());
        fs::copy(file.path(), copy).expect("it is a file");
    }
    let secret = |directory: &TempDir, text: &str| {
        let path = directory.path().join("secret");
        fs::write(&path, text.repeat(32)).expect("it is written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is mine");
        TicketSecret::read(&path).expect("it is long enough")
    };
    for (early, theirs, expected) in [
        (EarlyData::Refused, "a", HandshakeKind::Resumed),
        (EarlyData::Refused, "b", HandshakeKind::Full),
        // What one has heard early the other does not know of.
        (EarlyData::Taken, "a", HandshakeKind::Full),
    ] {
        let gateway = |directory: &TempDir, text: &str| {
            let secret = secret(directory, text);
            let config = authority(directory.path()).server_config(now(), early, Some(&secret));
            config.expect("keys can be made")
        };
        let mut agent = ClientConfig::clone(&agent);
        agent.resumption = Resumption::in_memory_sessions(8);
        let agent = Arc::new(agent);
        assert_eq!(kind(&shake(&agent, &gateway(&here, "a"))), Some(HandshakeKind::Full));
        let again = shake(&agent, &gateway(&there, theirs));
        assert_eq!(kind(&again), Some(expected), "{early:?} {theirs}");
    }
}

#[test]
fn a_secret_that_is_short_missing_or_known_to_others_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("secret");
    let written = |length, mode| {
        fs::write(&path, "s".repeat(length) + "\n").expect("it is written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is mine");
        TicketSecret::read(&path)
    };
    assert!(matches!(TicketSecret::read(&path), Err(TrustError::File { .. })));
    let short = written(SECRET_BYTES_MIN - 1, 0o600);
    assert!(matches!(short, Err(TrustError::ShortSecret { .. })), "{short:?}");
    assert!(matches!(written(SECRET_BYTES_MIN, 0o644), Err(TrustError::Readable { .. })));
    let secret = written(SECRET_BYTES_MIN, 0o600).expect("it is one");
    assert!(!format!("{secret:?}").contains("ss"), "{secret:?}");
}

#[test]
fn who_shows_no_certificate_leaves_nothing_behind() {
    let directory = TempDir::new().expect("a directory");
    let gateway = replica(directory.path(), EarlyData::Taken);
    let left = || fs::read_dir(directory.path().join("gateway/sessions")).expect("there").count();
    let token = authority(directory.path()).invite("plant-8", now(), HOUR).expect("it may join");
    let nobody = Identity::joining(&token).expect("it can be dialled");
    shake(&nobody, &gateway).expect("it is let in, to join");
    assert_eq!(left(), 0);
    shake(&agent(directory.path()), &gateway).expect("it is let in");
    assert_ne!(left(), 0);
}

#[test]
fn early_data_is_heard_once_whoever_says_it_to_whichever_replica() {
    let directory = TempDir::new().expect("a directory");
    let replicas: Vec<_> = (0..3).map(|_| replica(directory.path(), EarlyData::Taken)).collect();
    let mut settings = ClientConfig::clone(&agent(directory.path()));
    settings.enable_early_data = true;
    let settings = Arc::new(settings);
    shake(&settings, &replicas[0]).expect("it is let in");
    let mut agent = dial(&settings);
    agent.early_data().expect("it has a ticket").write_all(b"twice?").expect("there is room");
    let mut said = Vec::new();
    while agent.wants_write() {
        agent.write_tls(&mut said).expect("it is memory");
    }
    let heard = replicas[1..].iter().chain(&replicas).map(|gateway| {
        let mut gateway = ServerConnection::new(Arc::clone(gateway)).expect("it may begin");
        // Without what it resumes, the early data is bytes that nobody can read.
        hear(&mut gateway, &said).expect("it goes on");
        let mut text = String::new();
        let early = gateway.early_data().map(|mut early| early.read_to_string(&mut text));
        early.map(|read| read.map(|_| text).expect("it is text"))
    });
    let heard: Vec<_> = heard.collect();
    assert_eq!(heard, [Some("twice?".to_owned()), None, None, None, None]);
}

#[test]
fn where_early_data_is_refused_none_is_offered() {
    let directory = TempDir::new().expect("a directory");
    let gateway = replica(directory.path(), EarlyData::Refused);
    let mut settings = ClientConfig::clone(&agent(directory.path()));
    settings.enable_early_data = true;
    let settings = Arc::new(settings);
    shake(&settings, &gateway).expect("it is let in");
    assert!(dial(&settings).early_data().is_none());
    assert_eq!(kind(&shake(&settings, &gateway)), Some(HandshakeKind::Resumed));
}

#[test]
fn a_revoked_agent_that_resumes_is_known_to_be_revoked() {
    let directory = TempDir::new().expect("a directory");
    let (agent, gateway) = (agent(directory.path()), replica(directory.path(), EarlyData::Refused));
    let authority = authority(directory.path());
    shake(&agent, &gateway).expect("it is let in");
    assert!(authority.revoke("plant-7").expect("it is written"));
    let again = shake(&agent, &gateway);
    assert_eq!(kind(&again), Some(HandshakeKind::Resumed));
    let again = again.expect("TLS does not look");
    let chain = again.peer_certificates().expect("it had one");
    assert!(matches!(authority.agent_of(chain, now()), Err(TrustError::Revoked)));
}

#[test]
fn an_agent_of_another_gateway_is_not_let_in_nor_lets_itself_be() {
    let (here, there) = (TempDir::new().expect("a directory"), TempDir::new().expect("another"));
    let gateway = replica(here.path(), EarlyData::Refused);
    let foreign = agent(there.path());
    let refused = shake(&foreign, &gateway).expect_err("it is another's");
    assert!(refused.contains("UnknownIssuer") || refused.contains("BadSignature"), "{refused}");
}

#[test]
fn certificates_hold_for_clocks_that_differ_by_a_day_and_no_more() {
    let directory = TempDir::new().expect("a directory");
    let gateway = replica(directory.path(), EarlyData::Refused);
    let agent = agent(directory.path());
    let chain_of = |agent: &Arc<ClientConfig>| {
        let gateway = shake(agent, &gateway).expect("it is let in");
        gateway.peer_certificates().expect("it has one").to_vec()
    };
    let authority = authority(directory.path());
    // The agent's clock is behind or ahead: it looks at the gateway's certificate.
    let off = |time: SystemTime| {
        let mut settings = ClientConfig::clone(&agent);
        settings.time_provider = Arc::new(At(time));
        settings.resumption = Resumption::disabled();
        shake(&Arc::new(settings), &gateway).map(drop)
    };
    off(now() - CLOCK_SLACK + HOUR).expect("a day behind");
    off(now() + CLOCK_SLACK).expect("a day ahead");
    let said = off(now() - CLOCK_SLACK - HOUR).expect_err("more than a day behind");
    assert!(said.contains("not valid yet"), "{said}");
    // The gateway's is: it looks at the agent's.
    let off = |time: SystemTime| {
        let mut settings = ServerConfig::clone(&gateway);
        settings.time_provider = Arc::new(At(time));
        let mut agent = ClientConfig::clone(&agent);
        agent.resumption = Resumption::disabled();
        shake(&Arc::new(agent), &Arc::new(settings)).map(drop)
    };
    off(now() - CLOCK_SLACK + HOUR).expect("a day behind");
    off(now() + CERTIFICATE_LIFE - CLOCK_SLACK).expect("it still holds");
    for time in [now() - CLOCK_SLACK - HOUR, now() + CERTIFICATE_LIFE + HOUR] {
        off(time).expect_err("it does not hold");
    }
    // One that was let in while it held is not known for ever.
    let chain = chain_of(&agent);
    authority.agent_of(&chain, now() + CERTIFICATE_LIFE - HOUR).expect("it holds");
    let over = authority.agent_of(&chain, now() + CERTIFICATE_LIFE + HOUR);
    assert!(matches!(over, Err(TrustError::Over)), "{over:?}");
}
