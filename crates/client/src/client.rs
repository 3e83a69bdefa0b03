//! A connection to a server that has said who it is: lists its tools and calls them. Made by
//! `connect`; what it asks is the same in both eras.

use crate::answerer::{Asker, Offers};
use crate::auth::asking_nobody;
use crate::era::Handshake;
use crate::error::ClientError;
use crate::express::{Express, Expressed};
use crate::lane::Connections;
use crate::limits::{LIST_BYTES_MAX, STANDING_TIME_MAX};
use crate::long::Passed;
use crate::message::{Listener, quoted};
use crate::pages::{self, Listing, Page, malformed};
use crate::param_headers::ParamHeaders;
use crate::passing::{Inquirer, Runs};
use crate::rounds::{self, Outcome, Subject};
use crate::standing::Standing;
use crate::tasks;
use crate::tools::{CallResult, ToolList, read_call, read_tools};
use crate::wire::{Question, Wire, nobody};
use haft_proto::error::Mistake;
use haft_proto::method::Method;
use haft_proto::spec::level::Level;
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::timeout;

/// A connection to one server. Dropping it kills a child process at once; [`Client::close`] is
/// polite.
#[derive(Debug)]
pub struct Client {
    wire: Arc<Wire>,
    handshake: Handshake,
    /// What a legacy server asks may come on a stream that belongs to no request.
    _standing: Option<Arc<Standing>>,
    /// The short way, if there is one.
    express: Option<Express>,
    /// From which level on a legacy server has been asked for its log; past the last for none.
    logged: AtomicU8,
    /// By tool, which arguments HTTP repeats in headers; filled by listing.
    param_headers: Mutex<HashMap<String, ParamHeaders>>,
    /// How many bytes a list may have.
    list_bytes: usize,
}

impl Client {
    pub(crate) async fn new(wire: Wire, handshake: Handshake) -> Self {
        wire.desk().met(Asker { server: handshake.server.clone() });
        let is_needed = handshake.era == Era::Legacy && wire.desk().offers() != Offers::default();
        // Not every server has that stream, or says at once that it begins.
        let standing = match is_needed {
            true => timeout(STANDING_TIME_MAX, asking_nobody(wire.standing())).await,
            false => Ok(Ok(None)),
        };
        let standing = standing.ok().and_then(Result::ok).flatten();
        let express = Express::new(&wire, handshake.revision);
        let (logged, param_headers) = (AtomicU8::new(u8::MAX), Mutex::default());
        let wire = Arc::new(wire);
        let list_bytes = LIST_BYTES_MAX;
        Self { wire, handshake, _standing: standing, express, logged, param_headers, list_bytes }
    }

    /// The same with another bound for all pages of a list together, in bytes; 32 MiB without this.
    #[must_use]
    pub fn list_bytes(self, list_bytes: usize) -> Self {
        Self { list_bytes, ..self }
    }

    /// Who the server is and how it is spoken with.
    #[must_use]
    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// The beginning of the first line that a child process wrote on its stdout and that is no
    /// message; `None` over HTTP. Other clients may give up such a server.
    #[must_use]
    pub fn stray_line(&self) -> Option<String> {
        self.wire.garbage()
    }

    /// All tools, from all pages; none if it has none.
    ///
    /// # Errors
    /// A [`ClientError`]; [`ClientError::ListWithoutEnd`] if the pages do not end.
    pub async fn list_tools(&self) -> Result<ToolList, ClientError> {
        let is_mirrored = self.is_mirrored();
        let read = |raw: &RawValue| read_tools(raw, is_mirrored);
        let list: ToolList = self.list(Method::ToolsList, "tools", read).await?.into();
        let headers = list.tools.iter().map(|t| (t.name.clone(), t.param_headers.clone()));
        *self.param_headers.lock().unwrap_or_else(PoisonError::into_inner) = headers.collect();
        self.wire.server_has(&list.tools);
        Ok(list)
    }

