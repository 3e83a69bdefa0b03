//! What a caller may decide about access tokens: who this client is, and where they are kept. Part
//! of the options.

use super::secret::Secret;
use std::path::PathBuf;

/// How this client gets access tokens.
#[derive(Clone, Debug, Default)]
pub struct OAuth {
    /// A client that the authorization server knows already.
    pub client: Option<Registered>,
    /// Where the document is that describes this client (OAuth Client ID Metadata Documents), an
    /// `https:` address. It is used with servers that read such documents.
    pub document: Option<String>,
    /// The file in which credentials are kept, which only its owner can read; `None` keeps them as
    /// long as the connection.
    pub credentials: Option<PathBuf>,
}

/// A client that the authorization server knows already.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its id.
    pub id: String,
    /// How it proves who it is.
    pub proof: Proof,
    /// The authorization server that knows it; `None` is the first one that the MCP server names.
    /// Another one never sees it.
    pub issuer: Option<String>,
    /// Whether it acts for itself, so that no person is asked (client credentials).
    pub is_alone: bool,
}

/// How a client proves who it is.
#[derive(Clone, Debug)]
pub enum Proof {
    /// By signing with a private key, PEM of PKCS #8 (RFC 7523).
    Key(Secret),
    /// Not at all: it is a public client.
    None,
    /// By a secret.
    Secret(Secret),
}
