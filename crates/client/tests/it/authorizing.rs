//! Authorization over real sockets: who is asked, what is kept, what is refreshed, and what never
//! reaches anybody else.

use crate::answering::{Agreeable, answered_by};
use crate::oauth_server::{OauthServer, Sent, Visitor, parameter};
use haft_client::{AuthError, Client, ClientError, OAuth, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Barrier;

/// The options with a visitor and a file, or without.
pub(crate) fn options(visitor: Option<&Arc<Visitor>>, file: Option<&Path>) -> Options {
    Options {
        era: Some(Era::Modern),
        authorizer: visitor.map(|visitor| Arc::new(Sent(Arc::clone(visitor))) as _),
        oauth: OAuth { credentials: file.map(Path::to_owned), ..OAuth::default() },
        ..Options::default()
    }
}

pub(crate) async fn connected(server: &OauthServer, options: &Options) -> Client {
    connect(&Target::Url(server.url()), options).await.expect("a connection")
}

async fn refused(server: &OauthServer, options: &Options) -> ClientError {
    connect(&Target::Url(server.url()), options).await.expect_err("no connection")
}

pub(crate) async fn auth_error(server: &OauthServer, options: &Options) -> AuthError {
    match refused(server, options).await {
        ClientError::Authorization(error) => error,
        error => panic!("{error}"),
    }
}

pub(crate) async fn call(client: &Client) -> Result<(), ClientError> {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    client.call_tool("tool", &arguments, &mut |_| {}).await.map(drop)
}

pub(crate) fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("haft/credentials.json");
    (directory, path)
}

#[tokio::test]
async fn a_person_is_asked_once_and_what_they_allow_is_kept_for_their_eyes_only() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    let client = connected(&server, &options(Some(&visitor), Some(&file))).await;
    call(&client).await.expect("an answer");
    assert_eq!(visitor.count(), 1);
    let journey = visitor.last.lock().expect("no panics").clone().expect("a journey");
    assert_eq!((journey.issuer, journey.scopes), (server.origin.clone(), vec!["base".to_owned()]));
    assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o777, 0o600);

    let again = connected(&server, &options(None, Some(&file))).await;
    call(&again).await.expect("an answer");
    assert_eq!((visitor.count(), server.count("/register"), server.count("/token")), (1, 1, 1));
}

#[tokio::test]
async fn without_a_person_the_refusal_stands_and_nobody_else_is_asked() {
    let server = OauthServer::new().await;
    let error = refused(&server, &Options { era: Some(Era::Modern), ..Options::default() }).await;
    assert!(matches!(error, ClientError::AuthenticationNeeded { status: 401, .. }), "{error}");
    assert_eq!(server.state().seen.len(), 1);
    let (_directory, file) = file();
    let error = refused(&server, &options(None, Some(&file))).await;
    assert!(matches!(error, ClientError::AuthenticationNeeded { status: 401, .. }), "{error}");
    assert_eq!(server.count("/mcp"), server.state().seen.len());
}

#[tokio::test]
async fn a_header_of_the_caller_is_sent_as_it_is() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let mut options = options(Some(&visitor), None);
    options.headers.insert("authorization", "Bearer mine".parse().expect("a header"));
    let error = refused(&server, &options).await;
    assert!(matches!(error, ClientError::AuthenticationNeeded { .. }), "{error}");
    assert_eq!((visitor.count(), server.count("/mcp")), (0, 1));
    assert!(server.everything().contains("Bearer mine"));
}

#[tokio::test]
async fn a_person_who_does_not_want_to_is_not_asked_again() {
    let server = OauthServer::new().await;
    let visitor = Visitor::unwilling();
    let error = auth_error(&server, &options(Some(&visitor), None)).await;
    assert_eq!(error.to_string(), "nobody has authorized haft: I would rather not");
    assert_eq!((visitor.count(), server.count("/token")), (1, 0));
}

