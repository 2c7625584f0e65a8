//! Instants: parses RFC 3339 with any offset, formats UTC with microseconds.

use candor_fault::Timestamp;
use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// The digits of a second's fraction that are parsed.
const PARTS: usize = 9;

/// The last instant that can be formatted: 22 hours into the second to last day of the calendar.
const LAST: UtcTime = UtcTime(253_402_207_200_000_000);

const LAST_BUT_ONE: jiff::civil::Date = jiff::civil::date(9999, 12, 30);

/// Shortens the fraction of a second to what can be parsed.
fn shorten(text: &str) -> Cow<'_, str> {
    let Some((whole, rest)) = text.split_once('.') else {
        return Cow::Borrowed(text);
    };
    let parts = rest.bytes().take_while(u8::is_ascii_digit).count();
    match (rest.get(..PARTS), rest.get(parts..)) {
        (Some(kept), Some(behind)) if parts > PARTS => {
            Cow::Owned(format!("{whole}.{kept}{behind}"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// An instant with microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(i64);

impl UtcTime {
    /// Returns the instant this many microseconds after the start of 1970.
    pub const fn of_micros(micros: i64) -> UtcTime {
        UtcTime(micros)
    }

    /// Returns the microseconds since the start of 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Parses RFC 3339 and truncates to microseconds. The last hours of the calendar become the
    /// last instant: callers write them for "forever".
    pub fn read(text: &str) -> Option<UtcTime> {
        let text = shorten(text);
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Some(LAST.min(instant.into()));
        }
        let pieces = Pieces::parse(text.as_bytes()).ok()?;
        let last = pieces.date() == jiff::civil::Date::MAX || pieces.date() == LAST_BUT_ONE;
        let whole = pieces.time().is_some() && pieces.offset().is_some();
        (last && whole).then_some(LAST)
    }

    /// Formats the instant.
    pub fn text(self) -> String {
        let instant = Timestamp::from_microsecond(self.0).unwrap_or_default();
        format!("{instant:.6}")
    }
}

impl From<Timestamp> for UtcTime {
    fn from(instant: Timestamp) -> Self {
        UtcTime(instant.as_microsecond())
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let unread = || serde::de::Error::custom("not an instant of RFC 3339");
        UtcTime::read(&text).ok_or_else(unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instant_is_formatted_in_utc_with_six_places() {
        let normalized = |text| UtcTime::read(text).map(UtcTime::text);
        let noon = Some(String::from("2025-10-12T12:00:00.000000Z"));
        assert_eq!(normalized("2025-10-12T12:00:00Z"), noon);
        assert_eq!(normalized("2025-10-12T14:00:00+02:00"), noon);
        assert_eq!(normalized("2025-10-12t12:00:00.0000009z"), noon);
        assert_eq!(normalized("2025-10-12T12:00:00.0000001234567Z"), noon);
        assert_eq!(normalized("2025-10-12T14:00:00.0000001234567+02:00"), noon);
        for none in [
            "2025-02-30T12:00:00Z",
            "2025-10-12T12:00:00.Z",
            "2025-10-12T12:00:00",
            "9999-12-31T23:59:59",
            "9999-12-31",
            "9999-12-32T00:00:00Z",
            "yesterday",
        ] {
            assert_eq!(normalized(none), None, "{none}");
        }
    }

    #[test]
    fn end_of_the_calendar_is_the_last_instant() {
        let normalized = |text| UtcTime::read(text).map(UtcTime::text);
        let last = Some(String::from("9999-12-30T22:00:00.000000Z"));
        assert_eq!(normalized("9999-12-31T23:59:59Z"), last);
        assert_eq!(normalized("9999-12-31T23:59:59.999999999999Z"), last);
        assert_eq!(normalized("9999-12-31T23:59:59-12:00"), last);
        assert_eq!(normalized("9999-12-30T23:00:00Z"), last);
        assert_eq!(normalized("9999-12-30T22:00:00.5Z"), last);
        assert_eq!(
            normalized("9999-12-30T21:00:00Z").as_deref(),
            Some("9999-12-30T21:00:00.000000Z")
        );
    }
}
