//! State that a client keeps for us, and can neither read, change, keep for too long, use for
//! another request, nor use twice with one process: authenticated encryption with keys that rotate
//! and that replicas can share. Knows nothing of what is inside.

use crate::rounds::not_ours;
use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::hmac;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// A secret of 32 bytes that seals what clients keep for a server. Replicas that share it take each
/// other's.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// A key of its own.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// A key from a text of any length, like one from a secret store. At least 16 characters that
    /// nobody can guess.
    ///
    /// ```
    /// use haft_server::StateKey;
    /// assert!(StateKey::from_text("too short").is_none());
    /// assert!(StateKey::from_text("correct horse battery staple").is_some());
    /// ```
    #[must_use]
    pub fn from_text(secret: &str) -> Option<Self> {
        let bytes = digest(&SHA256, secret.as_bytes());
        (secret.len() >= 16).then(|| Self(bytes.as_ref().try_into().expect("SHA-256 has 32 bytes")))
    }

    fn random() -> Result<Self, Refusal> {
        let mut secret = [0; 32];
        fill(&mut secret)?;
        Ok(Self(secret))
    }

    fn compile(&self) -> Key {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let name = digest(&SHA256, &self.0).as_ref()[..4].try_into().expect("four of 32 bytes");
        Key { name, secret }
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(…)")
    }
}

/// A key and what it is called in a state.
struct Key {
    name: [u8; 4],
    secret: hmac::Key,
}

impl Key {
    /// The key of one state alone. Replicas draw their nonces from one space of 96 bits; with a key
    /// for each nonce, two that are equal by chance would not be the end of all secrets.
    fn of_state(&self, nonce: [u8; NONCE]) -> LessSafeKey {
        let derived = hmac::sign(&self.secret, &nonce);
        let key = UnboundKey::new(&AES_256_GCM, derived.as_ref());
        LessSafeKey::new(key.expect("SHA-256 has the 32 bytes that AES-256 takes"))
    }
}

/// The first seals, all open.
struct Keys {
    all: Vec<Key>,
    from: KeysFrom,
}

/// Who gave keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeysFrom {
    /// A description of the server; they go when another has none.
    Builder,
    /// Whoever holds the server.
    Holder,
    /// The server, which made one up.
    Own,
}

impl Keys {
    fn of(keys: &[StateKey], from: KeysFrom) -> Self {
        Self { all: keys.iter().map(StateKey::compile).collect(), from }
    }

    fn own() -> Result<Self, Refusal> {
        Ok(Self::of(&[StateKey::random()?], KeysFrom::Own))
    }
}

/// Seals and opens.
pub(crate) struct Sealer {
    keys: ArcSwap<Keys>,
    used: Mutex<Used>,
    ttl_ms: u64,
    used_max: usize,
}

/// States that have been used, until they expire.
#[derive(Default)]
struct Used {
    /// By when they were made.
    states: BTreeSet<(u64, [u8; NONCE])>,
    /// States made before this are refused, whatever the clock says: which of them were used is
    /// forgotten.
    floor_ms: u64,
}

const NONCE: usize = 12;
/// The name of the key, the nonce, and the time it was made stand before what is sealed.
const HEAD: usize = 4 + NONCE + 8;

/// A state that is being used. Unless it is burned, it can be brought again: nothing came of it.
pub(crate) struct Claim {
    sealer: Arc<Sealer>,
    state: (u64, [u8; NONCE]),
    is_burned: bool,
}

impl Claim {
    pub(crate) fn burn(mut self) {
        self.is_burned = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_burned {
            self.sealer.used().states.remove(&self.state);
        }
    }
}

impl Sealer {
    /// A sealer with these keys or, without any, with one of its own, made up now.
    pub(crate) fn new(keys: &[StateKey], limits: &Limits) -> Result<Self, Refusal> {
        let keys = match keys {
            [] => Keys::own()?,
            keys => Keys::of(keys, KeysFrom::Builder),
        };
        Ok(Self {
            keys: ArcSwap::from_pointee(keys),
            used: Mutex::default(),
            ttl_ms: u64::try_from(limits.state_ttl.as_millis()).unwrap_or(u64::MAX),
            used_max: limits.states_used.max(1),
        })
    }

