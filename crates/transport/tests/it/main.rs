//! The HTTP wire against real sockets: what clients of both eras get, and what hostile ones do not.

mod asking_tools;
mod besides;
mod changes;
mod fixture;
mod hook;
mod http2;
mod http3;
mod http3_client;
mod http3_hostile;
mod http3_raw;
mod http_calls;
mod http_eras;
mod http_hostile;
mod https;
mod news;
mod pipe_client;
mod questions;
mod raw_client;
mod resuming;
mod said_before;
mod subscriptions;
mod threads;
mod two_paths;
mod web_socket_client;
mod web_sockets;
mod web_sockets_hostile;
