//! The one thing that needs a person: to visit an address, and to bring back where it led. A caller
//! implements [`Authorizer`] and puts it into the options. Nothing here talks to a server.

use crate::answerer::{Answering, Declined};
use haft_fetch::Url;
use std::fmt::{self, Debug};

/// Sends a person to an authorization server.
///
/// ```
/// use haft_client::{Answering, Authorizer, Declined, Journey, Reception};
///
/// /// Shows the address, and has the redirect copied from the browser.
/// #[derive(Clone, Copy, Debug)]
/// struct CopiedByHand;
///
/// impl Authorizer for CopiedByHand {
///     fn open<'a>(
///         &'a self,
///         _: Option<&'a str>,
///     ) -> Answering<'a, Result<Box<dyn Reception>, Declined>> {
///         Box::pin(std::future::ready(Ok(Box::new(*self) as _)))
///     }
/// }
///
/// impl Reception for CopiedByHand {
///     fn redirect_uri(&self) -> &str {
///         "http://127.0.0.1:8976/callback"
///     }
///     fn receive(
///         self: Box<Self>,
///         journey: Journey,
///     ) -> Answering<'static, Result<String, Declined>> {
///         println!("Visit {} and paste where it led.", journey.url);
///         let mut redirect = String::new();
///         let read = std::io::stdin().read_line(&mut redirect);
///         let read = read.map(|_| redirect.trim().to_owned());
///         let read = read.map_err(|error| Declined::by_user(error.to_string()));
///         Box::pin(std::future::ready(read))
///     }
/// }
/// ```
pub trait Authorizer: Debug + Send + Sync {
    /// Opens a place that redirects lead to; `wanted` is the one that the authorization server
    /// knows from before, if it can be had again. Asked before anybody is sent anywhere.
    fn open<'a>(
        &'a self,
        wanted: Option<&'a str>,
    ) -> Answering<'a, Result<Box<dyn Reception>, Declined>>;
}

/// A place that redirects lead to, for one authorization.
pub trait Reception: Debug + Send {
    /// Its address, without a query: `https:`, or `http:` on this machine.
    fn redirect_uri(&self) -> &str;

    /// Shows a person the address to visit and waits for the redirect: the whole address, as it
    /// came. Dropping the future ends the wait.
    fn receive(self: Box<Self>, journey: Journey) -> Answering<'static, Result<String, Declined>>;
}

/// Where a person is sent, and what for.
#[derive(Clone)]
pub struct Journey {
    /// The address to visit. It is for one person and one time.
    pub url: String,
    /// The authorization server, by its own name.
    pub issuer: String,
    /// The server that tokens are for, by its own name.
    pub resource: String,
    /// What the person is asked to allow; empty leaves it to the authorization server.
    pub scopes: Vec<String>,
    pub(crate) state: String,
}

/// The address is for the person alone.
impl Debug for Journey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, resource, scopes, .. } = self;
        let mut shown = f.debug_struct("Journey");
        shown.field("issuer", issuer).field("resource", resource).field("scopes", scopes);
        shown.finish_non_exhaustive()
    }
}

impl Journey {
    /// Whether a redirect belongs to this journey. Others are best left unanswered: anybody can
    /// call an address on this machine.
    #[must_use]
    pub fn is_end(&self, redirect: &str) -> bool {
        let state = super::authorize::parameter(redirect, "state");
        state.is_ok_and(|state| state.as_deref() == Some(&*self.state))
    }
}

/// Whether a redirect may lead to an address (Authorization, "Communication Security").
pub(crate) fn is_receivable(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else { return false };
    url.query().is_none() && (url.is_secure() || super::web::is_loopback(url.host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_to_this_machine_or_a_secure_one() {
        for uri in ["http://127.0.0.1:1/cb", "http://localhost:1/", "https://a/cb", "http://[::1]/"]
        {
            assert!(is_receivable(uri), "{uri}");
        }
        for uri in ["http://a/cb", "ftp://localhost/", "http://127.0.0.1/?a=b", "haft:cb", ""] {
            assert!(!is_receivable(uri), "{uri}");
        }
    }

    #[test]
    fn a_redirect_that_belongs_to_somebody_else_is_known() {
        let journey = Journey {
            url: String::new(),
            issuer: String::new(),
            resource: String::new(),
            scopes: Vec::new(),
            state: "s".to_owned(),
        };
        assert!(journey.is_end("http://127.0.0.1:1/cb?code=x&state=s"));
        assert!(!format!("{journey:?}").contains("state"), "{journey:?}");
        for other in ["http://127.0.0.1:1/cb?code=x", "/cb?state=t", "/cb?state=s&state=s"] {
            assert!(!journey.is_end(other), "{other}");
        }
    }
}
