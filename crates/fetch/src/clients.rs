//! All clients of one configuration: one for each [`Reach`], and one source for each set of
//! credentials, however many tools ask for them.

use crate::client::Client;
use crate::proxies::Proxies;
use crate::reach::Reach;
use crate::token::{TokenSource, Tokens};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Gives clients and sources of tokens; clones share them. A connection that was made for one
/// [`Reach`] is never used for another.
#[derive(Clone, Debug, Default)]
pub struct Clients(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Read from the environment when the first request is sent.
    proxies: Arc<OnceLock<Proxies>>,
    clients: Mutex<Vec<Client>>,
    sources: Mutex<Vec<Arc<TokenSource>>>,
}

impl Clients {
    /// Clients that use the proxies of the environment.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Clients that use these proxies.
    #[must_use]
    pub fn with_proxies(proxies: Proxies) -> Self {
        let clients = Self::default();
        _ = clients.0.proxies.set(proxies);
        clients
    }

    /// The client that reaches so far.
    #[must_use]
    pub fn of(&self, reach: &Reach) -> Client {
        let mut clients = lock(&self.0.clients);
        if let Some(known) = clients.iter().find(|client| client.reach() == reach) {
            return known.clone();
        }
        let client = Client::new(reach.clone(), Arc::clone(&self.0.proxies));
        clients.push(client.clone());
        client
    }

    /// The source of such tokens.
    #[must_use]
    pub fn tokens(&self, tokens: &Tokens) -> Arc<TokenSource> {
        let mut sources = lock(&self.0.sources);
        if let Some(known) = sources.iter().find(|source| source.is_of(tokens)) {
            return Arc::clone(known);
        }
        let source = Arc::new(TokenSource::new(tokens.clone(), self.of(&tokens.reach)));
        sources.push(Arc::clone(&source));
        source
    }
}

/// A thread that panicked left the list whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
