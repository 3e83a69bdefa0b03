//! What an authorization server says of itself (RFC 8414, OpenID Connect Discovery): where it
//! authorizes, registers and grants. Asked for by `flow`; what it says is checked here once.

use super::error::AuthError;
use super::web::{Web, shown};
use haft_fetch::Url;
use serde::Deserialize;

const WHAT: &str = "metadata of the authorization server";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// An authorization server whose metadata can be trusted.
#[derive(Clone, Debug)]
pub(crate) struct AuthorizationServer {
    /// Its name, byte for byte as the resource writes it.
    pub(crate) issuer: String,
    /// Where people are sent.
    pub(crate) authorize: Option<Url>,
    /// Where tokens are granted.
    pub(crate) token: Url,
    /// Where clients become known.
    pub(crate) register: Option<Url>,
    /// What it can grant.
    pub(crate) scopes: Vec<String>,
    /// How clients may prove who they are; `None` if it does not say.
    pub(crate) proofs: Option<Vec<String>>,
    /// Whether codes are bound to verifiers by S256.
    pub(crate) has_pkce: bool,
    /// Whether its redirects name it (RFC 9207).
    pub(crate) names_itself: bool,
    /// Whether a client may be an address of a document.
    pub(crate) reads_documents: bool,
}

/// As it is written.
#[derive(Debug, Deserialize)]
struct Written {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

/// Finds the metadata of an issuer.
///
/// # Errors
/// [`AuthError::WrongIssuer`] if it is about another one, and others.
pub(crate) async fn find(web: &Web, issuer: &str) -> Result<AuthorizationServer, AuthError> {
    let places = places(&web.check("authorization server", issuer)?);
    for place in &places {
        if let Some(written) = web.document::<Written>(WHAT, place).await? {
            return read(web, issuer, place, written);
        }
    }
    let tried = places.iter().map(shown).collect::<Vec<_>>().join(", ");
    Err(AuthError::NotFound { what: WHAT, tried })
}

/// Where metadata may be, in the specified order: never above the path of the issuer.
fn places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}")];
    if !path.is_empty() {
        paths.push(format!("{path}{OPENID}"));
    }
    paths.iter().filter_map(|path| issuer.with_path(path).ok()).collect()
}

fn read(
    web: &Web,
    issuer: &str,
    place: &Url,
    written: Written,
) -> Result<AuthorizationServer, AuthError> {
    // RFC 8414, 3.3: identical, not only equal in meaning.
    if written.issuer != issuer {
        let found = crate::error::excerpt(written.issuer.as_bytes());
        return Err(AuthError::WrongIssuer { expected: issuer.to_owned(), found });
    }
    let optional = |what, text: Option<String>| text.map(|text| web.check(what, &text)).transpose();
    let Some(token) = optional("token endpoint", written.token_endpoint)? else {
        let reason = "it has no `token_endpoint`".to_owned();
        return Err(AuthError::Malformed { what: WHAT, url: shown(place), reason });
    };
    let has = |list: &[String], word: &str| list.iter().any(|item| item == word);
    Ok(AuthorizationServer {
        issuer: written.issuer,
        authorize: optional("authorization endpoint", written.authorization_endpoint)?,
        token,
        register: optional("registration endpoint", written.registration_endpoint)?,
        scopes: written.scopes_supported,
        proofs: written.token_endpoint_auth_methods_supported,
        has_pkce: has(&written.code_challenge_methods_supported, "S256"),
        names_itself: written.authorization_response_iss_parameter_supported,
        reads_documents: written.client_id_metadata_document_supported,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Metadata as a test needs it.
    pub(crate) async fn server(members: &str) -> Result<AuthorizationServer, AuthError> {
        let endpoint = Url::parse("https://192.0.2.1/mcp").expect("an address");
        let web = Web::from(&endpoint).await;
        let text = format!(r#"{{"issuer":"https://as.example"{members}}}"#);
        let written = serde_json::from_str(&text).expect("metadata");
        let place = Url::parse("https://as.example/x").expect("an address");
        read(&web, "https://as.example", &place, written)
    }

    #[test]
    fn metadata_is_looked_for_where_the_issuer_is_and_not_above() {
        let check = |issuer: &str, expected: &[&str]| {
            let places = places(&Url::parse(issuer).expect("an address"));
            let found: Vec<&str> = places.iter().map(Url::path).collect();
            assert_eq!(found, expected, "{issuer}");
        };
        check("https://a", &[OAUTH, OPENID]);
        check("https://a/", &[OAUTH, OPENID]);
        let tenant = [
            "/.well-known/oauth-authorization-server/t/1",
            "/.well-known/openid-configuration/t/1",
            "/t/1/.well-known/openid-configuration",
        ];
        check("https://a/t/1", &tenant);
        check("https://a/t/1/", &tenant);
    }

    #[tokio::test]
    async fn an_issuer_is_who_it_was_taken_for() {
        let token = r#","token_endpoint":"https://as.example/token""#;
        let good = server(token).await.expect("it is good");
        assert!(!good.has_pkce && !good.names_itself && good.register.is_none());
        for other in ["https://as.example/", "https://AS.example", "https://evil.example", ""] {
            let text = format!(r#"{{"issuer":"{other}"{token}}}"#);
            let web = Web::from(&Url::parse("https://192.0.2.1").expect("an address")).await;
            let written = serde_json::from_str(&text).expect("metadata");
            let place = Url::parse("https://as.example/x").expect("an address");
            let read = read(&web, "https://as.example", &place, written);
            assert!(matches!(read, Err(AuthError::WrongIssuer { .. })), "{other}");
        }
    }

    #[tokio::test]
    async fn endpoints_that_cannot_be_trusted_are_refused() {
        assert!(matches!(server("").await, Err(AuthError::Malformed { .. })));
        let token = r#","token_endpoint":"https://as.example/token""#;
        for member in ["authorization_endpoint", "registration_endpoint", "token_endpoint"] {
            for url in ["http://as.example/x", "http://127.0.0.1/x", "javascript:x", ""] {
                let token = if member == "token_endpoint" { "" } else { token };
                let read = server(&format!(r#"{token},"{member}":"{url}""#)).await;
                assert!(matches!(read, Err(AuthError::Insecure { .. })), "{member} {url}");
            }
        }
    }

    #[tokio::test]
    async fn only_s256_is_pkce() {
        let token = r#","token_endpoint":"https://as.example/token""#;
        for (methods, expected) in [(r#"["plain","S256"]"#, true), (r#"["plain"]"#, false)] {
            let members = format!(r#"{token},"code_challenge_methods_supported":{methods}"#);
            assert_eq!(server(&members).await.map(|read| read.has_pkce).ok(), Some(expected));
        }
    }
}
