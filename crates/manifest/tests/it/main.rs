//! Manifests as their users have them: faults as they are drawn, tools as they are called.

mod faults;
mod fixture;
