//! A resource and a family of resources, as clients see them (Server Features, "Resources").

use super::Meta;
use super::content::{Annotations, ResourceContents};
use super::icon::Icon;

/// What a client is told of a resource.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// Its address, unique in its server.
    pub uri: String,
    /// The name that programs use.
    pub name: String,
    /// The name that people read (from 2025-06-18 on).
    pub title: Option<String>,
    /// What it is, for the model.
    pub description: Option<String>,
    /// What kind of data, if known.
    pub mime_type: Option<String>,
    /// How many bytes before any encoding, if known (from 2025-03-26 on).
    pub size: Option<u64>,
    /// For whom, and how important.
    pub annotations: Annotations,
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
    /// `_meta` (from 2025-06-18 on).
    pub meta: Option<Meta>,
}

/// What a client is told of a family of resources.
#[derive(Clone, Debug, Default)]
pub struct ResourceTemplate {
    /// A URI template (RFC 6570).
    pub uri_template: String,
    /// The name that programs use.
    pub name: String,
    /// The name that people read (from 2025-06-18 on).
    pub title: Option<String>,
    /// What they are, for the model.
    pub description: Option<String>,
    /// What kind of data, if it is the same for all.
    pub mime_type: Option<String>,
    /// For whom, and how important.
    pub annotations: Annotations,
    /// Pictures (from 2025-11-25 on).
    pub icons: Vec<Icon>,
    /// `_meta` (from 2025-06-18 on).
    pub meta: Option<Meta>,
}

/// The answer of `resources/read`.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// What is there: one piece, or several for a collection.
    pub contents: Vec<ResourceContents>,
}
