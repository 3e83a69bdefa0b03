//! Requests to real servers of this machine: how far they reach, where they are redirected, through
//! which proxies, and what becomes of servers that never end.

mod codings;
#[expect(dead_code, reason = "the tests of haft-manifest use the rest")]
mod origin;
mod proxies;
mod reach;
mod redirects;
mod tokens;
mod urls;
