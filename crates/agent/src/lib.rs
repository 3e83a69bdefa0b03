//! Both ends of a link: the [`Agent`], which dials out from beside its tools and answers calls with
//! a service, and the [`Hub`] in a gateway, to which agents come and which makes the calls. Frames,
//! credit and what is kept are the business of `haft-link`.

mod agent;
mod credit;
mod ending;
mod frames;
mod hub;
pub mod limits;
mod link;
mod pulse;
mod qlog;
mod quic;
mod sync;
mod tcp;
pub mod trust;
mod wire;

pub use agent::{Agent, AgentSettings, Dialled, JoinError, join};
pub use ending::Ending;
pub use frames::log_frames;
pub use hub::{
    Arrivals, Door, DoorError, Group, Guests, Hub, HubSettings, Member, Presence, State, Told,
    ToldLink,
};
pub use link::Link;
pub use qlog::write_qlogs;
pub use quic::ALPN;
