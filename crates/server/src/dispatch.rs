//! A request becomes an answer: the list of methods that a server has, and what changes while it
//! runs. Called by the wires through `Service`; knows no wire.

use crate::builder::{BuildError, Growth, ServerBuilder};
use crate::calls::{self, refuse};
use crate::changes::{Change, Changes, Interest};
use crate::core::Core;
use crate::face::Face;
use crate::kinds::Kinds;
use crate::part::{Entry, Part};
use crate::prompt::Prompt;
use crate::reads;
use crate::registry::{self, Snapshot};
use crate::resource::{Resource, ResourceTemplate};
use crate::sealed::{KeysFrom, Sealer, StateKey};
use crate::subscriptions;
use crate::suggest;
use crate::task_calls;
use crate::task_store::{MemoryTasks, TaskStore};
use crate::tasks::Tasks;
use crate::tool::Tool;
use arc_swap::ArcSwap;
use haft_proto::admit::log_level;
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::member;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Feed, Outcome, Service, Turn};
use haft_proto::session::Session;
use haft_proto::spec::implementation::{Capabilities, Lists};
use haft_proto::version::Revision;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::watch;

/// A server of tools, resources and prompts, for any number of wires at once. Cheap to clone; all
/// clones are one server.
///
/// It lives as long as a clone of it. A handler, reader or state of the server that holds a clone
/// keeps it, and with it itself, for ever: it asks [`Context::server`](crate::Context::server) when
/// it runs, or holds a [`WeakServer`].
#[derive(Clone)]
pub struct Server {
    pub(crate) core: Arc<Core>,
}

/// A server as its own handlers may hold it: it does not keep the server alive.
///
/// ```
/// use haft_server::{Server, Tool, handler};
/// let server = Server::builder("shop", "1.0.0").build()?;
/// let itself = server.downgrade();
/// let count = move |_: serde_json::Value| match itself.upgrade() {
///     Some(server) => server.tool_names().len(),
///     None => 0,
/// };
/// server.add_tool(Tool::new("count", handler::function(count)))?;
/// let outside = server.downgrade();
/// drop(server);
/// assert!(outside.upgrade().is_none());
/// # Ok::<(), haft_server::BuildError>(())
/// ```
#[derive(Clone)]
pub struct WeakServer {
    core: Weak<Core>,
}

impl WeakServer {
    /// The server, unless all clones of it have gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Server> {
        self.core.upgrade().map(Server::of)
    }
}

