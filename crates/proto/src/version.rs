//! The five dated revisions of MCP and what each one has. The only file that compares revisions:
//! everybody else asks a question by name.

/// A dated protocol version, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05: the first; its remote transport was HTTP+SSE.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, tool annotations.
    V2025_03_26,
    /// 2025-06-18: structured output, titles, the version header; no batches any more.
    V2025_06_18,
    /// 2025-11-25: icons, JSON Schema 2020-12.
    V2025_11_25,
    /// 2026-07-28: stateless; every request describes itself.
    V2026_07_28,
}

/// The two ways to start a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize` first; what it agreed on holds for the session.
    Legacy,
    /// No handshake: each request names its revision and its client's capabilities.
    Modern,
}

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];
    /// The revisions that `server/discover` names: those that need no handshake.
    pub const MODERN: [Self; 1] = [V2026_07_28];
    /// The newest revision of all.
    pub const LATEST: Self = V2026_07_28;
    /// The one that is spoken where a legacy request over HTTP does not say which (2025-06-18,
    /// "Protocol Version Header").
    pub const UNSAID: Self = V2025_03_26;
    /// The newest revision that begins with `initialize`.
    pub const LATEST_LEGACY: Self = V2025_11_25;

    /// The revision of that date, if there is one.
    ///
    /// ```
    /// use haft_proto::version::{Era, Revision};
    /// assert_eq!(Revision::parse("2025-06-18").map(Revision::era), Some(Era::Legacy));
    /// assert_eq!(Revision::parse("v999.0.0"), None);
    /// ```
    #[must_use]
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// The date, as it is written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    /// What `initialize` agrees on: the proposed revision if it begins with a handshake, else the
    /// newest that does (Lifecycle, "Version Negotiation").
    #[must_use]
    pub fn negotiate(proposed: &str) -> Self {
        match Self::parse(proposed) {
            Some(revision) if revision.era() == Era::Legacy => revision,
            _ => Self::LATEST_LEGACY,
        }
    }

    /// The position in [`Revision::ALL`], for tables with a row for each revision.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Which way a conversation in this revision starts.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// An array of messages is one message: 2025-03-26 alone.
    #[must_use]
    pub const fn has_batches(self) -> bool {
        matches!(self, V2025_03_26)
    }

    /// A server says in its capabilities whether it completes arguments.
    #[must_use]
    pub fn has_completions_capability(self) -> bool {
        self >= V2025_03_26
    }

    /// Tools may carry `annotations`.
    #[must_use]
    pub fn has_annotations(self) -> bool {
        self >= V2025_03_26
    }

    /// Progress notifications may carry a `message`.
    #[must_use]
    pub fn has_progress_message(self) -> bool {
        self >= V2025_03_26
    }

    /// `title` beside `name`, `outputSchema`, `structuredContent`, and `_meta` on more types.
    #[must_use]
    pub fn has_structured_output(self) -> bool {
        self >= V2025_06_18
    }

    /// `structuredContent` may be any JSON value, and `outputSchema` any schema; before, both were
    /// objects.
    #[must_use]
    pub fn has_any_structured_value(self) -> bool {
        self >= V2026_07_28
    }

    /// `icons`, and `description` and `websiteUrl` of an implementation.
    #[must_use]
    pub fn has_icons(self) -> bool {
        self >= V2025_11_25
    }

    /// Results carry `resultType` and `_meta` with the server's name; lists carry `ttlMs` and
    /// `cacheScope`.
    #[must_use]
    pub fn has_result_type(self) -> bool {
        self >= V2026_07_28
    }

    /// Content may be a sound.
    #[must_use]
    pub fn has_audio(self) -> bool {
        self >= V2025_03_26
    }

    /// Content may be the address of a resource.
    #[must_use]
    pub fn has_resource_links(self) -> bool {
        self >= V2025_06_18
    }

    /// A person may be asked to fill in a form.
    #[must_use]
    pub fn has_elicitation(self) -> bool {
        self >= V2025_06_18
    }

    /// Elicitation has modes, of which visiting an address is one.
    #[must_use]
    pub fn has_elicitation_modes(self) -> bool {
        self >= V2025_11_25
    }

    /// An address to visit has an id, by which the server says that it was visited.
    #[must_use]
    pub const fn has_elicitation_id(self) -> bool {
        matches!(self, V2025_11_25)
    }

    /// A model may be asked to use tools.
    #[must_use]
    pub fn has_sampling_tools(self) -> bool {
        self >= V2025_11_25
    }

    /// Capabilities may name extensions, and calls may become tasks.
    #[must_use]
    pub fn has_extensions(self) -> bool {
        self >= V2026_07_28
    }

    /// Headers of HTTP repeat parameters of the body.
    #[must_use]
    pub fn has_mirrored_headers(self) -> bool {
        self >= V2026_07_28
    }

    /// An event stream may be left before its answer and resumed (2025-11-25, "Polling").
    #[must_use]
    pub const fn has_stream_polling(self) -> bool {
        matches!(self, V2025_11_25)
    }

    /// A broken event stream may be resumed.
    #[must_use]
    pub const fn has_stream_resumption(self) -> bool {
        matches!(self, V2025_03_26 | V2025_06_18 | V2025_11_25)
    }

    /// A resource that is not there has an error code of its own.
    #[must_use]
    pub fn has_resource_not_found(self) -> bool {
        self < V2026_07_28
    }

    /// Each request says what its client can do, and may be refused for what it cannot.
    #[must_use]
    pub fn has_capabilities_in_requests(self) -> bool {
        self >= V2026_07_28
    }

    /// A server asks its client by ending the request with a question; before, by a request of its
    /// own.
    #[must_use]
    pub fn asks_in_rounds(self) -> bool {
        self >= V2026_07_28
    }

    /// Whether this revision lies between two others, both included.
    #[must_use]
    pub fn is_within(self, first: Self, last: Self) -> bool {
        first <= self && self <= last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_reads_back_what_it_writes() {
        for (index, revision) in Revision::ALL.into_iter().enumerate() {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
            assert_eq!(revision.index(), index);
        }
    }

    #[test]
    fn initialize_never_agrees_on_a_stateless_revision() {
        assert_eq!(Revision::negotiate("2024-11-05"), V2024_11_05);
        assert_eq!(Revision::negotiate("2026-07-28"), V2025_11_25);
        assert_eq!(Revision::negotiate("1999-01-01"), V2025_11_25);
    }
}
