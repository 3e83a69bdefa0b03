//! Who a server is and what it can do (Lifecycle; 2026-07-28: Discovery). Read by `encode`.

/// Name and version of a server, and what a person is shown of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Implementation {
    /// The name that programs use.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The name that people read (from 2025-06-18 on).
    pub title: Option<String>,
    /// One line about it (from 2025-11-25 on).
    pub description: Option<String>,
    /// Where to read more (from 2025-11-25 on).
    pub website_url: Option<String>,
}

/// What a server offers, beyond answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has tools.
    pub tools: bool,
    /// It says when the list of tools changes.
    pub tools_list_changed: bool,
}
