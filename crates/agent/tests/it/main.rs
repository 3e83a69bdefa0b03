//! An agent and a hub over real sockets of this machine.

mod calls;
mod cuts;
mod pair;
mod trust;
mod without_udp;