    /// Calls a tool. `arguments` is the JSON text of an object. `listener` hears progress and log
    /// messages until the answer is there; what the server asks meanwhile goes to
    /// [`Options::answerer`](crate::Options::answerer). Dropping the future cancels the call.
    ///
    /// # Errors
    /// A [`ClientError`]. A tool that fails is no error here; see [`CallResult::is_error`].
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &RawValue,
        listener: Listener<'_>,
    ) -> Result<CallResult, ClientError> {
        let answer = self.call_tool_raw(name, arguments.get(), listener).await?;
        let text = answer.whole(Method::ToolsCall.name()).await?;
        let raw = RawValue::from_string(text.to_string());
        read_call(raw.map_err(|error| malformed(Method::ToolsCall, &error.to_string()))?)
    }

    /// The same for who passes it on: `arguments` is JSON text of an object, which nobody checks
    /// here, and the result is as it came.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn call_tool_raw(
        &self,
        name: &str,
        arguments: &str,
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        match self.ask_call(name, arguments, listener).await {
            // The list that told which arguments go into headers is out of date, or never came.
            Err(ClientError::Refused { error, .. })
                if self.is_mirrored()
                    && error.code == i64::from(Mistake::HeaderMismatch.code()) =>
            {
                Box::pin(self.list_tools()).await?;
                self.ask_call(name, arguments, listener).await
            }
            answer => answer,
        }
    }

    /// Asks anything, for who passes it on: `members` are those of the parameters, as JSON text,
    /// which nobody checks here; `target` is what a modern request repeats in `Mcp-Name`, if it may
    /// need more input. The result is as it came.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn ask_raw(
        &self,
        method: Method,
        target: Option<&str>,
        members: &[(&str, &str)],
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        let revision = self.handshake.revision;
        match target {
            Some(target) => {
                let headers = Vec::new();
                let passing = None;
                let subject = Subject { method, revision, target, members, headers, passing };
                self.pass_on(&subject, listener).await
            }
            None => {
                let question = Question::new(method, revision, members);
                an_object(Box::pin(self.wire.ask(question, listener)).await?, method)
                    .map(Passed::from)
            }
        }
    }

    /// How many connections there are to an `http://` address, by their states.
    #[must_use]
    pub fn connections(&self) -> Option<Connections> {
        self.wire.http()?.connections()
    }

    /// Waits until nothing more can come from a child process: it has ended, or closed its stdout.
    /// For ever over HTTP, where each request finds out for itself.
    pub async fn ended(&self) {
        self.wire.ended().await;
    }

    /// Why nothing more can come, once [`Client::ended`] has ended: nobody needs to have asked for
    /// anything.
    pub async fn why_ended(&self) -> ClientError {
        self.wire.why_ended().await
    }

    /// Asks a legacy server for log messages from `level` up. A modern one is told with each
    /// request, by [`Options::log_level`](crate::Options::log_level), and is not asked here.
    ///
    /// # Errors
    /// A [`ClientError`], for instance because the server keeps no log.
    pub async fn set_log_level(&self, level: &str) -> Result<(), ClientError> {
        if self.handshake.era == Era::Legacy {
            let level = quoted(level);
            let members = [("level", &*level)];
            let question = Question::new(Method::SetLevel, self.handshake.revision, &members);
            self.wire.ask(question, &mut nobody).await?;
        }
        Ok(())
    }

    /// Asks a legacy server for log messages from that level up, unless it has been asked for as
    /// much: for who passes requests on of clients of which each wants its own. A server that keeps
    /// no log is not asked.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn hear_logs(&self, level: Level) -> Result<(), ClientError> {
        let has_log = || self.handshake.capabilities.get("logging").is_some();
        let is_legacy = self.handshake.era == Era::Legacy;
        let before = self.logged.fetch_min(level as u8, Ordering::Relaxed);
        if !is_legacy || before <= level as u8 || !has_log() {
            return Ok(());
        }
        self.set_log_level(level.as_str()).await
    }

    /// Ends the session, and a child process with patience.
    pub async fn close(self) {
        self.wire.close().await;
    }

    /// All pages of a list that belongs to a capability.
    pub(crate) async fn list<T>(
        &self,
        method: Method,
        capability: &str,
        read: impl FnMut(&RawValue) -> Result<Page<T>, ClientError>,
    ) -> Result<Listing<T>, ClientError> {
        // In a box: some lists are asked for at once, and the way of a request is long.
        let (wire, revision) = (&self.wire, self.handshake.revision);
        match Box::pin(pages::all((wire, self.list_bytes), method, revision, read)).await {
            Err(error) if self.has_none(capability, method, &error) => Ok(Listing::default()),
            listing => listing,
        }
    }

    /// Asks in as many rounds as it takes.
    pub(crate) async fn ask_rounds(
        &self,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let _runs = self.runs(None);
        self.ask_on(subject, None, listener).await
    }

    /// A request, as long as it runs: a legacy server asks without saying because of which.
    pub(crate) fn runs<'a>(&'a self, inquirer: Option<&'a Inquirer>) -> Option<Runs<'a>> {
        let is_legacy = self.handshake.era == Era::Legacy;
        is_legacy.then(|| self.wire.desk().running().begin(inquirer))
    }

    /// Sends it by the short way, if there is one.
    pub(crate) async fn express(
        &self,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        match &self.express {
            Some(express) => express.ask(&self.wire, subject, listener).await,
            None => self.wire.pass_carried(subject, listener).await,
        }
    }

    /// The same for who passes the result on as it came.
    async fn pass_on(
        &self,
        subject: &Subject<'_>,
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        let _runs = self.runs(None);
        let first = match self.express(subject, listener).await? {
            Expressed::Complete(result) => return Ok(result),
            Expressed::Elsewhere => None,
            Expressed::Open(answer) => Some(answer),
        };
        // The long way is long in memory too, and most never go it.
        Box::pin(self.ask_on(subject, first, listener)).await.map(Passed::from)
    }

    async fn ask_on(
        &self,
        subject: &Subject<'_>,
        first: Option<Result<Box<RawValue>, ClientError>>,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        match rounds::ask(&self.wire, subject, first, listener).await? {
            Outcome::Complete(raw) => an_object(raw, subject.method),
            Outcome::Task(seed) => {
                tasks::follow(&self.wire, subject.revision, &seed, None, listener).await
            }
        }
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    async fn ask_call(
        &self,
        name: &str,
        arguments: &str,
        listener: Listener<'_>,
    ) -> Result<Passed, ClientError> {
        let quoted_name = quoted(name);
        let subject = Subject {
            method: Method::ToolsCall,
            revision: self.handshake.revision,
            target: name,
            members: &[("name", &*quoted_name), ("arguments", arguments)],
            headers: self.headers_for(name, arguments),
            passing: None,
        };
        self.pass_on(&subject, listener).await
    }

    /// The headers that repeat arguments of a call.
    pub(crate) fn headers_for(
        &self,
        name: &str,
        arguments: &str,
    ) -> Vec<(http::HeaderName, http::HeaderValue)> {
        let known = self.param_headers.lock().unwrap_or_else(PoisonError::into_inner);
        let marked = known.get(name).filter(|headers| self.is_mirrored() && !headers.is_empty());
        match marked.map(|headers| (headers, serde_json::from_str(arguments))) {
            Some((headers, Ok(arguments))) => headers.write(&arguments),
            _ => Vec::new(),
        }
    }

    /// Whether headers repeat parameters.
    pub(crate) fn is_mirrored(&self) -> bool {
        self.handshake.era == Era::Modern && self.wire.http().is_some()
    }

    /// A server that does not offer something may not know the method; and one with resources may
    /// have no templates.
    fn has_none(&self, capability: &str, method: Method, error: &ClientError) -> bool {
        let code = i64::from(Mistake::MethodNotFound.code());
        let capabilities = &self.handshake.capabilities;
        matches!(error, ClientError::Refused { error, .. } if error.code == code)
            && (method == Method::ResourcesTemplatesList
                || capabilities.is_object() && capabilities.get(capability).is_none())
    }
}

/// A result as it came, if it is one: passed on, anything else would be seen by nobody.
fn an_object(raw: Box<RawValue>, method: Method) -> Result<Box<RawValue>, ClientError> {
    if raw.get().starts_with('{') {
        return Ok(raw);
    }
    Err(ClientError::MalformedResult { method: method.name(), reason: "it is no object".into() })
}