/// As time would.
fn end_tokens(server: &OauthServer, file: &Path) {
    let kept = fs::read_to_string(file).expect("a file");
    let mut kept: Value = serde_json::from_str(&kept).expect("JSON");
    kept["issuers"][&server.origin]["tokens"][server.url()]["ends_at"] = json!(1);
    fs::write(file, kept.to_string()).expect("we may");
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_ends() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    end_tokens(&server, &file);
    server.state().access.clear();
    let refused_before = server.count("/mcp");
    let client = connected(&server, &options(None, Some(&file))).await;
    call(&client).await.expect("an answer");
    assert_eq!(server.count("/token"), 2);
    assert_eq!(server.count("/mcp") - refused_before, 2, "nothing was refused");
}

#[tokio::test]
async fn a_refresh_token_is_used_once_however_many_processes_need_it() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    // Four connections, as of four processes, that share nothing but the file.
    let options = options(None, Some(&file));
    let connect = || connected(&server, &options);
    let (a, b, c, d) = tokio::join!(connect(), connect(), connect(), connect());
    let late = connect().await;
    {
        let mut state = server.state();
        state.access.clear();
        // All of them have seen what is kept before any can replace it.
        let gate = "/.well-known/oauth-authorization-server";
        state.gate = Some((gate, Arc::new(Barrier::new(4)), 4));
    }
    let (a, b, c, d) = tokio::join!(call(&a), call(&b), call(&c), call(&d));
    for done in [a, b, c, d] {
        done.expect("an answer");
    }
    call(&late).await.expect("an answer");
    assert_eq!(server.count("/token"), 2, "by a code, and by a refresh token that is good once");
}

#[tokio::test]
async fn a_person_is_asked_once_however_many_calls_wait_for_them() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    {
        let mut state = server.state();
        state.access.clear();
        state.refresh.clear();
        state.gate = Some(("/mcp", Arc::new(Barrier::new(4)), 4));
    }
    let (a, b, c, d) = tokio::join!(call(&client), call(&client), call(&client), call(&client));
    for done in [a, b, c, d] {
        done.expect("an answer");
    }
    assert_eq!(visitor.count(), 2);
}

#[tokio::test]
async fn a_token_that_the_server_forgot_is_refreshed_and_if_that_fails_a_person_is_asked() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    for grants in [2, 3] {
        server.state().access.clear();
        call(&client).await.expect("an answer");
        let found = (visitor.count(), server.count("/token"));
        assert_eq!(found, (1, grants), "by the refresh token, which is another one each time");
    }
    server.state().access.clear();
    server.state().refresh.clear();
    call(&client).await.expect("an answer");
    assert_eq!((visitor.count(), server.count("/token")), (2, 5), "refused, then by a person");
    assert_eq!(server.count("/register"), 1, "the client is still known");
}

#[tokio::test]
async fn an_authorization_server_that_is_down_costs_no_refresh_token() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    server.state().access.clear();
    let down = "HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n".to_owned();
    server.state().instead.insert("/token", down);
    let error = call(&client).await.expect_err("it is down");
    assert!(matches!(error, ClientError::Authorization(AuthError::Unreachable { .. })), "{error}");
    server.state().instead.clear();
    call(&client).await.expect("an answer");
    assert_eq!(visitor.count(), 1);
}

#[tokio::test]
async fn a_refusal_to_refresh_is_asked_for_once() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    end_tokens(&server, &file);
    // The server is of another mind about the time.
    let refused = "HTTP/1.1 403 X\r\ncontent-length: 0\r\n\r\n".to_owned();
    server.state().instead.insert("/token", refused);
    let client = connected(&server, &options(None, Some(&file))).await;
    call(&client).await.expect("the old token is still taken");
    assert_eq!(server.count("/token"), 2, "not with every call");
    server.state().instead.clear();
    server.state().refresh.clear();
    for _ in 0..2 {
        connected(&server, &options(None, Some(&file))).await;
        assert_eq!(server.count("/token"), 3, "what is not good is not kept");
    }
}

#[tokio::test]
async fn whoever_does_not_want_more_keeps_what_they_had() {
    let server = OauthServer::new().await;
    let (visitor, unwilling) = (Visitor::of(&[&server]), Visitor::unwilling());
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    let client = connected(&server, &options(Some(&unwilling), Some(&file))).await;
    server.state().call_scope = Some("write");
    let error = call(&client).await.expect_err("they would rather not");
    assert!(matches!(error, ClientError::Authorization(AuthError::Declined { .. })), "{error}");
    server.state().access.clear();
    client.list_tools().await.expect("by the refresh token");
    assert_eq!((unwilling.count(), server.count("/register")), (1, 1));
}

