//! Requests for certificates that are none, and what shares a directory with what they are written
//! into.

use haft_agent::limits::{AGENTS_MAX, KEPT_BYTES_MAX};
use haft_agent::trust::{Authority, TrustError};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, SanType};
use rustls::pki_types::CertificateDer;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use x509_parser::parse_x509_certificate;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A key of 512 bits, which was broken long ago.
const RSA_512: &str = "-----BEGIN CERTIFICATE REQUEST-----
MIHFMHECAQAwDDEKMAgGA1UEAwwBYTBcMA0GCSqGSIb3DQEBAQUAA0sAMEgCQQDK
hd6fDnwScLkNYnIfM87rtf0orvkzcVf73jXr8H/zmNrzKSsMzkG9rYwQPWb5RWj5
eAskraM+wKIgiyOw+xlZAgMBAAGgADANBgkqhkiG9w0BAQsFAANBAECUangOmjQZ
wbFaJJlOjFkCVaEmrDiINx9Aq+IbOpiTcnSzKPbIZ/CcWVMpZerujjJvtqJbrjx2
judP1GuWrwc=
-----END CERTIFICATE REQUEST-----
";

/// A key on P-384 whose signature is of the kind that goes with P-256: a certificate made by that
/// kind would hold a key that nobody has.
const P_384_AS_P_256: &str = "-----BEGIN CERTIFICATE REQUEST-----
MIIBBDCBiwIBADAMMQowCAYDVQQDDAFhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE
WOJvG/rP2kz7YSqMvHA7beITsrlDAhxlxyE4li8Huj1tf2ITucaBBjw2QBk4AgBq
92LPydiuvNWkODJ9lRyxBCKbLiRxS3xmmHwOLm2ho39UT+qFxRfWtSeNo5i0KXsp
oAAwCgYIKoZIzj0EAwIDaAAwZQIwGiQLRDzzjmgcc7JDZo+JBRmDuNiLkVunZura
ikg3IN7kbHZNeKNqu5tMD6wwAaWgAjEAvKEOQ1lLlNS9lyhs7rol79hBP6OXwI7r
s3BdmSRHSFyQQL0TMzKPR94sTwIwuIgB
-----END CERTIFICATE REQUEST-----
";

fn authority(directory: &Path) -> Authority {
    Authority::open(directory, SystemTime::now()).expect("it is made")
}

fn request() -> Vec<u8> {
    let key = KeyPair::generate().expect("a key");
    CertificateParams::default().serialize_request(&key).expect("a request").der().to_vec()
}

#[test]
fn what_is_no_request_is_refused_and_the_token_is_not_used_up() {
    let directory = TempDir::new().expect("a directory");
    let (authority, now) = (authority(directory.path()), SystemTime::now());
    let token = authority.invite("plant-7", now, DAY).expect("it may join").reveal();
    let good = request();
    let mut resigned = good.clone();
    *resigned.last_mut().expect("it has bytes") ^= 1;
    let mut another = good.clone();
    // Of the key, which comes before the signature.
    let middle = another.len() / 3;
    another[middle] ^= 1;
    let mut longer = good.clone();
    longer.push(0);
    let text = |pem: &str| pem::parse(pem).expect("it is a block").into_contents();
    let bad = [
        Vec::new(),
        b"not a request".to_vec(),
        good[..good.len() - 1].to_vec(),
        vec![0x30; 4096],
        resigned,
        another,
        longer,
        text(RSA_512),
        text(P_384_AS_P_256),
    ];
    for (place, request) in bad.iter().enumerate() {
        let refused = authority.join(&token, request, now);
        assert!(matches!(refused, Err(TrustError::BadRequest)), "{place}: {refused:?}");
    }
    let issued = authority.join(&token, &good, now).expect("the token is still good");
    let chain = [CertificateDer::from(issued.certificate)];
    for request in &bad {
        let refused = authority.renew(&chain, request, now);
        assert!(matches!(refused, Err(TrustError::BadRequest)));
    }
}

#[test]
fn whoever_has_no_certificate_any_more_gets_no_other() {
    let directory = TempDir::new().expect("a directory");
    let (authority, now) = (authority(directory.path()), SystemTime::now());
    let join = || {
        let token = authority.invite("plant-7", now, DAY).expect("it may join").reveal();
        let issued = authority.join(&token, &request(), now).expect("it is let in");
        [CertificateDer::from(issued.certificate)]
    };
    let renew = |chain: &[CertificateDer<'_>]| {
        let issued = authority.renew(chain, &request(), now);
        issued.map(|issued| [CertificateDer::from(issued.certificate)])
    };
    // Its link is there until somebody looks.
    let revoked = join();
    assert!(authority.revoke("plant-7").expect("it is written"));
    assert!(matches!(renew(&revoked), Err(TrustError::Revoked)));
    assert!(authority.agents().expect("they are read").is_empty());
    // So it is for one whose name another has by now.
    let (before, now_it) = (join(), join());
    assert!(matches!(renew(&before), Err(TrustError::Revoked)));
    assert_eq!(authority.agent_of(&now_it, now).expect("it holds"), "plant-7");
    assert!(matches!(renew(&[]), Err(TrustError::Foreign)));
}

