//! What clients are told without asking each time: `subscriptions/listen` in the modern era,
//! `resources/subscribe` and the standing stream of a session in the legacy one. Both read from the
//! bus of `changes` as fast as their client does, and write each message when it is fetched.

use crate::calls::refuse;
use crate::changes::{Change, Watch};
use crate::core::Core;
use crate::face::Face;
use crate::schema::wording::one_line;
use crate::task_calls::{takes_tasks, wished_for};
use crate::tasks::Running;
use haft_proto::encode;
use haft_proto::encode::notice::{self, Wishes};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::method::Method;
use haft_proto::service::{Ask, Feed, Outcome, Turn};
use haft_proto::session::Session;
use haft_proto::spec::implementation::Lists;
use haft_proto::version::Revision;
use serde::Deserialize;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Answers `subscriptions/listen`.
pub(crate) fn listen(
    (core, face): (&Arc<Core>, &Arc<Face>),
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let (wishes, tasks) = match wishes((core, face), ask) {
        Ok(read) => read,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    // From here on nothing is missed; it is told after the acknowledgement.
    let watch = core.changes.watch(&wishes);
    // A task that ended before it was watched has no more news than that.
    for task in tasks.iter().filter(|task| task.is_over()) {
        core.changes.publish(Change::Task(Arc::clone(task.id())));
    }
    let (core, face, id) = (Arc::clone(core), Arc::clone(face), ask.id.raw().into());
    Turn::Stream(Box::new(Listening { core, face, watch, tasks, id, unsaid: Some(wishes) }))
}

/// Tasks that are watched.
type Tasks = Vec<Arc<Running>>;

/// What a client asks for, as far as this server has it.
fn wishes(
    (core, face): (&Core, &Face),
    ask: &Ask<'_>,
) -> Result<(Wishes<Arc<str>>, Tasks), Refusal> {
    #[derive(Deserialize)]
    struct Params {
        notifications: Written,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        #[serde(default, deserialize_with = "or_null")]
        tools_list_changed: bool,
        #[serde(default, deserialize_with = "or_null")]
        prompts_list_changed: bool,
        #[serde(default, deserialize_with = "or_null")]
        resources_list_changed: bool,
        #[serde(default, deserialize_with = "or_null")]
        resource_subscriptions: Vec<Arc<str>>,
        #[serde(default, deserialize_with = "or_null")]
        task_ids: Vec<Arc<str>>,
    }
    let invalid = |message: String| Refusal::new(Mistake::InvalidParams, message);
    let params: Params = serde_json::from_str(ask.message.params.raw.unwrap_or("{}"))
        .map_err(|error| invalid(format!("Invalid params: {}", one_line(&error.to_string()))))?;
    let written = params.notifications;
    if wished_for(ask) {
        takes_tasks(ask)?;
    }
    let limits = &core.limits;
    let watched = || written.resource_subscriptions.iter().chain(&written.task_ids);
    let bytes = watched().map(|name| name.len()).sum::<usize>();
    if watched().count() > limits.watched || bytes > limits.watched_bytes {
        return Err(invalid(format!(
            "Invalid params: a subscription watches at most {} resources and tasks, with {} bytes \
             of addresses in all",
            limits.watched, limits.watched_bytes
        )));
    }
    if watched().any(|name| name.len() > limits.uri_bytes) {
        let limit = limits.uri_bytes;
        return Err(invalid(format!("Invalid params: an address has at most {limit} bytes")));
    }
    let offers = &face.offers;
    let lists = offers.list_changed;
    let tasks = core.tasks.running_of(&written.task_ids, ask.principal);
    let wishes = Wishes {
        tools: written.tools_list_changed && lists.tools,
        prompts: written.prompts_list_changed && lists.prompts,
        resources: written.resources_list_changed && lists.resources,
        uris: if offers.subscribe { written.resource_subscriptions } else { Vec::new() },
        tasks: tasks.iter().map(|task| Arc::clone(task.id())).collect(),
    };
    Ok((wishes, tasks))
}

/// One modern subscription.
struct Listening {
    core: Arc<Core>,
    face: Arc<Face>,
    watch: Watch,
    /// Those that it watches; what they came to is told even once they are over, and then let go.
    tasks: Tasks,
    /// Raw JSON.
    id: Box<str>,
    /// What is to be acknowledged.
    unsaid: Option<Wishes<Arc<str>>>,
}

impl Feed for Listening {
    fn poll_next(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        if let Some(wishes) = self.unsaid.take() {
            notice::listen_acknowledged(out, &self.id, &wishes);
            return Poll::Ready(true);
        }
        loop {
            let Poll::Ready(change) = self.watch.poll_next(cx) else { return Poll::Pending };
            match &change {
                Change::Task(id) if !self.write_task(id, out) => continue,
                Change::Task(_) => {}
                change => write(out, change, Some(&self.id)),
            }
            return Poll::Ready(true);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> bool {
        notice::listen_ended(out, &self.id, &self.face.info);
        true
    }
}

impl Listening {
    /// Whether there is something to say: the end of a task is told once.
    fn write_task(&mut self, id: &Arc<str>, out: &mut Vec<u8>) -> bool {
        let Some(at) = self.tasks.iter().position(|task| task.id() == id) else { return false };
        let was_over = self.tasks[at].is_over();
        self.tasks[at].with_task(self.core.tasks.poll_interval(), |task| {
            encode::task::changed(out, Revision::LATEST, task, &self.id);
        });
        if was_over {
            // Nobody needs its result here any more.
            self.tasks.swap_remove(at);
        }
        true
    }
}

fn write(out: &mut Vec<u8>, change: &Change, subscription: Option<&str>) {
    let (method, uri) = match change {
        Change::Prompts => (Method::PromptsChanged, None),
        Change::Resources => (Method::ResourcesChanged, None),
        Change::Tools => (Method::ToolsChanged, None),
        Change::Resource(uri) => (Method::ResourceUpdated, Some(&**uri)),
        Change::Task(_) => return,
    };
    notice::change(out, method, uri, subscription);
}

/// What a legacy session is told.
struct News(Arc<Watch>);

impl Feed for News {
    fn poll_next(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        self.0.poll_next(cx).map(|change| {
            write(out, &change, None);
            true
        })
    }
}

/// The stream of a session, if there will ever be something on it.
pub(crate) fn news(core: &Arc<Core>, session: &Session) -> Option<Box<dyn Feed>> {
    let face = core.face();
    let can_change = face.offers.list_changed != Lists::default() || face.offers.subscribe;
    let watch = watch_of((core, &face), session).filter(|_| can_change)?;
    Some(Box::new(News(Arc::clone(watch))))
}

/// A session is told of all lists, and of the resources that it subscribes to.
fn watch_of<'s>((core, face): (&Core, &Face), session: &'s Session) -> Option<&'s Arc<Watch>> {
    let Lists { tools, prompts, resources } = face.offers.list_changed;
    let wishes = Wishes { tools, prompts, resources, ..Wishes::default() };
    session.keep(|| Arc::new(core.changes.watch(&wishes)))
}

/// Answers `resources/subscribe` and `resources/unsubscribe`.
pub(crate) fn subscribe((core, face): (&Core, &Face), ask: &Ask<'_>, out: &mut Vec<u8>) -> Turn {
    let limits = &core.limits;
    let uri = ask.message.params.uri.and_then(JsonStr::from_raw).map(JsonStr::decode);
    let uri = uri.filter(|uri| uri.len() <= limits.uri_bytes);
    let Some(session) = ask.session else {
        let message = "Invalid request: this server keeps no sessions, so nothing can be told of \
                       changes; read the resource again";
        return refuse(out, ask.id, &Refusal::new(Mistake::InvalidRequest, message));
    };
    let (Some(uri), Some(watch)) = (uri, watch_of((core, face), session)) else {
        let limit = limits.uri_bytes;
        let message =
            format!("Invalid params: `params.uri` must be a string of at most {limit} bytes");
        return refuse(out, ask.id, &Refusal::new(Mistake::InvalidParams, message));
    };
    if ask.method == Method::ResourcesUnsubscribe {
        watch.remove_resource(&uri);
    } else if !watch.add_resource(&uri, limits) {
        let limit = limits.watched;
        let message = format!("Invalid params: a session watches at most {limit} resources");
        return refuse(out, ask.id, &Refusal::new(Mistake::InvalidParams, message));
    }
    encode::result(out, ask.id, |out| out.extend_from_slice(b"{}"));
    Turn::Done(Outcome::Result)
}

/// A member that may be left out, or `null` for the same.
fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
