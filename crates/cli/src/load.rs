//! What `haft bench` does besides loading: `aim` turns what was typed into a plan, `figures` turns
//! reports into lines for people, `look` looks into a server that is haft, and `watch` shows how it
//! goes. The load itself is `haft-bench`'s.

mod aim;
mod figures;
mod look;
mod watch;

pub(crate) use aim::{AimArgs, Words, aim};
pub(crate) use figures::{show, show_cold, show_comparison};
pub(crate) use look::{Look, LookArgs};
pub(crate) use watch::Watch;