impl Server {
    /// A server of that name and version, without anything yet.
    #[must_use]
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name.into(), version.into())
    }

    pub(crate) fn new(built: ServerBuilder) -> Result<Self, BuildError> {
        let ServerBuilder { info, instructions, caching, limits, growth, .. } = built;
        let snapshot = Snapshot::new(built.parts, (&limits, &built.states), None, |kinds| {
            let offers = offers(kinds, growth);
            Face::new(info, instructions.as_deref(), caching, offers, built.is_strict)
                .with_list_meta(built.list_meta)
        })?;
        let sealer = Sealer::new(&built.state_keys, &limits)
            .map_err(|refusal| BuildError::NoRandomness { reason: refusal.to_string() })?;
        let changes = Arc::new(Changes::default());
        let in_memory = || -> Arc<dyn TaskStore> { Arc::new(MemoryTasks::new(limits.task_bytes)) };
        let store = built.task_store.unwrap_or_else(in_memory);
        let tasks = Tasks::new(store, Arc::clone(&changes), &limits);
        let core = Core {
            limits,
            growth,
            sealer: Arc::new(sealer),
            changes,
            tasks,
            states: built.states,
            repairs: AtomicU64::new(0),
            middleware: built.middleware,
            snapshot: ArcSwap::from_pointee(snapshot),
            changing: Mutex::new(()),
        };
        core.snapshot.load().write_lists(&core.limits);
        Ok(Self { core: Arc::new(core) })
    }

    pub(crate) fn of(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The same as what it consists of may hold it.
    #[must_use]
    pub fn downgrade(&self) -> WeakServer {
        WeakServer { core: Arc::downgrade(&self.core) }
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> String {
        self.core.snapshot.load().face.info.name.clone()
    }

    /// The bounds that the server was built with; its wires use the same.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.core.limits
    }

    /// The names of all tools, in the order in which they are listed.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.core.snapshot.load().tools.iter().map(|tool| tool.tool.name.clone()).collect()
    }

    /// Whether there is a resource at an address: one of its own, or one of a family.
    #[must_use]
    pub fn has_resource(&self, uri: &str) -> bool {
        let snapshot = self.core.snapshot.load();
        snapshot.resources.find(uri).is_some() || snapshot.find_template(uri).is_some()
    }

    /// How many values of arguments were mended so far: see [`ServerBuilder::strict_arguments`].
    #[must_use]
    pub fn repairs(&self) -> u64 {
        self.core.repairs.load(Ordering::Relaxed)
    }

    /// Swaps all tools for others. Calls in flight finish on the old ones.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn replace_tools(&self, tools: Vec<Tool>) -> Result<(), BuildError> {
        let (limits, states) = (&self.core.limits, &self.core.states);
        let tools = tools.into_iter().map(|tool| registry::tool(tool, limits, states));
        let tools = Arc::new(Part::new(tools.collect::<Result<_, _>>()?)?);
        self.put(Change::Tools, |now| now.tools = tools)
    }

    /// One more tool, in place of one of the same name if there is one. The others stay as they
    /// are: only this one is compiled, and the list is written again when somebody asks for it.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn add_tool(&self, tool: Tool) -> Result<(), BuildError> {
        let tool = registry::tool(tool, &self.core.limits, &self.core.states)?;
        self.put(Change::Tools, |now| now.tools = Arc::new(now.tools.with(tool)))
    }

    /// One tool less; false if there was none of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.take(Change::Tools, |now| less(&mut now.tools, name))
    }

    /// One more resource, in place of one of the same address if there is one.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn add_resource(&self, resource: Resource) -> Result<(), BuildError> {
        let resource = registry::resource(resource, &self.core.states)?;
        self.put(Change::Resources, |now| now.resources = Arc::new(now.resources.with(resource)))
    }

    /// One resource less; false if there was none at that address.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.take(Change::Resources, |now| less(&mut now.resources, uri))
    }

    /// One more family of resources, in place of one of the same template if there is one.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn add_resource_template(&self, template: ResourceTemplate) -> Result<(), BuildError> {
        let template = registry::template(template, &self.core.states)?;
        self.put(Change::Resources, |now| now.templates = Arc::new(now.templates.with(template)))
    }

    /// One family less; false if there was none of that template.
    pub fn remove_resource_template(&self, template: &str) -> bool {
        self.take(Change::Resources, |now| less(&mut now.templates, template))
    }

    /// One more prompt, in place of one of the same name if there is one.
    ///
    /// # Errors
    /// [`BuildError`], and then nothing has changed.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), BuildError> {
        let prompt = registry::prompt(prompt, &self.core.states)?;
        self.put(Change::Prompts, |now| now.prompts = Arc::new(now.prompts.with(prompt)))
    }

    /// One prompt less; false if there was none of that name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.take(Change::Prompts, |now| less(&mut now.prompts, name))
    }

    /// Seals what clients keep with the first of these keys from now on, and opens what any of them
    /// has sealed. Replicas that share keys take each other's; to rotate, put the new key first
    /// and leave the old one out once [`Limits::state_ttl`] has passed. Without keys, the server
    /// makes one up, or goes on with the one that it made up; what others sealed is refused.
    pub fn set_state_keys(&self, keys: &[StateKey]) {
        self.core.sealer.set_keys(keys, KeysFrom::Holder);
    }

    /// Tells whoever watches it that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.core.changes.publish(Change::Resource(uri.into()));
    }

    /// What clients listen for now: there is no need to look for other changes.
    #[must_use]
    pub fn interest(&self) -> Interest {
        self.core.changes.interest()
    }

    /// Waits until the interest may have changed since this was last waited for. For one waiter: of
    /// two, one waits longer.
    pub fn interest_changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let changes = self.core.changes.interest_changes();
        async move { changes.notified().await }
    }

    /// Told whenever the interest may have changed, whoever else waits for that.
    #[must_use]
    pub fn interests(&self) -> watch::Receiver<()> {
        self.core.changes.interests()
    }

    fn put(&self, what: Change, act: impl FnOnce(&mut Snapshot)) -> Result<(), BuildError> {
        let act = |now: &mut Snapshot| {
            act(now);
            Some(Some(what))
        };
        self.change(act).map(|_| ())
    }

    fn take(&self, what: Change, act: impl FnOnce(&mut Snapshot) -> Option<()>) -> bool {
        self.change(|now| act(now).map(|()| Some(what))).is_ok_and(|is_changed| is_changed)
    }

    fn list(&self, snapshot: &Snapshot, ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
        let listing = snapshot.face.listing(&self.core.limits);
        // Some programs write the empty text for one that is not there; none of ours is that.
        let cursor = ask.message.params.cursor.filter(|cursor| *cursor != "\"\"");
        let revision = ask.revision;
        let page = match ask.method {
            Method::ToolsList => snapshot.listed_tools().page(&listing, revision, cursor),
            Method::PromptsList => snapshot.prompts.page(&listing, revision, cursor),
            Method::ResourcesList => snapshot.resources.page(&listing, revision, cursor),
            _ => snapshot.templates.page(&listing, revision, cursor),
        };
        match page {
            Ok(page) => {
                encode::begin_result(out, ask.id);
                Turn::Listed(Arc::clone(page))
            }
            Err(refusal) => refuse(out, ask.id, &refusal),
        }
    }

    fn not_offered(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
        let message = format!("Method not found: this server has no {}", ask.method.name());
        refuse(out, ask.id, &Refusal::new(Mistake::MethodNotFound, message))
    }
}

