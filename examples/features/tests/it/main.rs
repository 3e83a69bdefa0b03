//! The examples as programs: each is started as it stands and asked as a client would, in both eras
//! where both have what it shows.

mod asking;
mod http;
mod listing;
mod reading;
mod running;
mod server;
mod tasks;
