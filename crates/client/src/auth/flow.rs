//! How a token is got, stage by stage: what the resource says, what its authorization server says,
//! a refresh if that will do, and else a person or the client itself. Run by `keeper`, one at a
//! time; what is found is kept.

use super::authorize::{self, Asking};
use super::authorizer::{Authorizer, Journey, Reception, is_receivable};
use super::error::AuthError;
use super::identity::Identity;
use super::keeper::{Held, Origin, Want, now};
use super::pkce::{self, Pkce};
use super::registration;
use super::resource::{self, ResourceMetadata};
use super::scopes::{self, Known};
use super::secret::Secret;
use super::server::{self, AuthorizationServer};
use super::settings::{Behalf, OAuth};
use super::store::{Kept, KeptClient, KeptEndpoint, KeptTokens, Store};
use super::token::{self, Grant, Granted};
use super::web::{Web, is_loopback, shown};
use crate::answerer::Declined;
use crate::limits::AUTHORIZATION_TIME_MAX;
use haft_fetch::Url;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// Everything that it takes to get tokens for one endpoint.
#[derive(Debug)]
pub(crate) struct Flow {
    endpoint: Url,
    authorizer: Option<Arc<dyn Authorizer>>,
    settings: OAuth,
    /// What this client calls itself.
    name: String,
    store: Store,
    web: OnceCell<Web>,
    /// The issuer that has seen the client that was known already; no other one may.
    bound: Mutex<Option<String>>,
}

/// What is asked for, and of whom.
#[derive(Clone, Debug)]
struct Aim {
    server: AuthorizationServer,
    resource: String,
    scopes: Vec<String>,
}

/// What a token is asked for with, by somebody who may go away meanwhile.
#[derive(Clone, Debug)]
enum Given {
    Alone,
    Code { code: Secret, redirect_uri: String, verifier: Secret },
    Vouched(Secret),
}

impl Flow {
    pub(crate) fn new(
        endpoint: Url,
        authorizer: Option<Arc<dyn Authorizer>>,
        settings: OAuth,
        name: String,
    ) -> Self {
        let store = Store::new(settings.credentials.clone());
        let (web, bound) = (OnceCell::new(), Mutex::default());
        Self { endpoint, authorizer, settings, name, store, web, bound }
    }

    /// What is kept for the endpoint from before.
    pub(crate) async fn kept(&self) -> Result<Option<Held>, AuthError> {
        let kept = self.store.look().await?;
        let found = kept.endpoints.get(&shown(&self.endpoint));
        Ok(found.and_then(|KeptEndpoint { issuer, resource }| {
            let tokens = kept.issuers.get(issuer)?.tokens.get(resource)?.clone();
            let (issuer, resource) = (issuer.clone(), resource.clone());
            if !self.are_ours(&tokens) {
                return None;
            }
            if self.settings.client.is_some() {
                let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
                bound.get_or_insert_with(|| issuer.clone());
            }
            Some(Held { issuer, resource, tokens, origin: Origin::Kept })
        }))
    }

