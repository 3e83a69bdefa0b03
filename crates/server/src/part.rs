//! Everything of one kind that a server offers, with its list, and found by its names without a
//! lock. Put together by `registry`; never changed, but made anew with what stays.

use crate::aliases::Aliases;
use crate::builder::BuildError;
use crate::list_cache::{ListCache, Listing};
use crate::names::Names;
use haft_proto::error::Refusal;
use haft_proto::version::Revision;
use std::ops::Range;
use std::sync::Arc;

/// One of many in a list.
pub(crate) trait Entry {
    /// Two what there are, should a name be there twice.
    const KIND: &'static str;
    /// Under which key they are listed.
    const KEY: &'static str;

    /// Its name or address: there is one of each.
    fn name(&self) -> &str;

    /// What it can be called by as well, by those who say a name that clients are not told.
    fn also(&self) -> Option<&str> {
        None
    }

    /// Appends it as a list has it.
    fn write(&self, out: &mut Vec<u8>, revision: Revision);

    /// It stands there, in the page of a list of the latest revision: it need not keep what it says
    /// a second time.
    fn become_part(&mut self, _page: &Arc<str>, _range: Range<usize>) {}
}

impl<T: Entry> Entry for Arc<T> {
    const KIND: &'static str = T::KIND;
    const KEY: &'static str = T::KEY;

    fn name(&self) -> &str {
        (**self).name()
    }

    fn also(&self) -> Option<&str> {
        (**self).also()
    }

    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        (**self).write(out, revision);
    }
}

/// Everything of one kind, with its list.
pub(crate) struct Part<T> {
    entries: Vec<Arc<T>>,
    names: Names,
    aliases: Aliases,
    list: ListCache,
}

impl<T: Entry> Part<T> {
    /// All of these.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`].
    pub(crate) fn new(mut entries: Vec<Arc<T>>) -> Result<Self, BuildError> {
        // They may stand where larger things stood before.
        entries.shrink_to_fit();
        let names = names_of(&entries)?;
        Ok(Self::of(entries, names, ListCache::default()))
    }

    fn of(entries: Vec<Arc<T>>, names: Names, list: ListCache) -> Self {
        let aliases = Aliases::of(&entries, Entry::also);
        Self { entries, names, aliases, list }
    }

    /// All of these, whose names are known, with the list of the latest revision.
    pub(crate) fn listed(mut entries: Vec<T>, names: Names, listing: &Listing<'_>) -> Self {
        let list = ListCache::written(&mut entries, listing);
        let mut entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
        // They stand where larger things stood before.
        entries.shrink_to_fit();
        Self::of(entries, names, list)
    }

