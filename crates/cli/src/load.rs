//! What `haft bench` does besides loading: `aim` turns what was typed into a plan, `figures` turns
//! reports into lines for people, and `watch` shows how it goes. The load itself is `haft-bench`'s.

mod aim;
mod figures;
mod watch;

pub(crate) use aim::{AimArgs, Words, aim};
pub(crate) use figures::{show, show_cold, show_comparison};
pub(crate) use watch::Watch;
