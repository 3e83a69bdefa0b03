//! Access tokens by OAuth client credentials (RFC 6749, 4.4): fetched when they are needed, shared
//! by all who ask, renewed before they end. Asked by `client`.

use crate::auth::Auth;
use crate::client::Client;
use crate::error::FetchError;
use crate::escape;
use crate::limits::{
    TOKEN_BYTES_MAX, TOKEN_KEPT_MIN, TOKEN_LIFE_DEFAULT, TOKEN_LIFE_MAX, TOKEN_REFUSAL_KEPT,
    TOKEN_RENEWED_BEFORE, TOKEN_TIME_MAX,
};
use crate::reach::Reach;
use crate::request::Request;
use crate::url::Url;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde::Deserialize;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// Where tokens come from, and for whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Where the authorization server grants them.
    pub url: Url,
    /// The client's name there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// Further fields of the request, like `scope` and `audience`.
    pub fields: Vec<(String, String)>,
    /// Where name and secret are sent.
    pub placement: Placement,
    /// How far the request for a token may reach.
    pub reach: Reach,
}

/// Where name and secret are sent (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// In the header, which every authorization server understands.
    #[default]
    Basic,
    /// In the body.
    Body,
}

/// The secret is not shown.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("host", &self.url.host()).finish_non_exhaustive()
    }
}

/// A source of tokens, and the one that it has.
#[derive(Debug)]
pub struct TokenSource {
    tokens: Tokens,
    client: Client,
    current: RwLock<Option<Current>>,
    /// The one before, which answers to earlier requests may still repeat.
    before: RwLock<Option<HeaderValue>>,
    /// Held by whoever asks the authorization server; one at a time. What it refused last.
    asking: Arc<Mutex<Option<Refused>>>,
}

/// When an authorization server granted nothing, and why.
type Refused = (Instant, FetchError);

#[derive(Clone, Debug)]
struct Current {
    header: HeaderValue,
    renew_at: Instant,
    ends_at: Instant,
    /// When it came.
    fetched_at: Instant,
}

/// What an authorization server answers.
#[derive(Deserialize)]
struct Granted {
    access_token: Option<String>,
    token_type: Option<String>,
    /// In seconds; some servers write the number as a text.
    expires_in: Option<serde_json::Value>,
    error: Option<String>,
    error_description: Option<String>,
}

impl TokenSource {
    pub(crate) fn new(tokens: Tokens, client: Client) -> Self {
        let (current, before) = (RwLock::default(), RwLock::default());
        Self { tokens, client, current, before, asking: Arc::default() }
    }

    pub(crate) fn is_of(&self, tokens: &Tokens) -> bool {
        self.tokens == *tokens
    }

