//! libFuzzer on the target `config` of `ragdb::FUZZ_TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (ragdb::FUZZ_TARGETS[4].run)(data));
