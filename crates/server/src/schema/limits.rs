//! Every bound on schemas and on the work that a check, an explanation or a repair may do, each
//! with a name. What peers may push against on a wire is in `haft_proto::limits`.

/// The longest schema, in bytes.
pub(super) const SCHEMA_BYTES_MAX: usize = 1024 * 1024;
/// The most `$ref`s, `allOf`s, `anyOf`s and the like that follow each other at one place of a
/// value. The check goes as deep as this times the depth of the value, on the caller's stack.
pub(super) const IN_PLACE_MAX: usize = 32;
/// How deep the compiler of the general check goes into a schema, on the caller's stack. Each level
/// takes up to 11 KiB of it in a build without optimisation.
pub(super) const COMPILE_DEPTH_MAX: usize = 100;
/// The most regular expressions of a schema.
pub(crate) const PATTERNS_MAX: usize = 256;
/// The largest regular expression, in bytes once compiled.
pub(super) const PATTERN_BYTES_MAX: usize = 512 * 1024;
/// The most memory that one regular expression takes while it runs, in bytes.
pub(super) const PATTERN_CACHE_BYTES_MAX: usize = 512 * 1024;
/// The most steps back of a regular expression that looks around or refers back, before its long
/// try begins.
pub(super) const QUICK_STEPS_MAX: usize = 100;
/// The most steps back of one that is matched with keys, which has no other try.
pub(super) const KEY_STEPS_MAX: usize = 25;
/// The most steps back of its long try.
pub(super) const PATIENT_STEPS_MAX: usize = 20_000;
/// The most bytes that such expressions read quickly in one check.
pub(super) const QUICK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes that they read patiently in one check; each may be read again for each step.
pub(super) const PATIENT_BYTES_MAX: usize = 16 * 1024;
/// The most subschemas that are looked at for one value, counting each as often as it is.
pub(super) const WEIGHT_MAX: u64 = 100_000;
/// How many steps a check may take: looks at a value or a part of it, and comparisons.
pub(super) const STEPS: usize = 500_000;
/// How many more for each byte of the value. A common schema takes a few for each.
pub(super) const STEPS_PER_BYTE: usize = 32;
/// How many violations one check tells at most: enough to mend a call in one go.
pub(super) const VIOLATIONS_MAX: usize = 8;
/// How many steps an explanation or a repair may take, and as many more as the value has bytes.
pub(super) const FUEL: usize = 20_000;
/// How deep an explanation follows subschemas, on the caller's stack.
pub(super) const EXPLAIN_DEPTH_MAX: usize = 256;
/// The most spots that one repair mends.
pub(super) const REPAIRS_MAX: usize = 50_000;
/// The most of them that are told one by one.
pub(super) const REPAIRS_TOLD_MAX: usize = 8;
