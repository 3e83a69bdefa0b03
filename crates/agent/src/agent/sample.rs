//! An agent that has joined and does not run, for the tests of this folder.

use super::{Agent, AgentSettings};
use crate::limits::{LASTED, REPROBE};
use crate::trust::{Authority, Wish};
use haft_proto::limits::Limits;
use haft_server::Server;
use rustls::pki_types::CertificateDer;
use std::sync::Arc;
use std::time::SystemTime;
use tempfile::TempDir;

/// See above; with whom it has joined, and what it got.
pub(super) struct Sample {
    pub(super) agent: Agent,
    pub(super) authority: Authority,
    pub(super) certificate: CertificateDer<'static>,
}

impl Sample {
    /// One that joined then, and keeps what it has in that directory.
    pub(super) fn joined(directory: &TempDir, when: SystemTime) -> Self {
        let state = directory.path().join("gateway");
        let authority = Authority::open(&state, when).expect("it is new");
        let token = authority.invite("plant-7", when, LASTED).expect("it may join").reveal();
        let wish = Wish::new().expect("a key");
        let issued = authority.join(&token, &wish.request, when).expect("it is let in");
        let identity = directory.path().join("plant-7.pem");
        wish.granted(&issued, &identity, None).expect("it is kept");
        let settings = AgentSettings {
            identity,
            software: "test".into(),
            gateways: Vec::new(),
            slots: 1,
            reprobe: REPROBE,
            limits: Limits::default(),
            hears: Arc::new(|_| {}),
        };
        let service = Server::builder("far", "1").build().expect("right");
        let agent = Agent::new(Arc::new(service), settings).expect("it has joined");
        Self { agent, authority, certificate: issued.certificate.into() }
    }
}