#[tokio::test]
async fn more_is_asked_for_beside_what_was_there() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    server.state().call_scope = Some("write");
    call(&client).await.expect("an answer");
    let journey = visitor.last.lock().expect("no panics").clone().expect("a journey");
    assert_eq!(journey.scopes, ["base", "write"]);
    assert_eq!(parameter(&journey.url, "scope").as_deref(), Some("base write"));
    assert_eq!(visitor.count(), 2);
}

#[tokio::test]
async fn a_server_that_never_has_enough_is_given_up() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    server.state().insatiable = Some(0);
    let error = call(&client).await.expect_err("it is never enough");
    assert!(matches!(error, ClientError::Authorization(AuthError::NotTaken)), "{error}");
    assert_eq!(visitor.count(), 1 + 3);
    // What was granted is asked for no second time.
    server.state().insatiable = None;
    server.state().call_scope = Some("none-has-it");
    let client = connected(&server, &options(Some(&visitor), None)).await;
    server.state().access.values_mut().for_each(|scopes| scopes.clear());
    server.state().grants_nothing = true;
    let error = call(&client).await.expect_err("it grants nothing");
    let ClientError::Authorization(AuthError::StillInsufficient { scopes }) = error else {
        panic!("{error}");
    };
    assert_eq!((scopes.join(" "), visitor.count()), ("base none-has-it".to_owned(), 1 + 3 + 2));
}

