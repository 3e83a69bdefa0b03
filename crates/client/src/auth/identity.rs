//! Who this client is to one authorization server, and how it proves that with each request for a
//! token (RFC 6749, 2.3; RFC 7523). Made by `registration`, used by `token`.

use super::assertion;
use super::error::AuthError;
use super::secret::Secret;
use super::server::AuthorizationServer;
use super::settings::Proof;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use haft_fetch::escape;
use http::HeaderValue;

/// A client, as one authorization server knows it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) proof: Proof,
    /// How the server wants it proved, if it said so to this client.
    pub(crate) method: Option<Method>,
}

/// A way to prove who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Basic,
    Jwt,
    None,
    Post,
}

/// What goes into a request.
#[derive(Debug)]
pub(crate) struct Proved {
    pub(crate) header: Option<HeaderValue>,
    pub(crate) fields: Vec<(&'static str, Secret)>,
}

impl Method {
    const ALL: [Self; 4] = [Self::Basic, Self::Jwt, Self::None, Self::Post];

    /// As metadata names it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "client_secret_basic",
            Self::Jwt => "private_key_jwt",
            Self::None => "none",
            Self::Post => "client_secret_post",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }

    /// Whether a server takes it; one that does not say takes what everybody must (RFC 8414, 2).
    pub(crate) fn is_taken_by(self, server: &AuthorizationServer) -> bool {
        match &server.proofs {
            Some(words) => words.iter().any(|word| word == self.as_str()),
            None => self == Self::Basic,
        }
    }
}

impl Identity {
    /// The proof for one request to `server`.
    pub(crate) fn prove(&self, server: &AuthorizationServer) -> Result<Proved, AuthError> {
        let id = || Secret::new(self.id.as_str());
        let proved = |fields| Ok(Proved { header: None, fields });
        match (&self.proof, self.method_for(server)) {
            (Proof::Key(key), _) => proved(vec![
                ("client_id", id()),
                ("client_assertion_type", Secret::new(assertion::TYPE)),
                ("client_assertion", assertion::sign(key, &self.id, &server.issuer)?),
            ]),
            (Proof::Secret(secret), Method::Basic) => {
                // Each part as in a form (RFC 6749, 2.3.1).
                let pair = [&*self.id, secret.reveal()].map(escape::text).join(":");
                let header = format!("Basic {}", BASE64_STANDARD.encode(pair));
                let header = HeaderValue::from_str(&header).ok();
                Ok(Proved { header, fields: Vec::new() })
            }
            (Proof::Secret(secret), Method::Post) => {
                proved(vec![("client_id", id()), ("client_secret", secret.clone())])
            }
            (Proof::Secret(_) | Proof::None, _) => proved(vec![("client_id", id())]),
        }
    }

    fn method_for(&self, server: &AuthorizationServer) -> Method {
        match (&self.proof, self.method) {
            (Proof::Key(_), _) => Method::Jwt,
            (Proof::None, _) => Method::None,
            (Proof::Secret(_), Some(method)) => method,
            (Proof::Secret(_), None) => {
                let known = [Method::Basic, Method::Post, Method::None];
                let taken = known.into_iter().find(|method| method.is_taken_by(server));
                taken.unwrap_or(Method::Basic)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::tests::server;
    use super::*;

    async fn check(listed: &str, answered: Option<Method>, expected: Method) {
        let token = r#","token_endpoint":"https://as.example/token""#;
        let server = server(&format!("{token}{listed}")).await.expect("metadata");
        let proof = Proof::Secret(Secret::new("s:1"));
        let identity = Identity { id: "a b".to_owned(), proof, method: answered };
        let Proved { header, fields } = identity.prove(&server).expect("a proof");
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let found = match (header, &names[..]) {
            (Some(header), []) => {
                let expected = format!("Basic {}", BASE64_STANDARD.encode("a%20b:s%3A1"));
                assert_eq!(header.to_str().ok(), Some(&*expected));
                Method::Basic
            }
            (None, ["client_id", "client_secret"]) => Method::Post,
            (None, ["client_id"]) => Method::None,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{listed} {answered:?}");
    }

    #[tokio::test]
    async fn a_secret_goes_where_the_server_wants_it() {
        let list = |words| format!(r#","token_endpoint_auth_methods_supported":[{words}]"#);
        check("", None, Method::Basic).await;
        check(&list(r#""client_secret_post","client_secret_basic""#), None, Method::Basic).await;
        check(&list(r#""client_secret_post","none""#), None, Method::Post).await;
        check(&list(r#""none""#), None, Method::None).await;
        check(&list(r#""tls_client_auth""#), None, Method::Basic).await;
        check(&list(r#""client_secret_basic""#), Some(Method::Post), Method::Post).await;
        check(&list(r#""client_secret_basic""#), Some(Method::None), Method::None).await;
    }
}
