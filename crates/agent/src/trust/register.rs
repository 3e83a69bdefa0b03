//! The gateway's list of who may join and who has: a file that all replicas may share. It knows no
//! secret, only what secrets hash to.

use super::{TrustError, files};
use crate::limits::{AGENTS_MAX, INVITATIONS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// See above.
#[derive(Debug)]
pub(super) struct Register {
    directory: PathBuf,
}

/// Two changes within one tick of the system's clock have one time, but a file each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    changed: (i64, i64),
    number: u64,
    bytes: u64,
}

/// What is in the file.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Entries {
    /// By what tokens hash to.
    #[serde(default)]
    invitations: BTreeMap<String, Invitation>,
    /// By their names.
    #[serde(default)]
    agents: BTreeMap<String, Registered>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Invitation {
    agent: String,
    /// Seconds since 1970.
    until: u64,
}

/// An agent that has joined.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// The number of its certificate, in hexadecimal digits.
    pub serial: String,
    /// That of the link over which it was given, which holds as well: the new one may have been
    /// lost on the way, or not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Since when it has it, in seconds since 1970.
    pub since: u64,
    /// Until when it holds.
    pub until: u64,
}

impl Register {
    pub(super) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.directory.join("agents.json")
    }

    /// What is in it now.
    pub(super) fn read(&self) -> Result<Entries, TrustError> {
        let path = self.path();
        let Some(text) = files::read(&path)? else { return Ok(Entries::default()) };
        serde_json::from_str(&text)
            .map_err(|error| TrustError::Damaged { path, what: error.to_string() })
    }

    /// Which file it is, for who looks whether it has been changed.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(self.path()).ok()?;
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        Some(Stamp { changed, number: metadata.ino(), bytes: metadata.len() })
    }

    /// Changes it, alone.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Entries) -> Result<T, TrustError>,
    ) -> Result<T, TrustError> {
        let _held = files::hold(&self.directory)?;
        let mut entries = self.read()?;
        let changed = change(&mut entries)?;
        let text = serde_json::to_string_pretty(&entries).expect("it is texts and numbers");
        files::write(&self.path(), &text)?;
        Ok(changed)
    }
}

impl Entries {
    pub(super) fn agents(self) -> BTreeMap<String, Registered> {
        self.agents
    }

    /// Whether a certificate of that name and number holds.
    pub(super) fn holds(&self, name: &str, serial: &str) -> bool {
        let known = self.agents.get(name);
        known.is_some_and(|known| known.serial == serial || known.before.as_deref() == Some(serial))
    }

    /// Somebody may join as that agent.
    pub(super) fn invite(
        &mut self,
        fingerprint: String,
        agent: &str,
        (now, life): (SystemTime, Duration),
    ) -> Result<(), TrustError> {
        self.invitations.retain(|_, invitation| invitation.until > seconds(now));
        if self.invitations.len() >= INVITATIONS_MAX {
            return Err(TrustError::TooManyInvitations);
        }
        let until = seconds(now).saturating_add(life.as_secs());
        self.invitations.insert(fingerprint, Invitation { agent: agent.to_owned(), until });
        Ok(())
    }

    /// Whether somebody may join with a token that hashes to that, or might have.
    pub(super) fn is_invited(&self, fingerprint: &str) -> bool {
        self.invitations.contains_key(fingerprint)
    }

    /// Somebody joins with a token that hashes to that: as whom.
    pub(super) fn redeem(
        &mut self,
        fingerprint: &str,
        now: SystemTime,
    ) -> Result<String, TrustError> {
        let invitation = self.invitations.remove(fingerprint).ok_or(TrustError::UnknownToken)?;
        match invitation.until > seconds(now) {
            true => Ok(invitation.agent),
            false => Err(TrustError::LateToken),
        }
    }

    /// Until when the certificate of that name and number holds, or the one that came after it; not
    /// at all, if it was revoked.
    pub(super) fn until(&self, name: &str, serial: &str) -> Option<u64> {
        self.agents.get(name).filter(|_| self.holds(name, serial)).map(|known| known.until)
    }

    /// An agent has a certificate.
    pub(super) fn enter(&mut self, name: &str, entry: Registered) -> Result<(), TrustError> {
        self.agents.remove(name);
        if self.agents.len() >= AGENTS_MAX {
            return Err(TrustError::TooManyAgents);
        }
        self.agents.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Forgets an agent, and who may join as it; whether there was any.
    pub(super) fn revoke(&mut self, name: &str) -> bool {
        let invited = self.invitations.len();
        self.invitations.retain(|_, invitation| invitation.agent != name);
        self.agents.remove(name).is_some() || self.invitations.len() < invited
    }
}

pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