#[test]
fn a_certificate_holds_until_the_one_after_it_was_shown_and_renewed() {
    let directory = TempDir::new().expect("a directory");
    let (authority, now) = (authority(directory.path()), SystemTime::now());
    let token = authority.invite("plant-7", now, DAY).expect("it may join").reveal();
    let of = |issued: haft_agent::trust::Issued| [CertificateDer::from(issued.certificate)];
    let first = of(authority.join(&token, &request(), now).expect("it is let in"));
    let renew = |chain| of(authority.renew(chain, &request(), now).expect("it may"));
    let holds = |chain| authority.agent_of(chain, now).is_ok();
    // The second never arrived, or could not be kept.
    let (second, third) = (renew(&first), renew(&first));
    assert!(holds(&first) && !holds(&second) && holds(&third));
    let fourth = renew(&third);
    assert!(!holds(&first) && holds(&third) && holds(&fourth));
}

#[test]
fn a_certificate_says_what_the_token_says_and_nothing_that_was_asked_for() {
    let directory = TempDir::new().expect("a directory");
    let (authority, now) = (authority(directory.path()), SystemTime::now());
    let mut wish = CertificateParams::default();
    wish.distinguished_name.push(DnType::CommonName, "plant-8");
    wish.subject_alt_names = vec![
        SanType::URI("haft:agent:plant-8".try_into().expect("it is plain")),
        SanType::DnsName("gateway.haft.internal".try_into().expect("it is plain")),
    ];
    wish.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    wish.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let wish = wish.serialize_request(&key).expect("a request");
    let token = authority.invite("plant-7", now, DAY).expect("it may join").reveal();
    let issued = authority.join(&token, wish.der(), now).expect("it is let in");
    let (_, made) = parse_x509_certificate(&issued.certificate).expect("it is one");
    assert_eq!(made.subject().to_string(), "CN=plant-7");
    let names = made.subject_alternative_name().expect("it can be read").expect("it has one");
    let names: Vec<_> = names.value.general_names.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["URI(haft:agent:plant-7)"]);
    let usage = made.extended_key_usage().expect("it can be read").expect("it has one").value;
    assert!(usage.client_auth && !usage.server_auth && !made.is_ca());
}

#[test]
fn of_many_threads_that_bring_one_token_one_gets_a_certificate() {
    let directory = TempDir::new().expect("a directory");
    let now = SystemTime::now();
    // Each as a replica of its own.
    let replicas: Vec<_> = (0..4).map(|_| authority(directory.path())).collect();
    let token = replicas[0].invite("plant-7", now, DAY).expect("it may join").reveal();
    let barrier = Barrier::new(replicas.len());
    let come = |replica: &Authority| {
        let request = request();
        barrier.wait();
        replica.join(&token, &request, now)
    };
    let came: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            replicas.iter().map(|replica| scope.spawn(|| come(replica))).collect();
        threads.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    assert_eq!(came.iter().filter(|one| one.is_ok()).count(), 1, "{came:?}");
    let used = |one: &&Result<_, _>| matches!(one, Err(TrustError::UnknownToken));
    assert_eq!(came.iter().filter(used).count(), 3, "{came:?}");
}

#[test]
fn a_change_is_seen_however_soon_it_comes_after_another() {
    let directory = TempDir::new().expect("a directory");
    let now = SystemTime::now();
    let (one, other) = (authority(directory.path()), authority(directory.path()));
    for round in 0..200 {
        let token = one.invite("plant-7", now, DAY).expect("it may join").reveal();
        let issued = one.join(&token, &request(), now).expect("it is let in");
        let chain = [issued.certificate.into()];
        assert_eq!(other.agent_of(&chain, now).expect("it holds"), "plant-7");
        one.revoke("plant-7").expect("it is written");
        let said = other.agent_of(&chain, now);
        assert!(matches!(said, Err(TrustError::Revoked)), "{round}: {said:?}");
    }
}

#[test]
fn so_many_agents_join_and_no_more() {
    let directory = TempDir::new().expect("a directory");
    let (authority, now) = (authority(directory.path()), SystemTime::now());
    let agents: Vec<_> = (0..AGENTS_MAX)
        .map(|number| format!(r#""a{number}": {{"serial": "00", "since": 1, "until": 2}}"#))
        .collect();
    let file = directory.path().join("agents.json");
    fs::write(&file, format!(r#"{{"agents": {{{}}}}}"#, agents.join(","))).expect("it is mine");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is mine");
    let come = |name: &str| {
        let token = authority.invite(name, now, DAY).expect("it may join").reveal();
        authority.join(&token, &request(), now)
    };
    assert!(matches!(come("more"), Err(TrustError::TooManyAgents)));
    come("a7").expect("it takes the place of one");
}

#[test]
fn a_directory_that_others_write_into_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let gateway = directory.path().join("gateway");
    authority(&gateway);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&gateway), mode(&gateway.join("authority.pem"))), (0o700, 0o600));
    assert_eq!(mode(&gateway.join("lock")), 0o600);
    for open in [0o770, 0o707, 0o722] {
        fs::set_permissions(&gateway, Permissions::from_mode(open)).expect("it is mine");
        let refused = Authority::open(&gateway, SystemTime::now()).expect_err("it is open");
        let said = refused.to_string();
        assert!(said.contains("run: chmod 700 "), "{said}");
    }
    fs::set_permissions(&gateway, Permissions::from_mode(0o700)).expect("it is mine");
    authority(&gateway);
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let directory = TempDir::new().expect("a directory");
    let authority = authority(directory.path());
    let file = directory.path().join("agents.json");
    let room = |bytes: usize| {
        fs::write(&file, format!("{{}}{}", " ".repeat(bytes - 2))).expect("it is mine");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is mine");
        authority.agents().map(|agents| agents.len())
    };
    assert_eq!(room(KEPT_BYTES_MAX).expect("it is read"), 0);
    let said = room(KEPT_BYTES_MAX + 1).expect_err("it is longer").to_string();
    assert!(said.contains("is damaged: it has more than 4194304 bytes"), "{said}");
}
