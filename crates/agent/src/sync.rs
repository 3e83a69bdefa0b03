//! What the parts of this crate that several threads use at once are made of: locks of the standard
//! library here, and loom's in `models`, which tries every order in which threads may come.

pub(crate) use std::sync::{Mutex, MutexGuard};
