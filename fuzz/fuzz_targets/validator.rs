//! Fuzzes the property `validator`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_fuzz_properties::validator(bytes));
