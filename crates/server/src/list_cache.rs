//! Every page of `tools/list`, written once for each revision when the registry changes. A request
//! copies bytes; nothing is serialised for it.

use haft_proto::encode::{self, Caching};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::spec::implementation::Implementation;
use haft_proto::spec::tool::Tool;
use haft_proto::version::Revision;

/// The pages of one list.
pub(crate) struct ListCache {
    /// By revision, then by page.
    pages: [Vec<Vec<u8>>; Revision::ALL.len()],
    /// What the cursors of this list begin with: another list has other cursors.
    fingerprint: String,
}

impl ListCache {
    pub(crate) fn new(
        tools: &[&Tool],
        server: &Implementation,
        caching: Caching,
        page_entries: usize,
    ) -> Self {
        let page_entries = page_entries.max(1);
        let fingerprint = fingerprint(tools, page_entries);
        let pages = Revision::ALL.map(|revision| {
            let chunks: Vec<_> =
                if tools.is_empty() { vec![tools] } else { tools.chunks(page_entries).collect() };
            let last = chunks.len() - 1;
            let write = |(index, chunk): (usize, &&[&Tool])| {
                let next = (index < last).then(|| format!("{fingerprint}-{}", index + 1));
                let entries = chunk.iter().copied();
                let mut page = Vec::new();
                encode::tools_page(&mut page, revision, server, entries, next.as_deref(), caching);
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
fn fingerprint(tools: &[&Tool], page_entries: usize) -> String {
    let mut written = page_entries.to_string().into_bytes();
    for tool in tools {
        encode::tool(&mut written, Revision::LATEST, tool);
    }
    let hash = written.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
