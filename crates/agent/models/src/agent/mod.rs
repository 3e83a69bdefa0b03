//! The agent's end: the calls of a gateway, and what comes of each.

#[path = "../../../src/agent/calls.rs"]
mod calls;
#[path = "../../../src/agent/delivery.rs"]
mod delivery;
pub mod models;
#[path = "../../../src/agent/seen.rs"]
mod seen;
