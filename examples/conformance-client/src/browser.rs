//! The browser of this client: it visits the address and does not follow the redirect, which is
//! what the suite's authorization servers answer at once. Asked by `haft-client`.

use haft_client::{Answering, Authorizer, Declined, Journey, Reception};
use haft_fetch::{Auth, Clients, Proxies, Reach, Request, Url};
use http::header::LOCATION;
use std::future::ready;

/// The browser; also the place that redirects lead to, where nobody listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Browser;

impl Authorizer for Browser {
    fn open<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> Answering<'a, Result<Box<dyn Reception>, Declined>> {
        Box::pin(ready(Ok(Box::new(*self) as Box<dyn Reception>)))
    }
}

impl Reception for Browser {
    fn redirect_uri(&self) -> &str {
        "http://localhost:3000/callback"
    }

    fn receive(self: Box<Self>, journey: Journey) -> Answering<'static, Result<String, Declined>> {
        Box::pin(visit(journey.url))
    }
}

async fn visit(url: String) -> Result<String, Declined> {
    let failed = |error: &dyn std::error::Error| Declined::by_user(error.to_string());
    let url = Url::parse(&url).map_err(|error| failed(&error))?;
    let client = Clients::with_proxies(Proxies::new("", "", "*")).of(&Reach::Anywhere);
    let request = Request { redirects: 0, ..Request::get(url) };
    let answer = client.send(&request, &Auth::None).await.map_err(|error| failed(&error))?;
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let status = answer.status.as_u16();
    location.map(str::to_owned).ok_or_else(|| Declined::by_user(format!("HTTP {status}")))
}
