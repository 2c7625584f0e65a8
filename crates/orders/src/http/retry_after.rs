//! Reads `Retry-After`.

use candor_http_client::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use std::time::Duration;

/// The longest wait of an order system that is respected. A longer one is shortened.
pub const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// The wait after too many calls if the order system does not name one.
pub(super) const WAIT_USUAL: Duration = Duration::from_secs(1);

/// Returns the wait of these headers: seconds, or an instant that is compared with the answer's own
/// `Date`, so that clocks need not agree.
pub(super) fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Parsing fails only for too many digits.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(MAX_WAIT));
    }
    let until = instant(headers, RETRY_AFTER)?;
    let now = instant(headers, DATE)?;
    let left = until.as_second().saturating_sub(now.as_second());
    let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
    Some(left.min(MAX_WAIT))
}

fn instant(headers: &HeaderMap, name: HeaderName) -> Option<Timestamp> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(after: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, after.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        wait(&headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_read_and_bounded() {
        let noon = Some("Sun, 06 Nov 1994 12:00:00 GMT");
        assert_eq!(waits("0", None), Some(0));
        assert_eq!(waits("7", noon), Some(7));
        assert_eq!(waits("99999999999999999999999", None), Some(3600));
        assert_eq!(waits("Sun, 06 Nov 1994 12:00:30 GMT", noon), Some(30));
        assert_eq!(waits("Mon, 07 Nov 1994 12:00:00 GMT", noon), Some(3600));
        assert_eq!(waits("Sun, 06 Nov 1994 11:00:00 GMT", noon), Some(0));
        assert_eq!(waits("Sun, 06 Nov 1994 12:00:30 GMT", None), None);
        for odd in ["-1", "1.5", "soon", "", "1e3"] {
            assert_eq!(waits(odd, noon), None, "{odd}");
        }
        assert_eq!(wait(&HeaderMap::new()), None);
    }
}
