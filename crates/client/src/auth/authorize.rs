//! The authorization endpoint: the address that a person visits, and the redirect that comes back
//! (OAuth 2.1, 4.1; RFC 9207). Made and read here; who goes there is `authorizer`'s business.

use super::error::AuthError;
use super::pkce::Pkce;
use super::secret::Secret;
use super::server::AuthorizationServer;
use super::web::form;
use crate::limits::REDIRECT_BYTES_MAX;
use haft_fetch::Url;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) state: &'a str,
    pub(crate) pkce: &'a Pkce,
}

/// The address to visit.
pub(crate) fn url(endpoint: &Url, asking: &Asking<'_>) -> String {
    let scopes = asking.scopes.join(" ");
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", asking.client_id),
        ("redirect_uri", asking.redirect_uri),
        ("state", asking.state),
        ("code_challenge", &asking.pkce.challenge),
        ("code_challenge_method", "S256"),
        ("resource", asking.resource),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    let joint = if endpoint.query().is_some() { '&' } else { '?' };
    format!("{endpoint}{joint}{}", form(&fields))
}

/// The code that a redirect brings.
///
/// # Errors
/// [`AuthError::WrongRedirect`] and [`AuthError::IssuerMixUp`] if it does not belong to what was
/// asked, [`AuthError::Refused`] if the authorization server says no.
pub(crate) fn code(
    server: &AuthorizationServer,
    asking: &Asking<'_>,
    redirect: &str,
) -> Result<Secret, AuthError> {
    let wrong = |reason| AuthError::WrongRedirect { reason };
    if redirect.len() > REDIRECT_BYTES_MAX {
        return Err(wrong("it is too long"));
    }
    let (place, _) = redirect.split_once('?').unwrap_or((redirect, ""));
    if place != asking.redirect_uri {
        return Err(wrong("it leads elsewhere"));
    }
    if parameter(redirect, "state")?.as_deref() != Some(asking.state) {
        return Err(wrong("its `state` is not the one that was sent"));
    }
    // Before anything else of it is believed, an error as well.
    check_issuer(server, parameter(redirect, "iss")?.as_deref())?;
    if let Some(error) = parameter(redirect, "error")? {
        let description = parameter(redirect, "error_description")?.unwrap_or_default();
        let issuer = server.issuer.clone();
        return Err(AuthError::Refused { issuer, what: "authorization", error, description });
    }
    let code = parameter(redirect, "code")?.filter(|code| !code.is_empty());
    code.map(Secret::new).ok_or_else(|| wrong("it brings no `code`"))
}

/// RFC 9207, 2.4: by the text alone, without making anything equal.
fn check_issuer(server: &AuthorizationServer, named: Option<&str>) -> Result<(), AuthError> {
    let found = match named {
        Some(named) if named == server.issuer => return Ok(()),
        Some(named) => crate::error::excerpt(named.as_bytes()),
        None if server.names_itself => "one that does not name itself".to_owned(),
        None => return Ok(()),
    };
    Err(AuthError::IssuerMixUp { expected: server.issuer.clone(), found })
}

