//! One message a line over standard input and output (Transports, "stdio").

mod listen;
mod pipe;

pub use listen::{serve, serve_pipes};
