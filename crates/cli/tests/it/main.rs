//! The built command against real servers and clients, in one binary.

mod arguments;
mod asking;
mod check_schema_new;
mod dev;
mod dialogs;
mod foreign;
mod foreign_servers;
mod haft;
mod list_call_inspect;
mod new_rust;
mod pty;
mod quickstart;
mod readme;
mod resources_and_prompts;
mod stdio;
mod two_paths;
mod watched;
