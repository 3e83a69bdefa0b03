//! Many MCP servers behind one: connects to upstreams, over pipes or HTTP, keeps them connected,
//! and adds what they offer to what a file has. It opens no listening socket, and parses no
//! arguments and no results that pass through.
//!
//! `upstream` is a server behind this one, `seats` its connections, `own` those of single sessions;
//! `keeper` keeps them, in the `room` that there is for processes, with a `pause` before each is
//! started again; `lists` is what they say they have; `made` names it, has it `mended` for clients,
//! and does what the file's `rules` say of it, `catalogue` puts together what they all have, each
//! by `ownership`, `tailor` what is other of it in views, each tool a `fit`, and `idle` knows rules
//! that do nothing; `altered` is what upstreams say otherwise than before; `told` is what all of
//! them say of that; `forward` passes a request on, once for all that are `alike`, and counts its
//! long result while that is `arriving`; `asking` is what is asked because of it; `subscriptions`
//! hears of what changes; `murmur` is what processes say on stderr, without `secrets`; `circle`
//! knows the gateway's own things when they come back; `early` answers while upstreams begin;
//! `admin` says what becomes of it all.

mod admin;
mod alike;
mod altered;
mod arriving;
mod asking;
mod catalogue;
mod circle;
mod discretion;
mod early;
mod fit;
mod forward;
mod gateway;
mod idle;
mod keeper;
pub mod limits;
mod lists;
mod made;
mod mended;
mod murmur;
mod news;
mod nursery;
mod own;
mod ownership;
mod parked;
mod pause;
mod recent;
mod room;
mod rules;
mod running;
mod seats;
mod secrets;
mod subscriptions;
mod tailor;
mod told;
mod upstream;
mod visits;

pub use admin::Admin;
pub use circle::started_by_itself;
pub use gateway::Gateway;
pub use news::{Change, Event, News, Telling};
