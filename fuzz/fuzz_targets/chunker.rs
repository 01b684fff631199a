//! libFuzzer on the target `chunker` of `ragdb::FUZZ_TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (ragdb::FUZZ_TARGETS[0].run)(data));
