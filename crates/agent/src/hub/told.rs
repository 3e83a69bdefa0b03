//! What a hub tells whoever runs it of its agents, at one moment.

use super::Hub;
use super::member::Member;
use crate::link::Link;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Of one agent, whether it is there or not.
#[derive(Clone, Debug)]
pub struct Told {
    /// What it is called.
    pub name: Box<str>,
    /// Whether it is there.
    pub state: State,
    /// How many links to it there have been.
    pub links: u64,
    /// How many calls ended without anybody knowing what became of them.
    pub lost: u64,
    /// The link that is there.
    pub link: Option<ToldLink>,
    /// How many calls it works on at once, as it says.
    pub slots: u32,
    /// How many may be under way now, by how long they take.
    pub limit: usize,
    /// How many are.
    pub in_flight: usize,
    /// How many wait for that.
    pub waiting: usize,
}

/// Whether an agent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is not.
    Absent,
    /// It is.
    Here,
    /// It is, and takes no more calls.
    Draining,
    /// Its link is lost, and its calls are kept.
    Away,
}

/// Of one link.
#[derive(Clone, Copy, Debug)]
pub struct ToldLink {
    /// Where it comes from, if that is known.
    pub from: Option<SocketAddr>,
    /// It is over TCP.
    pub is_over_tcp: bool,
    /// The agent was known again, and no certificates were shown.
    pub is_resumed: bool,
    /// How long it has been there.
    pub age: Duration,
    /// How long a round trip takes, smoothed, and at least; over TCP nobody knows.
    pub round_trip: Option<(Duration, Duration)>,
}

impl State {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Here => "here",
            Self::Draining => "draining",
            Self::Away => "away",
        }
    }
}

impl Hub {
    /// All agents that somebody asks for, by their names.
    #[must_use]
    pub fn told(&self) -> Vec<Told> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let members: Vec<Arc<Member>> = members.values().map(Arc::clone).collect();
        let mut told: Vec<Told> = members.iter().map(|member| member.told()).collect();
        told.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        told
    }
}

impl ToldLink {
    pub(super) fn of(link: &Link, age: Duration) -> Self {
        Self {
            from: link.remote(),
            is_over_tcp: link.is_over_tcp(),
            is_resumed: link.is_resumed(),
            age,
            round_trip: link.round_trip(),
        }
    }
}
