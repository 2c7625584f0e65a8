//! Fuzzes the property `cache_document`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_testkit::properties::cache_document(bytes));
