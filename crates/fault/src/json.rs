//! Compact JSON text, and times as the dialects print them.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt::Write as _;

/// Returns the compact JSON text of a value. Plain data always has one; a value that cannot be
/// serialised becomes `null`, so that answering cannot fail.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| String::from("null"))
}

/// Serializes like [`to_json`], for a text of about `capacity` bytes: the buffer does not have to
/// grow.
pub fn to_json_with_capacity<T: Serialize + ?Sized>(value: &T, capacity: usize) -> String {
    let mut text = Vec::with_capacity(capacity);
    match serde_json::to_writer(&mut text, value) {
        // The serializer writes UTF-8.
        Ok(()) => String::from_utf8(text).unwrap_or_else(|_| String::from("null")),
        Err(_) => String::from("null"),
    }
}

/// Serializes like [`to_json`], as a raw value that is copied into other values without parsing it
/// again.
pub fn to_raw_json<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Formats a time in UTC with milliseconds and `Z`: `2025-10-12T15:49:21.049Z`.
pub fn iso_millis(at: Timestamp) -> String {
    // Formatting writes small pieces; with the whole capacity they are never moved.
    let mut text = String::with_capacity("2025-10-12T15:49:21.049Z".len());
    // Writing to a string cannot fail.
    let _ = write!(text, "{at:.3}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        let at = Timestamp::from_millisecond(1_760_284_161_049).unwrap();
        assert_eq!(iso_millis(at), "2025-10-12T15:49:21.049Z");
        let whole = Timestamp::from_second(0).unwrap();
        assert_eq!(iso_millis(whole), "1970-01-01T00:00:00.000Z");
    }
}
