//! An agent and a hub over real sockets of this machine.

mod calls;
mod cuts;
mod handshakes;
mod hostile;
mod nat;
mod pair;
mod replicas;
mod requests;
mod trust;
mod without_udp;
