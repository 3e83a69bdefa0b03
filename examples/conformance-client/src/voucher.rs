//! Who vouches for this client where no person is asked: the place that a workload runs in, and the
//! login of a person to their company (Enterprise-Managed Authorization). Asked by `haft-client`.

use haft_client::{Answering, Declined, Secret, Voucher};
use haft_fetch::{Auth, Clients, Proxies, Reach, Request, Url, escape};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde::Deserialize;
use std::error::Error;
use std::future::ready;

/// A workload has a statement that says what it is.
#[derive(Debug)]
pub(crate) struct Workload(pub(crate) Secret);

impl Voucher for Workload {
    fn vouch<'a>(&'a self, _: &'a str, _: &'a str) -> Answering<'a, Result<Secret, Declined>> {
        Box::pin(ready(Ok(self.0.clone())))
    }
}

/// A company's server exchanges a login for a statement to somebody else's server (RFC 8693).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Company {
    #[serde(rename = "idp_client_id")]
    client_id: String,
    #[serde(rename = "idp_id_token")]
    login: Secret,
    #[serde(rename = "idp_token_endpoint")]
    endpoint: String,
}

impl Voucher for Company {
    fn vouch<'a>(
        &'a self,
        issuer: &'a str,
        resource: &'a str,
    ) -> Answering<'a, Result<Secret, Declined>> {
        Box::pin(async move {
            let exchanged = self.exchange(issuer, resource).await;
            exchanged.map_err(|error| Declined::by_user(error.to_string()))
        })
    }
}

impl Company {
    async fn exchange(&self, issuer: &str, resource: &str) -> Result<Secret, Box<dyn Error>> {
        #[derive(Deserialize)]
        struct Exchanged {
            access_token: Secret,
        }
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("subject_token", self.login.reveal()),
            ("client_id", &self.client_id),
            ("audience", issuer),
            ("resource", resource),
        ];
        let fields = fields.map(|(name, value)| format!("{name}={}", escape::text(value)));
        let mut request = Request::new(Method::POST, Url::parse(&self.endpoint)?);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, form);
        request.body = fields.join("&").into();
        let client = Clients::with_proxies(Proxies::new("", "", "*")).of(&Reach::Anywhere);
        let answer = client.send(&request, &Auth::None).await?;
        let Exchanged { access_token } = serde_json::from_slice(&answer.bytes(64 * 1024).await?)?;
        Ok(access_token)
    }
}
