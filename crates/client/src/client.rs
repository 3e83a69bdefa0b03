//! A connection to a server that has said who it is: lists its tools and calls them. Made by
//! `connect`; what it asks is the same in both eras.

use crate::answerer::Asker;
use crate::era::Handshake;
use crate::error::ClientError;
use crate::message::{Listener, quoted};
use crate::param_headers::ParamHeaders;
use crate::rounds::{self, Outcome, Subject};
use crate::tasks;
use crate::tools::{CallResult, ToolList, read_call, read_page};
use crate::wire::{Question, Wire, nobody};
use haft_proto::error::Mistake;
use haft_proto::method::Method;
use haft_proto::version::Era;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A connection to one server. Dropping it kills a child process at once; [`Client::close`] is
/// polite.
#[derive(Debug)]
pub struct Client {
    wire: Arc<Wire>,
    handshake: Handshake,
    /// By tool, which arguments HTTP repeats in headers; filled by listing.
    param_headers: Mutex<HashMap<String, ParamHeaders>>,
}

/// The most pages, and bytes on them, of one list.
const PAGES_MAX: usize = 1000;
const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;

impl Client {
    pub(crate) fn new(wire: Wire, handshake: Handshake) -> Self {
        wire.desk().met(Asker { server: handshake.server.clone() });
        Self { wire: Arc::new(wire), handshake, param_headers: Mutex::default() }
    }

    /// Who the server is and how it is spoken with.
    #[must_use]
    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// All tools, from all pages.
    ///
    /// # Errors
    /// A [`ClientError`]; [`ClientError::ListWithoutEnd`] if the pages do not end.
    pub async fn list_tools(&self) -> Result<ToolList, ClientError> {
        let mut list = ToolList::default();
        let mut cursor: Option<String> = None;
        loop {
            let raw = match self.ask_page(cursor.as_deref()).await {
                Err(error) if cursor.is_none() && self.has_no_tools(&error) => return Ok(list),
                answer => answer?,
            };
            let page = read_page(&raw, self.is_mirrored())?;
            list.pages += 1;
            list.bytes += raw.get().len();
            list.tools.extend(page.tools);
            list.dropped.extend(page.dropped);
            let is_stuck = page.next_cursor.is_some() && page.next_cursor == cursor;
            if is_stuck || list.pages == PAGES_MAX || list.bytes > LIST_BYTES_MAX {
                return Err(ClientError::ListWithoutEnd { pages: list.pages });
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let headers = list.tools.iter().map(|t| (t.name.clone(), t.param_headers.clone()));
        *self.param_headers.lock().unwrap_or_else(PoisonError::into_inner) = headers.collect();
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
        let answer = self.ask_call(name, arguments, listener).await;
        let raw = match answer {
            // The list that told which arguments go into headers is out of date, or never came.
            Err(ClientError::Refused { error, .. })
                if self.is_mirrored()
                    && error.code == i64::from(Mistake::HeaderMismatch.code()) =>
            {
                self.list_tools().await?;
                self.ask_call(name, arguments, listener).await?
            }
            answer => answer?,
        };
        read_call(raw)
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

    /// Ends the session, and a child process with patience.
    pub async fn close(self) {
        self.wire.close().await;
    }

    async fn ask_page(&self, cursor: Option<&str>) -> Result<Box<RawValue>, ClientError> {
        let cursor = cursor.map(quoted);
        let members: Vec<_> = cursor.iter().map(|cursor| ("cursor", &**cursor)).collect();
        let question = Question::new(Method::ToolsList, self.handshake.revision, &members);
        self.wire.ask(question, &mut nobody).await
    }

    async fn ask_call(
        &self,
        name: &str,
        arguments: &RawValue,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let quoted_name = quoted(name);
        let subject = Subject {
            method: Method::ToolsCall,
            revision: self.handshake.revision,
            target: name,
            members: &[("name", &*quoted_name), ("arguments", arguments.get())],
            headers: self.headers_for(name, arguments),
        };
        match rounds::ask(&self.wire, &subject, listener).await? {
            Outcome::Complete(raw) => Ok(raw),
            Outcome::Task(seed) => {
                tasks::follow(&self.wire, self.handshake.revision, &seed, listener).await
            }
        }
    }

    fn headers_for(
        &self,
        name: &str,
        arguments: &RawValue,
    ) -> Vec<(http::HeaderName, http::HeaderValue)> {
        let known = self.param_headers.lock().unwrap_or_else(PoisonError::into_inner);
        match (known.get(name), serde_json::from_str(arguments.get())) {
            (Some(headers), Ok(arguments)) if self.is_mirrored() => headers.write(&arguments),
            _ => Vec::new(),
        }
    }

    /// Whether headers repeat parameters.
    fn is_mirrored(&self) -> bool {
        self.handshake.era == Era::Modern && self.wire.http().is_some()
    }

    /// A server that does not offer tools may not know the method.
    fn has_no_tools(&self, error: &ClientError) -> bool {
        let code = i64::from(Mistake::MethodNotFound.code());
        matches!(error, ClientError::Refused { error, .. } if error.code == code)
            && self.handshake.capabilities.is_object()
            && self.handshake.capabilities.get("tools").is_none()
    }
}
