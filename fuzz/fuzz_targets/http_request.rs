//! Any bytes as an HTTP connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haft_fuzz::every_answer_is_well_formed(bytes));
