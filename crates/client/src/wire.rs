//! One connection of either kind, and asking over it: ids, time limits, and the error that explains
//! a silence. Used by `era` while hands are shaken and by `client` afterwards.

use crate::carried::Carried;
use crate::desk::Desk;
use crate::error::ClientError;
use crate::express::Expressed;
use crate::farewell::Farewells;
use crate::http::Http;
use crate::message::{Ask, Listener, Meta, Notice, params, quoted};
use crate::old_sse::OldSse;
use crate::options::Options;
use crate::passing::Passing;
use crate::rounds::Subject;
use crate::standing::{self, Standing};
use crate::stdio::Stdio;
use crate::tools::Tool;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use http::{HeaderName, HeaderValue};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// A connection, with what every request over it needs.
#[derive(Debug)]
pub(crate) struct Wire {
    kind: Kind,
    ids: AtomicU64,
    desk: Arc<Desk>,
    farewells: Arc<Farewells>,
    standing: standing::Shared,
    subscriptions: Subscriptions,
    client_info: String,
    /// What a modern server is told with each request that this client can do.
    capabilities: String,
    log_level: Option<String>,
    timeout: Duration,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Carried(Box<Carried>),
    Http(Http),
    OldSse(OldSse),
    Stdio(Box<Stdio>),
}

/// What to ask.
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    /// In which revision; before the handshake, the one that is proposed.
    pub(crate) revision: Revision,
    /// The members of `params`, as JSON text.
    pub(crate) members: Vec<(&'a str, &'a str)>,
    /// What `Mcp-Name` repeats.
    pub(crate) target: Option<&'a str>,
    /// `Mcp-Param-*` headers.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What is known of whoever makes it, if it is passed on.
    pub(crate) passing: Option<&'a Passing<'a>>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(method: Method, revision: Revision, members: &[(&'a str, &'a str)]) -> Self {
        let (members, headers) = (members.to_vec(), Vec::new());
        Self { method, revision, members, target: None, headers, passing: None }
    }
}

impl Wire {
    pub(crate) fn new(
        kind: Kind,
        desk: Arc<Desk>,
        farewells: Arc<Farewells>,
        options: &Options,
    ) -> Self {
        let client_info = params(
            &[("name", &quoted(&options.name)), ("version", &quoted(&options.version))],
            &Meta {
                revision: Revision::LATEST_LEGACY,
                client_info: "",
                capabilities: "",
                log_level: None,
                progress_token: None,
                more: &[],
            },
        );
        Self {
            kind,
            // Not from 0: to some servers that is no id.
            ids: AtomicU64::new(1),
            capabilities: desk.capabilities(Era::Modern),
            desk,
            farewells,
            standing: standing::Shared::default(),
            subscriptions: Subscriptions::default(),
            client_info,
            log_level: options.log_level.clone(),
            timeout: options.timeout,
        }
    }

