//! libFuzzer on the target `answer` of `ragdb::FUZZ_TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (ragdb::FUZZ_TARGETS[2].run)(data));
