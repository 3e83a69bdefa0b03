//! HTTP to elsewhere: requests to servers that are not ours, within limits of place, time and size.
//! Tools, resources and documents from the web go through here; a [`Clients`] has one pool of
//! connections for each [`Reach`]. It never knows what a tool is, and never reads a manifest.
//!
//! An address that a [`Reach`] does not allow is refused after its name is resolved, before it is
//! dialled, and again after each redirect: what was checked is what is dialled.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use haft_fetch::{Auth, Clients, FetchError, Reach, Request, Url};
//! let client = Clients::new().of(&Reach::Public);
//! let request = Request::get(Url::parse("http://127.0.0.1:9/")?);
//! let refused = client.send(&request, &Auth::None).await;
//! assert!(matches!(refused, Err(FetchError::PrivateAddress { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod answer;
mod auth;
mod client;
mod clients;
mod coding;
mod dial;
mod error;
pub mod escape;
pub mod limits;
mod proxies;
mod reach;
mod redirect;
mod request;
mod tls;
mod token;
mod url;

pub use answer::Answer;
pub use auth::Auth;
pub use client::Client;
pub use clients::Clients;
pub use coding::{ACCEPTED_CODINGS, CodingError, Codings, Decoder};
pub use error::FetchError;
pub use proxies::Proxies;
pub use reach::{Allowed, BadAllowed, Reach};
pub use request::Request;
pub use token::{Placement, TokenSource, Tokens};
pub use url::{BadUrl, Url};