    /// The same with one more, or with one in place of that of its name.
    pub(crate) fn with(&self, new: Arc<T>) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + 1);
        entries.extend(self.entries.iter().cloned());
        let mut names = self.names.clone();
        match self.place(new.name()) {
            Some(place) => entries[place] = new,
            None => {
                entries.push(Arc::clone(&new));
                names.push(new.name(), |place| entries[place].name());
            }
        }
        Self::of(entries, names, ListCache::default())
    }

    /// The same without one; `None` if it is not there.
    pub(crate) fn without(&self, name: &str) -> Option<Self> {
        let gone = self.place(name)?;
        let mut entries = self.entries.clone();
        entries.remove(gone);
        let names = names_of(&entries).expect("they are some of those before");
        Some(Self::of(entries, names, ListCache::default()))
    }

    #[inline]
    fn place(&self, name: &str) -> Option<usize> {
        self.names.find(name, |place| self.entries[place].name())
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<T>> {
        self.place(name).map(|place| &self.entries[place])
    }

    /// By what it can be called as well.
    pub(crate) fn find_also(&self, name: &str) -> Option<&Arc<T>> {
        let place = self.aliases.find(&self.entries, Entry::also, name);
        place.map(|place| &self.entries[place])
    }

    pub(crate) fn at(&self, place: usize) -> Option<&Arc<T>> {
        self.entries.get(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.iter()
    }

    /// Whether clients that list one and the other see the same.
    pub(crate) fn lists_as(&self, other: &Self) -> bool {
        let written = |one: &T| {
            let mut written = Vec::new();
            one.write(&mut written, Revision::LATEST);
            written
        };
        let mut both = self.entries.iter().zip(&other.entries);
        self.entries.len() == other.entries.len()
            && both.all(|(one, other)| Arc::ptr_eq(one, other) || written(one) == written(other))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the list of the latest revision now, so that no request has to.
    pub(crate) fn write_list(&self, listing: &Listing<'_>) {
        self.list.write_latest(&self.entries, listing);
    }

    /// A page of its list, for a cursor as raw JSON.
    pub(crate) fn page(
        &self,
        listing: &Listing<'_>,
        revision: Revision,
        cursor: Option<&str>,
    ) -> Result<&Arc<str>, Refusal> {
        self.list.page(&self.entries, listing, revision, cursor)
    }
}

/// The table of their names.
pub(crate) fn names_of<T: Entry>(entries: &[T]) -> Result<Names, BuildError> {
    let duplicate = |name| BuildError::Duplicate { kind: T::KIND, name };
    Names::of(entries, Entry::name).map_err(duplicate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler;
    use crate::registry::tool;
    use crate::state::States;
    use crate::tool::{Registered, Tool};
    use haft_proto::encode::fields::Caching;
    use haft_proto::encode::list::Around;
    use haft_proto::limits::Limits;
    use haft_proto::spec::implementation::Implementation;

    fn registered(name: &str) -> Arc<Registered> {
        let work = handler::function(|_: serde::de::IgnoredAny| "done");
        tool(Tool::new(name, work), &Limits::default(), &States::default()).expect("a tool")
    }

    #[test]
    fn what_stays_is_shared_and_not_made_again() {
        let before = Part::new(["a", "b", "c"].map(registered).to_vec()).expect("three names");
        let after = before.with(registered("d")).without("b").expect("it was there");
        let names: Vec<_> = after.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        for name in ["a", "c"] {
            let (old, new) = (before.find(name).expect("here"), after.find(name).expect("there"));
            assert!(Arc::ptr_eq(old, new), "{name}");
        }
        assert_eq!(after.find("d").map(|tool| tool.name()), Some("d"));
        assert!(after.find("b").is_none() && after.without("b").is_none());
        let replaced = after.with(registered("c"));
        assert_eq!(replaced.iter().count(), 3);
        assert!(!Arc::ptr_eq(&replaced.entries[1], &after.entries[1]));
    }

    #[test]
    fn another_name_leads_to_a_tool_for_as_long_as_it_is_there() {
        let work = || handler::function(|_: serde::de::IgnoredAny| "done");
        let told = Tool::new("read.file", work()).told_as("read_file");
        let told = tool(told, &Limits::default(), &States::default()).expect("a tool");
        let part =
            Part::new(vec![registered("a")]).expect("one name").with(told).with(registered("b"));
        let found = part.find_also("read.file").expect("it is called so too");
        assert_eq!(found.name(), "read_file");
        assert!(part.find("read.file").is_none() && part.find_also("read_file").is_none());
        let less = part.without("a").expect("it was there");
        assert_eq!(less.find_also("read.file").map(|tool| tool.name()), Some("read_file"));
        assert!(less.without("read_file").expect("it was there").find_also("read.file").is_none());
    }

    #[test]
    fn a_list_is_written_when_it_is_asked_for() {
        let server = Implementation::default();
        let around = Around { server: &server, caching: Caching::default(), meta: None };
        let listing = Listing { around, page_entries: 9 };
        let part = Part::new(vec![registered("a")]).expect("one name");
        let page = part.page(&listing, Revision::LATEST, None).expect("the first");
        let again = part.page(&listing, Revision::LATEST, None).expect("the same");
        assert!(Arc::ptr_eq(page, again), "written once");
        assert!(part.list.is_written(Revision::LATEST));
        assert!(!part.list.is_written(Revision::V2024_11_05), "nobody has asked");
    }
}
