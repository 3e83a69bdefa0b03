//! Any bytes as what a link carries.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haft_fuzz::frames_are_read_again(bytes));
