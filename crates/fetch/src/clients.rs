//! All clients of one configuration: one for each [`Reach`], and one source for each set of
//! credentials, however many tools ask for them.

use crate::client::Client;
use crate::proxies::Proxies;
use crate::reach::Reach;
use crate::token::{TokenSource, Tokens};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Gives clients and sources of tokens; clones share them. A connection that was made for one
/// [`Reach`] is never used for another. What nobody holds any more is dropped when something new is
/// asked for.
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
        // Whoever asks anew has often let go of others: what nobody holds is not kept.
        clients.retain(Client::is_held);
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
        sources.retain(|source| Arc::strong_count(source) > 1);
        let source = Arc::new(TokenSource::new(tokens.clone(), self.of(&tokens.reach)));
        sources.push(Arc::clone(&source));
        source
    }
}

/// A thread that panicked left the list whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::Allowed;
    use crate::token::Placement;
    use crate::url::Url;

    #[test]
    fn what_nobody_holds_any_more_is_not_kept() {
        let clients = Clients::new();
        let reach = |number: usize| Reach::Listed(vec![Allowed::Host(format!("h{number}"))]);
        let tokens = |number: usize| Tokens {
            url: Url::parse("https://t.example/token").expect("it is one"),
            client_id: number.to_string(),
            client_secret: "s".to_owned(),
            fields: Vec::new(),
            placement: Placement::default(),
            reach: reach(number),
        };
        let (kept, source) = (clients.of(&reach(0)), clients.tokens(&tokens(1)));
        for number in 2..100 {
            drop((clients.of(&reach(number)), clients.tokens(&tokens(number))));
        }
        assert!(lock(&clients.0.clients).len() <= 4 && lock(&clients.0.sources).len() <= 2);
        assert!(Arc::ptr_eq(&source, &clients.tokens(&tokens(1))));
        assert!(lock(&clients.0.clients).iter().any(|client| client.reach() == kept.reach()));
    }
}
