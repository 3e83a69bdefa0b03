//! The client of a test: asks a server that runs in the same process. Modern, unless a test chooses
//! otherwise.

use super::answer::Answer;
use super::ask::Asker;
use super::question::{Question, Reply};
use crate::builder::ServerBuilder;
use haft_proto::method::Method;
use haft_proto::service::Principal;
use haft_proto::version::Revision;
use haft_server::Server;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A client of a server in the same process. It needs a tokio runtime with a clock, as in
/// `#[tokio::test]`.
#[derive(Clone)]
pub struct Client {
    asker: Asker,
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

/// A client that speaks the newest revision and can do nothing but ask.
///
/// # Panics
/// The server cannot be built.
#[track_caller]
pub fn client(server: impl Testable) -> Client {
    Client { asker: Asker::new(server.built()) }
}

/// Who the client of the test is.
impl Client {
    /// A client of the same server that speaks the newest revision of the legacy era.
    #[must_use]
    pub fn legacy(&self) -> Self {
        self.changed(|asker| asker.revision = Revision::LATEST_LEGACY)
    }

    /// A client of the same server that speaks a revision, like `2025-06-18`.
    ///
    /// # Panics
    /// haft does not speak it.
    #[must_use]
    #[track_caller]
    pub fn speaking(&self, revision: &str) -> Self {
        let Some(revision) = Revision::parse(revision) else {
            panic!("{revision:?} is no revision that haft speaks")
        };
        self.changed(|asker| asker.revision = revision)
    }

    /// A client that answers what it is asked while its requests run: forms, addresses, questions
    /// to a model and where to work.
    ///
    /// ```
    /// use haft::testing::Reply;
    /// use haft::{AskError, Context};
    /// use haft::serde_json::json;
    ///
    /// #[haft::json]
    /// struct Confirmation {
    ///     /// Whether there is no way back.
    ///     sure: bool,
    /// }
    ///
    /// #[haft::tool(destructive)]
    /// async fn erase(context: &Context) -> Result<&'static str, AskError> {
    ///     let answer = context.form::<Confirmation>("sure", "Erase everything?").await?;
    ///     let is_sure = answer.accepted().is_some_and(|form| form.sure);
    ///     Ok(if is_sure { "erased" } else { "kept" })
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = haft::server("disk", "1.0.0").tool(erase::tool());
    /// let client = haft::testing::client(server).answering(|question| {
    ///     assert_eq!(question.message(), "Erase everything?");
    ///     Reply::accept(json!({"sure": true}))
    /// });
    /// assert_eq!(client.call("erase", json!({})).await.text(), "erased");
    /// assert_eq!(client.legacy().call("erase", json!({})).await.text(), "erased");
    /// # }
    /// ```
    #[must_use]
    pub fn answering(&self, answer: impl Fn(&Question) -> Reply + Send + Sync + 'static) -> Self {
        let everything = json!({
            "elicitation": { "form": {}, "url": {} },
            "sampling": { "tools": {} },
            "roots": {},
        });
        self.changed(|asker| {
            asker.capabilities = everything;
            asker.answering = Some(Arc::new(answer));
        })
    }

    /// A client that says of itself that it can do this: a capability object.
    #[must_use]
    pub fn capable_of(&self, capabilities: Value) -> Self {
        self.changed(|asker| asker.capabilities = capabilities)
    }

    /// A client whose wire has verified who it is.
    #[must_use]
    pub fn named(&self, principal: &str) -> Self {
        self.changed(|asker| asker.principal = Principal::Named(principal.into()))
    }

    /// A client whose requests come with one more HTTP header.
    #[must_use]
    pub fn header(&self, name: &str, value: &str) -> Self {
        let header = (name.to_ascii_lowercase(), value.to_owned());
        self.changed(|asker| asker.headers.push(header))
    }

    fn changed(&self, change: impl FnOnce(&mut Asker)) -> Self {
        Self { asker: self.asker.changed(change) }
    }
}

/// What the client of the test asks.
impl Client {
    /// Calls a tool. `arguments` is an object.
    ///
    /// # Panics
    /// `arguments` is no object.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let params = named(tool, arguments);
        self.asked(format!("the tool `{tool}`"), Method::ToolsCall.name(), params).await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Answer {
        let params = json!({ "uri": uri });
        self.asked(format!("the resource `{uri}`"), Method::ResourcesRead.name(), params).await
    }

    /// Gets a prompt. `arguments` is an object of texts.
    ///
    /// # Panics
    /// `arguments` is no object.
    pub async fn prompt(&self, prompt: &str, arguments: Value) -> Answer {
        let params = named(prompt, arguments);
        self.asked(format!("the prompt `{prompt}`"), Method::PromptsGet.name(), params).await
    }

    /// Every tool as clients see it, from all pages.
    ///
    /// # Panics
    /// The server refuses to list them.
    pub async fn list_tools(&self) -> Vec<Value> {
        self.list(Method::ToolsList, "tools").await
    }

    /// Every resource as clients see it, from all pages.
    ///
    /// # Panics
    /// The server refuses to list them: it has none.
    pub async fn list_resources(&self) -> Vec<Value> {
        self.list(Method::ResourcesList, "resources").await
    }

    /// Every family of resources as clients see it, from all pages.
    ///
    /// # Panics
    /// The server refuses to list them: it has no resources.
    pub async fn list_resource_templates(&self) -> Vec<Value> {
        self.list(Method::ResourcesTemplatesList, "resourceTemplates").await
    }

    /// Every prompt as clients see it, from all pages.
    ///
    /// # Panics
    /// The server refuses to list them: it has none.
    pub async fn list_prompts(&self) -> Vec<Value> {
        self.list(Method::PromptsList, "prompts").await
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
        Answer::new(asked, self.asker.ask(method, params).await)
    }

    async fn list(&self, method: Method, key: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut params = Map::new();
        loop {
            let answer = self.ask(method.name(), Value::Object(params.clone())).await;
            let result = answer.result();
            entries.extend(result[key].as_array().cloned().unwrap_or_default());
            match result.get("nextCursor") {
                Some(cursor) => params.insert("cursor".to_owned(), cursor.clone()),
                None => return entries,
            };
        }
    }
}

fn named(name: &str, arguments: Value) -> Value {
    assert!(arguments.is_object(), "arguments are an object, not {arguments}");
    json!({ "name": name, "arguments": arguments })
}
