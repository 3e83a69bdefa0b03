//! The access token of one MCP server: added to each request, refreshed before it ends, replaced
//! when the server wants another. One task at a time gets one, the others wait for it. Used by the
//! HTTP wire; how a token is got is `flow`'s business.

use super::authorizer::Authorizer;
use super::challenge::Challenge;
use super::error::AuthError;
use super::flow::Flow;
use super::store::KeptTokens;
use crate::desk::Desk;
use crate::limits::{AUTHORIZATIONS_MAX, TOKEN_REFRESHED_BEFORE};
use crate::options::Options;
use haft_fetch::Url;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Response, StatusCode};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

tokio::task_local! {
    /// Set while something is said that is not worth anybody's consent.
    static ASKS_NOBODY: ();
}

/// Does something for which no person is asked, and no token is replaced: its time is short, and
/// nobody waits for what becomes of it.
pub(crate) async fn asking_nobody<T>(work: impl Future<Output = T>) -> T {
    ASKS_NOBODY.scope((), work).await
}

/// Keeps the token of one endpoint.
#[derive(Debug)]
pub(crate) struct Keeper {
    flow: Arc<Flow>,
    held: Mutex<Option<Held>>,
    /// Held by whoever gets a token. Whether what is kept has been looked at.
    turn: tokio::sync::Mutex<bool>,
    /// How often in a row the server was given another token.
    attempts: AtomicU32,
    desk: Arc<Desk>,
}

/// A token that is good, as far as anybody knows.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) issuer: String,
    pub(crate) resource: String,
    pub(crate) tokens: KeptTokens,
    pub(crate) origin: Origin,
}

/// Where a token is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was authorized just now, and has not been tried.
    Authorized,
    /// It was there before, or has been taken.
    Kept,
    /// It took the place of another one just now, and has not been tried.
    Refreshed,
}

/// Why a server wants another token.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// There was none, or it is not good any more.
    Another(Challenge),
    /// It is not good for enough.
    More(Challenge),
}

impl Want {
    pub(crate) fn challenge(&self) -> &Challenge {
        match self {
            Self::Another(challenge) | Self::More(challenge) => challenge,
        }
    }
}

impl Keeper {
    /// A keeper for `url`, if the options have any way to come by a token. Whoever sends an
    /// `Authorization` of their own wants no other.
    pub(crate) fn new(url: &str, desk: &Arc<Desk>, options: &Options) -> Option<Self> {
        let Options { authorizer, oauth, headers, name, .. } = options;
        let authorizer: Option<Arc<dyn Authorizer>> = authorizer.clone();
        let has_way = authorizer.is_some() || oauth.credentials.is_some() || oauth.is_unattended();
        // What is no URL to be trusted with a token has no way to come by one.
        let endpoint = Url::parse(url.split('#').next().unwrap_or_default()).ok()?;
        (has_way && !headers.contains_key(AUTHORIZATION)).then(|| Self {
            flow: Arc::new(Flow::new(endpoint, authorizer, oauth.clone(), name.clone())),
            held: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            attempts: AtomicU32::new(0),
            desk: Arc::clone(desk),
        })
    }

