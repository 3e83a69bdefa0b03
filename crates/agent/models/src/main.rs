//! Tries the parts of `haft-agent` that several threads use at once in every order in which threads
//! may come: whoever waits is woken, nothing is sent twice or lost, no bound is passed. The files
//! are those of the crate; only their locks are loom's.

#![expect(clippy::print_stdout, reason = "it tells how many orders were tried")]
#![expect(dead_code, reason = "the models do not need all of what they are about")]
#![expect(unreachable_pub, reason = "these are modules of another crate")]

mod agent;
#[path = "../../src/credit.rs"]
mod credit;
mod hub;
#[path = "../../src/limits.rs"]
mod limits;
mod orders;

/// What the crate takes from the standard library.
mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

fn main() {
    let models: [(&str, fn()); 7] = [
        ("a result is sent once, whichever link it is over", agent::models::resumed),
        ("whoever makes a result is woken when there is room", agent::models::read_slowly),
        ("a call that is forgotten leaves nothing under way", agent::models::forgotten),
        ("of two who ask for one call one begins it", agent::models::begun_once),
        ("a call that was taken back is not begun", agent::models::taken_back),
        ("all calls of a link have their turn", agent::models::shared),
        ("whoever waits at the gate is let through", hub::models::gate),
    ];
    for (claim, model) in models {
        let count = orders::try_all(model);
        println!("{claim}: {count} orders");
    }
}
