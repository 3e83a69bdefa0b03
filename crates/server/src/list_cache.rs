//! Every page of a list, written once for each revision: for the latest when the server is built,
//! for others and after a change when somebody asks, so that many changes in a row cost one list. A
//! page stands in memory as it is sent, to the end of the message; nothing is serialised for a
//! request, and where the wire can send it from there nothing is copied.

use crate::part::Entry;
use crate::text::text;
use haft_proto::encode;
use haft_proto::encode::list::Around;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::version::Revision;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What all lists of a server are written with.
pub(crate) struct Listing<'a> {
    pub(crate) around: Around<'a>,
    pub(crate) page_entries: usize,
}

/// The pages of one list. Its entries are the same whenever it is asked.
#[derive(Default)]
pub(crate) struct ListCache {
    /// By revision, then by page. Revisions that list the same share it.
    pages: [OnceLock<Arc<[Arc<str>]>>; Revision::ALL.len()],
    /// What the cursors of this list begin with: another list has other cursors.
    fingerprint: OnceLock<String>,
}

impl ListCache {
    /// A list with the pages of the latest revision, of which the entries become parts.
    pub(crate) fn written<T: Entry>(entries: &mut [T], listing: &Listing<'_>) -> Self {
        let list = Self::default();
        let mut ranges = Vec::with_capacity(entries.len());
        let pages = list.write(entries, listing, Revision::LATEST, |range| ranges.push(range));
        let chunks = entries.chunks_mut(listing.page_entries.max(1));
        let places = chunks
            .zip(&pages)
            .flat_map(|(chunk, page)| chunk.iter_mut().map(move |entry| (entry, page)));
        for ((entry, page), range) in places.zip(ranges) {
            entry.become_part(page, range);
        }
        list.pages[Revision::LATEST.index()].get_or_init(|| pages.into());
        list
    }

    /// Writes the pages of the latest revision, if they are not there.
    pub(crate) fn write_latest<T: Entry>(&self, entries: &[T], listing: &Listing<'_>) {
        self.pages(entries, listing, Revision::LATEST);
    }

    /// The result for a cursor, and the end of the message; the cursor is raw JSON as it came.
    pub(crate) fn page<T: Entry>(
        &self,
        entries: &[T],
        listing: &Listing<'_>,
        revision: Revision,
        cursor: Option<&str>,
    ) -> Result<&Arc<str>, Refusal> {
        let pages = self.pages(entries, listing, revision);
        let index = match cursor {
            None => Some(0),
            Some(raw) => JsonStr::from_raw(raw).and_then(|cursor| {
                let (cursor, fingerprint) = (cursor.decode(), self.fingerprint(entries, listing));
                cursor.strip_prefix(fingerprint)?.strip_prefix('-')?.parse().ok()
            }),
        };
        index.and_then(|index: usize| pages.get(index)).ok_or_else(|| {
            Refusal::new(
                Mistake::InvalidParams,
                "Invalid params: unknown `cursor`; list again from the start, without one",
            )
        })
    }

    fn pages<T: Entry>(
        &self,
        entries: &[T],
        listing: &Listing<'_>,
        revision: Revision,
    ) -> &[Arc<str>] {
        self.pages[revision.index()].get_or_init(|| {
            let pages = self.write(entries, listing, revision, |_| ());
            let mut others = self.pages.iter().filter_map(OnceLock::get);
            others.find(|other| ***other == pages).cloned().unwrap_or_else(|| pages.into())
        })
    }

    /// The pages, and where in its page each entry stands.
    fn write<T: Entry>(
        &self,
        entries: &[T],
        listing: &Listing<'_>,
        revision: Revision,
        mut stands: impl FnMut(Range<usize>),
    ) -> Vec<Arc<str>> {
        let chunks: Vec<_> = match entries {
            [] => vec![entries],
            entries => entries.chunks(listing.page_entries.max(1)).collect(),
        };
        let last = chunks.len() - 1;
        let mut page = Vec::new();
        let write = |(index, chunk): (usize, &&[T])| {
            let fingerprint = || self.fingerprint(entries, listing);
            let next = (index < last).then(|| format!("{}-{}", fingerprint(), index + 1));
            let (next, listed) = (next.as_deref(), (T::KEY, *chunk));
            let entry = |out: &mut Vec<u8>, revision, one: &T| {
                let start = out.len();
                one.write(out, revision);
                stands(start..out.len());
            };
            page.clear();
            encode::list::page(&mut page, revision, listing.around, listed, next, entry);
            page.push(encode::END_OF_RESULT);
            text(&page).into()
        };
        chunks.iter().enumerate().map(write).collect()
    }

    fn fingerprint<T: Entry>(&self, entries: &[T], listing: &Listing<'_>) -> &str {
        self.fingerprint.get_or_init(|| {
            let mut written = format!("{}{}", T::KEY, listing.page_entries.max(1)).into_bytes();
            entries.iter().for_each(|one| one.write(&mut written, Revision::LATEST));
            fingerprint(&written)
        })
    }

    #[cfg(test)]
    pub(crate) fn is_written(&self, revision: Revision) -> bool {
        self.pages[revision.index()].get().is_some()
    }
}

/// The same for the same pages on every machine, so that replicas know each other's cursors.
/// FNV-1a: nothing is protected by it, and its value never changes between machines or releases.
fn fingerprint(written: &[u8]) -> String {
    let hash = written.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
