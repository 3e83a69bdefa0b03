//! A server as a wire sees it: messages in, messages out, nothing in between.

mod around;
mod calls;
mod derived;
mod explanations;
mod hostile_schemas;
mod lists;
mod middleware;
mod nested;
mod nested_rounds;
mod normal;
mod one_pass;
mod reads;
mod registration;
mod relayed;
mod repair_properties;
mod repairs;
mod rounds;
mod schemas;
mod searched;
mod stops;
mod subscriptions;
mod swap;
mod task_stores;
mod tasks;
mod wire;
