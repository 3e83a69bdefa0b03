//! Who a server is and what it can do (Lifecycle; 2026-07-28: Discovery). Read by `encode`.

use super::icon::Icon;

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
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
}

/// What a server offers, beyond answering. A part that is not offered has no methods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has tools, or may have some later.
    pub tools: bool,
    /// It has resources.
    pub resources: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It suggests values for arguments.
    pub completions: bool,
    /// It sends log messages.
    pub logging: bool,
    /// Which of its lists may change; it says when one does.
    pub list_changed: Lists,
    /// It says when a resource changes.
    pub subscribe: bool,
    /// Calls may become tasks (2026-07-28).
    pub tasks: bool,
    /// Some of its tools have a user interface.
    pub ui: bool,
}

impl Capabilities {
    /// All that either offers.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        // All by name, so that none is forgotten.
        let Self {
            tools,
            resources,
            prompts,
            completions,
            logging,
            list_changed,
            subscribe,
            tasks,
            ui,
        } = other;
        Self {
            tools: self.tools || *tools,
            resources: self.resources || *resources,
            prompts: self.prompts || *prompts,
            completions: self.completions || *completions,
            logging: self.logging || *logging,
            list_changed: Lists {
                tools: self.list_changed.tools || list_changed.tools,
                prompts: self.list_changed.prompts || list_changed.prompts,
                resources: self.list_changed.resources || list_changed.resources,
            },
            subscribe: self.subscribe || *subscribe,
            tasks: self.tasks || *tasks,
            ui: self.ui || *ui,
        }
    }
}

/// Some of the lists that a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// That of tools.
    pub tools: bool,
    /// That of prompts.
    pub prompts: bool,
    /// Those of resources and of families of them.
    pub resources: bool,
}
