//! Fuzzes the property `core`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_fuzz_properties::core(bytes));
