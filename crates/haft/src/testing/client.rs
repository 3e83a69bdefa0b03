//! The client of a test: asks a server that runs in the same process. Modern, unless a test chooses
//! otherwise.

use super::answer::Answer;
use super::ask::ask;
use crate::builder::ServerBuilder;
use haft_proto::method::Method;
use haft_proto::version::Revision;
use haft_server::Server;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A client of a server in the same process. It needs a tokio runtime with a clock, as in
/// `#[tokio::test]`.
#[derive(Clone)]
pub struct Client {
    server: Arc<Server>,
    revision: Revision,
}

/// What a client can be made for.
pub trait Testable {
    /// The server, built.
    ///
    /// # Panics
    /// It cannot be built.
    fn built(self) -> Arc<Server>;
}

impl Testable for ServerBuilder {
    #[track_caller]
    fn built(self) -> Arc<Server> {
        match self.build() {
            Ok(server) => Arc::new(server),
            Err(error) => panic!("the server cannot be built: {error}"),
        }
    }
}

impl Testable for Server {
    fn built(self) -> Arc<Server> {
        Arc::new(self)
    }
}

impl Testable for Arc<Server> {
    fn built(self) -> Arc<Server> {
        self
    }
}

/// A client that speaks the newest revision.
///
/// # Panics
/// The server cannot be built.
#[track_caller]
pub fn client(server: impl Testable) -> Client {
    Client { server: server.built(), revision: Revision::LATEST }
}

impl Client {
    /// A client of the same server that speaks the newest revision of the legacy era.
    #[must_use]
    pub fn legacy(&self) -> Self {
        Self { server: Arc::clone(&self.server), revision: Revision::LATEST_LEGACY }
    }

    /// A client of the same server that speaks a revision, like `2025-06-18`.
    ///
    /// # Panics
    /// haft does not speak it.
    #[must_use]
    #[track_caller]
    pub fn speaking(&self, revision: &str) -> Self {
        match Revision::parse(revision) {
            Some(revision) => Self { server: Arc::clone(&self.server), revision },
            None => panic!("{revision:?} is no revision that haft speaks"),
        }
    }

    /// Calls a tool. `arguments` is an object.
    ///
    /// # Panics
    /// `arguments` is no object.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        assert!(arguments.is_object(), "arguments are an object, not {arguments}");
        let params = json!({ "name": tool, "arguments": arguments });
        let asked = format!("the tool `{tool}`");
        self.asked(asked, Method::ToolsCall.name(), params).await
    }

    /// Every tool as clients see it, from all pages.
    ///
    /// # Panics
    /// The server refuses to list them.
    pub async fn list_tools(&self) -> Vec<Value> {
        self.list(Method::ToolsList.name(), "tools").await
    }

    /// Asks anything: a method with its parameters, an object.
    ///
    /// # Panics
    /// `params` is no object.
    pub async fn ask(&self, method: &str, params: Value) -> Answer {
        self.asked(format!("`{method}`"), method, params).await
    }

    async fn asked(&self, asked: String, method: &str, params: Value) -> Answer {
        let Value::Object(params) = params else {
            panic!("parameters are an object, not {params}");
        };
        let limits = self.server.limits();
        let answer = ask(&*self.server, limits, self.revision, method, params).await;
        Answer::new(asked, answer)
    }

    async fn list(&self, method: &str, key: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut params = Map::new();
        loop {
            let answer = self.ask(method, Value::Object(params.clone())).await;
            let result = answer.result();
            entries.extend(result[key].as_array().cloned().unwrap_or_default());
            match result.get("nextCursor") {
                Some(cursor) => params.insert("cursor".to_owned(), cursor.clone()),
                None => return entries,
            };
        }
    }
}
