//! What a server says of itself: who it is, what it offers, and the bytes that say so, written once
//! for each revision. A part of every snapshot, so that a request sees one face from its beginning
//! to its end. Made by `dispatch` and `replace`; answers nothing.

use crate::list_cache::Listing;
use haft_proto::encode;
use haft_proto::encode::fields::Caching;
use haft_proto::encode::list::Around;
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::spec::Meta;
use haft_proto::spec::implementation::{Capabilities, Implementation};
use haft_proto::version::Revision;
use std::sync::Arc;

/// See above.
pub(crate) struct Face {
    pub(crate) info: Implementation,
    pub(crate) caching: Caching,
    pub(crate) offers: Capabilities,
    /// What is said in `_meta` of every list.
    pub(crate) list_meta: Option<Meta>,
    /// Arguments are refused unless they fit as they are.
    pub(crate) is_strict: bool,
    /// By revision: the result of `initialize` or `server/discover`.
    hellos: [Vec<u8>; Revision::ALL.len()],
    /// By revision: what every result ends with.
    fields: [Arc<[u8]>; Revision::ALL.len()],
}

impl Face {
    pub(crate) fn new(
        info: Implementation,
        instructions: Option<&str>,
        caching: Caching,
        offers: Capabilities,
        is_strict: bool,
    ) -> Self {
        let hellos = Revision::ALL.map(|revision| {
            let mut hello = Vec::new();
            if Method::Discover.is_for_server(revision, true) {
                encode::hello::discover(
                    &mut hello,
                    revision,
                    &info,
                    &offers,
                    instructions,
                    caching,
                );
            } else {
                encode::hello::initialize(&mut hello, revision, &info, &offers, instructions);
            }
            hello
        });
        let fields = Revision::ALL.map(|revision| {
            let mut fields = Vec::new();
            encode::fields::result_fields(&mut fields, revision, &info);
            fields.into()
        });
        Self { info, caching, offers, list_meta: None, is_strict, hellos, fields }
    }

    /// With this in `_meta` of every list.
    pub(crate) fn with_list_meta(self, list_meta: Option<Meta>) -> Self {
        Self { list_meta, ..self }
    }

    /// Whether both say the same of lists in their `_meta`.
    pub(crate) fn lists_as(&self, other: &Self) -> bool {
        let said = |face: &Self| face.list_meta.as_ref().map(|meta| meta.get().to_owned());
        said(self) == said(other)
    }

    /// What `initialize` or `server/discover` is answered with.
    pub(crate) fn hello(&self, revision: Revision) -> &[u8] {
        &self.hellos[revision.index()]
    }

    /// What every result of that revision ends with.
    pub(crate) fn fields(&self, revision: Revision) -> &Arc<[u8]> {
        &self.fields[revision.index()]
    }

    /// What its lists are written with.
    pub(crate) fn listing(&self, limits: &Limits) -> Listing<'_> {
        let (server, caching, meta) = (&self.info, self.caching, self.list_meta.as_ref());
        Listing { around: Around { server, caching, meta }, page_entries: limits.page_entries }
    }
}
