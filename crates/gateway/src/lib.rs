//! Many MCP servers behind one: connects to upstreams, over pipes or HTTP, keeps them connected,
//! and adds what they offer to what a file has. It opens no listening socket, and parses no
//! arguments and no results that pass through.
//!
//! `upstream` is a server behind this one, `seats` its connections; `keeper` keeps them; `lists` is
//! what they say they have, and `catalogue` names it; `forward` passes a request on, once for all
//! that are `alike`; `early` answers while upstreams begin; `admin` says what becomes of it all.

mod admin;
mod alike;
mod catalogue;
mod discretion;
mod early;
mod forward;
mod gateway;
mod keeper;
pub mod limits;
mod lists;
mod nursery;
mod own;
mod recent;
mod seats;
mod upstream;

pub use admin::Admin;
pub use gateway::{Gateway, Telling};
