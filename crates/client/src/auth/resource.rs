//! What the MCP server says of itself as a resource (RFC 9728): where its authorization servers
//! are. Asked for by `flow`, first of all.

use super::error::AuthError;
use super::web::{Web, shown};
use crate::limits::ISSUERS_MAX;
use haft_fetch::Url;
use serde::Deserialize;

const WHAT: &str = "metadata of the protected resource";
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The metadata of a resource, as far as a client needs it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    /// Its name, which every request for a token repeats byte for byte (RFC 8707).
    pub(crate) resource: String,
    /// The issuers of its tokens.
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    /// What a token for everything would have.
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
}

/// Finds the metadata of the server at `endpoint`: where the challenge says, or else at one of the
/// well-known places. `None` if there is none, so that the server does not use OAuth.
///
/// # Errors
/// [`AuthError::WrongResource`] if it is about another server, and others.
pub(crate) async fn find(
    web: &Web,
    endpoint: &Url,
    named: Option<&str>,
) -> Result<Option<ResourceMetadata>, AuthError> {
    let places = match named {
        Some(named) => vec![named_place(web, endpoint, named)?],
        None => places(endpoint),
    };
    for place in &places {
        let Some(found) = web.document::<ResourceMetadata>(WHAT, place).await? else { continue };
        return check(endpoint, place, found).map(Some);
    }
    match named {
        Some(_) => Err(AuthError::NotFound { what: WHAT, tried: tried(&places) }),
        None => Ok(None),
    }
}

/// A server speaks for itself only.
fn named_place(web: &Web, endpoint: &Url, named: &str) -> Result<Url, AuthError> {
    let place = web.check(WHAT, named)?;
    match place.is_same_origin(endpoint) {
        true => Ok(place),
        false => {
            let reason = "it is not on the server that it is about";
            Err(AuthError::Insecure { what: WHAT, url: shown(&place), reason })
        }
    }
}

/// With the path of the endpoint, then without.
fn places(endpoint: &Url) -> Vec<Url> {
    let path = endpoint.path().trim_end_matches('/');
    let mut paths = vec![format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()];
    paths.dedup();
    paths.iter().filter_map(|path| endpoint.with_path(path).ok()).collect()
}

fn check(
    endpoint: &Url,
    place: &Url,
    mut found: ResourceMetadata,
) -> Result<ResourceMetadata, AuthError> {
    if !is_about(&found.resource, endpoint) {
        let resource = crate::error::excerpt(found.resource.as_bytes());
        return Err(AuthError::WrongResource { resource });
    }
    if found.authorization_servers.is_empty() {
        let reason = "it names no `authorization_servers`".to_owned();
        return Err(AuthError::Malformed { what: WHAT, url: shown(place), reason });
    }
    found.authorization_servers.truncate(ISSUERS_MAX);
    Ok(found)
}

/// Whether a name of a resource stands for an endpoint: the same server, and the same path or one
/// above it. Otherwise a server could have tokens made for somebody else.
fn is_about(resource: &str, endpoint: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let below = endpoint.path().strip_prefix(path);
    resource.is_same_origin(endpoint)
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        && resource.query().is_none_or(|query| endpoint.query() == Some(query))
}

fn tried(places: &[Url]) -> String {
    places.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    #[test]
    fn the_path_of_the_endpoint_comes_first() {
        let check = |endpoint: &str, expected: &[&str]| {
            let found: Vec<String> = places(&url(endpoint)).iter().map(shown).collect();
            assert_eq!(found, expected, "{endpoint}");
        };
        let root = "https://a/.well-known/oauth-protected-resource";
        check("https://a/mcp?key=1", &[&format!("{root}/mcp"), root]);
        check("https://a/b/c/", &[&format!("{root}/b/c"), root]);
        check("https://a", &[root]);
    }

    #[test]
    fn metadata_is_about_the_server_that_is_talked_to() {
        let endpoint = url("https://a:8443/b/mcp?t=1");
        for resource in [
            "https://a:8443/b/mcp",
            "https://a:8443/b/mcp/",
            "https://A:8443/b",
            "https://a:8443",
            "https://a:8443/",
            "https://a:8443/b/mcp?t=1",
        ] {
            // A slash at the end means the same place below which nothing else is.
            assert!(is_about(resource, &endpoint), "{resource}");
        }
        for resource in [
            "https://a:8443/b/mcp/x",
            "https://a:8443/b/mc",
            "https://a:8443/b/mcp?t=2",
            "https://a/b/mcp",
            "http://a:8443/b/mcp",
            "https://evil.example/b/mcp",
            "https://a:8443/b/mcp#f",
            "a",
            "",
        ] {
            assert!(!is_about(resource, &endpoint), "{resource}");
        }
    }

    #[test]
    fn metadata_without_an_authorization_server_is_of_no_use() {
        let read = |text: &str| {
            let found: ResourceMetadata = serde_json::from_str(text).expect("metadata");
            check(&url("https://a/mcp"), &url("https://a/x"), found)
        };
        let metadata = read(r#"{"resource":"https://a","authorization_servers":["https://b"]}"#);
        assert_eq!(metadata.expect("it is good").resource, "https://a", "byte for byte");
        let many = ["\"https://b\""; 1000].join(",");
        let many = format!(r#"{{"resource":"https://a","authorization_servers":[{many}]}}"#);
        let many = read(&many).expect("it is good");
        assert_eq!(many.authorization_servers.len(), ISSUERS_MAX);
        let empty = read(r#"{"resource":"https://a","authorization_servers":[]}"#);
        assert!(matches!(empty, Err(AuthError::Malformed { .. })));
        let other = read(r#"{"resource":"https://b","authorization_servers":["https://b"]}"#);
        assert!(matches!(other, Err(AuthError::WrongResource { .. })));
    }

    #[tokio::test]
    async fn a_place_elsewhere_is_not_asked() {
        let endpoint = url("https://192.0.2.1/mcp");
        let web = Web::from(&endpoint).await;
        let check = |named: &str| named_place(&web, &endpoint, named).is_ok();
        assert!(check("https://192.0.2.1/custom.json"));
        assert!(!check("https://evil.example/custom.json"));
        assert!(!check("http://192.0.2.1/custom.json"));
        assert!(!check("http://127.0.0.1/custom.json"));
    }
}
