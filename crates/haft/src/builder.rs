//! A server that is not built yet, and the ways to serve it. It is the builder of `haft-server`
//! with wires; what a server is, is decided there.

use crate::command_line::{self, Wire, Wish};
use crate::error::Result;
use crate::serve::{run, serve};
use haft_proto::encode::fields::Caching;
use haft_proto::limits::Limits;
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use haft_server::{
    BuildError, Middleware, Prompt, Resource, ResourceTemplate, Server, StateKey, TaskStore, Tool,
};
use haft_transport::http::Options as HttpOptions;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// A server of that name and version, to which tools are added and which is then served.
///
/// ```no_run
/// /// Adds two integers.
/// #[haft::tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn run() -> haft::Result<()> {
/// haft::server("calculator", "1.0.0").tool(add::tool()).serve().await
/// # }
/// ```
pub fn server(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
    let (name, version) = (name.into(), version.into());
    let about = format!("{name} {version}");
    let builder = Server::builder(name, version);
    ServerBuilder { about, http: HttpOptions::default(), builder }
}

/// A server that is not built yet; see [`server`].
#[must_use = "a server does nothing until it is served"]
pub struct ServerBuilder {
    /// Name and version.
    about: String,
    http: HttpOptions,
    builder: haft_server::ServerBuilder,
}

/// A resource or a family of resources.
pub enum AnyResource {
    /// At one address.
    One(Box<Resource>),
    /// At every address that fits a template.
    Family(Box<ResourceTemplate>),
}

impl From<Resource> for AnyResource {
    fn from(resource: Resource) -> Self {
        Self::One(Box::new(resource))
    }
}

impl From<ResourceTemplate> for AnyResource {
    fn from(family: ResourceTemplate) -> Self {
        Self::Family(Box::new(family))
    }
}

impl ServerBuilder {
    /// One more tool, listed after those before it.
    pub fn tool(self, tool: Tool) -> Self {
        self.with(|builder| builder.tool(tool))
    }

