//! An agent and a hub over real sockets of this machine.

mod amplification;
mod calls;
mod cuts;
mod early;
mod flow;
mod groups;
mod handshakes;
mod hostile;
mod nat;
mod pair;
mod relay;
mod replicas;
mod requests;
mod trust;
mod without_udp;
