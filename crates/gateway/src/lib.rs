//! Many MCP servers behind one: connects to upstreams, over pipes or HTTP, keeps them connected,
//! and adds what they offer to what a file has. It opens no listening socket, and parses no
//! arguments and no results that pass through.
//!
//! `upstream` is one server behind this one; `keeper` keeps it connected; `made` names what it has
//! and does what the file's `rules` say of it; `catalogue` puts together what they all have;
//! `forward` passes a request on; `admin` says what becomes of it all.

mod admin;
mod catalogue;
mod discretion;
mod forward;
mod gateway;
mod keeper;
pub mod limits;
mod made;
mod recent;
mod rules;
mod upstream;

pub use admin::Admin;
pub use gateway::{Gateway, Telling};
pub use upstream::State;