    /// The same, over something else.
    pub(crate) fn over(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Asks, and waits as long as the options say.
    pub(crate) async fn ask(
        &self,
        question: Question<'_>,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        self.ask_within(self.timeout, question, listener).await
    }

    /// Asks, and waits as long as `limit`.
    pub(crate) async fn ask_within(
        &self,
        limit: Duration,
        question: Question<'_>,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let ask = self.make(question);
        self.desk.allow_questions();
        let answer = self.ask_without_limit(&ask, listener);
        let own = ask.inquirer.as_ref().map(|inquirer| &inquirer.patience);
        match own.unwrap_or_else(|| self.desk.patience()).wait(limit, answer).await {
            Some(answer) => answer,
            None => Err(self.why_silent(&ask, limit)),
        }
    }

    /// Asks, and waits as long as it takes.
    pub(crate) async fn ask_without_limit(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        match &self.kind {
            Kind::Carried(carried) => carried.ask(ask, listener).await,
            Kind::Http(http) => http.ask(ask, listener).await,
            Kind::OldSse(old) => old.ask(ask, listener).await,
            Kind::Stdio(stdio) => stdio.ask(ask, listener).await,
        }
    }

    /// Asks whoever carries requests, if somebody does; a long result is handed over as it comes.
    pub(crate) async fn pass_carried(
        &self,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        let Kind::Carried(carried) = &self.kind else { return Ok(Expressed::Elsewhere) };
        let question = Question::new(subject.method, subject.revision, subject.members);
        let ask = self.make(Question {
            target: Some(subject.target),
            passing: subject.passing,
            ..question
        });
        self.desk.allow_questions();
        let answer = carried.pass(&ask, listener);
        match self.desk.patience().wait(self.timeout, answer).await {
            Some(answer) => answer,
            None => Err(self.why_silent(&ask, self.timeout)),
        }
    }

    /// Sends a notification, which nothing answers.
    pub(crate) async fn tell(&self, message: Vec<u8>) -> Result<(), ClientError> {
        let told = async {
            match &self.kind {
                // Of the modern era, in which nothing is told but by requests.
                Kind::Carried(_) => Ok(()),
                Kind::Http(http) => http.tell(message).await,
                Kind::OldSse(old) => old.tell(message).await,
                Kind::Stdio(stdio) => stdio.send(message).await,
            }
        };
        let late = ClientError::TimedOut { method: "notification", after: self.timeout };
        timeout(self.timeout, told).await.unwrap_or(Err(late))
    }

    /// The connection over Streamable HTTP, if it is one.
    pub(crate) fn http(&self) -> Option<&Http> {
        match &self.kind {
            Kind::Http(http) => Some(http),
            Kind::Carried(_) | Kind::OldSse(_) | Kind::Stdio(_) => None,
        }
    }

    /// Tells whoever must know which calls may be made twice what tools there are.
    pub(crate) fn server_has(&self, tools: &[Tool]) {
        if let Kind::Carried(carried) = &self.kind {
            carried.has(tools);
        }
    }

    /// The first line of a child's stdout that was no message.
    pub(crate) fn garbage(&self) -> Option<String> {
        match &self.kind {
            Kind::Carried(_) | Kind::Http(_) | Kind::OldSse(_) => None,
            Kind::Stdio(stdio) => stdio.garbage(),
        }
    }

    /// Waits until nothing more can come, where all comes on one stream.
    pub(crate) async fn ended(&self) {
        match &self.kind {
            Kind::Carried(carried) => carried.ended().await,
            Kind::Http(_) => std::future::pending().await,
            Kind::OldSse(old) => old.ended().await,
            Kind::Stdio(stdio) => stdio.ended().await,
        }
    }

    /// Why that is so.
    pub(crate) async fn why_ended(&self) -> ClientError {
        match &self.kind {
            Kind::Carried(_) | Kind::Http(_) => ClientError::ConnectionClosed,
            Kind::OldSse(old) => old.why_ended(),
            Kind::Stdio(stdio) => stdio.why_ended().await,
        }
    }

    /// `{"name":…,"version":…}` of this client.
    pub(crate) fn client_info(&self) -> &str {
        &self.client_info
    }

    /// Where the server's questions go.
    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// What is still said when nobody waits any more.
    pub(crate) fn farewells(&self) -> &Farewells {
        &self.farewells
    }

    /// How long an answer is waited for.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Ends the connection in an orderly way.
    pub(crate) async fn close(&self) {
        self.farewells.wait().await;
        match &self.kind {
            // Whoever carries does so for others as well.
            Kind::Carried(_) => {}
            Kind::Http(http) => http.close().await,
            Kind::OldSse(old) => old.close(),
            Kind::Stdio(stdio) => stdio.close().await,
        }
    }

    /// The stream for what a legacy server says unasked, where it needs one.
    pub(crate) async fn standing(&self) -> Result<Option<Arc<Standing>>, ClientError> {
        let Kind::Http(http) = &self.kind else { return Ok(None) };
        let late = ClientError::TimedOut { method: "GET", after: self.timeout };
        timeout(self.timeout, self.standing.open(http)).await.unwrap_or(Err(late)).map(Some)
    }

    /// The resources of which a legacy server tells.
    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// An id that no other request has.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// What requests say in `_meta` of this client, or of whoever is behind it: members, as JSON
    /// text.
    pub(crate) fn meta(&self, revision: Revision, passing: Option<&Passing<'_>>) -> String {
        let meta = self.meta_of(revision, None, passing);
        let text = params(&[], &meta);
        let inside = text.strip_prefix(r#"{"_meta":{"#).and_then(|rest| rest.strip_suffix("}}"));
        inside.unwrap_or_default().to_owned()
    }

    fn meta_of<'a>(
        &'a self,
        revision: Revision,
        progress_token: Option<&'a str>,
        passing: Option<&'a Passing<'a>>,
    ) -> Meta<'a> {
        Meta {
            revision,
            client_info: &self.client_info,
            capabilities: passing.map_or(&*self.capabilities, |passing| passing.capabilities),
            log_level: self.log_level.as_deref(),
            progress_token,
            more: passing.map_or(&[], |passing| passing.meta),
        }
    }

    /// A request, with an id of its own.
    pub(crate) fn make(&self, question: Question<'_>) -> Ask {
        let Question { method, revision, members, target, headers, passing } = question;
        let id = self.next_id().to_string();
        let token = may_take_long(method).then_some(&*id);
        let meta = self.meta_of(revision, token, passing);
        let params = params(&members, &meta);
        let inquirer = passing.and_then(|passing| passing.inquirer.cloned());
        let target = target.map(str::to_owned);
        Ask { id, method, params, revision, target, headers, inquirer }
    }

    fn why_silent(&self, ask: &Ask, after: Duration) -> ClientError {
        let oddity = match &self.kind {
            Kind::Carried(_) | Kind::Http(_) => None,
            Kind::OldSse(old) => old.oddity(ask),
            Kind::Stdio(stdio) => stdio.oddity(ask),
        };
        oddity.unwrap_or_else(|| ClientError::TimedOut { method: ask.method.name(), after })
    }
}

/// How many listeners there are for each resource: a legacy server knows only of one.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, usize>>);

impl Subscriptions {
    /// Counts one more; true for the first.
    pub(crate) fn begin(&self, uri: &str) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(uri.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts one less; true for the last.
    pub(crate) fn end(&self, uri: &str) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = all.get_mut(uri) else { return false };
        *count -= 1;
        *count == 0 && all.remove(uri).is_some()
    }
}

/// Whether it is worth while to ask how far it has come.
fn may_take_long(method: Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}

/// A listener for requests during which a server has nothing to tell.
pub(crate) fn nobody(_: Notice) {}
