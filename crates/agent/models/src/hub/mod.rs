//! The gateway's end: how many calls are let through at once.

#[path = "../../../src/hub/gate.rs"]
mod gate;
pub mod models;