    /// A token that is good now, as the value of its header. One that ends soon is renewed by a
    /// task of its own, for which nobody waits, and which goes on when a call is dropped.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<HeaderValue, FetchError> {
        let current = self.current();
        let now = Instant::now();
        if let Some(current) = current.filter(|current| now < current.ends_at) {
            if now >= current.renew_at
                && let Ok(mut asking) = Arc::clone(&self.asking).try_lock_owned()
            {
                let source = Arc::clone(self);
                tokio::spawn(async move {
                    // Should it fail, the next call in this time tries again.
                    let is_old = |current: Current| Instant::now() >= current.renew_at;
                    if source.current().is_none_or(is_old) {
                        let _ = source.renew(&mut asking).await;
                    }
                });
            }
            return Ok(current.header);
        }
        // Whoever waits here finds what the one before got, be it a token or a refusal.
        let mut asking = self.asking.lock().await;
        let is_fresh = |current: &Current| Instant::now() < current.renew_at;
        if let Some(current) = self.current().filter(is_fresh) {
            return Ok(current.header);
        }
        self.renew(&mut asking).await
    }

    /// Another token than one that a server refused, if there is any: a server that takes none does
    /// not make every call a request for a token.
    pub(crate) async fn another(
        &self,
        refused: &HeaderValue,
    ) -> Result<Option<HeaderValue>, FetchError> {
        let mut asking = self.asking.lock().await;
        let now = Instant::now();
        let header = match self.current() {
            Some(current) if now < current.fetched_at + TOKEN_KEPT_MIN => current.header,
            Some(current) if current.header != *refused && now < current.renew_at => current.header,
            _ => self.renew(&mut asking).await?,
        };
        Ok((header != *refused).then_some(header))
    }

    /// The token that was fetched last and the one before, as the values of their headers.
    pub(crate) fn known(&self) -> impl Iterator<Item = HeaderValue> {
        let before = self.before.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.current().map(|current| current.header).into_iter().chain(before)
    }

    fn current(&self) -> Option<Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn renew(&self, refusal: &mut Option<Refused>) -> Result<HeaderValue, FetchError> {
        if let Some((at, error)) = refusal
            && at.elapsed() < TOKEN_REFUSAL_KEPT
        {
            return Err(error.clone());
        }
        match self.fetch().await {
            Ok(current) => {
                let header = current.header.clone();
                *refusal = None;
                let mut kept = self.current.write().unwrap_or_else(PoisonError::into_inner);
                let before = kept.replace(current).map(|before| before.header);
                drop(kept);
                *self.before.write().unwrap_or_else(PoisonError::into_inner) = before;
                Ok(header)
            }
            Err(error) => {
                *refusal = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn fetch(&self) -> Result<Current, FetchError> {
        let (request, auth) = self.request();
        let asked = Instant::now();
        let answer = timeout(TOKEN_TIME_MAX, async {
            let answer = self.client.send_plain(&request, &auth).await?;
            let status = answer.status;
            Ok::<_, FetchError>((status, answer.bytes(TOKEN_BYTES_MAX).await?))
        });
        let (status, body) = answer.await.unwrap_or_else(|_| {
            Err(self.refused(format!("no answer within {} seconds", TOKEN_TIME_MAX.as_secs())))
        })?;
        let granted = serde_json::from_slice::<Granted>(&body).ok();
        if !status.is_success() {
            let said = granted.and_then(|granted| granted.error_description.or(granted.error));
            // Half a secret would not be known as one.
            let said = said.map(|said| self.redact(said));
            let said = said.map(|said| format!(": {}", excerpt(&said))).unwrap_or_default();
            return Err(self.refused(format!("it answered {status}{said}")));
        }
        let Some((granted, token)) = granted.and_then(|mut granted| {
            let token = granted.access_token.take()?;
            Some((granted, token))
        }) else {
            return Err(self.refused("its answer holds no `access_token`".to_owned()));
        };
        if granted.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(self.refused("it is none for `Bearer`".to_owned()));
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| self.refused("it cannot be put into a header".to_owned()))?;
        header.set_sensitive(true);
        let life = granted
            .expires_in
            .and_then(|life| life.as_f64().or_else(|| life.as_str()?.trim().parse::<f64>().ok()));
        let life = life.and_then(|life| Duration::try_from_secs_f64(life).ok());
        let life = life.unwrap_or(TOKEN_LIFE_DEFAULT).min(TOKEN_LIFE_MAX);
        let early = TOKEN_RENEWED_BEFORE.min(life / 10);
        Ok(Current {
            header,
            renew_at: asked + (life - early),
            ends_at: asked + life,
            fetched_at: Instant::now(),
        })
    }

    fn request(&self) -> (Request, Auth) {
        let Tokens { client_id, client_secret, fields, placement, .. } = &self.tokens;
        let mut form = "grant_type=client_credentials".to_owned();
        let mut add = |name: &str, value: &str| {
            form.push('&');
            escape::push(&mut form, name);
            form.push('=');
            escape::push(&mut form, value);
        };
        fields.iter().for_each(|(name, value)| add(name, value));
        let auth = match placement {
            Placement::Body => {
                add("client_id", client_id);
                add("client_secret", client_secret);
                Auth::None
            }
            Placement::Basic => {
                let (id, secret) = (escape::text(client_id), escape::text(client_secret));
                Auth::basic(&id, &secret).unwrap_or_default()
            }
        };
        let mut request = Request::new(Method::POST, self.tokens.url.clone());
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, form_type);
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.body = form.into();
        // A secret is not carried elsewhere.
        request.redirects = 0;
        (request, auth)
    }

    /// The text without the client's secret, should the server repeat it.
    fn redact(&self, text: String) -> String {
        /// Shorter ones are words of any text.
        const LENGTH_MIN: usize = 6;
        let secret = &self.tokens.client_secret;
        if secret.len() < LENGTH_MIN { text } else { text.replace(secret, "…") }
    }

    fn refused(&self, reason: String) -> FetchError {
        FetchError::Token { host: self.tokens.url.host().to_owned(), reason }
    }
}

/// The first words of what a server says.
fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 300;
    text.chars().filter(|character| !character.is_control()).take(CHARACTERS).collect()
}
