//! The Model Context Protocol without I/O: bytes become messages, messages become bytes, and rules
//! say what to do next. No socket, clock, thread or global lives here; the wires in
//! `haft-transport` bring bytes, and `haft-server` brings answers.

pub mod limits;
pub mod long;

pub mod authority;

pub mod version;

pub mod method;

pub mod error;

pub mod json;

pub mod envelope;

pub mod salvage;

pub mod framing;

pub mod sse;

pub mod mirror;

pub mod admit;

pub mod pending;

pub mod session;

pub mod service;

pub mod spec;

pub mod encode;
