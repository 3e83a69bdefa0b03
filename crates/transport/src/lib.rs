//! Moves bytes between MCP peers: a wire reads messages, admits them by the rules of `haft-proto`,
//! asks a [`Service`](haft_proto::service::Service), and writes the answers. No wire knows what a
//! tool is.

mod asking;
mod batch;
mod bounds;
pub mod carried;
mod conversation;
mod feeds;
pub mod http;
mod leaving;
mod outlet;
mod questions;
pub mod stdio;
pub mod stop;
mod talk;
mod websocket;
