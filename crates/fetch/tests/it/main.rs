//! Requests to real servers of this machine: how far they reach, where they are redirected, through
//! which proxies, and what becomes of servers that never end.

mod origin;
mod proxies;
mod reach;
mod redirects;
mod tokens;