/// A parameter of an address.
///
/// # Errors
/// [`AuthError::WrongRedirect`] if it is there twice or cannot be read.
pub(crate) fn parameter(address: &str, wanted: &str) -> Result<Option<String>, AuthError> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let mut found = None;
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let bad = || AuthError::WrongRedirect { reason: "its parameters cannot be read" };
        if unescape(name).ok_or_else(bad)? != wanted {
            continue;
        }
        if found.replace(unescape(value).ok_or_else(bad)?).is_some() {
            return Err(AuthError::WrongRedirect { reason: "a parameter is there twice" });
        }
    }
    Ok(found)
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::super::server::tests::server;
    use super::*;

    const URI: &str = "http://127.0.0.1:1/cb";

    async fn at(members: &str) -> AuthorizationServer {
        let token = r#","token_endpoint":"https://as.example/token""#;
        server(&format!("{token}{members}")).await.expect("metadata")
    }

    fn read(server: &AuthorizationServer, redirect: &str) -> Result<String, AuthError> {
        let pkce = Pkce::new().expect("chance");
        let asking = Asking {
            client_id: "c",
            redirect_uri: URI,
            resource: "https://r/mcp",
            scopes: &[],
            state: "s t",
            pkce: &pkce,
        };
        code(server, &asking, redirect).map(|code| code.reveal().to_owned())
    }

    #[test]
    fn a_person_is_sent_with_everything_escaped() {
        let pkce = Pkce::new().expect("chance");
        let scopes = ["a".to_owned(), "b".to_owned()];
        let asking = Asking {
            client_id: "https://c/x?y",
            redirect_uri: URI,
            resource: "https://r/mcp",
            scopes: &scopes,
            state: "s&t",
            pkce: &pkce,
        };
        let endpoint = Url::parse("https://as/authorize?tenant=1").expect("an address");
        let shown = url(&endpoint, &asking);
        let value = |name| parameter(&shown, name).expect("readable").expect("it is there");
        assert_eq!(value("tenant"), "1");
        assert_eq!(value("client_id"), "https://c/x?y");
        assert_eq!(value("resource"), "https://r/mcp");
        assert_eq!(value("scope"), "a b");
        assert_eq!(value("state"), "s&t");
        assert_eq!(value("code_challenge"), pkce.challenge);
        assert!(!shown.contains(pkce.verifier.reveal()));
        let bare = url(&endpoint, &Asking { scopes: &[], ..asking });
        assert_eq!(parameter(&bare, "scope").expect("readable"), None, "not even an empty one");
    }

    #[tokio::test]
    async fn a_redirect_brings_the_code_of_what_was_asked() {
        let server = at("").await;
        let ok = read(&server, &format!("{URI}?code=a%2Fb&state=s+t"));
        assert_eq!(ok.expect("a code"), "a/b");
        for wrong in [
            "http://127.0.0.1:2/cb?code=a&state=s%20t",
            "http://127.0.0.1:1/cb/?code=a&state=s%20t",
            &format!("{URI}?code=a"),
            &format!("{URI}?code=a&state=s"),
            &format!("{URI}?code=a&state=s%20t&state=s%20t"),
            &format!("{URI}?code=a&code=b&state=s%20t"),
            &format!("{URI}?code=&state=s%20t"),
            &format!("{URI}?state=s%20t"),
            &format!("{URI}?code=%zz&state=s%20t"),
            &format!("{URI}?state=s%20t&code={}", "a".repeat(REDIRECT_BYTES_MAX)),
            URI,
            "",
        ] {
            let read = read(&server, wrong);
            assert!(matches!(read, Err(AuthError::WrongRedirect { .. })), "{wrong:.99}");
        }
    }

    #[tokio::test]
    async fn a_redirect_of_another_authorization_server_is_refused() {
        let silent = at("").await;
        let names = r#","authorization_response_iss_parameter_supported":true"#;
        let named = at(names).await;
        let check = |server: &AuthorizationServer, iss: &str, expected: bool| {
            for rest in ["code=a", "error=access_denied"] {
                let read = read(server, &format!("{URI}?{rest}&state=s+t{iss}"));
                let mixed = matches!(read, Err(AuthError::IssuerMixUp { .. }));
                assert_eq!(!mixed, expected, "{iss} {rest}");
            }
        };
        check(&silent, "", true);
        check(&named, "", false);
        for server in [&silent, &named] {
            check(server, "&iss=https%3A%2F%2Fas.example", true);
            for other in ["https://as.example/", "https://AS.example", "https://evil.example", ""] {
                check(server, &format!("&iss={other}"), false);
            }
        }
    }

    #[tokio::test]
    async fn a_refusal_is_told_in_one_line() {
        let server = at("").await;
        let refused = read(
            &server,
            &format!("{URI}?error=access_denied&error_description=no%0A%1b[31m&state=s+t"),
        );
        let message = refused.expect_err("a refusal").to_string();
        let expected = "https://as.example refused the authorization: access_denied (no)";
        assert_eq!(message, expected);
    }
}
