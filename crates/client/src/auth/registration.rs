//! How this client becomes known to an authorization server, in the specified order: it is known
//! already, by the address of a document that describes it, or by registering (RFC 7591). Asked by
//! `flow`.

use super::error::AuthError;
use super::identity::{Identity, Method};
use super::secret::Secret;
use super::server::AuthorizationServer;
use super::settings::{OAuth, Proof, Registered};
use super::store::KeptClient;
use super::token::refusal;
use super::web::{Web, shown};
use crate::limits::TOKEN_BYTES_MAX;
use haft_fetch::Url;
use serde::Deserialize;
use serde_json::json;

/// A client, and what is to be kept of it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) identity: Identity,
    /// A registration that was made just now.
    pub(crate) made: Option<KeptClient>,
}

/// What is known without asking, if the authorization server takes it.
pub(crate) fn known(
    server: &AuthorizationServer,
    settings: &OAuth,
) -> Result<Option<Identity>, AuthError> {
    if let Some(Registered { id, proof, issuer, .. }) = &settings.client {
        return match issuer {
            Some(issuer) if *issuer != server.issuer => {
                let (known, found) = (issuer.clone(), server.issuer.clone());
                Err(AuthError::WrongClient { known, found })
            }
            _ => Ok(Some(Identity { id: id.clone(), proof: proof.clone(), method: None })),
        };
    }
    let document = settings.document.as_ref().filter(|_| server.reads_documents);
    let identity = |url: &String| Identity { id: url.clone(), proof: Proof::None, method: None };
    Ok(document.map(identity))
}

/// Who this client is to `server`; registers it if need be.
pub(crate) async fn find(
    web: &Web,
    server: &AuthorizationServer,
    settings: &OAuth,
    kept: Option<&KeptClient>,
    redirect_uri: &str,
    name: &str,
) -> Result<Found, AuthError> {
    if let Some(identity) = known(server, settings)? {
        return Ok(Found { identity, made: None });
    }
    // Servers compare redirect addresses as texts, even those on this machine.
    if let Some(kept) = kept.filter(|kept| kept.redirect_uri == redirect_uri) {
        return Ok(Found { identity: kept.identity(), made: None });
    }
    let Some(endpoint) = &server.register else {
        return Err(AuthError::NoRegistration { issuer: server.issuer.clone() });
    };
    let made = register(web, server, endpoint, redirect_uri, name).await?;
    Ok(Found { identity: made.identity(), made: Some(made) })
}

#[derive(Deserialize)]
struct Written {
    client_id: String,
    client_secret: Option<Secret>,
    token_endpoint_auth_method: Option<String>,
    /// In seconds since 1970; 0 is never.
    #[serde(default)]
    client_secret_expires_at: u64,
}

async fn register(
    web: &Web,
    server: &AuthorizationServer,
    endpoint: &Url,
    redirect_uri: &str,
    name: &str,
) -> Result<KeptClient, AuthError> {
    let is_native = !redirect_uri.starts_with("https:");
    // A program on somebody's machine keeps no secret if it need not.
    let methods = [Method::None, Method::Basic, Method::Post];
    let method = methods.into_iter().find(|method| method.is_taken_by(server));
    let client = json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.unwrap_or(Method::Basic).as_str(),
        "application_type": if is_native { "native" } else { "web" },
    });
    let answered = web.json(endpoint, client.to_string()).await?;
    if !answered.status.is_success() {
        return Err(refusal(server.issuer.clone(), "registration", &answered));
    }
    let malformed = |reason: &str| AuthError::Malformed {
        what: "registration",
        url: shown(endpoint),
        reason: reason.to_owned(),
    };
    let written: Written =
        serde_json::from_slice(&answered.body).map_err(|_| malformed("it needs a `client_id`"))?;
    let secret = written.client_secret.filter(|secret| !secret.reveal().is_empty());
    let longest = secret.as_ref().map_or(0, |secret| secret.reveal().len());
    if written.client_id.is_empty() || longest.max(written.client_id.len()) > TOKEN_BYTES_MAX {
        return Err(malformed("its `client_id` or `client_secret` is empty or too long"));
    }
    Ok(KeptClient {
        id: written.client_id,
        secret,
        method: written.token_endpoint_auth_method,
        redirect_uri: redirect_uri.to_owned(),
        ends_at: Some(written.client_secret_expires_at).filter(|ends_at| *ends_at > 0),
    })
}

impl KeptClient {
    /// The client, as it proves itself.
    pub(crate) fn identity(&self) -> Identity {
        let proof = self.secret.clone().map_or(Proof::None, Proof::Secret);
        let method = self.method.as_deref().and_then(Method::parse);
        Identity { id: self.id.clone(), proof, method }
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::tests::server;
    use super::super::settings::Behalf;
    use super::*;

    const DOCUMENTS: &str = r#","token_endpoint":"https://as.example/token",
        "client_id_metadata_document_supported":true"#;

    fn settings(issuer: Option<&str>) -> OAuth {
        let client = Registered {
            id: "known".to_owned(),
            proof: Proof::None,
            issuer: issuer.map(str::to_owned),
            behalf: Behalf::Person,
        };
        let document = Some("https://c.example/me.json".to_owned());
        OAuth { client: Some(client), document, credentials: None }
    }

    #[tokio::test]
    async fn a_client_that_is_known_comes_before_its_document() {
        let server = server(DOCUMENTS).await.expect("metadata");
        let id = |settings: &OAuth| {
            known(&server, settings).map(|found| found.map(|identity| identity.id))
        };
        assert_eq!(id(&settings(None)).expect("it is known").as_deref(), Some("known"));
        let bound = settings(Some("https://as.example"));
        assert_eq!(id(&bound).expect("it is known").as_deref(), Some("known"));
        let documented = OAuth { client: None, ..settings(None) };
        let found = id(&documented).expect("it is known");
        assert_eq!(found.as_deref(), Some("https://c.example/me.json"));
        assert_eq!(id(&OAuth::default()).expect("nothing is wrong"), None);
    }

    #[tokio::test]
    async fn a_client_of_one_server_is_never_shown_to_another() {
        let server = server(DOCUMENTS).await.expect("metadata");
        let refused = known(&server, &settings(Some("https://other.example")));
        assert!(matches!(refused, Err(AuthError::WrongClient { .. })));
    }

    #[tokio::test]
    async fn a_document_is_for_servers_that_read_documents() {
        let token = r#","token_endpoint":"https://as.example/token""#;
        let server = server(token).await.expect("metadata");
        let documented = OAuth { client: None, ..settings(None) };
        assert!(known(&server, &documented).expect("nothing is wrong").is_none());
    }
}
