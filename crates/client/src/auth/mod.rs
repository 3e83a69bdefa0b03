//! Access tokens for an MCP server over HTTP (Authorization): what it asks for, where its
//! authorization servers are, who this client is to them, a person's consent, and tokens that are
//! kept and refreshed. The HTTP wire asks `keeper`; the other files are its stages, in the order in
//! which they come.

mod assertion;
mod authorize;
mod authorizer;
mod challenge;
mod error;
mod flow;
mod identity;
mod keeper;
mod pkce;
mod registration;
mod resource;
mod scopes;
mod secret;
mod server;
mod settings;
mod store;
mod token;
mod web;

pub use authorizer::{Authorizer, Journey, Reception};
pub use error::AuthError;
pub(crate) use keeper::{Keeper, asking_nobody};
pub use secret::Secret;
pub use settings::{Behalf, OAuth, Proof, Registered, Voucher};
