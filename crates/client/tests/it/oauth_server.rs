//! An MCP server and an authorization server over real sockets, on one port: they check what they
//! are sent, grant what was asked for, and remember every request. Also the person who visits them.
//! Used by the tests of authorization.

use crate::scripted_http::{Request, read};
use haft_client::{Answering, Authorizer, Declined, Journey, Reception};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// Where redirects lead; nobody listens there.
const REDIRECT_URI: &str = "http://127.0.0.1:1/callback";

/// Both servers.
#[derive(Clone, Debug)]
pub(crate) struct OauthServer {
    pub(crate) origin: String,
    state: Arc<Mutex<State>>,
}

/// What it does, which tests may change, and what it knows.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// What its metadata says beside what is so.
    pub(crate) metadata: Value,
    /// What the metadata of the resource says beside what is so.
    pub(crate) resource: Value,
    /// How long access tokens live, in seconds.
    pub(crate) life_s: u64,
    /// The scope without which a tool is not called.
    pub(crate) call_scope: Option<&'static str>,
    /// Whether tokens have no scopes, whatever was asked for.
    pub(crate) grants_nothing: bool,
    /// Whether no client is known any more that has a refresh token.
    pub(crate) forgot_clients: bool,
    /// How often more was wanted, if there is never enough.
    pub(crate) insatiable: Option<usize>,
    /// Whether hands are shaken without a token.
    pub(crate) is_open_at_first: bool,
    /// A whole answer in place of its own, by path.
    pub(crate) instead: HashMap<&'static str, String>,
    /// A path, and who must have asked for it before anybody is answered; for as many as there are
    /// requests that it is to be.
    pub(crate) gate: Option<(&'static str, Arc<Barrier>, usize)>,
    /// Access tokens that are good, and their scopes.
    pub(crate) access: HashMap<String, String>,
    /// Refresh tokens that are good, and their scopes. Each is good once.
    pub(crate) refresh: HashMap<String, String>,
    /// Codes, and the challenge and scopes that they were given for.
    codes: HashMap<String, (String, String)>,
    /// Where clients that are registered may have people redirected to.
    redirects: Vec<String>,
    given: usize,
    /// Every request, as it came.
    pub(crate) seen: Vec<Request>,
}

