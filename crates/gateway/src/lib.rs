//! Many MCP servers behind one: connects to upstreams, over pipes or HTTP, keeps them connected,
//! and adds what they offer to what a file has. It opens no listening socket, and parses no
//! arguments and no results that pass through.
//!
//! `upstream` is one server behind this one; `keeper` keeps it connected; `catalogue` names what
//! they all have; `forward` passes a request on, and `asking` what is asked because of it;
//! `subscriptions` hears of what changes; `admin` says what becomes of it all.

mod admin;
mod asking;
mod catalogue;
mod discretion;
mod forward;
mod gateway;
mod keeper;
pub mod limits;
mod parked;
mod recent;
mod subscriptions;
mod upstream;
mod visits;

pub use admin::Admin;
pub use gateway::{Gateway, Telling};
pub use upstream::State;
