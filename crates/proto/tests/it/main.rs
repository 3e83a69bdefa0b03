//! The protocol without a wire: what bytes mean, and what is admitted.

mod admission;
mod envelopes;