    /// A token that satisfies a server; `None` if there is no way to one, and the server's refusal
    /// stands.
    pub(crate) async fn satisfy(
        flow: &Arc<Self>,
        want: Want,
        held: Option<Held>,
    ) -> Result<Option<Held>, AuthError> {
        let kept = flow.store.look().await?;
        let is_known = kept.endpoints.contains_key(&shown(&flow.endpoint));
        if !is_known && flow.authorizer.is_none() && !flow.settings.is_unattended() {
            return Ok(None);
        }
        let named = want.challenge().resource_metadata.clone();
        let web = flow.web().await?;
        let Some(metadata) = resource::find(web, &flow.endpoint, named.as_deref()).await? else {
            return Ok(None);
        };
        let issuer = flow.choose(&metadata, &kept);
        let server = server::find(web, issuer).await?;
        let before = tokens_of(&kept, issuer, &metadata.resource);
        let before = before.filter(|before| flow.are_ours(before));
        let challenged = want.challenge().scope.as_deref();
        match (&want, before) {
            (Want::Another(_), Some(before)) if may_help(&held, before) => {
                let (issuer, resource) = (issuer.to_owned(), metadata.resource.clone());
                let (tokens, origin) = (before.clone(), Origin::Kept);
                let old = Held { issuer, resource, tokens, origin };
                if held.is_none_or(|held| held.tokens.access != old.tokens.access) {
                    // Another process has got it meanwhile.
                    return Ok(Some(old));
                }
                match Self::refresh(flow, old, Some(server.clone())).await {
                    Ok(Some(refreshed)) => return Ok(Some(refreshed)),
                    // It is of no use any more; somebody must be asked.
                    Ok(None) | Err(AuthError::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            (Want::More(_), Some(before))
                if held.is_some_and(|held| held.origin == Origin::Authorized)
                    && scopes::covers(&before.scopes, challenged.unwrap_or_default()) =>
            {
                return Err(AuthError::StillInsufficient { scopes: before.scopes.clone() });
            }
            _ => {}
        }
        let scopes = scopes::wanted(&Known {
            challenged,
            of_resource: &metadata.scopes_supported,
            of_server: &server.scopes,
            before: before.map_or(&[], |before| &before.scopes),
        });
        let aim = Aim { server, resource: metadata.resource, scopes };
        Self::authorize(flow, aim).await
    }

    /// Another token by the refresh token of this one, or one that another process got meanwhile;
    /// `None` if there is neither. Goes on if whoever asks goes away: what an authorization server
    /// has replaced must not be lost.
    pub(crate) async fn refresh(
        flow: &Arc<Self>,
        old: Held,
        server: Option<AuthorizationServer>,
    ) -> Result<Option<Held>, AuthError> {
        let flow = Arc::clone(flow);
        finish(async move {
            let web = flow.web().await?;
            let mut hold = flow.store.hold().await?;
            let kept = tokens_of(&hold.kept, &old.issuer, &old.resource);
            let Some(tokens) = kept.cloned() else { return Ok(None) };
            let current = Held { tokens, origin: Origin::Kept, ..old.clone() };
            if current.tokens.access != old.tokens.access && !current.is_ending() {
                return Ok(Some(current));
            }
            let Some(refresh) = current.tokens.refresh.clone() else { return Ok(None) };
            let server = match server {
                Some(server) => server,
                None => server::find(web, &old.issuer).await?,
            };
            let client = hold.kept.issuers.get(&old.issuer).and_then(|of| of.client.as_ref());
            let identity = match registration::known(&server, &flow.settings)? {
                Some(identity) => Some(identity),
                None => client.map(KeptClient::identity),
            };
            let is_theirs = |identity: &Identity| identity.id == current.tokens.client_id;
            let Some(identity) = identity.filter(is_theirs) else { return Ok(None) };
            let grant = Grant::Refresh { token: &refresh };
            let granted = match token::ask(web, &server, &identity, &old.resource, grant).await {
                Ok(granted) => granted,
                Err(error) => {
                    if forget_refused(&mut hold.kept, &old, &error) {
                        hold.keep().await?;
                    }
                    return Err(error);
                }
            };
            let scopes = current.tokens.scopes;
            let mut tokens = kept_tokens(granted, &identity, scopes);
            tokens.refresh = tokens.refresh.or(Some(refresh));
            let found = Held { tokens, origin: Origin::Refreshed, ..old };
            flow.remember(&mut hold.kept, &found);
            hold.keep().await?;
            Ok(Some(found))
        })
        .await
    }

    /// Gets a token from nothing.
    async fn authorize(flow: &Arc<Self>, aim: Aim) -> Result<Option<Held>, AuthError> {
        flow.bind(&aim.server)?;
        if let Some(given) = flow.unattended(&aim).await? {
            let identity = registration::known(&aim.server, &flow.settings)?;
            let Some(identity) = identity else { return Ok(None) };
            return Self::ask(flow, aim, identity, given).await.map(Some);
        }
        let Some(authorizer) = &flow.authorizer else { return Ok(None) };
        let Aim { server, .. } = &aim;
        if !server.has_pkce {
            return Err(AuthError::NoPkce { issuer: server.issuer.clone() });
        }
        let kept = flow.store.look().await?;
        let client = kept.issuers.get(&server.issuer).and_then(|of| of.client.clone());
        let client = client.filter(|client| client.ends_at.is_none_or(|ends_at| now() < ends_at));
        let wanted = client.as_ref().map(|client| client.redirect_uri.as_str());
        let reception = authorizer.open(wanted).await.map_err(declined)?;
        let redirect_uri = reception.redirect_uri().to_owned();
        if !is_receivable(&redirect_uri) {
            return Err(AuthError::BadRedirectUri { uri: redirect_uri });
        }
        let (web, client) = (flow.web().await?, client.as_ref());
        let found =
            registration::find(web, server, &flow.settings, client, &redirect_uri, &flow.name);
        let found = found.await?;
        if let Some(made) = found.made {
            let mut hold = flow.store.hold().await?;
            let of = hold.kept.issuers.entry(server.issuer.clone()).or_default();
            of.client = Some(made);
            hold.keep().await?;
        }
        let (code, verifier) = flow.send_person(reception, &aim, &found.identity).await?;
        let given = Given::Code { code, redirect_uri, verifier };
        Self::ask(flow, aim, found.identity, given).await.map(Some)
    }

    /// Sends a person to the authorization server; the code that they bring, and its verifier.
    async fn send_person(
        &self,
        reception: Box<dyn Reception>,
        aim: &Aim,
        identity: &Identity,
    ) -> Result<(Secret, Secret), AuthError> {
        let Aim { server, resource, scopes } = aim;
        let Some(endpoint) = &server.authorize else {
            return Err(AuthError::Malformed {
                what: "metadata of the authorization server",
                url: server.issuer.clone(),
                reason: "it has no `authorization_endpoint`".to_owned(),
            });
        };
        let (pkce, state) = (Pkce::new()?, pkce::random()?);
        let redirect_uri = reception.redirect_uri().to_owned();
        let asking = Asking {
            client_id: &identity.id,
            redirect_uri: &redirect_uri,
            resource,
            scopes,
            state: &state,
            pkce: &pkce,
        };
        let journey = Journey {
            url: authorize::url(endpoint, &asking),
            issuer: server.issuer.clone(),
            resource: resource.clone(),
            scopes: scopes.clone(),
            state: state.clone(),
        };
        let brought = timeout(AUTHORIZATION_TIME_MAX, reception.receive(journey)).await;
        let brought = brought.map_err(|_| AuthError::Declined {
            reason: format!(
                "nothing happened in {} minutes",
                AUTHORIZATION_TIME_MAX.as_secs() / 60
            ),
        });
        let brought = brought.and_then(|brought| brought.map_err(declined));
        if brought.is_err() {
            // An authorization server that does not know this client any more shows that to the
            // person alone: the next time it is registered anew, unless it was of use.
            let kept = self.store.look().await?;
            let of = kept.issuers.get(&server.issuer);
            if of.is_some_and(|of| of.tokens.is_empty()) {
                self.forget_client(&server.issuer).await?;
            }
        }
        Ok((authorize::code(server, &asking, &brought?)?, pkce.verifier))
    }

    /// Asks for a token and keeps it, whoever goes away meanwhile.
    async fn ask(
        flow: &Arc<Self>,
        aim: Aim,
        identity: Identity,
        given: Given,
    ) -> Result<Held, AuthError> {
        let flow = Arc::clone(flow);
        finish(async move {
            let web = flow.web().await?;
            let Aim { server, resource, scopes } = aim;
            let grant = match &given {
                Given::Alone => Grant::Alone { scopes: &scopes },
                Given::Vouched(statement) => Grant::Vouched { statement, scopes: &scopes },
                Given::Code { code, redirect_uri, verifier } => {
                    Grant::Code { code, redirect_uri, verifier }
                }
            };
            let granted = token::ask(web, &server, &identity, &resource, grant).await;
            if let Err(AuthError::Refused { error, .. }) = &granted
                && error == "invalid_client"
            {
                flow.forget_client(&server.issuer).await?;
            }
            let granted = granted?;
            let tokens = kept_tokens(granted, &identity, scopes);
            let origin = Origin::Authorized;
            let found = Held { issuer: server.issuer, resource, tokens, origin };
            let mut hold = flow.store.hold().await?;
            flow.remember(&mut hold.kept, &found);
            hold.keep().await?;
            Ok(found)
        })
        .await
    }

    fn remember(&self, kept: &mut Kept, found: &Held) {
        let Held { issuer, resource, tokens, .. } = found;
        let endpoint = KeptEndpoint { issuer: issuer.clone(), resource: resource.clone() };
        kept.endpoints.insert(shown(&self.endpoint), endpoint);
        let of = kept.issuers.entry(issuer.clone()).or_default();
        of.tokens.insert(resource.clone(), tokens.clone());
    }

    async fn forget_client(&self, issuer: &str) -> Result<(), AuthError> {
        let mut hold = self.store.hold().await?;
        let forgotten = hold.kept.issuers.get_mut(issuer).and_then(|of| of.client.take());
        if forgotten.is_some() { hold.keep().await } else { Ok(()) }
    }

    /// What a token is asked for with where no person is needed.
    async fn unattended(&self, aim: &Aim) -> Result<Option<Given>, AuthError> {
        let behalf = self.settings.client.as_ref().map(|client| &client.behalf);
        match behalf {
            None | Some(Behalf::Person) => Ok(None),
            Some(Behalf::Itself) => Ok(Some(Given::Alone)),
            Some(Behalf::Vouched(voucher)) => {
                let vouched = voucher.vouch(&aim.server.issuer, &aim.resource);
                let after = AUTHORIZATION_TIME_MAX;
                let host = "whoever vouches".to_owned();
                let vouched = timeout(after, vouched).await;
                let vouched = vouched.map_err(|_| AuthError::TimedOut { host, after })?;
                vouched.map(|statement| Some(Given::Vouched(statement))).map_err(declined)
            }
        }
    }

    /// Whoever changes who they are does not want the tokens of who they were.
    fn are_ours(&self, tokens: &KeptTokens) -> bool {
        let client = self.settings.client.as_ref();
        client.is_none_or(|client| client.id == tokens.client_id)
    }

    /// A client that was known already is shown to one issuer only.
    fn bind(&self, server: &AuthorizationServer) -> Result<(), AuthError> {
        if self.settings.client.is_none() {
            return Ok(());
        }
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bound.get_or_insert_with(|| server.issuer.clone());
        if *known == server.issuer {
            return Ok(());
        }
        Err(AuthError::WrongClient { known: known.clone(), found: server.issuer.clone() })
    }

    /// The issuer that knows this client already, or the first.
    fn choose<'a>(&self, metadata: &'a ResourceMetadata, kept: &Kept) -> &'a str {
        let named = self.settings.client.as_ref().and_then(|client| client.issuer.as_ref());
        let listed = || metadata.authorization_servers.iter();
        let ours = listed().find(|issuer| Some(*issuer) == named);
        let known = || listed().find(|issuer| kept.issuers.contains_key(*issuer));
        let found = ours.or_else(known).or_else(|| metadata.authorization_servers.first());
        found.map(String::as_str).unwrap_or_default()
    }

    /// The way to other servers, if tokens may travel to this one at all.
    async fn web(&self) -> Result<&Web, AuthError> {
        if !self.endpoint.is_secure() && !is_loopback(self.endpoint.host()) {
            let (what, url) = ("server", shown(&self.endpoint));
            let reason = "tokens travel over https only";
            return Err(AuthError::Insecure { what, url, reason });
        }
        Ok(self.web.get_or_init(|| Web::from(&self.endpoint)).await)
    }
}

/// Whether what is kept may be of use where a token was refused: another token, or a refresh,
/// unless the one that was refused is new itself.
fn may_help(held: &Option<Held>, kept: &KeptTokens) -> bool {
    match held {
        Some(held) if held.tokens.access == kept.access => {
            held.origin == Origin::Kept && kept.refresh.is_some()
        }
        _ => true,
    }
}

/// Forgets what an authorization server does not know any more: asking with it again would be
/// refused again. True if there was anything.
fn forget_refused(kept: &mut Kept, held: &Held, error: &AuthError) -> bool {
    let AuthError::Refused { error, .. } = error else { return false };
    let Some(of) = kept.issuers.get_mut(&held.issuer) else { return false };
    match error.as_str() {
        "invalid_client" => of.client.take().is_some(),
        "invalid_grant" => {
            let tokens = of.tokens.get_mut(&held.resource);
            tokens.and_then(|tokens| tokens.refresh.take()).is_some()
        }
        _ => false,
    }
}

fn tokens_of<'a>(kept: &'a Kept, issuer: &str, resource: &str) -> Option<&'a KeptTokens> {
    kept.issuers.get(issuer)?.tokens.get(resource)
}

