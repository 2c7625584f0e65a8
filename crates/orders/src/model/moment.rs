//! Instants: RFC 3339 with any offset on the way in, UTC with microseconds on the way out.

use candor_fault::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant with microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// The instant so many microseconds after the beginning of 1970.
    pub const fn of_micros(micros: i64) -> Moment {
        Moment(micros)
    }

    /// The microseconds since the beginning of 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339; what is finer than a microsecond is cut off.
    pub fn read(text: &str) -> Option<Moment> {
        let instant: Timestamp = text.parse().ok()?;
        Some(instant.into())
    }

    /// The instant as text.
    pub fn text(self) -> String {
        let instant = Timestamp::from_microsecond(self.0).unwrap_or_default();
        format!("{instant:.6}")
    }
}

impl From<Timestamp> for Moment {
    fn from(instant: Timestamp) -> Self {
        Moment(instant.as_microsecond())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let unread = || serde::de::Error::custom("not an instant of RFC 3339");
        Moment::read(&text).ok_or_else(unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_said_in_utc_with_six_places() {
        let said = |text| Moment::read(text).map(Moment::text);
        let noon = Some(String::from("2025-10-12T12:00:00.000000Z"));
        assert_eq!(said("2025-10-12T12:00:00Z"), noon);
        assert_eq!(said("2025-10-12T14:00:00+02:00"), noon);
        assert_eq!(said("2025-10-12t12:00:00.0000009z"), noon);
        assert_eq!(said("2025-02-30T12:00:00Z"), None);
        assert_eq!(said("yesterday"), None);
    }
}
