//! Any bytes as a schema and a value.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haft_fuzz::a_repair_fits(bytes));
