//! Servers of editors become `upstreams` of a haft.yaml: under which names, in which words, where
//! their secrets go, and the file that they are put into. Used by the verb `import`; starts none.

mod file;
mod kept;
mod names;
mod text;
mod upstream;
mod vault;

pub(crate) use file::{Change, Output};
pub(crate) use kept::{DIRECTORY, Kept};
pub(crate) use names::{is_of, unique};
pub(crate) use upstream::{Words, cleaned, words};
pub(crate) use vault::{Form, Needed, Vault};
