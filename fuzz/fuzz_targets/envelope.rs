//! Any bytes as a message.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haft_fuzz::agrees_with_serde_json(bytes));
