//! The built command against real servers and clients, in one binary.

mod agents;
mod agents_seen;
mod arguments;
mod asking;
mod bench;
mod book;
mod check_schema_new;
mod completions;
mod consent;
mod desk;
mod dev;
mod dialogs;
mod doctor;
mod editors;
mod everything;
mod export;
mod file_examples;
mod foreign;
mod foreign_servers;
mod forge;
mod gateway;
mod gateway_admin;
mod gateway_chain;
mod gateway_eras;
mod gateway_faults;
mod gateway_foreign;
mod gateway_long;
mod gateway_names;
mod gateway_rules;
mod gateway_tailor;
mod gateway_views;
mod guard;
mod haft;
mod http3;
mod inside;
mod list_call_inspect;
mod metrics;
mod new_rust;
#[path = "../../../client/tests/it/oauth_server.rs"]
#[expect(dead_code, reason = "the client's own tests use the rest")]
mod oauth_server;
#[path = "../../../fetch/tests/it/origin.rs"]
#[expect(dead_code, reason = "other crates count connections and wait for their ends")]
mod origin;
mod outages;
mod pty;
mod quickstart;
mod requests;
mod resources_and_prompts;
#[path = "../../../client/tests/it/scripted_http.rs"]
#[expect(dead_code, reason = "the client's own tests use the rest")]
mod scripted_http;
mod secure_requests;
mod state;
mod status;
mod stdio;
mod threads;
mod two_paths;
mod watched;
mod web_sockets;
