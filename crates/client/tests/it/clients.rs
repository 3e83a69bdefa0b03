//! Who the client is to authorization servers: registered, known from before, acting for itself or
//! for somebody; and that nobody else hears of it.

use crate::authorizing::{auth_error, call, connected, file, options};
use crate::oauth_server::{OauthServer, Visitor};
use haft_client::{
    Answering, AuthError, Behalf, ClientError, Declined, OAuth, Options, Proof, Registered, Secret,
    Voucher,
};
use serde_json::json;
use std::future::ready;
use std::sync::Arc;

#[tokio::test]
async fn a_client_that_was_forgotten_is_registered_anew() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    server.state().access.clear();
    server.state().forgot_clients = true;
    call(&client).await.expect("an answer");
    assert_eq!((visitor.count(), server.count("/register")), (2, 2));
}

#[tokio::test]
async fn tokens_of_another_client_are_not_ours() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    let (id, proof) = ("another".to_owned(), Proof::None);
    let mut options = options(Some(&visitor), Some(&file));
    let client = Registered { id, proof, issuer: None, behalf: Behalf::Person };
    options.oauth.client = Some(client);
    connected(&server, &options).await;
    assert_eq!(visitor.count(), 2);
    assert!(server.everything().contains("client_id=another"));
}

#[tokio::test]
async fn a_client_that_was_known_already_is_shown_to_one_authorization_server() {
    let (first, second) = (OauthServer::new().await, OauthServer::new().await);
    let visitor = Visitor::of(&[&first, &second]);
    let (id, proof) = ("mine".to_owned(), Proof::None);
    let client = Registered { id, proof, issuer: None, behalf: Behalf::Person };
    let mut options = options(Some(&visitor), None);
    options.oauth.client = Some(client);
    let client = connected(&first, &options).await;
    assert!(first.everything().contains("client_id=mine"));
    assert_eq!(first.count("/register"), 0);
    first.state().resource = json!({ "authorization_servers": [second.origin] });
    first.state().access.clear();
    let error = call(&client).await.expect_err("another authorization server");
    assert!(matches!(error, ClientError::Authorization(AuthError::WrongClient { .. })), "{error}");
    assert!(!second.everything().contains("mine"));
}

/// Vouches for anybody, to anybody, or to nobody.
#[derive(Debug)]
struct Friend {
    is_willing: bool,
}

impl Voucher for Friend {
    fn vouch<'a>(
        &'a self,
        issuer: &'a str,
        resource: &'a str,
    ) -> Answering<'a, Result<Secret, Declined>> {
        let statement = Secret::new(format!("me to {issuer} for {resource}"));
        let refusal = Declined::by_user("I do not know you");
        Box::pin(ready(if self.is_willing { Ok(statement) } else { Err(refusal) }))
    }
}

#[tokio::test]
async fn a_client_that_acts_for_itself_or_is_vouched_for_needs_nobody() {
    let unattended = |behalf| {
        let (id, proof) = ("robot".to_owned(), Proof::None);
        let client = Some(Registered { id, proof, issuer: None, behalf });
        let oauth = OAuth { client, ..OAuth::default() };
        Options { oauth, ..options(None, None) }
    };
    let vouched = Behalf::Vouched(Arc::new(Friend { is_willing: true }));
    for (behalf, grant) in [(Behalf::Itself, "client_credentials"), (vouched, "jwt-bearer")] {
        let server = OauthServer::new().await;
        // It is nobody's business whether codes are bound to anything.
        server.state().metadata = json!({ "code_challenge_methods_supported": [] });
        let client = connected(&server, &unattended(behalf)).await;
        server.state().access.clear();
        call(&client).await.expect("another token");
        assert_eq!((server.count("/token"), server.count("/register")), (2, 0));
        let seen = server.everything();
        assert!(seen.contains(grant) && seen.contains("scope=base"), "{seen}");
    }
    let server = OauthServer::new().await;
    let unwilling = Behalf::Vouched(Arc::new(Friend { is_willing: false }));
    let error = auth_error(&server, &unattended(unwilling)).await.to_string();
    assert_eq!(error, "nobody has authorized haft: I do not know you");
    assert_eq!(server.count("/token"), 0);
}
