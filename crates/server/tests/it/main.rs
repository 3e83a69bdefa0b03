//! A server as a wire sees it: messages in, messages out, nothing in between.

mod calls;
mod explanations;
mod hostile_schemas;
mod lists;
mod registration;
mod repair_properties;
mod repairs;
mod schemas;
mod wire;
