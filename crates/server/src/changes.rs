//! Who wants to know what has changed, and what they have not been told yet. One bus for the whole
//! server: a change marks its watchers and wakes them; what is marked already is not marked again,
//! so that whoever never listens costs the same as whoever does. Writes no message.

use haft_proto::encode::notice::Wishes;
use haft_proto::limits::Limits;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;
use tokio::sync::{Notify, watch};

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Prompts,
    /// One resource.
    Resource(Arc<str>),
    /// The list of resources or of templates.
    Resources,
    Task(Arc<str>),
    Tools,
}

/// What clients listen for, so that nobody looks for changes that nobody hears of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// The addresses of the resources that somebody is subscribed to, and since when somebody is
    /// without a break. Clients choose them: there need be nothing at any of them.
    pub resources: BTreeMap<Arc<str>, SystemTime>,
    /// Whether somebody listens to changes of the lists of resources.
    pub resource_lists: bool,
}

/// The bus.
#[derive(Default)]
pub(crate) struct Changes {
    index: Mutex<Index>,
    /// Told when the interest changes.
    interest: Arc<Notify>,
    /// And this, for any number of those who wait.
    interests: watch::Sender<()>,
}

/// Who watches what. Trees, because a table keeps the room that its most crowded hour took.
#[derive(Default)]
struct Index {
    watchers: BTreeMap<u64, Arc<Watcher>>,
    by_topic: BTreeMap<Topic, Watched>,
    last_id: u64,
    /// How many watchers listen to the lists of resources.
    resource_lists: usize,
}

/// By whom a topic is watched, and since when.
struct Watched {
    since: SystemTime,
    by: BTreeSet<u64>,
}

impl Default for Watched {
    fn default() -> Self {
        Self { since: SystemTime::now(), by: BTreeSet::new() }
    }
}

/// A single thing that can be watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Topic {
    Resource(Arc<str>),
    Task(Arc<str>),
}

impl Topic {
    fn bytes(&self) -> usize {
        let (Self::Resource(name) | Self::Task(name)) = self;
        name.len()
    }
}

/// What one client watches, and which of it has changed.
#[derive(Default)]
struct Watcher {
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Marks {
    wants: Lists,
    changed: Lists,
    /// Each topic that is watched, and whether it has changed.
    topics: BTreeMap<Topic, bool>,
    /// What has changed, in the order in which it is told: what changes often comes again after
    /// what has waited.
    queue: VecDeque<Change>,
    waker: Option<Waker>,
}

/// Lists that change as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lists {
    prompts: bool,
    resources: bool,
    tools: bool,
}

/// A client's place on the bus; it ends when this is dropped.
pub(crate) struct Watch {
    bus: Arc<Changes>,
    id: u64,
    watcher: Arc<Watcher>,
}

impl Changes {
    /// Begins to watch.
    pub(crate) fn watch(self: &Arc<Self>, wishes: &Wishes<Arc<str>>) -> Watch {
        let wants =
            Lists { prompts: wishes.prompts, resources: wishes.resources, tools: wishes.tools };
        let marks = Marks { wants, ..Marks::default() };
        let watcher = Arc::new(Watcher { marks: Mutex::new(marks) });
        let id = {
            let mut index = self.lock();
            index.last_id += 1;
            let id = index.last_id;
            index.watchers.insert(id, Arc::clone(&watcher));
            index.resource_lists += usize::from(wants.resources);
            id
        };
        let watch = Watch { bus: Arc::clone(self), id, watcher };
        let uris = wishes.uris.iter().map(|uri| Topic::Resource(Arc::clone(uri)));
        let topics = uris.chain(wishes.tasks.iter().map(|task| Topic::Task(Arc::clone(task))));
        {
            let mut index = self.lock();
            topics.for_each(|topic| watch.add(&mut index, topic));
        }
        self.tell_interest();
        watch
    }

