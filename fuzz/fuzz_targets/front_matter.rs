//! libFuzzer on the target `front_matter` of `ragdb::FUZZ_TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| (ragdb::FUZZ_TARGETS[1].run)(data));
