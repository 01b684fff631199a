//! libFuzzer on the target `postings` of `ragdb::FUZZ_TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (ragdb::FUZZ_TARGETS[3].run)(data));
