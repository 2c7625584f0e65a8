//! Fuzzes the property `scanner`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_fuzz_properties::scanner(bytes));
