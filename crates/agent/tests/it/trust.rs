//! Who is let in: tokens, certificates, and what takes them away.

use crate::pair::{Gateway, Running, client, here};
use haft_agent::join;
use haft_agent::limits::{CERTIFICATE_LIFE, INVITATIONS_MAX};
use haft_agent::trust::{Authority, Identity, Token, TrustError};
use rcgen::{CertificateParams, KeyPair};
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Gateway {
    fn token(&self, name: &str, life: Duration) -> Token {
        self.authority.invite(name, SystemTime::now(), life).expect("it may join")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn join(&self, token: &Token, file: &str) -> Result<Identity, String> {
        let joined = join(&[self.at.to_string()], token, &self.file(file)).await;
        joined.map_err(|error| error.to_string())
    }
}

/// The file of an agent that joined at a time.
pub(crate) fn kept(
    authority: &Authority,
    name: &str,
    now: SystemTime,
    directory: &Path,
) -> PathBuf {
    let token = authority.invite(name, now, DAY).expect("it may join").reveal();
    let key = KeyPair::generate().expect("a key");
    let request = CertificateParams::default().serialize_request(&key).expect("a request");
    let issued = authority.join(&token, request.der(), now).expect("it is let in");
    let path = directory.join(format!("{name}.pem"));
    let block = |der: Vec<u8>| pem::encode(&pem::Pem::new("CERTIFICATE", der));
    let text = key.serialize_pem() + &block(issued.certificate) + &block(issued.authority);
    fs::write(&path, text).expect("it is written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is mine");
    path
}

#[tokio::test]
async fn a_token_lets_one_agent_in_once() {
    let gateway = Gateway::new().await;
    let token = gateway.token("plant-7", DAY);
    let identity = gateway.join(&token, "a.pem").await.expect("it is let in");
    assert_eq!(identity.name(), "plant-7");
    let mode = fs::metadata(gateway.file("a.pem")).expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = gateway.join(&token, "b.pem").await.expect_err("it was used");
    let used = "does not let this agent in: the token is not known, or was used before: ask for a \
                new one";
    assert!(again.ends_with(used), "{again}");
    assert!(!gateway.file("b.pem").exists());
}

#[tokio::test]
async fn of_two_who_bring_one_token_at_once_one_is_let_in() {
    let gateway = Gateway::new().await;
    let token = gateway.token("plant-7", DAY);
    let (one, other) = tokio::join!(gateway.join(&token, "a.pem"), gateway.join(&token, "b.pem"));
    assert!(one.is_ok() != other.is_ok(), "{one:?}, {other:?}");
}

#[tokio::test]
async fn a_token_that_is_late_unknown_or_of_another_gateway_lets_nobody_in() {
    let gateway = Gateway::new().await;
    let life = Duration::ZERO;
    let late = gateway.authority.invite("plant-7", SystemTime::now(), life).expect("a token");
    let said = gateway.join(&late, "a.pem").await.expect_err("it is late");
    assert!(said.ends_with("the time of the token is over: ask for a new one"), "{said}");
    let other = Gateway::new().await;
    let foreign = other.token("plant-7", DAY);
    let said = gateway.join(&foreign, "a.pem").await.expect_err("it is another's");
    assert!(said.contains("UnknownIssuer"), "{said}");
    for text in ["", "haftjoin1.", "haftjoin1.AAAA", "haftjoin2.x", &"haftjoin1.A".repeat(9)] {
        assert!(matches!(text.parse::<Token>(), Err(TrustError::BadToken)), "{text}");
    }
    let revealed = foreign.reveal();
    assert_eq!(revealed.parse::<Token>().expect("it is one"), foreign);
    assert!(!format!("{foreign:?}").contains(&revealed[12..40]));
}

#[tokio::test]
async fn a_revoked_agent_is_sent_away_and_not_let_in_again() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    let agent = gateway.agent("plant-7").await;
    here(&member).await;
    client(&member).await.list_tools().await.expect("it answers");
    assert!(gateway.authority.revoke("plant-7").expect("it is written"));
    agent.fails_with("its certificate was revoked: join again with a new token").await;
    let ended = gateway.ended();
    assert!(ended.iter().any(|why| why.starts_with("its certificate was revoked")), "{ended:?}");
    assert!(!gateway.authority.revoke("plant-7").expect("it is written"));
}

#[tokio::test]
async fn who_joins_with_a_name_takes_it_from_whoever_had_it() {
    let gateway = Gateway::new().await;
    gateway.member("plant-7");
    let before = gateway.joined("plant-7").await;
    let kept = gateway.file("before.pem");
    fs::rename(before, &kept).expect("it is moved");
    gateway.joined("plant-7").await;
    let old = Running::begin(kept, &[gateway.at]);
    old.fails_with("its certificate was revoked: join again with a new token").await;
}

