//! Every bound of documents that describe APIs, and of the tools that are made of them, each with a
//! name. Read by the other files of this folder.

use std::time::Duration;

/// The longest document, in bytes.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long it may take to fetch one.
pub(crate) const DOCUMENT_TIME_MAX: Duration = Duration::from_secs(30);
/// How old it may be while a file is edited before it is asked for again.
pub(crate) const DOCUMENT_AGE_MAX: Duration = Duration::from_secs(60);
/// The deepest nesting of a document.
pub(crate) const DOCUMENT_DEPTH_MAX: usize = 120;
/// The stack that a document of that depth is read on, in a build without optimisation too.
pub(crate) const DOCUMENT_STACK_BYTES: usize = 32 * 1024 * 1024;
/// The most other files that a document refers to.
pub(crate) const FILES_MAX: usize = 1000;
/// The most files that lead to each other, one after the other.
pub(crate) const FILES_DEPTH_MAX: usize = 16;
/// The most values that a YAML document may have for each of its bytes; aliases count as often as
/// they are used.
pub(crate) const YAML_NODES_PER_BYTE: usize = 2;
/// The most values that what operations of Swagger 2.0 share is written as, for each of them.
pub(crate) const INLINED_MAX: usize = 4_000_000;
/// The most operations that become tools.
pub(crate) const TOOLS_MAX: usize = 10_000;
/// The most bytes of the schemas of all of them.
pub(crate) const SCHEMAS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest schema of a tool, in bytes; what would make it longer is left open.
pub(crate) const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// A schema that is no longer with everything written in its place refers to nothing.
pub(crate) const INLINE_BYTES: usize = 4 * 1024;
/// How deep a schema goes before what is below is left open, apart from references.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 24;
/// The most references that lead to each other, one after the other.
pub(crate) const REFERENCES_MAX: usize = 64;
/// The most schemas that one `allOf` puts together.
pub(crate) const MERGED_MAX: usize = 64;
/// The most bytes of the values of an `enum`; a longer one allows any value of its type.
pub(crate) const ENUM_BYTES_MAX: usize = 8 * 1024;
/// The most bytes of a default or an example.
pub(crate) const EXAMPLE_BYTES_MAX: usize = 256;
/// The most characters of a description within a schema.
pub(crate) const WORDS_MAX: usize = 600;
/// The most characters of the description of a tool.
pub(crate) const DESCRIPTION_MAX: usize = 1000;
/// The most characters of a title.
pub(crate) const TITLE_MAX: usize = 120;
/// The longest name of a tool; longer ones are refused by some clients.
pub(crate) const NAME_MAX: usize = 64;
/// The most characters of the name of a schema under `$defs`, before a number that tells it from
/// others.
pub(crate) const DEFINITION_NAME_MAX: usize = 50;
/// The most parameters of an operation; one with more is left out.
pub(crate) const PARAMETERS_MAX: usize = 1000;
/// The most kinds of answers that an operation asks for by name.
pub(crate) const ACCEPTED_MAX: usize = 8;
/// The most members of a body that become arguments.
pub(crate) const MEMBERS_MAX: usize = 256;