    /// Seals with the first key from now on, and opens what any of them has sealed. Without any,
    /// what the same giver gave before is good for nothing any more, and the server makes up its
    /// own.
    pub(crate) fn set_keys(&self, keys: &[StateKey], from: KeysFrom) {
        let before = self.keys.load().from;
        let keys = match keys {
            [] if before == KeysFrom::Own
                || (before, from) == (KeysFrom::Holder, KeysFrom::Builder) =>
            {
                return;
            }
            // Without random numbers nothing can be sealed, and nothing is opened.
            [] => Keys::own().unwrap_or_else(|_| Keys::of(&[], KeysFrom::Own)),
            keys => Keys::of(keys, from),
        };
        self.keys.store(Arc::new(keys));
    }

    /// Seals a text for one request, which `binding` tells from all others.
    pub(crate) fn seal(&self, binding: &[u8], text: &[u8]) -> Result<String, Refusal> {
        let keys = self.keys.load();
        let key = keys.all.first().ok_or_else(|| internal("there is no key to seal with"))?;
        let mut sealed = Vec::with_capacity(HEAD + text.len() + 16);
        sealed.extend_from_slice(&key.name);
        let mut nonce = [0; NONCE];
        fill(&mut nonce)?;
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&now_ms().to_be_bytes());
        let aad = Aad::from([&sealed, binding].concat());
        let mut body = text.to_vec();
        key.of_state(nonce)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut body)
            .map_err(|_| internal("the state is too long to be sealed"))?;
        sealed.extend_from_slice(&body);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what [`Sealer::seal`] made for the same request, and claims it.
    pub(crate) fn open(
        self: &Arc<Self>,
        binding: &[u8],
        state: &str,
    ) -> Result<(Vec<u8>, Claim), Refusal> {
        let mut sealed = URL_SAFE_NO_PAD.decode(state).map_err(|_| not_ours())?;
        let (head, body) = sealed.split_at_mut_checked(HEAD).ok_or_else(not_ours)?;
        let keys = self.keys.load();
        let key = keys.all.iter().find(|key| key.name == head[..4]).ok_or_else(not_ours)?;
        let nonce: [u8; NONCE] = head[4..4 + NONCE].try_into().expect("it is that long");
        let made_ms = u64::from_be_bytes(head[4 + NONCE..].try_into().expect("eight bytes"));
        let aad = Aad::from([&*head, binding].concat());
        let opened = key
            .of_state(nonce)
            .open_in_place(Nonce::assume_unique_for_key(nonce), aad, body)
            .map_err(|_| not_ours())?
            .to_vec();
        let now = now_ms();
        if now.saturating_sub(made_ms) > self.ttl_ms {
            return Err(invalid("has expired"));
        }
        self.claim((made_ms, nonce), now)?;
        let claim = Claim { sealer: Arc::clone(self), state: (made_ms, nonce), is_burned: false };
        Ok((opened, claim))
    }

    fn claim(&self, state: (u64, [u8; NONCE]), now: u64) -> Result<(), Refusal> {
        let mut used = self.used();
        let expired = now.saturating_sub(self.ttl_ms);
        while used.states.first().is_some_and(|(made, _)| *made < expired) {
            used.states.pop_first();
        }
        used.floor_ms = used.floor_ms.max(expired);
        if state.0 < used.floor_ms {
            return Err(invalid("has expired"));
        }
        if !used.states.insert(state) {
            return Err(invalid("has been used already"));
        }
        if used.states.len() > self.used_max
            && let Some((made, _)) = used.states.pop_first()
        {
            used.floor_ms = used.floor_ms.max(made + 1);
        }
        Ok(())
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn invalid(what: &str) -> Refusal {
    let message =
        format!("Invalid params: `requestState` {what}; make the request again without it");
    Refusal::new(Mistake::InvalidParams, message)
}

fn internal(what: &str) -> Refusal {
    Refusal::new(Mistake::Internal, format!("Internal error: {what}"))
}

fn fill(bytes: &mut [u8]) -> Result<(), Refusal> {
    getrandom::fill(bytes).map_err(|error| internal(&format!("no random numbers: {error}")))
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_makes_no_state_good_again() {
        let limits = Limits { state_ttl: std::time::Duration::from_secs(1), ..Limits::default() };
        let sealer = Sealer::new(&[], &limits).expect("random numbers");
        let (first, second) = ((10_000, [1; NONCE]), (12_000, [2; NONCE]));
        sealer.claim(first, 10_000).expect("new");
        sealer.claim(second, 12_000).expect("new");
        sealer.claim(first, 10_000).expect_err("it was used before the clock was set back");
        sealer.claim((11_500, [3; NONCE]), 10_000).expect("new");
    }
}
