//! The duration of an approval as it is typed: 30m, 4h, 7d.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The longest duration of an approval.
const MAX_DAYS: u64 = 366;

pub(in crate::cli) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || String::from("write a number and a unit: 30m, 4h or 7d");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        _ => return Err(wrong()),
    };
    let digits = text.strip_suffix(unit).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: Option<u64> = digits.parse().ok();
    match number.and_then(|number| number.checked_mul(seconds)) {
        Some(0) => Err(String::from(
            "the duration of an approval must be longer than zero",
        )),
        Some(total) if total <= MAX_DAYS * DAY => Ok(Duration::from_secs(total)),
        _ => Err(format!(
            "the duration of an approval is at most {MAX_DAYS} days"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        let seconds = |text| parse(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("30m"), Ok(1800));
        assert_eq!(seconds("4h"), Ok(14_400));
        assert_eq!(seconds("7d"), Ok(604_800));
        assert_eq!(seconds("366d"), Ok(366 * DAY));
        for wrong in ["", "h", "4", "4 h", "-4h", "4H", "1.5h", "4hh", "٤h", "4é"] {
            let unit = "write a number and a unit: 30m, 4h or 7d";
            assert_eq!(seconds(wrong), Err(unit.to_owned()), "{wrong}");
        }
        assert!(seconds("0h").unwrap_err().contains("longer than zero"));
        for long in ["367d", "99999999999999999999d", "18446744073709551615h"] {
            assert!(seconds(long).unwrap_err().contains("at most"), "{long}");
        }
    }
}
