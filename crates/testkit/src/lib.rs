//! An MCP server that does wrong what it is told to do wrong, for the tests of clients and
//! gateways. It uses nothing of haft, whose care would hide the faults, and nothing of tokio: a
//! thread reads, writes and waits. It never decides itself what is wrong.
//!
//! `script` says what is done when; `act` does it; `healthy` is what a server without faults says;
//! `stdio`, `http` and `sse` (the transport of 2024-11-05) are the wires.
//!
//! Each argument of the program `faulty` is a rule: when, what, and maybe a text. Rules for the
//! same moment are done in their order, instead of what a healthy server would do:
//!
//! ```text
//! faulty 'start send no JSON' 'tools/call half' 'tools/call exit'
//! ```
//!
//! A moment is a method that arrives, `start`, `end` (stdin is closed), or over HTTP `GET` and
//! `DELETE`. With `@3`, it is the third time and all later ones: `tools/list@3 hang`.

mod act;
mod healthy;
pub mod http;
pub mod script;
pub mod sse;
pub mod stdio;
