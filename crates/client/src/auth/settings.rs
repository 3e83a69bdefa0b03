//! What a caller may decide about access tokens: who this client is, and where they are kept. Part
//! of the options.

use super::secret::Secret;
use crate::answerer::{Answering, Declined};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// On whose behalf it acts.
    pub behalf: Behalf,
}

/// On whose behalf a client acts.
#[derive(Clone, Debug, Default)]
pub enum Behalf {
    /// Its own, so that no person is asked (client credentials).
    Itself,
    /// A person's, who is asked by the [`Authorizer`](crate::Authorizer).
    #[default]
    Person,
    /// That of whom somebody vouches for, so that no person is asked (RFC 7523, 2.1): a workload,
    /// or who has logged in to their company.
    Vouched(Arc<dyn Voucher>),
}

/// Vouches for whom a client acts for.
pub trait Voucher: Debug + Send + Sync {
    /// A signed statement (JWT) that the authorization server `issuer` believes, to get a token for
    /// `resource`. Asked each time a token is needed.
    fn vouch<'a>(
        &'a self,
        issuer: &'a str,
        resource: &'a str,
    ) -> Answering<'a, Result<Secret, Declined>>;
}

impl OAuth {
    /// Whether tokens can be had without anybody.
    pub(crate) fn is_unattended(&self) -> bool {
        let behalf = self.client.as_ref().map(|client| &client.behalf);
        matches!(behalf, Some(Behalf::Itself | Behalf::Vouched(_)))
    }
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
