//! Fuzzes the property `cache_accelerator`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_fuzz_properties::cache_accelerator(bytes));
