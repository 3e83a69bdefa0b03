//! What the parts of this crate that several threads use at once are made of: the standard library's
//! locks here, and loom's in `models`, which tries every order in which threads may come.

pub(crate) use std::sync::{Mutex, MutexGuard};