    /// More tools, listed in this order; see [`tools!`](crate::tools).
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Tools that other tools call with [`Context::call`](haft_server::Context::call), and no
    /// client.
    pub fn inner_tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.with(|builder| builder.inner_tools(tools))
    }

    /// Tools are not listed where there are so many or more: `find_tools` and `call_tool` stand for
    /// them in the list, and find and call them. Each can be called by its own name all the same.
    pub fn search_from(self, least: usize) -> Self {
        self.with(|builder| builder.search_from(least))
    }

    /// One more resource, or family of resources. An address belongs to the first that it fits.
    pub fn resource(self, resource: impl Into<AnyResource>) -> Self {
        match resource.into() {
            AnyResource::One(resource) => self.with(|builder| builder.resource(*resource)),
            AnyResource::Family(family) => self.with(|builder| builder.resource_template(*family)),
        }
    }

    /// One more family of resources; [`ServerBuilder::resource`] takes them, too.
    pub fn resource_template(self, template: ResourceTemplate) -> Self {
        self.with(|builder| builder.resource_template(template))
    }

    /// One more prompt.
    pub fn prompt(self, prompt: Prompt) -> Self {
        self.with(|builder| builder.prompt(prompt))
    }

    /// The name that people read.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|builder| builder.title(title))
    }

    /// One line about the server.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.with(|builder| builder.description(description))
    }

    /// Where to read more about the server.
    pub fn website_url(self, url: impl Into<String>) -> Self {
        self.with(|builder| builder.website_url(url))
    }

    /// One more picture.
    pub fn icon(self, icon: Icon) -> Self {
        self.with(|builder| builder.icon(icon))
    }

    /// How a model should use the tools together.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.with(|builder| builder.instructions(instructions))
    }

    /// How long clients of the modern era may keep the lists.
    pub fn caching(self, caching: Caching) -> Self {
        self.with(|builder| builder.caching(caching))
    }

    /// What is said in `_meta` of every list: the JSON text of an object.
    pub fn list_meta(self, meta: Meta) -> Self {
        self.with(|builder| builder.list_meta(meta))
    }

    /// Other bounds than the default ones.
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|builder| builder.limits(limits))
    }

    /// Refuses arguments that could be mended, like a number in quotes, instead of mending them.
    pub fn strict_arguments(self) -> Self {
        self.with(haft_server::ServerBuilder::strict_arguments)
    }

    /// What is away: it is not listed, and whoever asks for it is told why.
    pub fn missing(self, missing: impl IntoIterator<Item = haft_server::Missing>) -> Self {
        self.with(|builder| builder.missing(missing))
    }

    /// Nothing will ever be added or removed: clients are told so, and need not listen.
    pub fn fixed(self) -> Self {
        self.with(haft_server::ServerBuilder::fixed)
    }

    /// As [`fixed`](Self::fixed), but for what resources contain.
    pub fn only_contents_change(self) -> Self {
        self.with(haft_server::ServerBuilder::only_contents_change)
    }

    /// As [`fixed`](Self::fixed), but for which resources there are, and what they contain.
    pub fn only_resources_change(self) -> Self {
        self.with(haft_server::ServerBuilder::only_resources_change)
    }

    /// Things of kinds that are not there yet may be added while the server runs.
    pub fn open_ended(self) -> Self {
        self.with(haft_server::ServerBuilder::open_ended)
    }

    /// The keys that seal what clients keep between the rounds of a call: the first seals, all
    /// open. Replicas that share them take each other's.
    pub fn state_keys(self, keys: impl IntoIterator<Item = StateKey>) -> Self {
        self.with(|builder| builder.state_keys(keys))
    }

    /// A value that all handlers share, in place of another of the same type. A function takes it
    /// as a parameter `State<T>`, wherever it stands.
    ///
    /// ```
    /// use haft::State;
    /// struct Greeting(String);
    ///
    /// #[haft::tool]
    /// fn hello(name: String, greeting: State<Greeting>) -> String {
    ///     format!("{}, {name}!", greeting.0)
    /// }
    ///
    /// let server = haft::server("hello", "1.0.0").tool(hello::tool());
    /// let server = server.state(Greeting("Good day".to_owned())).build()?;
    /// # Ok::<(), haft::BuildError>(())
    /// ```
    pub fn state<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.with(|builder| builder.state(value))
    }

    /// Something around every tool, resource and prompt, inside of those before it.
    pub fn middleware(self, middleware: impl Middleware) -> Self {
        self.with(|builder| builder.middleware(middleware))
    }

    /// Where tasks are kept; without it, in memory.
    pub fn task_store(self, store: impl TaskStore) -> Self {
        self.with(|builder| builder.task_store(store))
    }

    /// At which path, and to whom, it is served over HTTP.
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Anything else that the builder of the server can do.
    pub fn with(
        mut self,
        change: impl FnOnce(haft_server::ServerBuilder) -> haft_server::ServerBuilder,
    ) -> Self {
        self.builder = change(self.builder);
        self
    }

    /// Checks everything and compiles the schemas.
    ///
    /// # Errors
    /// The first mistake, in the order of the tools.
    pub fn build(self) -> std::result::Result<Server, BuildError> {
        self.builder.build()
    }

    /// Serves as the command line says, until a signal or the end of the client: `--stdio`, or
    /// `--http ADDRESS`. Without either it listens at [`DEFAULT_ADDRESS`](crate::DEFAULT_ADDRESS)
    /// if stdin is a terminal, and uses stdio otherwise, as clients expect of the servers that they
    /// start. `--help` and `--version` print to stdout and serve nothing.
    ///
    /// A program with a command line of its own calls [`ServerBuilder::serve_on`].
    ///
    /// # Errors
    /// [`Error`](crate::Error): the command line or a tool is wrong, or the wire cannot be had.
    pub async fn serve(self) -> Result<()> {
        match self.wire()? {
            Some(wire) => self.serve_on(wire).await,
            None => Ok(()),
        }
    }

    /// Serves over this wire.
    ///
    /// # Errors
    /// As [`ServerBuilder::serve`].
    pub async fn serve_on(self, wire: Wire) -> Result<()> {
        let http = self.http.clone();
        serve(Arc::new(self.build()?), wire, http).await
    }

    /// [`ServerBuilder::serve`] from a `main` that is not async: it starts a runtime that fits the
    /// wire, and a blocking tool that does not end does not keep the process.
    ///
    /// ```no_run
    /// fn main() -> haft::Result<()> {
    ///     haft::server("nothing", "1.0.0").run()
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`ServerBuilder::serve`].
    pub fn run(self) -> Result<()> {
        match self.wire()? {
            Some(wire) => {
                let http = self.http.clone();
                run(Arc::new(self.build()?), wire, http)
            }
            None => Ok(()),
        }
    }

    /// What the command line asks for; `None` if that has been answered.
    fn wire(&self) -> Result<Option<Wire>> {
        let words = std::env::args_os().skip(1);
        let answer = match command_line::read(words, io::stdin().is_terminal())? {
            Wish::Serve(wire) => return Ok(Some(wire)),
            Wish::Help => command_line::help(&self.about),
            Wish::Version => format!("{}\n", self.about),
        };
        // Nobody is there to be told that nobody reads it.
        let _ = io::stdout().write_all(answer.as_bytes());
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The methods that a source has for those who build a server.
    fn methods(source: &str) -> BTreeSet<&str> {
        let builder = source.split("impl ServerBuilder {").nth(1).unwrap_or_default();
        let builder = builder.split("\n}\n").next().unwrap_or_default();
        let names = builder.split("\n    pub fn ").skip(1);
        names.filter_map(|rest| rest.split(['(', '<']).next()).collect()
    }

    #[test]
    fn everything_that_the_servers_builder_can_do_is_here() {
        let theirs = methods(include_str!("../../server/src/builder.rs"));
        let ours = methods(include_str!("builder.rs"));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        assert!(theirs.len() > 10 && missing.is_empty(), "delegate these: {missing:?}");
    }
}
