//! A store as its users see it, and what a crash leaves of it.

mod crash;
mod damaged;
mod entries;
