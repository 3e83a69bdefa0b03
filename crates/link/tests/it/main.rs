//! What is said over a link, as others read it and as bytes that nobody meant to be frames.

mod frames;
mod pace;
mod proto;
