//! Every page of a list, written once for each revision when the registry changes. A request copies
//! bytes; nothing is serialised for it.

use haft_proto::encode;
use haft_proto::encode::fields::Caching;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::spec::implementation::Implementation;
use haft_proto::version::Revision;

/// The pages of one list.
pub(crate) struct ListCache {
    /// By revision, then by page.
    pages: [Vec<Vec<u8>>; Revision::ALL.len()],
    /// What the cursors of this list begin with: another list has other cursors.
    fingerprint: String,
}

impl ListCache {
    /// Writes the pages of `entries`, which stand under `key`; `entry` writes one.
    pub(crate) fn new<T>(
        key: &str,
        entries: &[&T],
        server: &Implementation,
        caching: Caching,
        page_entries: usize,
        entry: impl Fn(&mut Vec<u8>, Revision, &T),
    ) -> Self {
        let page_entries = page_entries.max(1);
        let mut written = format!("{key}{page_entries}").into_bytes();
        entries.iter().for_each(|one| entry(&mut written, Revision::LATEST, one));
        let fingerprint = fingerprint(&written);
        let pages = Revision::ALL.map(|revision| {
            let chunks: Vec<_> = match entries {
                [] => vec![entries],
                entries => entries.chunks(page_entries).collect(),
            };
            let last = chunks.len() - 1;
            let write = |(index, chunk): (usize, &&[&T])| {
                let next = (index < last).then(|| format!("{fingerprint}-{}", index + 1));
                let (next, listed) = (next.as_deref(), (key, *chunk));
                let mut page = Vec::new();
                let entry = |out: &mut Vec<u8>, revision, one: &&T| entry(out, revision, one);
                encode::list::page(&mut page, revision, server, caching, listed, next, entry);
                page.shrink_to_fit();
                page
            };
            chunks.iter().enumerate().map(write).collect()
        });
        Self { pages, fingerprint }
    }

    /// The result for a cursor, which is raw JSON as it came.
    pub(crate) fn page(&self, revision: Revision, cursor: Option<&str>) -> Result<&[u8], Refusal> {
        let pages = &self.pages[revision.index()];
        let index = match cursor {
            None => Some(0),
            Some(raw) => JsonStr::from_raw(raw).and_then(|cursor| {
                let cursor = cursor.decode();
                cursor.strip_prefix(&*self.fingerprint)?.strip_prefix('-')?.parse().ok()
            }),
        };
        index.and_then(|index: usize| pages.get(index)).map(Vec::as_slice).ok_or_else(|| {
            Refusal::new(
                Mistake::InvalidParams,
                "Invalid params: unknown `cursor`; list again from the start, without one",
            )
        })
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
