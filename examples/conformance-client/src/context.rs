//! What the suite tells a client beside the address: the calls to make, and who the client is. Read
//! once by `main`.

use crate::voucher::{Company, Workload};
use haft_client::{Behalf, OAuth, Proof, Registered, Secret};
use serde::Deserialize;
use serde_json::Value;
use std::env;
use std::sync::Arc;

/// `MCP_CONFORMANCE_CONTEXT`. Everything is optional: most scenarios have none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Context {
    /// Arguments that the suite wants to see.
    #[serde(rename = "toolCalls")]
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The scenario, which may tell what the client was registered for.
    name: String,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    private_key_pem: Option<Secret>,
    /// What the workload that it is has been given.
    valid_jwt: Option<Secret>,
    /// The login of a person to their company.
    #[serde(flatten)]
    company: Option<Company>,
}

/// The client of which the suite's authorization servers know a document; nobody reads it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// How the scenarios begin in which no person is asked.
const ALONE: &str = "auth/client-credentials-";

/// A call that the suite wants to see.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl Context {
    /// Reads it from the environment, where it may be absent.
    pub(crate) fn from_env() -> Result<Self, serde_json::Error> {
        match env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => serde_json::from_str(&text),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Who this client is.
    pub(crate) fn oauth(&self) -> OAuth {
        let proof = match (&self.private_key_pem, &self.client_secret) {
            (Some(key), _) => Proof::Key(key.clone()),
            (None, Some(secret)) => Proof::Secret(secret.clone()),
            (None, None) => Proof::None,
        };
        let behalf = match (&self.valid_jwt, &self.company) {
            (Some(statement), _) => Behalf::Vouched(Arc::new(Workload(statement.clone()))),
            (None, Some(company)) => Behalf::Vouched(Arc::new(company.clone())),
            _ if self.name.starts_with(ALONE) => Behalf::Itself,
            _ => Behalf::Person,
        };
        let client = self.client_id.clone();
        OAuth {
            client: client.map(|id| Registered { id, proof, issuer: None, behalf }),
            document: Some(DOCUMENT.to_owned()),
            credentials: None,
        }
    }
}