#[tokio::test]
async fn a_certificate_is_renewed_and_the_one_before_still_holds() {
    let gateway = Gateway::new().await;
    let member = gateway.member("plant-7");
    // Joined so long ago that it is time.
    let then = SystemTime::now() - CERTIFICATE_LIFE * 3 / 4;
    let identity = kept(&gateway.authority, "plant-7", then, gateway.directory.path());
    let serial = gateway.authority.agents().expect("they are read")["plant-7"].serial.clone();
    let _agent = Running::begin(identity, &[gateway.at]);
    here(&member).await;
    let renewed = async {
        loop {
            let agents = gateway.authority.agents().expect("they are read");
            if agents["plant-7"].serial != serial {
                return agents["plant-7"].clone();
            }
            tokio::task::yield_now().await;
        }
    };
    let entry = tokio::time::timeout(Duration::from_secs(15), renewed).await.expect("in time");
    assert_eq!(entry.before, Some(serial));
    assert!(entry.until > entry.since + CERTIFICATE_LIFE.as_secs() / 2);
}

#[test]
fn a_clock_may_be_off_by_a_day_and_no_more() {
    let directory = TempDir::new().expect("a directory");
    let now = SystemTime::now();
    let authority = Authority::open(&directory.path().join("gateway"), now).expect("it is made");
    let path = kept(&authority, "plant-7", now, directory.path());
    Identity::load(&path, now - DAY + Duration::from_secs(60)).expect("a day early");
    let early = Identity::load(&path, now - DAY * 2).expect_err("it does not hold yet");
    assert!(early.to_string().starts_with("the certificate holds from "), "{early}");
    Identity::load(&path, now + CERTIFICATE_LIFE - DAY).expect("it still holds");
    let late = Identity::load(&path, now + CERTIFICATE_LIFE + DAY).expect_err("it is over");
    assert!(late.to_string().starts_with("the certificate holds until "), "{late}");
}

#[test]
fn what_others_can_read_is_not_used() {
    let directory = TempDir::new().expect("a directory");
    let (now, gateway) = (SystemTime::now(), directory.path().join("gateway"));
    let authority = Authority::open(&gateway, now).expect("it is made");
    let path = kept(&authority, "plant-7", now, directory.path());
    for file in [path.clone(), gateway.join("authority.pem"), gateway.join("agents.json")] {
        fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("it is mine");
    }
    let refused = |error: TrustError| error.to_string().contains("run: chmod 600 ");
    assert!(Identity::load(&path, now).is_err_and(refused));
    assert!(Authority::open(&gateway, now).is_err_and(refused));
    assert!(authority.agents().is_err_and(refused));
}

/// Only root can give files away, and only its tests can try.
#[test]
fn what_belongs_to_others_is_not_used() {
    if !geteuid().is_root() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let (now, gateway) = (SystemTime::now(), directory.path().join("gateway"));
    let authority = Authority::open(&gateway, now).expect("it is made");
    let path = kept(&authority, "plant-7", now, directory.path());
    let refused = |error: TrustError| {
        let said = error.to_string();
        said.contains("belongs to the user 65534") && said.contains("run: chown 0 ")
    };
    let give = |path: &Path, owner| chown(path, Some(owner), None).expect("root may");
    for file in [gateway.join("authority.pem"), gateway.clone()] {
        give(&file, 65534);
        assert!(Authority::open(&gateway, now).is_err_and(refused), "{}", file.display());
        give(&file, 0);
    }
    give(&path, 65534);
    assert!(Identity::load(&path, now).is_err_and(refused));
    give(&path, 0);
    assert!(Identity::load(&path, now).is_ok());
}

#[test]
fn so_many_tokens_may_wait_and_no_more() {
    let directory = TempDir::new().expect("a directory");
    let now = SystemTime::now();
    let authority = Authority::open(directory.path(), now).expect("it is made");
    for number in 0..INVITATIONS_MAX {
        authority.invite(&format!("a{number}"), now, DAY).expect("there is room");
    }
    let full = authority.invite("more", now, DAY);
    assert!(matches!(full, Err(TrustError::TooManyInvitations)));
    authority.invite("more", now + DAY * 2, DAY).expect("those before are over");
    for name in ["", "a b", "../a", "ä", &"a".repeat(65)] {
        let refused = authority.invite(name, now, DAY);
        assert!(matches!(refused, Err(TrustError::BadName { .. })), "{name}");
    }
}
