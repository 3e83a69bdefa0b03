//! What one check may still spend: steps, and bytes for regular expressions that step back. The
//! checker of the `jsonschema` crate has no bounds of its own and gives what it calls nothing but
//! the value, so what is left stands beside it, on its thread: a check begins and ends on one.

use super::limits::{PATIENT_BYTES_MAX, QUICK_BYTES_MAX, STEPS, STEPS_PER_BYTE};
use std::cell::Cell;
use std::thread::LocalKey;

thread_local! {
    static STEPS_LEFT: Cell<usize> = const { Cell::new(0) };
    static QUICK_BYTES_LEFT: Cell<usize> = const { Cell::new(0) };
    static PATIENT_BYTES_LEFT: Cell<usize> = const { Cell::new(0) };
    static IS_SHORT: Cell<bool> = const { Cell::new(false) };
}

/// The budget did not suffice, so nobody knows the outcome.
#[derive(Debug)]
pub(super) struct Spent;

/// Runs a check of a value whose text has so many bytes.
pub(super) fn with_budget<T>(bytes: usize, check: impl FnOnce() -> T) -> Result<T, Spent> {
    STEPS_LEFT.set(STEPS.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)));
    QUICK_BYTES_LEFT.set(QUICK_BYTES_MAX);
    PATIENT_BYTES_LEFT.set(PATIENT_BYTES_MAX);
    IS_SHORT.set(false);
    let outcome = check();
    if IS_SHORT.get() { Err(Spent) } else { Ok(outcome) }
}

/// Takes steps. False if there are not so many left, now and from then on.
pub(super) fn spend(steps: usize) -> bool {
    let is_enough = take(&STEPS_LEFT, steps);
    if !is_enough {
        give_up();
    }
    is_enough
}

/// Whether a check goes on at all.
pub(super) fn has_steps() -> bool {
    STEPS_LEFT.get() > 0
}

/// Takes bytes for a quick try of a regular expression.
pub(super) fn spend_quick(bytes: usize) -> bool {
    take(&QUICK_BYTES_LEFT, bytes)
}

/// Takes bytes for a long one.
pub(super) fn spend_patient(bytes: usize) -> bool {
    take(&PATIENT_BYTES_LEFT, bytes)
}

/// The outcome of this check is of no use any more; it should end soon.
pub(super) fn give_up() {
    IS_SHORT.set(true);
    STEPS_LEFT.set(0);
}

fn take(left: &'static LocalKey<Cell<usize>>, amount: usize) -> bool {
    match left.get().checked_sub(amount) {
        Some(rest) => {
            left.set(rest);
            true
        }
        None => false,
    }
}
