//! The built command against real servers and clients, in one binary.

mod foreign;
mod stdio;
