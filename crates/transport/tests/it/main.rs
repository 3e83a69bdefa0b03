//! The HTTP wire against real sockets: what clients of both eras get, and what hostile ones do not.

mod fixture;
mod http2;
mod http_calls;
mod http_eras;
mod http_hostile;
mod pipe_client;
mod raw_client;
mod said_before;