    /// The header for a request, if there is a token.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>, AuthError> {
        if let Some(held) = self.held().filter(|held| !held.is_ending()) {
            return Ok(Some(held.header()));
        }
        let mut has_looked = self.turn.lock().await;
        if !*has_looked {
            let kept = self.flow.kept().await?;
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = kept;
            *has_looked = true;
        }
        let Some(held) = self.held().filter(Held::is_ending) else {
            return Ok(self.held().map(|held| held.header()));
        };
        let has_ended = held.has_ended();
        match Flow::refresh(&self.flow, held.clone(), None).await {
            Ok(Some(refreshed)) => Ok(Some(self.hold(refreshed).header())),
            // The server may be of another mind about the time, and says so if not.
            Ok(None) | Err(AuthError::Refused { .. }) => {
                let tokens = KeptTokens { refresh: None, ..held.tokens };
                Ok(Some(self.hold(Held { tokens, ..held }).header()))
            }
            Err(_) if !has_ended => Ok(Some(held.header())),
            Err(error) => Err(error),
        }
    }

    /// Looks at a response to a request that was sent with this header; true if the request should
    /// be sent again.
    ///
    /// # Errors
    /// [`AuthError`] if the server wants a token that cannot be had.
    pub(crate) async fn look<T>(
        &self,
        response: &Response<T>,
        sent: Option<&HeaderValue>,
    ) -> Result<bool, AuthError> {
        let challenge = Challenge::read(response.headers());
        let want = match (response.status(), challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => Want::Another(challenge.unwrap_or_default()),
            (StatusCode::FORBIDDEN, Some(challenge)) if challenge.is_insufficient_scope() => {
                Want::More(challenge)
            }
            (status, _) => {
                if status.is_success() && sent.is_some() {
                    self.is_taken(sent);
                }
                return Ok(false);
            }
        };
        if ASKS_NOBODY.try_with(|()| ()).is_ok() {
            return Ok(false);
        }
        // Nobody should be hurried while a person thinks.
        let _paused = self.desk.pause();
        let _turn = self.turn.lock().await;
        let held = self.held();
        if held.as_ref().is_some_and(|held| Some(&held.header()) != sent) {
            return Ok(true);
        }
        let attempts = self.attempts.load(Ordering::Relaxed);
        let is_in_vain = matches!(want, Want::Another(_))
            && held.as_ref().is_some_and(|held| held.origin == Origin::Authorized);
        if attempts >= AUTHORIZATIONS_MAX || is_in_vain {
            return Err(AuthError::NotTaken);
        }
        match Flow::satisfy(&self.flow, want, held).await? {
            Some(found) => {
                self.attempts.fetch_add(1, Ordering::Relaxed);
                self.hold(found);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The server has taken the token: when it refuses it later, then because it has become old.
    fn is_taken(&self, sent: Option<&HeaderValue>) {
        self.attempts.store(0, Ordering::Relaxed);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.as_mut().filter(|held| held.origin != Origin::Kept)
            && Some(&held.header()) == sent
        {
            held.origin = Origin::Kept;
        }
    }

    fn held(&self) -> Option<Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, found: Held) -> Held {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }
}

impl Held {
    fn header(&self) -> HeaderValue {
        let text = format!("Bearer {}", self.tokens.access.reveal());
        let header = HeaderValue::from_str(&text);
        let mut header = header.unwrap_or_else(|_| HeaderValue::from_static("Bearer"));
        header.set_sensitive(true);
        header
    }

    /// Whether it can be refreshed, and should be.
    pub(crate) fn is_ending(&self) -> bool {
        let KeptTokens { refresh, from, ends_at, .. } = &self.tokens;
        let Some(ends_at) = ends_at.filter(|_| refresh.is_some()) else { return false };
        let early = TOKEN_REFRESHED_BEFORE.as_secs().min(ends_at.saturating_sub(*from) / 10);
        now() >= ends_at - early.min(ends_at)
    }

    fn has_ended(&self) -> bool {
        self.tokens.ends_at.is_some_and(|ends_at| now() >= ends_at)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::super::secret::Secret;
    use super::*;

    fn held(life: Option<u64>, age: u64, refresh: bool) -> Held {
        let from = now() - age;
        let tokens = KeptTokens {
            access: Secret::new("hunter2"),
            refresh: refresh.then(|| Secret::new("r")),
            scopes: Vec::new(),
            client_id: String::new(),
            from,
            ends_at: life.map(|life| from + life),
        };
        let (issuer, resource) = (String::new(), String::new());
        Held { issuer, resource, tokens, origin: Origin::Kept }
    }

    #[test]
    fn a_token_is_refreshed_a_minute_or_a_tenth_of_its_life_before_its_end() {
        for (life, age, expected) in [
            (3600, 0, false),
            (3600, 3530, false),
            (3600, 3545, true),
            (3600, 9000, true),
            (100, 85, false),
            (100, 95, true),
            (0, 0, true),
        ] {
            assert_eq!(held(Some(life), age, true).is_ending(), expected, "{life} {age}");
        }
        assert!(!held(Some(3600), 9000, false).is_ending(), "it cannot be refreshed");
        assert!(!held(None, 9000, true).is_ending(), "nobody knows when it ends");
    }

    #[test]
    fn a_token_is_not_shown() {
        let held = held(None, 0, false);
        assert_eq!(held.header().to_str().ok(), Some("Bearer hunter2"));
        assert!(!format!("{held:?} {:?}", held.header()).contains("hunter2"));
    }
}
