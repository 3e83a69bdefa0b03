//! Whatever a gateway says of its calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| haft_fuzz::calls_keep_their_word(bytes));
