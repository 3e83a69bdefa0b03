//! MCP over WebSocket (RFC 6455), from the end of the handshake: each message one text frame, each
//! connection one conversation, as over stdio. The handshake is HTTP's, in `http/upgrade.rs`.

mod frames;
mod listen;
mod parting;
mod passing;

pub(crate) use listen::{Peer, converse};