impl OauthServer {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let state = State { life_s: 3600, ..State::default() };
        let server = Self { origin, state: Arc::new(Mutex::new(state)) };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        server
    }

    /// The MCP server's address.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panics")
    }

    /// How often a path was asked for.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.state().seen.iter().filter(|request| path_of(request) == path).count()
    }

    /// Everything that was sent here, as one text.
    pub(crate) fn everything(&self) -> String {
        let state = self.state();
        state.seen.iter().map(|request| format!("{}\n{}\n", request.head, request.body)).collect()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(request) = read(&mut stream).await else { return };
        if let Some(barrier) = self.barrier(path_of(&request)) {
            barrier.wait().await;
        }
        let answer = self.answer(&request);
        self.state().seen.push(request);
        // The client may be gone.
        _ = stream.write_all(answer.as_bytes()).await;
    }

    fn barrier(&self, path: &str) -> Option<Arc<Barrier>> {
        let mut state = self.state();
        let (_, barrier, left) =
            state.gate.as_mut().filter(|(gate, _, left)| *gate == path && *left > 0)?;
        *left -= 1;
        Some(Arc::clone(barrier))
    }

    fn answer(&self, request: &Request) -> String {
        let path = path_of(request);
        if let Some(instead) = self.state().instead.get(path) {
            return instead.clone();
        }
        match path {
            "/.well-known/oauth-protected-resource/mcp" => respond(200, "", &self.about_resource()),
            "/.well-known/oauth-authorization-server" => respond(200, "", &self.about_itself()),
            "/register" => self.register(request),
            "/token" => self.grant(request),
            "/mcp" => self.call(request),
            _ => respond(404, "", &json!({})),
        }
    }

    fn about_resource(&self) -> Value {
        let mut about = json!({ "resource": self.url(), "authorization_servers": [self.origin] });
        merge(&mut about, &self.state().resource);
        about
    }

    fn about_itself(&self) -> Value {
        let origin = &self.origin;
        let mut about = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        });
        merge(&mut about, &self.state().metadata);
        about
    }

    fn register(&self, request: &Request) -> String {
        let client: Value = serde_json::from_str(&request.body).expect("JSON");
        assert_eq!(client["application_type"], "native");
        let uri = client["redirect_uris"][0].as_str().expect("an address");
        self.state().redirects.push(uri.to_owned());
        respond(201, "", &json!({ "client_id": format!("client-of-{}", self.origin) }))
    }

    /// What a browser would be redirected to.
    pub(crate) fn authorize(&self, url: &str) -> String {
        let field = |name: &str| parameter(url, name);
        assert_eq!(field("resource"), Some(self.resource_name(&self.state())));
        assert_eq!(field("code_challenge_method").as_deref(), Some("S256"));
        let uri = field("redirect_uri").expect("an address");
        let mut state = self.state();
        let is_registered = field("client_id").is_some_and(|id| id.starts_with("client-of-"));
        assert!(!is_registered || state.redirects.contains(&uri), "{uri} is not registered");
        state.given += 1;
        let code = format!("code-{}", state.given);
        let challenge = field("code_challenge").expect("a challenge");
        let scopes = field("scope").unwrap_or_default();
        state.codes.insert(code.clone(), (challenge, scopes));
        let sent = field("state").expect("a state");
        let iss = self.origin.replace(':', "%3A").replace('/', "%2F");
        format!("{uri}?code={code}&state={sent}&iss={iss}")
    }

    fn resource_name(&self, state: &State) -> String {
        let named = state.resource["resource"].as_str().map(str::to_owned);
        named.unwrap_or_else(|| self.url())
    }

    fn grant(&self, request: &Request) -> String {
        let field = |name: &str| parameter(&format!("?{}", request.body), name);
        let refused = |error: &str| respond(400, "", &json!({ "error": error }));
        let mut state = self.state();
        let scopes = match field("grant_type").as_deref() {
            Some("authorization_code") => {
                let code = field("code").and_then(|code| state.codes.remove(&code));
                let Some((challenge, scopes)) = code else { return refused("invalid_grant") };
                let verifier = field("code_verifier").expect("a verifier");
                assert_eq!(sha256(&verifier), challenge, "the verifier is that of the code");
                scopes
            }
            Some("refresh_token") if state.forgot_clients => return refused("invalid_client"),
            Some("refresh_token") => {
                let token = field("refresh_token").expect("a token");
                let Some(scopes) = state.refresh.remove(&token) else {
                    return refused("invalid_grant");
                };
                scopes
            }
            Some("client_credentials") => field("scope").unwrap_or_default(),
            Some("urn:ietf:params:oauth:grant-type:jwt-bearer") => {
                let statement = format!("me to {} for {}", self.origin, self.resource_name(&state));
                if field("assertion") != Some(statement) {
                    return refused("invalid_grant");
                }
                field("scope").unwrap_or_default()
            }
            other => panic!("{other:?}"),
        };
        let scopes = if state.grants_nothing { String::new() } else { scopes };
        state.given += 1;
        let (access, refresh) =
            (format!("access-{}", state.given), format!("refresh-{}", state.given));
        state.access.insert(access.clone(), scopes.clone());
        state.refresh.insert(refresh.clone(), scopes);
        respond(
            200,
            "",
            &json!({
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": state.life_s,
                "refresh_token": refresh,
            }),
        )
    }

    fn call(&self, request: &Request) -> String {
        let mut state = self.state();
        let named = format!("resource_metadata={}", self.origin);
        let named = format!("{named}/.well-known/oauth-protected-resource/mcp");
        let refuse = |status, more: &str| {
            let challenge = format!("www-authenticate: Bearer {named}{more}\r\n");
            respond(status, &challenge, &json!({}))
        };
        let is_first = request.body.contains("initialize");
        let sent = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let free = (state.is_open_at_first && is_first).then(String::new);
        let scopes = sent.and_then(|token| state.access.get(token)).cloned().or(free);
        let Some(scopes) = scopes else { return refuse(401, ", scope=\"base\"") };
        let Ok(message) = serde_json::from_str::<Value>(&request.body) else {
            return respond(405, "", &json!({}));
        };
        let lacks = state.call_scope.filter(|needed| !scopes.split(' ').any(|had| had == *needed));
        if let (Some("tools/call"), Some(times)) = (message["method"].as_str(), state.insatiable) {
            state.insatiable = Some(times + 1);
            return refuse(403, &format!(", error=\"insufficient_scope\", scope=\"more-{times}\""));
        }
        if let (Some("tools/call"), Some(scope)) = (message["method"].as_str(), lacks) {
            return refuse(403, &format!(", error=\"insufficient_scope\", scope=\"{scope}\""));
        }
        if message.get("id").is_none() {
            return respond(202, "", &json!({}));
        }
        let result = json!({
            "resultType": "complete",
            "protocolVersion": "2025-11-25",
            "serverInfo": { "name": "s", "version": "1" },
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "content": [],
            "tools": [{ "name": "tool", "inputSchema": { "type": "object" } }],
            "ttlMs": 0,
            "cacheScope": "private",
        });
        let id = &message["id"];
        let session = "mcp-session-id: one\r\n";
        respond(200, session, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

/// Somebody who agrees, or not, and counts how often they are sent somewhere.
#[derive(Debug)]
pub(crate) struct Visitor {
    servers: Vec<OauthServer>,
    is_willing: bool,
    pub(crate) journeys: AtomicUsize,
    pub(crate) last: Mutex<Option<Journey>>,
}

impl Visitor {
    /// Somebody who knows these servers.
    pub(crate) fn of(servers: &[&OauthServer]) -> Arc<Self> {
        Self::new(servers, true)
    }

    pub(crate) fn unwilling() -> Arc<Self> {
        Self::new(&[], false)
    }

    fn new(servers: &[&OauthServer], is_willing: bool) -> Arc<Self> {
        let servers = servers.iter().map(|server| (*server).clone()).collect();
        let (journeys, last) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { servers, is_willing, journeys, last })
    }

    pub(crate) fn count(&self) -> usize {
        self.journeys.load(Ordering::Relaxed)
    }
}

/// The visitor as the client is given them.
#[derive(Debug)]
pub(crate) struct Sent(pub(crate) Arc<Visitor>);

impl Authorizer for Sent {
    fn open<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> Answering<'a, Result<Box<dyn Reception>, Declined>> {
        let sent: Box<dyn Reception> = Box::new(Self(Arc::clone(&self.0)));
        Box::pin(ready(Ok(sent)))
    }
}

impl Reception for Sent {
    fn redirect_uri(&self) -> &str {
        REDIRECT_URI
    }

    fn receive(self: Box<Self>, journey: Journey) -> Answering<'static, Result<String, Declined>> {
        self.0.journeys.fetch_add(1, Ordering::Relaxed);
        let server = self.0.servers.iter().find(|server| journey.url.starts_with(&server.origin));
        let redirect = server.map(|server| server.authorize(&journey.url));
        *self.0.last.lock().expect("no panics") = Some(journey);
        let answer = redirect.filter(|_| self.0.is_willing);
        Box::pin(ready(answer.ok_or_else(|| Declined::by_user("I would rather not"))))
    }
}

fn path_of(request: &Request) -> &str {
    request.head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default()
}

fn respond(status: u16, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\n{headers}content-type: application/json\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        into[name] = value.clone();
    }
}

/// A field of a query or form whose values are escaped in no other way than `haft` does.
pub(crate) fn parameter(url: &str, wanted: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.into_iter().find(|(name, _)| *name == wanted)?.1;
    let mut parts = value.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

fn sha256(text: &str) -> String {
    use base64::Engine as _;
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(hash)
}
