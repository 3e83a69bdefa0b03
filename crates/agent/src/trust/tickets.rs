//! Seals what a handshake leaves behind, so that the next needs no certificates: with keys that
//! follow from a secret and the time, so that all who have the secret open what one has sealed.
//! `tls` gives them to rustls as its tickets, `sessions` keeps files under them.

use super::{TrustError, files};
use crate::limits::{SECRET_BYTES_MIN, TICKET_BYTES_MAX, TICKET_LIFE};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use rustls::server::ProducesTickets;
use rustls::time_provider::TimeProvider;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// See above. A ticket is the number of its period, a nonce, and what is sealed: the second in
/// which that was done, and what was given.
pub(super) struct Tickets {
    root: Prk,
    clock: Arc<dyn TimeProvider>,
}

/// What replicas of a gateway have in common that do not have its directory in common: a ticket of
/// one is good at all that have the same.
pub struct TicketSecret([u8; 32]);

impl TicketSecret {
    /// That of a file: any text of 32 bytes or more, best of the system's randomness.
    ///
    /// # Errors
    /// [`TrustError::ShortSecret`]; and if there is none, or others can read it.
    pub fn read(path: &Path) -> Result<Self, TrustError> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let none = || TrustError::File { path: path.to_owned(), error: missing() };
        let text = files::read(path)?.ok_or_else(none)?;
        let text = text.trim();
        if text.len() < SECRET_BYTES_MIN {
            return Err(TrustError::ShortSecret { path: path.to_owned() });
        }
        let digest = digest(&SHA256, text.as_bytes());
        Ok(Self(digest.as_ref().try_into().expect("it has 32 bytes")))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for TicketSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketSecret").finish_non_exhaustive()
    }
}

/// How many bytes a number has, of periods and of seconds.
const NUMBER: usize = 8;

impl Tickets {
    pub(super) fn new(secret: &[u8; 32], clock: Arc<dyn TimeProvider>) -> Self {
        let root = Salt::new(HKDF_SHA256, b"haft tickets 1").extract(secret);
        Self { root, clock }
    }

    /// Nothing, if it would be longer than [`TICKET_BYTES_MAX`].
    pub(super) fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let now = self.now()?;
        let period = period(now).to_be_bytes();
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = [&now.to_be_bytes()[..], plain].concat();
        let key = self.key(period)?;
        let unique = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(unique, Aad::from(period), &mut sealed).ok()?;
        let ticket = [&period[..], &nonce, &sealed].concat();
        (ticket.len() <= TICKET_BYTES_MAX).then_some(ticket)
    }

    /// Nothing, if it was sealed with another secret or longer ago than [`TICKET_LIFE`], or is
    /// whatever anybody wrote.
    pub(super) fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        if ticket.len() > TICKET_BYTES_MAX {
            return None;
        }
        let (period, rest) = ticket.split_first_chunk::<NUMBER>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let now = self.now()?;
        // There are keys of two periods, and of the one that has begun at whoever is ahead of us.
        let current = self::period(now);
        let theirs = u64::from_be_bytes(*period);
        if !(current.saturating_sub(1)..=current.saturating_add(1)).contains(&theirs) {
            return None;
        }
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened =
            self.key(*period)?.open_in_place(nonce, Aad::from(period), &mut sealed).ok()?;
        let (made, plain) = opened.split_first_chunk::<NUMBER>()?;
        let age = now.saturating_sub(u64::from_be_bytes(*made));
        (age < TICKET_LIFE.as_secs()).then(|| plain.to_vec())
    }

    pub(super) fn now(&self) -> Option<u64> {
        self.clock.current_time().map(|now| now.as_secs())
    }

    fn key(&self, period: [u8; NUMBER]) -> Option<LessSafeKey> {
        let info = [&b"period"[..], &period];
        let key = self.root.expand(&info, &AES_256_GCM).ok()?;
        Some(LessSafeKey::new(UnboundKey::from(key)))
    }
}

