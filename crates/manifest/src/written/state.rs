//! State as it is typed: where it is kept, and what tools do with it.

use crate::place::Placed;
use crate::written::Scalar;
use schemars::JsonSchema;

/// Where tools with `state` keep what they are told.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`state`")]
#[schemars(rename = "State")]
pub(crate) struct State {
    /// A file, which is made if it is not there and survives a crash, and which one process at a
    /// time has open; in memory without this key, until haft ends.
    pub(crate) file: Option<Placed<String>>,
    /// The most bytes of all keys and values, like 10MiB; without this key 1GiB in a file and 64MiB
    /// in memory.
    pub(crate) max_size: Option<Placed<Scalar>>,
}

/// What a tool does with the state: one of `get`, `set`, `add`, `delete` and `keys`, each a
/// template for a key.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "`state` of a tool")]
#[schemars(rename = "ToolState")]
pub(crate) struct Operation {
    /// Answers with what is kept under a key: `{ "found": true, "value": … }`.
    pub(crate) get: Option<Placed<Scalar>>,
    /// Keeps the `value` under a key, in place of another.
    pub(crate) set: Option<Placed<Scalar>>,
    /// Adds `by` to the whole number under a key, and answers with the sum: `{ "value": … }`.
    pub(crate) add: Option<Placed<Scalar>>,
    /// Removes a key: `{ "deleted": true }`.
    pub(crate) delete: Option<Placed<Scalar>>,
    /// Lists the keys that begin like this, a thousand at most: `{ "keys": […], "more": false }`.
    pub(crate) keys: Option<Placed<Scalar>>,
    /// What to keep, as a template; one that is just `{{ name }}` keeps its type.
    pub(crate) value: Option<Placed<Scalar>>,
    /// What to add, as a template; 1 without this key. A call in which its arguments are absent
    /// fails.
    pub(crate) by: Option<Placed<Scalar>>,
    /// How long to keep it, like 30s or 24h; for ever without this key.
    pub(crate) ttl: Option<Placed<Scalar>>,
}
