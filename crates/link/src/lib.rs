//! The link between an agent, beside tools that nobody can dial, and a gateway: what is said over
//! it, and what both ends keep so that no call is done twice. It opens no socket and reads no
//! clock.
//!
//! `link.proto` beside this crate tells the messages to others.

mod error;
mod field;
mod frame;
pub mod limits;
mod message;
mod pace;
mod wire;

pub use error::Malformed;
pub use field::{Kind, StreamIds};
pub use frame::{Read, read, write};
pub use message::{
    Ack, Cancel, Close, Credit, Drain, ExecuteRequest, Frame, Hello, Join, Joined, Ping, Pong,
    Register, Resume, StreamResponse, Welcome,
};
pub use pace::{Outcome, Pace};

/// The version of the protocol that is spoken here.
pub const VERSION: u32 = 1;
