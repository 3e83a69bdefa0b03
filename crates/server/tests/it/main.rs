//! A server as a wire sees it: messages in, messages out, nothing in between.

mod calls;
mod derived;
mod lists;
mod middleware;
mod reads;
mod registration;
mod rounds;
mod schemas;
mod subscriptions;
mod tasks;
mod wire;