#[tokio::test]
async fn nothing_of_one_authorization_server_reaches_another() {
    let (first, second) = (OauthServer::new().await, OauthServer::new().await);
    let visitor = Visitor::of(&[&first, &second]);
    let (_directory, file) = file();
    let client = connected(&first, &options(Some(&visitor), Some(&file))).await;
    // The server now takes the tokens of the second one only.
    first.state().resource = json!({ "authorization_servers": [second.origin] });
    first.state().access.clear();
    second.state().resource = json!({ "resource": first.url() });
    let error = call(&client).await.expect_err("the first server knows none of these tokens");
    assert!(matches!(error, ClientError::Authorization(AuthError::NotTaken)));
    assert_eq!((visitor.count(), second.count("/register"), second.count("/token")), (2, 1, 1));
    let seen = second.everything();
    for secret in ["client-of-http://127.0.0.1:0", "access-", "refresh-", &first.origin] {
        let is_there = match secret {
            // The resource is named after the server that it is.
            secret if secret == first.origin => seen.contains(&format!("client-of-{secret}")),
            secret => seen.contains(secret),
        };
        assert!(!is_there, "{secret}: {seen}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_server_gets_no_token() {
    let (server, other) = (OauthServer::new().await, OauthServer::new().await);
    let visitor = Visitor::of(&[&server]);
    let client = connected(&server, &options(Some(&visitor), None)).await;
    let redirect = format!("HTTP/1.1 307 X\r\nlocation: {}/mcp\r\n\r\n", other.origin);
    server.state().instead.insert("/mcp", redirect);
    let error = call(&client).await.expect_err("it leads elsewhere");
    assert!(matches!(error, ClientError::Redirected { .. }), "{error}");
    assert_eq!(other.state().seen.len(), 0);
}

#[tokio::test]
async fn metadata_of_somebody_else_is_not_believed() {
    let evil = "https://evil.example";
    let check = async |resource: Value, metadata: Value| {
        let server = OauthServer::new().await;
        server.state().resource = resource;
        server.state().metadata = metadata;
        let visitor = Visitor::of(&[&server]);
        let error = auth_error(&server, &options(Some(&visitor), None)).await;
        assert_eq!((visitor.count(), server.count("/register")), (0, 0), "{error}");
        error
    };
    let wrong = check(json!({ "resource": format!("{evil}/mcp") }), json!({})).await;
    assert!(matches!(wrong, AuthError::WrongResource { .. }), "{wrong}");
    let wrong = check(json!({}), json!({ "issuer": evil })).await;
    assert!(matches!(wrong, AuthError::WrongIssuer { .. }), "{wrong}");
    let weak = check(json!({}), json!({ "code_challenge_methods_supported": ["plain"] })).await;
    assert!(matches!(weak, AuthError::NoPkce { .. }), "{weak}");
    let open = json!({ "token_endpoint": "http://evil.example/token" });
    let open = check(json!({}), open).await;
    assert!(matches!(open, AuthError::Insecure { .. }), "{open}");
}

#[tokio::test]
async fn metadata_is_short_and_where_it_is_said_to_be() {
    const AT: &str = "/.well-known/oauth-authorization-server";
    let check = async |instead: String| {
        let server = OauthServer::new().await;
        server.state().instead.insert(AT, instead);
        let visitor = Visitor::of(&[&server]);
        let error = auth_error(&server, &options(Some(&visitor), None)).await;
        assert_eq!(visitor.count(), 0, "{error}");
        error
    };
    let other = OauthServer::new().await;
    let moved = check(format!("HTTP/1.1 302 X\r\nlocation: {}{AT}\r\n\r\n", other.origin)).await;
    assert!(matches!(moved, AuthError::NotFound { .. }), "{moved}");
    assert_eq!(other.state().seen.len(), 0);
    let endless = check(format!("HTTP/1.1 200 X\r\n\r\n{{\"a\":\"{}", "x".repeat(1 << 20))).await;
    assert!(endless.to_string().contains("longer than 262144 bytes"), "{endless}");
    let broken = check("HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    assert!(broken.to_string().contains("HTTP 500"), "{broken}");
}

#[tokio::test]
async fn a_page_for_browsers_is_no_metadata_and_the_refusal_stands() {
    let server = OauthServer::new().await;
    let page = "HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\n<>";
    let at = "/.well-known/oauth-protected-resource";
    server.state().instead.insert(at, page.to_owned());
    server.state().instead.insert("/.well-known/oauth-protected-resource/mcp", page.to_owned());
    let bare = "HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n";
    server.state().instead.insert("/mcp", bare.to_owned());
    let visitor = Visitor::of(&[&server]);
    let error = refused(&server, &options(Some(&visitor), None)).await;
    assert!(matches!(error, ClientError::AuthenticationNeeded { status: 401, .. }), "{error}");
    assert_eq!((visitor.count(), server.count(at)), (0, 1));
}

#[tokio::test]
async fn whoever_takes_leave_asks_nobody() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let mut options = options(Some(&visitor), None);
    options.era = Some(Era::Legacy);
    let client = connected(&server, &options).await;
    assert_eq!(visitor.count(), 1);
    server.state().access.clear();
    server.state().refresh.clear();
    client.close().await;
    assert!(server.everything().contains("DELETE /mcp"), "it said farewell");
    assert_eq!(visitor.count(), 1);
}

#[tokio::test]
async fn a_stream_for_what_comes_unasked_is_worth_nobodys_consent() {
    let server = OauthServer::new().await;
    server.state().is_open_at_first = true;
    let visitor = Visitor::of(&[&server]);
    let answerer = Arc::new(Agreeable::default());
    let options = answered_by(&answerer, options(Some(&visitor), None));
    let client = connected(&server, &Options { era: Some(Era::Legacy), ..options }).await;
    assert!(server.everything().contains("GET /mcp"), "it was tried");
    assert_eq!(visitor.count(), 0);
    client.list_tools().await.expect("tools");
    assert_eq!(visitor.count(), 1);
}

#[tokio::test]
async fn a_file_that_others_can_read_stops_everything() {
    let server = OauthServer::new().await;
    let visitor = Visitor::of(&[&server]);
    let (_directory, file) = file();
    connected(&server, &options(Some(&visitor), Some(&file))).await;
    let shared = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&file, shared).expect("we may");
    let before = server.state().seen.len();
    let error = auth_error(&server, &options(Some(&visitor), Some(&file))).await;
    assert!(matches!(error, AuthError::BadCredentials { .. }), "{error}");
    assert_eq!(server.state().seen.len(), before, "nothing is sent");
}
