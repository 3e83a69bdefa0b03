//! Calls that come to a gate at once, one of which gives up.

use super::gate::Gate;
use crate::orders::{block_on, poll_once, spawn};
use haft_link::limits::PACE_MIN;
use std::sync::Arc;

/// All places are taken, and given back while others wait.
pub fn gate() {
    let gate = Gate::new(PACE_MIN as u32);
    let taken = || poll_once(gate.enter()).expect("there is room").expect("it is open");
    let (one, other) = (taken(), taken());
    let waiting = {
        let gate = Arc::clone(&gate);
        spawn(async move { gate.enter().await.is_ok() })
    };
    // Looks once and gives up, wherever the others are.
    let impatient = {
        let gate = Arc::clone(&gate);
        spawn(async move { drop(poll_once(gate.enter())) })
    };
    drop(one);
    impatient.join().expect("it ends");
    drop(other);
    assert!(block_on(gate.enter()).is_ok());
    assert!(waiting.join().expect("it ends"));
    assert_eq!(gate.load(), 0);
}
