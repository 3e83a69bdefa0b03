//! The token endpoint: a code, a refresh token or the client itself becomes an access token (OAuth
//! 2.1, 3.2). Asked by `flow`; what is done with tokens is others' business.

use super::error::AuthError;
use super::identity::Identity;
use super::secret::Secret;
use super::server::AuthorizationServer;
use super::web::{Answered, Web};
use crate::limits::{TOKEN_BYTES_MAX, TOKEN_LIFE_MAX};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

/// The grant of RFC 7523, 2.1.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// What a token is asked for with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant<'a> {
    /// The client itself.
    Alone { scopes: &'a [String] },
    /// A code that a person brought.
    Code { code: &'a Secret, redirect_uri: &'a str, verifier: &'a Secret },
    /// A token that was granted with the one before.
    Refresh { token: &'a Secret },
    /// What somebody says who vouches for this client.
    Vouched { statement: &'a Secret, scopes: &'a [String] },
}

/// What was granted.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// How long the access token lives, in seconds, if that is known.
    pub(crate) life_s: Option<u64>,
}

/// Asks for a token for `resource`.
pub(crate) async fn ask(
    web: &Web,
    server: &AuthorizationServer,
    identity: &Identity,
    resource: &str,
    grant: Grant<'_>,
) -> Result<Granted, AuthError> {
    let scope = match grant {
        Grant::Alone { scopes } | Grant::Vouched { scopes, .. } => scopes.join(" "),
        // These are for what was asked for before.
        Grant::Code { .. } | Grant::Refresh { .. } => String::new(),
    };
    let mut fields = match grant {
        Grant::Alone { .. } => vec![("grant_type", "client_credentials")],
        Grant::Vouched { statement, .. } => {
            vec![("grant_type", JWT_BEARER), ("assertion", statement.reveal())]
        }
        Grant::Code { code, redirect_uri, verifier } => vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.reveal()),
        ],
        Grant::Refresh { token } => {
            vec![("grant_type", "refresh_token"), ("refresh_token", token.reveal())]
        }
    };
    fields.push(("resource", resource));
    if !scope.is_empty() {
        fields.push(("scope", &scope));
    }
    let proved = identity.prove(server)?;
    fields.extend(proved.fields.iter().map(|(name, value)| (*name, value.reveal())));
    let answered = web.form(&server.token, &fields, proved.header).await?;
    read(server, &answered)
}

#[derive(Deserialize)]
struct Written {
    access_token: Secret,
    token_type: String,
    refresh_token: Option<Secret>,
    /// Some servers write the number as a text.
    expires_in: Option<Value>,
}

fn read(server: &AuthorizationServer, answered: &Answered) -> Result<Granted, AuthError> {
    let issuer = server.issuer.clone();
    if answered.status.is_server_error() || answered.status == StatusCode::TOO_MANY_REQUESTS {
        let reason = format!("{issuer} answered HTTP {}", answered.status.as_u16());
        return Err(AuthError::Unreachable { reason });
    }
    if !answered.status.is_success() {
        return Err(refusal(issuer, "token", answered));
    }
    let malformed = |reason: &str| AuthError::Malformed {
        what: "token",
        url: super::web::shown(&server.token),
        reason: reason.to_owned(),
    };
    // What serde says of a text could show the token.
    let written: Written = serde_json::from_slice(&answered.body)
        .map_err(|_| malformed("it needs `access_token` and `token_type`"))?;
    if !written.token_type.eq_ignore_ascii_case("bearer") {
        return Err(malformed("its type is not Bearer"));
    }
    let is_token = |token: &Secret| {
        let text = token.reveal();
        !text.is_empty()
            && text.len() <= TOKEN_BYTES_MAX
            && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !is_token(&written.access_token) {
        return Err(malformed("it is empty, too long, or of other characters than tokens have"));
    }
    let seconds = |value: Value| match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|n| n as u64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let life_s = written.expires_in.and_then(seconds);
    Ok(Granted {
        access: written.access_token,
        refresh: written.refresh_token.filter(is_token),
        life_s: life_s.map(|life| life.min(TOKEN_LIFE_MAX.as_secs())),
    })
}

/// What an authorization server says that says no (RFC 6749, 5.2; RFC 7591, 3.2.2).
pub(crate) fn refusal(issuer: String, what: &'static str, answered: &Answered) -> AuthError {
    #[derive(Default, Deserialize)]
    struct Said {
        error: Option<String>,
        error_description: Option<String>,
    }
    let said: Said = serde_json::from_slice(&answered.body).unwrap_or_default();
    AuthError::Refused {
        issuer,
        what,
        error: said.error.unwrap_or_else(|| format!("HTTP {}", answered.status.as_u16())),
        description: said.error_description.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::tests::server;
    use super::*;

    async fn check(status: u16, body: &str) -> Result<Granted, AuthError> {
        let token = r#","token_endpoint":"https://as.example/token""#;
        let server = server(token).await.expect("metadata");
        let status = StatusCode::from_u16(status).expect("a status");
        read(&server, &Answered { status, is_json: true, body: body.to_owned().into() })
    }

    #[tokio::test]
    async fn a_token_has_a_life_or_none_that_is_known() {
        for (more, expected) in [
            ("", None),
            (r#","expires_in":60"#, Some(60)),
            (r#","expires_in":"60""#, Some(60)),
            (r#","expires_in":60.5"#, Some(60)),
            (r#","expires_in":-1"#, Some(0)),
            (r#","expires_in":null"#, None),
            (r#","expires_in":1e300"#, Some(TOKEN_LIFE_MAX.as_secs())),
        ] {
            let body = format!(r#"{{"access_token":"a","token_type":"bearer"{more}}}"#);
            assert_eq!(check(200, &body).await.expect("a token").life_s, expected, "{more}");
        }
    }

    #[tokio::test]
    async fn what_is_no_bearer_token_is_refused_and_not_shown() {
        let long = "x".repeat(TOKEN_BYTES_MAX + 1);
        for body in [
            r#"{"access_token":"hunter2"}"#,
            r#"{"access_token":"hunter2","token_type":"DPoP"}"#,
            r#"{"access_token":"hunter2\r\nx: y","token_type":"Bearer"}"#,
            r#"{"access_token":"","token_type":"Bearer"}"#,
            r#"{"access_token":["hunter2"],"token_type":"Bearer"}"#,
            &format!(r#"{{"access_token":"{long}","token_type":"Bearer"}}"#),
            "hunter2",
        ] {
            let error = check(200, body).await.expect_err("no token");
            assert!(matches!(error, AuthError::Malformed { .. }), "{body:.60}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_refusal_says_why() {
        let said = r#"{"error":"invalid_grant","error_description":"it is\nold"}"#;
        let error = check(400, said).await.expect_err("a refusal").to_string();
        assert_eq!(error, "https://as.example refused the token: invalid_grant (it is)");
        let error = check(403, "<html>").await.expect_err("a refusal").to_string();
        assert_eq!(error, "https://as.example refused the token: HTTP 403");
        for status in [429, 502] {
            let down = check(status, said).await.expect_err("it is down");
            assert!(matches!(down, AuthError::Unreachable { .. }), "{down}");
        }
    }
}