fn period(now: u64) -> u64 {
    now / TICKET_LIFE.as_secs()
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(TICKET_LIFE.as_secs()).expect("it is hours")
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher)
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

/// A clock of tests.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct At(pub(super) std::sync::atomic::AtomicU64);

#[cfg(test)]
impl At {
    pub(super) fn new(seconds: u64) -> Arc<Self> {
        Arc::new(Self(seconds.into()))
    }

    pub(super) fn set(&self, seconds: u64) {
        self.0.store(seconds, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
impl TimeProvider for At {
    fn current_time(&self) -> Option<rustls::pki_types::UnixTime> {
        let seconds = self.0.load(std::sync::atomic::Ordering::Relaxed);
        Some(rustls::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whatever the place of a moment in its period is, a ticket lives as long.
    const MOMENTS: [u64; 3] = [7200 * 250_000, 7200 * 250_000 + 3600, 7200 * 250_001 - 1];

    fn tickets(secret: u8, seconds: u64) -> Tickets {
        Tickets::new(&[secret; 32], At::new(seconds))
    }

    #[test]
    fn what_one_replica_seals_another_opens_for_two_hours() {
        for now in MOMENTS {
            let ticket = tickets(1, now).seal(b"secret").expect("it is sealed");
            for later in [0, 60, 3600, 7199] {
                let opened = tickets(1, now + later).open(&ticket);
                assert_eq!(opened.as_deref(), Some(&b"secret"[..]), "{now} and {later}");
            }
            for later in [7200, 7201, 14_399, 14_400, 30_000] {
                assert_eq!(tickets(1, now + later).open(&ticket), None, "{now} and {later}");
            }
            // A clock that is behind by a little opens it, one that is a day behind does not.
            assert!(tickets(1, now - 1).open(&ticket).is_some());
            assert_eq!(tickets(1, now - 86_400).open(&ticket), None);
        }
    }

    #[test]
    fn another_secret_opens_nothing() {
        let ticket = tickets(1, MOMENTS[0]).seal(b"secret").expect("it is sealed");
        assert_eq!(tickets(2, MOMENTS[0]).open(&ticket), None);
    }

    #[test]
    fn a_ticket_with_a_bit_turned_or_a_byte_less_is_refused() {
        let tickets = tickets(1, MOMENTS[1]);
        let ticket = tickets.seal(b"secret").expect("it is sealed");
        for bit in 0..ticket.len() * 8 {
            let mut turned = ticket.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(tickets.open(&turned), None, "{bit}");
        }
        for length in 0..ticket.len() {
            assert_eq!(tickets.open(&ticket[..length]), None, "{length}");
        }
        assert_ne!(ticket, tickets.seal(b"secret").expect("it is sealed"), "nonces differ");
    }

    #[test]
    fn a_ticket_has_a_longest_length() {
        let tickets = tickets(1, MOMENTS[0]);
        let room = TICKET_BYTES_MAX - 2 * NUMBER - NONCE_LEN - AES_256_GCM.tag_len();
        let ticket = tickets.seal(&vec![7; room]).expect("there is room");
        assert_eq!(tickets.open(&ticket), Some(vec![7; room]));
        assert_eq!(tickets.seal(&vec![7; room + 1]), None);
        assert_eq!(tickets.open(&vec![0; TICKET_BYTES_MAX + 1]), None);
    }

    #[test]
    fn a_ticket_shows_no_secret() {
        let tickets = tickets(0x5a, MOMENTS[0]);
        assert_eq!(format!("{tickets:?}"), "Tickets { .. }");
    }

    proptest! {
        #[test]
        fn whatever_anybody_writes_is_no_ticket(
            period in -2_i64..3, rest in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let near = (MOMENTS[0] / 7200).saturating_add_signed(period).to_be_bytes();
            prop_assert_eq!(tickets(1, MOMENTS[0]).open(&[&near[..], &rest].concat()), None);
            prop_assert_eq!(tickets(1, MOMENTS[0]).open(&rest), None);
        }
    }
}