fn kept_tokens(granted: Granted, identity: &Identity, scopes: Vec<String>) -> KeptTokens {
    let Granted { access, refresh, life_s } = granted;
    let from = now();
    let ends_at = life_s.map(|life_s| from + life_s);
    KeptTokens { access, refresh, scopes, client_id: identity.id.clone(), from, ends_at }
}

fn declined(declined: Declined) -> AuthError {
    AuthError::Declined { reason: declined.message }
}

/// Does something to its end in a task of its own.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, AuthError>> + Send + 'static,
) -> Result<T, AuthError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(AuthError::Unreachable { reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::tests::server;
    use super::*;
    use crate::answerer::Answering;
    use std::future::pending;
    use tokio::time::Instant;

    /// Somebody who has gone for a walk.
    #[derive(Debug)]
    struct Nobody;

    impl Reception for Nobody {
        fn redirect_uri(&self) -> &str {
            "http://127.0.0.1:1/callback"
        }

        fn receive(self: Box<Self>, _: Journey) -> Answering<'static, Result<String, Declined>> {
            Box::pin(pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_is_not_waited_for_for_ever_and_the_client_is_forgotten() {
        let members = r#","token_endpoint":"https://as.example/token",
            "authorization_endpoint":"https://as.example/authorize""#;
        let server = server(members).await.expect("metadata");
        let endpoint = Url::parse("https://192.0.2.1/mcp").expect("an address");
        let flow = Flow::new(endpoint, None, OAuth::default(), "me".to_owned());
        let client = KeptClient {
            id: "c".to_owned(),
            secret: None,
            method: None,
            redirect_uri: Nobody.redirect_uri().to_owned(),
            ends_at: None,
        };
        let identity = client.identity();
        let mut hold = flow.store.hold().await.expect("it can be held");
        hold.kept.issuers.entry(server.issuer.clone()).or_default().client = Some(client);
        hold.keep().await.expect("it can be kept");
        let aim = Aim { server, resource: "https://192.0.2.1/mcp".to_owned(), scopes: Vec::new() };
        let began = Instant::now();
        let error = flow.send_person(Box::new(Nobody), &aim, &identity).await.expect_err("nobody");
        assert_eq!(error.to_string(), "nobody has authorized haft: nothing happened in 10 minutes");
        assert_eq!(began.elapsed().as_secs(), AUTHORIZATION_TIME_MAX.as_secs());
        let kept = flow.store.look().await.expect("it can be looked at");
        assert!(kept.issuers["https://as.example"].client.is_none(), "it may not be known there");
    }

    #[tokio::test]
    async fn a_token_does_not_travel_in_the_open() {
        let endpoint = Url::parse("http://192.0.2.1/mcp").expect("an address");
        let flow = Flow::new(endpoint, None, OAuth::default(), "me".to_owned());
        let refused = flow.web().await.expect_err("anybody could read it");
        assert!(matches!(refused, AuthError::Insecure { .. }), "{refused}");
    }
}