    /// Marks everybody who watches this.
    pub(crate) fn publish(&self, change: Change) {
        let index = self.lock();
        let wakers: Vec<Waker> = match change.topic() {
            None => {
                let watchers = index.watchers.values();
                watchers.filter_map(|watcher| watcher.lock().mark(&change)).collect()
            }
            Some(topic) => {
                let watching = index.by_topic.get(&topic).into_iter().flat_map(|topic| &topic.by);
                let watchers = watching.filter_map(|id| index.watchers.get(id));
                watchers.filter_map(|watcher| watcher.lock().mark(&change)).collect()
            }
        };
        // Whoever is woken may be dropped by it, which needs the index.
        drop(index);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// What is listened for now.
    pub(crate) fn interest(&self) -> Interest {
        let index = self.lock();
        let resource = |(topic, watched): (&Topic, &Watched)| match topic {
            Topic::Resource(uri) => Some((Arc::clone(uri), watched.since)),
            Topic::Task(_) => None,
        };
        Interest {
            resources: index.by_topic.iter().filter_map(resource).collect(),
            resource_lists: index.resource_lists > 0,
        }
    }

    /// Told whenever that may have changed, whoever else is.
    pub(crate) fn interests(&self) -> watch::Receiver<()> {
        self.interests.subscribe()
    }

    fn tell_interest(&self) {
        self.interest.notify_one();
        self.interests.send_replace(());
    }

    /// Told whenever that may have changed.
    pub(crate) fn interest_changes(&self) -> Arc<Notify> {
        Arc::clone(&self.interest)
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    /// The single thing that changed; `None` for a list.
    fn topic(&self) -> Option<Topic> {
        match self {
            Self::Resource(uri) => Some(Topic::Resource(Arc::clone(uri))),
            Self::Task(id) => Some(Topic::Task(Arc::clone(id))),
            Self::Prompts | Self::Resources | Self::Tools => None,
        }
    }
}

impl Watcher {
    fn lock(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Marks {
    /// Whether a change has been marked, where it is watched.
    fn flag(&mut self, change: &Change) -> Option<&mut bool> {
        let (wants, changed) = (self.wants, &mut self.changed);
        match change {
            Change::Prompts => Some(&mut changed.prompts).filter(|_| wants.prompts),
            Change::Resources => Some(&mut changed.resources).filter(|_| wants.resources),
            Change::Tools => Some(&mut changed.tools).filter(|_| wants.tools),
            single => self.topics.get_mut(&single.topic()?),
        }
    }

    /// Marks what is watched and not marked yet, and says whom to wake.
    fn mark(&mut self, change: &Change) -> Option<Waker> {
        if std::mem::replace(self.flag(change)?, true) {
            return None;
        }
        self.queue.push_back(change.clone());
        self.waker.take()
    }

    fn take(&mut self) -> Option<Change> {
        let change = self.queue.pop_front()?;
        if let Some(is_changed) = self.flag(&change) {
            *is_changed = false;
        }
        Some(change)
    }
}

impl Watch {
    /// Watches one more resource; false if there are that many already.
    pub(crate) fn add_resource(&self, uri: &str, limits: &Limits) -> bool {
        let topic = Topic::Resource(uri.into());
        // Held from the question to the deed: requests of one client run at the same time.
        let mut index = self.bus.lock();
        let is_full = {
            let marks = self.watcher.lock();
            let bytes = marks.topics.keys().map(Topic::bytes).sum::<usize>() + uri.len();
            let is_full = marks.topics.len() >= limits.watched || bytes > limits.watched_bytes;
            is_full && !marks.topics.contains_key(&topic)
        };
        if !is_full {
            self.add(&mut index, topic);
            self.bus.tell_interest();
        }
        !is_full
    }

    /// Watches a resource no more.
    pub(crate) fn remove_resource(&self, uri: &str) {
        let topic = Topic::Resource(uri.into());
        let mut index = self.bus.lock();
        let mut marks = self.watcher.lock();
        if marks.topics.remove(&topic).is_some() {
            marks.queue.retain(|change| change.topic().as_ref() != Some(&topic));
            forget(&mut index, &topic, self.id);
            self.bus.tell_interest();
        }
    }

    /// The next change, once there is one.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Change> {
        let mut marks = self.watcher.lock();
        match marks.take() {
            Some(change) => Poll::Ready(change),
            None => {
                marks.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn add(&self, index: &mut Index, topic: Topic) {
        // What is watched already may have a mark, and its place in the queue.
        self.watcher.lock().topics.entry(topic.clone()).or_insert(false);
        index.by_topic.entry(topic).or_default().by.insert(self.id);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut index = self.bus.lock();
        index.watchers.remove(&self.id);
        let marks = self.watcher.lock();
        index.resource_lists -= usize::from(marks.wants.resources);
        for topic in marks.topics.keys() {
            forget(&mut index, topic, self.id);
        }
        self.bus.tell_interest();
    }
}

fn forget(index: &mut Index, topic: &Topic, id: u64) {
    if let Some(watching) = index.by_topic.get_mut(topic) {
        watching.by.remove(&id);
        if watching.by.is_empty() {
            index.by_topic.remove(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(watch: &Watch) -> Option<Change> {
        match watch.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(change) => Some(change),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_changes_often_is_told_once() {
        let bus = Arc::new(Changes::default());
        let wishes = Wishes { tools: true, uris: vec!["a:1".into()], ..Wishes::default() };
        let watch = bus.watch(&wishes);
        for _ in 0..1000 {
            bus.publish(Change::Tools);
            bus.publish(Change::Prompts);
            bus.publish(Change::Resource("a:1".into()));
            bus.publish(Change::Resource("a:2".into()));
        }
        assert_eq!(next(&watch), Some(Change::Tools));
        assert_eq!(next(&watch), Some(Change::Resource("a:1".into())));
        assert_eq!(next(&watch), None);
    }

    #[test]
    fn what_changes_all_the_time_keeps_nothing_else_waiting() {
        let bus = Arc::new(Changes::default());
        let uris = vec!["a:1".into(), "a:2".into()];
        let watch = bus.watch(&Wishes { tools: true, uris, ..Wishes::default() });
        bus.publish(Change::Resource("a:2".into()));
        let mut told = Vec::new();
        for _ in 0..3 {
            bus.publish(Change::Tools);
            bus.publish(Change::Resource("a:1".into()));
            told.extend(next(&watch));
        }
        assert_eq!(told[0], Change::Resource("a:2".into()));
        assert!(told.contains(&Change::Tools) && told.contains(&Change::Resource("a:1".into())));
        watch.remove_resource("a:1");
        assert_eq!((next(&watch), next(&watch)), (Some(Change::Tools), None));
    }

    #[test]
    fn whoever_subscribes_again_and_again_and_never_reads_is_told_once() {
        let bus = Arc::new(Changes::default());
        let watch = bus.watch(&Wishes::default());
        for _ in 0..100 {
            assert!(watch.add_resource("a:1", &Limits::default()));
            bus.publish(Change::Resource("a:1".into()));
        }
        assert_eq!(watch.watcher.lock().queue.len(), 1);
        assert_eq!(next(&watch), Some(Change::Resource("a:1".into())));
        assert_eq!(next(&watch), None);
    }

    #[test]
    fn whoever_has_gone_leaves_nothing_behind() {
        let bus = Arc::new(Changes::default());
        let watch = bus.watch(&Wishes::default());
        let one = Limits { watched: 1, ..Limits::default() };
        assert!(watch.add_resource("a:1", &one) && watch.add_resource("a:1", &one));
        assert!(!watch.add_resource("a:2", &one));
        watch.remove_resource("a:1");
        assert!(watch.add_resource("a:2", &one));
        drop(watch);
        let index = bus.lock();
        assert!(index.watchers.is_empty() && index.by_topic.is_empty());
        assert_eq!(index.resource_lists, 0);
    }

    #[tokio::test]
    async fn what_is_listened_for_is_known_while_somebody_listens() {
        let bus = Arc::new(Changes::default());
        assert_eq!(bus.interest(), Interest::default());
        let wishes = Wishes { resources: true, uris: vec!["a:1".into()], ..Wishes::default() };
        let (one, two) = (bus.watch(&wishes), bus.watch(&wishes));
        bus.interest_changes().notified().await;
        let both = bus.interest();
        assert!(both.resource_lists && both.resources.keys().eq([&Arc::from("a:1")]));
        drop(one);
        // Somebody still is, since then.
        assert_eq!(bus.interest(), both);
        two.remove_resource("a:1");
        bus.interest_changes().notified().await;
        assert_eq!(bus.interest(), Interest { resources: BTreeMap::new(), resource_lists: true });
        drop(two);
        bus.interest_changes().notified().await;
        assert_eq!(bus.interest(), Interest::default());
    }
}
