//! Who wants to know what has changed, and what they have not been told yet. One bus for the whole
//! server: a change marks its watchers and wakes them; what is marked already is not marked again,
//! so that whoever never listens costs the same as whoever does. Writes no message.

use haft_proto::encode::notice::Wishes;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

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

/// The bus.
#[derive(Default)]
pub(crate) struct Changes {
    index: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    watchers: HashMap<u64, Arc<Watcher>>,
    by_topic: HashMap<Topic, Vec<u64>>,
    last_id: u64,
}

/// A single thing that can be watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Topic {
    Resource(Arc<str>),
    Task(Arc<str>),
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
            id
        };
        let watch = Watch { bus: Arc::clone(self), id, watcher };
        wishes.uris.iter().for_each(|uri| watch.add(Topic::Resource(Arc::clone(uri))));
        wishes.tasks.iter().for_each(|task| watch.add(Topic::Task(Arc::clone(task))));
        watch
    }

    /// Marks everybody who watches this.
    pub(crate) fn publish(&self, change: Change) {
        let index = self.lock();
        let topic = match change {
            Change::Prompts => return index.mark_lists(|lists| &mut lists.prompts),
            Change::Resources => return index.mark_lists(|lists| &mut lists.resources),
            Change::Tools => return index.mark_lists(|lists| &mut lists.tools),
            Change::Resource(uri) => Topic::Resource(uri),
            Change::Task(id) => Topic::Task(id),
        };
        let watching = index.by_topic.get(&topic).into_iter().flatten();
        for watcher in watching.filter_map(|id| index.watchers.get(id)) {
            let mut marks = watcher.lock();
            if let Some(is_changed) = marks.topics.get_mut(&topic) {
                *is_changed = true;
                marks.wake();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn mark_lists(&self, list: impl Fn(&mut Lists) -> &mut bool) {
        for watcher in self.watchers.values() {
            let mut marks = watcher.lock();
            let is_new = *list(&mut marks.wants) && !*list(&mut marks.changed);
            if is_new {
                *list(&mut marks.changed) = true;
                marks.wake();
            }
        }
    }
}

impl Watcher {
    fn lock(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Marks {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn take(&mut self) -> Option<Change> {
        for (is_changed, change) in [
            (&mut self.changed.tools, Change::Tools),
            (&mut self.changed.prompts, Change::Prompts),
            (&mut self.changed.resources, Change::Resources),
        ] {
            if std::mem::take(is_changed) {
                return Some(change);
            }
        }
        let (topic, is_changed) = self.topics.iter_mut().find(|(_, is_changed)| **is_changed)?;
        *is_changed = false;
        Some(match topic {
            Topic::Resource(uri) => Change::Resource(Arc::clone(uri)),
            Topic::Task(id) => Change::Task(Arc::clone(id)),
        })
    }
}

impl Watch {
    /// Watches one more resource; false if there are that many already.
    pub(crate) fn add_resource(&self, uri: &str, limit: usize) -> bool {
        let topic = Topic::Resource(uri.into());
        let is_full = {
            let marks = self.watcher.lock();
            marks.topics.len() >= limit && !marks.topics.contains_key(&topic)
        };
        if !is_full {
            self.add(topic);
        }
        !is_full
    }

    /// Watches a resource no more.
    pub(crate) fn remove_resource(&self, uri: &str) {
        let topic = Topic::Resource(uri.into());
        if self.watcher.lock().topics.remove(&topic).is_some() {
            forget(&mut self.bus.lock(), &topic, self.id);
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

    fn add(&self, topic: Topic) {
        let mut index = self.bus.lock();
        if self.watcher.lock().topics.insert(topic.clone(), false).is_none() {
            index.by_topic.entry(topic).or_default().push(self.id);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut index = self.bus.lock();
        index.watchers.remove(&self.id);
        for topic in self.watcher.lock().topics.keys() {
            forget(&mut index, topic, self.id);
        }
    }
}

fn forget(index: &mut Index, topic: &Topic, id: u64) {
    if let Some(watching) = index.by_topic.get_mut(topic) {
        watching.retain(|known| *known != id);
        if watching.is_empty() {
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
    fn whoever_has_gone_leaves_nothing_behind() {
        let bus = Arc::new(Changes::default());
        let watch = bus.watch(&Wishes::default());
        assert!(watch.add_resource("a:1", 1) && watch.add_resource("a:1", 1));
        assert!(!watch.add_resource("a:2", 1));
        watch.remove_resource("a:1");
        assert!(watch.add_resource("a:2", 1));
        drop(watch);
        let index = bus.lock();
        assert!(index.watchers.is_empty() && index.by_topic.is_empty());
    }
}
