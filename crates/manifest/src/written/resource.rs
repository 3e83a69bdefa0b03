//! A resource as it is typed.

use crate::place::Placed;
use crate::written::Scalar;
use crate::written::complete::Completes;
use crate::written::environ::Environ;
use crate::written::http::Http;
use crate::written::shown::{Caching, Icon, Meta};
use schemars::JsonSchema;

/// Something that clients read: a text (`text`), a file (`file`), the files below a directory
/// (`directory`), what a program prints (`command`) or a server answers (`http`).
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "a resource")]
#[schemars(rename = "Resource")]
pub(crate) struct Resource {
    /// Its address, like `notes://style`. That of a directory ends in a variable which stands for
    /// the path below it, like `docs://{+path}`. That of a program or server may have variables
    /// anywhere, like `issue://{owner}/{number}`, which templates write as `{{ owner }}`; `{name}`
    /// stands for what has no slash, `{+name}` for anything.
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
    /// `caching` says, all else not at all unless the server's `caching` is there.
    pub(crate) caching: Option<Caching>,
    /// The text itself. It is no template.
    pub(crate) text: Option<Placed<Scalar>>,
    /// A file, read whenever a client reads; text if it is UTF-8, bytes otherwise.
    pub(crate) file: Option<Placed<String>>,
    /// A directory; every file below it can be read, and none outside.
    pub(crate) directory: Option<Placed<String>>,
    /// Files and directories whose names begin with a dot are served too; not without this key.
    pub(crate) hidden: Option<bool>,
    /// List the files that are there one by one, a thousand at most, and tell clients that
    /// subscribed when others are; not without this key: they are told of the address only.
    pub(crate) list: Option<bool>,
    /// The program and its arguments, run whenever a client reads: each a template that becomes
    /// exactly one argument, as those of tools do. What it prints is the content: text if it is
    /// UTF-8, bytes otherwise.
    pub(crate) command: Option<Placed<Vec<Placed<Scalar>>>>,
    /// A template for what the program reads; nothing without this key.
    pub(crate) stdin: Option<Placed<Scalar>>,
    /// Environment variables beside the few of haft that programs commonly need, as templates.
    /// Under `inherit`, a list of more variables of haft, or `all`.
    pub(crate) env: Option<Placed<Environ>>,
    /// The directory that the program runs in; without this key, that of this file.
    pub(crate) cwd: Option<Placed<String>>,
    /// The exit codes that are no failure; `[0]` without this key.
    pub(crate) ok_exit: Option<Placed<Vec<u8>>>,
    /// A request to a server with `get` or `post`, sent whenever a client reads. The body of the
    /// answer is the content, of the kind that the server says; 404 and 410 are "not found".
    pub(crate) http: Option<Placed<Http>>,
    /// Only this part of the JSON that a program prints or a server answers, as a JSON Pointer
    /// like /items/0/name.
    pub(crate) pick: Option<Placed<String>>,
    /// While a client is subscribed, read again so often, like 30s, and tell it when something else
    /// is said; 1s at least. Without this key it is read when clients read, and nobody is told.
    pub(crate) watch: Option<Placed<Scalar>>,
    /// What is suggested for the variables of the address, by their names: a list of values, or
    /// where they come from.
    pub(crate) complete: Option<Completes>,
    /// How long a program or server may take, like 500ms or 5s; 1m without this key, which
    /// is the most. Then it is ended, with all that it started.
    pub(crate) timeout: Option<Placed<Scalar>>,
    /// The most bytes of a file, of what a program prints or a server answers, like 500KB or
    /// 10MiB; 2MiB without this key.
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
