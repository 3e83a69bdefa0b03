//! A server as a wire sees it: messages in, messages out, nothing in between.

mod calls;
mod lists;
mod registration;
mod schemas;
mod wire;
