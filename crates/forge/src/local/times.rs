//! Formats times: RFC 3339 in UTC, whole seconds.

use candor_fault::Timestamp;

const MICROS: i64 = 1_000_000;

/// Formats seconds since 1970. Returns `None` if they are out of range.
pub(super) fn of_seconds(seconds: i64) -> Option<String> {
    let at = Timestamp::from_second(seconds).ok()?;
    Some(at.to_string())
}

/// Formats microseconds since 1970.
pub(super) fn of_micros(micros: i64) -> String {
    of_seconds(micros.div_euclid(MICROS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_seconds_in_utc() {
        let at = of_seconds(1_735_787_045);
        assert_eq!(at.as_deref(), Some("2025-01-02T03:04:05Z"));
        assert_eq!(of_micros(1_735_787_045_999_999), "2025-01-02T03:04:05Z");
        assert_eq!(of_micros(-1), "1969-12-31T23:59:59Z");
        assert_eq!(of_seconds(i64::MAX), None);
    }
}
