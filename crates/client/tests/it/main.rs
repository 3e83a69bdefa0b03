//! The client against servers that misbehave on purpose: child processes and raw sockets. Servers
//! that behave are met by the tests of the command line.

mod absent_members;
mod answering;
mod authorizing;
mod clients;
mod compressed;
mod eras;
mod forgotten_sessions;
mod hostile_http;
mod hostile_process;
mod listening;
mod oauth_server;
mod offers;
mod old_sse;
mod proxied;
mod questions_http;
mod questions_process;
mod remembering;
mod scripted_http;
mod tasks;
mod unreadable;
