//! The clients that others wrote, and how each is started: what it speaks, over which wire, and
//! with which command line. `foreign` and `walk` go through them; nothing here runs one.

use std::process::Command;

use super::install::{self, Kit};
use super::process::Target;

/// A client, by the package that it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Go,
    Inspector,
    Python,
    Rust,
    TypescriptV1,
    TypescriptV2,
}

/// What a client is told to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Whatever it finds by itself.
    Auto,
    Legacy,
    Modern,
}

impl Era {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// What a client that is told so ends up with, if the server speaks both: the newer one, where
    /// it may choose.
    pub(super) const fn spoken(self) -> (&'static str, &'static str) {
        match self {
            Self::Legacy => ("legacy", "2025-11-25"),
            Self::Auto | Self::Modern => ("modern", "2026-07-28"),
        }
    }
}

impl Client {
    /// In the order of the page.
    pub(super) const ALL: [Self; 6] = [
        Self::TypescriptV2,
        Self::TypescriptV1,
        Self::Python,
        Self::Go,
        Self::Rust,
        Self::Inspector,
    ];

    /// As people call it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Go => "Go",
            Self::Inspector => "Inspector",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::TypescriptV1 => "TypeScript v1",
            Self::TypescriptV2 => "TypeScript v2",
        }
    }

    /// As its registry calls it.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Go => "github.com/modelcontextprotocol/go-sdk",
            Self::Inspector => "@modelcontextprotocol/inspector",
            Self::Python => "mcp",
            Self::Rust => "rmcp",
            Self::TypescriptV1 => "@modelcontextprotocol/sdk",
            Self::TypescriptV2 => "@modelcontextprotocol/client",
        }
    }

    pub(super) const fn kit(self) -> Kit {
        match self {
            Self::Go => Kit::Go,
            Self::Inspector | Self::TypescriptV1 | Self::TypescriptV2 => Kit::Javascript,
            Self::Python => Kit::Python,
            Self::Rust => Kit::Rust,
        }
    }

    /// The eras that it can be held to.
    pub(crate) const fn eras(self) -> &'static [Era] {
        match self {
            Self::TypescriptV1 => &[Era::Legacy],
            _ => &[Era::Modern, Era::Legacy],
        }
    }

    /// The eras that it can be told, its own choice among them.
    pub(super) const fn wishes(self) -> &'static [Era] {
        match self {
            Self::TypescriptV1 => &[Era::Legacy],
            _ => &[Era::Modern, Era::Legacy, Era::Auto],
        }
    }

    /// The client with its target, installed if it was not.
    pub(super) fn command(self, era: Era, calls: &[(&str, &str)], target: &Target) -> Command {
        let mut command = match self {
            Self::Go => install::program(Kit::Go),
            Self::Inspector => install::script(Kit::Javascript, "inspector.mjs"),
            Self::Python => install::script(Kit::Python, "walk.py"),
            Self::Rust => install::program(Kit::Rust),
            Self::TypescriptV1 => install::script(Kit::Javascript, "typescript-v1.mjs"),
            Self::TypescriptV2 => install::script(Kit::Javascript, "typescript-v2.mjs"),
        };
        command.args(["--era", era.name()]);
        for (tool, arguments) in calls {
            command.args(["--call", &format!("{tool}={arguments}")]);
        }
        match target {
            Target::At(url) => command.args(["--url", url]),
            Target::Http(server) => command.args(["--url", &server.url]),
            Target::Stdio(words) => command.args(["--stdio", "--"]).args(words),
        };
        command
    }
}