/// Whether a server offers what a method belongs to.
fn has(offered: &Capabilities, method: Method, revision: Revision) -> bool {
    match method {
        Method::PromptsGet | Method::PromptsList => offered.prompts,
        Method::ResourcesList | Method::ResourcesRead | Method::ResourcesTemplatesList => {
            offered.resources
        }
        Method::Complete => offered.completions,
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => offered.subscribe,
        Method::SubscriptionsListen => {
            offered.list_changed != Lists::default() || offered.subscribe || offered.tasks
        }
        // The revision before knew tasks of another kind.
        Method::TasksCancel | Method::TasksGet | Method::TasksUpdate => {
            offered.tasks && revision.has_extensions()
        }
        _ => true,
    }
}

impl Service for Server {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        // One snapshot from here to the end, whatever is swapped meanwhile.
        let snapshot = &*self.core.snapshot.load();
        if !has(&snapshot.face.offers, ask.method, ask.revision) {
            return self.not_offered(&ask, out);
        }
        match ask.method {
            Method::ToolsCall => calls::call(&self.core, snapshot, &ask, out),
            Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList => self.list(snapshot, &ask, out),
            Method::ResourcesRead => reads::read(&self.core, snapshot, &ask, out),
            Method::PromptsGet => reads::get(&self.core, snapshot, &ask, out),
            Method::Complete => suggest::complete(&self.core, snapshot, &ask, out),
            Method::Discover | Method::Initialize => {
                let hello = snapshot.face.hello(ask.revision);
                encode::result(out, ask.id, |out| out.extend_from_slice(hello));
                Turn::Done(Outcome::Result)
            }
            Method::Ping => empty_result(&ask, out),
            Method::SetLevel => set_level(&ask, out),
            Method::SubscriptionsListen => {
                subscriptions::listen((&self.core, &snapshot.face), &ask, out)
            }
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                subscriptions::subscribe((&self.core, &snapshot.face), &ask, out)
            }
            Method::TasksCancel | Method::TasksGet | Method::TasksUpdate => {
                task_calls::call((&self.core, &snapshot.face), &ask, out)
            }
            _ => self.not_offered(&ask, out),
        }
    }

    fn news(&self, session: &Arc<Session>) -> Option<Box<dyn Feed>> {
        subscriptions::news(&self.core, session)
    }
}

/// What clients are told that there is.
pub(crate) fn offers(kinds: Kinds, growth: Growth) -> Capabilities {
    let is_open = growth == Growth::OpenEnded;
    let (resources, prompts) = (kinds.resources || is_open, kinds.prompts || is_open);
    Capabilities {
        tools: true,
        resources,
        prompts,
        completions: kinds.completions || is_open,
        logging: true,
        list_changed: Lists {
            tools: growth >= Growth::Known,
            prompts: prompts && growth >= Growth::Known,
            resources: resources && growth >= Growth::Resources,
        },
        subscribe: resources && growth >= Growth::Contents,
        tasks: kinds.tasks || is_open,
        ui: kinds.ui,
    }
}

/// Takes one out of a part; `None` if it is not there.
fn less<T: Entry>(part: &mut Arc<Part<T>>, name: &str) -> Option<()> {
    *part = Arc::new(part.without(name)?);
    Some(())
}

fn empty_result(ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
    encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
    Turn::Done(Outcome::Result)
}

fn set_level(ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
    let raw = ask.message.params.raw.and_then(|params| member(params, "level"));
    match (log_level(raw.unwrap_or("null"), "params.level"), ask.session) {
        (Ok(level), Some(session)) => {
            session.set_level(level);
            empty_result(ask, out)
        }
        (Ok(_), None) => empty_result(ask, out),
        (Err(refusal), _) => refuse(out, ask.id, &refusal),
    }
}
