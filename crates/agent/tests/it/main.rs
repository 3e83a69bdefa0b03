//! An agent and a hub over real sockets of this machine.

mod calls;
mod pair;
mod without_udp;
