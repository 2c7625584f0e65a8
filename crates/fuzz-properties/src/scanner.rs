//! The scan of a message agrees with serde_json, and accepted messages can be split into members.

use candor_wire::{ScanError, ScanOutcome, members, scan};
use serde_json::Value;

/// Checks the scan with any bytes.
///
/// # Panics
///
/// Panics if the scan and serde_json disagree.
pub fn scanner(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let oracle = serde_json::from_str::<Value>(text);
    match scan(text) {
        ScanOutcome::Fine => {
            let value = oracle.expect("what is fine is JSON");
            if let Value::Object(object) = value {
                let texts: Vec<_> = members(text).collect();
                assert_eq!(texts.len(), object.len(), "every member is found");
                for ((_, text), value) in texts.iter().zip(object.values()) {
                    let found: Value = serde_json::from_str(text).expect("a member's text is JSON");
                    assert_eq!(&found, value);
                }
            }
        }
        ScanOutcome::Malformed => {
            assert!(oracle.is_err(), "what is refused as malformed is no JSON")
        }
        ScanOutcome::Flawed(ScanError::RepeatedName | ScanError::TooManyValues) => {}
        ScanOutcome::Flawed(_) => assert!(oracle.is_err(), "the oracle refuses it too"),
    }
}
