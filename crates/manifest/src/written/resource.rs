//! A resource as it is typed.

use crate::place::Placed;
use crate::written::Scalar;
use crate::written::shown::{Caching, Icon, Meta};
use schemars::JsonSchema;

/// Something that clients read: a text (`text`), a file (`file`), or the files below a directory
/// (`directory`).
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a resource")]
#[schemars(rename = "Resource")]
pub(crate) struct Resource {
    /// Its address, like `notes://style`. That of a directory ends in a variable which stands for
    /// the path below it, like `docs://{+path}`.
    pub(crate) uri: Placed<String>,
    /// The name that programs use; without this key, the last word of the address.
    pub(crate) name: Option<Placed<String>>,
    /// The name that people read.
    pub(crate) title: Option<Placed<String>>,
    /// What it is, for the model.
    pub(crate) description: Option<Placed<String>>,
    /// What kind of data, like text/markdown; without this key, what the end of the name tells.
    pub(crate) mime_type: Option<Placed<String>>,
    /// For whom it is, and how important.
    pub(crate) annotations: Option<Annotations>,
    /// Pictures that clients may show.
    #[serde(default)]
    pub(crate) icons: Vec<Icon>,
    /// `_meta` of its definition, passed on to clients.
    #[expect(dead_code, reason = "`shown` reads it from the tree")]
    pub(crate) meta: Option<Meta>,
    /// How long clients may keep its content. Without this key: a text as long as the server's
    /// `caching` says, files not at all unless the server's `caching` is there.
    pub(crate) caching: Option<Caching>,
    /// The text itself. It is no template.
    pub(crate) text: Option<Placed<Scalar>>,
    /// A file, read whenever a client reads; text if it is UTF-8, bytes otherwise.
    pub(crate) file: Option<Placed<String>>,
    /// A directory; every file below it can be read, and none outside.
    pub(crate) directory: Option<Placed<String>>,
    /// Files and directories whose names begin with a dot are served too; not without this key.
    pub(crate) hidden: Option<bool>,
    /// The files that are there are listed one by one, a thousand at most, and clients that listen
    /// are told when others are; without this key, clients are told of the address only.
    pub(crate) list: Option<bool>,
    /// The most bytes of a file that is served, like 500KB or 10MiB; 2MiB without this key.
    pub(crate) limit: Option<Placed<Scalar>>,
}

/// For whom a resource is, and how important.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`annotations`")]
#[schemars(rename = "ResourceAnnotations")]
pub(crate) struct Annotations {
    /// For the `user`, the `assistant`, or both.
    #[serde(default)]
    pub(crate) audience: Vec<Role>,
    /// How important it is, from 0 (optional) to 1 (required).
    #[schemars(range(min = 0, max = 1))]
    pub(crate) priority: Option<Placed<f64>>,
    /// When it was changed last, like 2026-07-28T12:00:00Z.
    pub(crate) last_modified: Option<Placed<String>>,
}

/// Who speaks, or is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// The model.
    Assistant,
    /// The person.
    User,
}
