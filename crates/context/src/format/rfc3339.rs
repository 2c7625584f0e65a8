//! Recognises times of RFC 3339.

/// Returns true if the text is a date and a time of RFC 3339 with any offset. The separator may also be
/// a small `t` or a space, which the RFC allows.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

fn parse(text: &[u8]) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else {
        return None;
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    let month = number(&[*m1, *m2])?;
    in_range(number(&[*d1, *d2])?, 1..=days(year, month)?)?;
    let (time, rest) = rest.split_at_checked(9)?;
    let [b'T' | b't' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = time else {
        return None;
    };
    in_range(number(&[*h1, *h2])?, 0..=23)?;
    in_range(number(&[*n1, *n2])?, 0..=59)?;
    // A leap second is the sixtieth.
    in_range(number(&[*s1, *s2])?, 0..=60)?;
    offset(fraction(rest)?)
}

/// Returns the rest of the text after a fraction, if there is one.
fn fraction(text: &[u8]) -> Option<&[u8]> {
    let Some(digits) = text.strip_prefix(b".") else {
        return Some(text);
    };
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (length > 0).then(|| &digits[length..])
}

fn offset(text: &[u8]) -> Option<()> {
    match text {
        [b'Z' | b'z'] => Some(()),
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            in_range(number(&[*h1, *h2])?, 0..=23)?;
            in_range(number(&[*m1, *m2])?, 0..=59)
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u32::from(digit - b'0'))
    })
}

fn in_range(number: u32, range: std::ops::RangeInclusive<u32>) -> Option<()> {
    range.contains(&number).then_some(())
}

/// Returns the number of days of a month.
fn days(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(28 + u32::from(leap)),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_rfc_3339_is_a_time() {
        for text in [
            "2023-11-14T22:13:20Z",
            "2023-11-14t22:13:20z",
            "2023-11-14 22:13:20Z",
            "2023-11-14T22:13:20.5Z",
            "2023-11-14T22:13:20.123456789+05:30",
            "2023-11-14T22:13:20-00:00",
            "2023-11-14T22:13:20+23:59",
            "1990-12-31T23:59:60Z",
            "2024-02-29T00:00:00Z",
            "2000-02-29T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999999999Z",
        ] {
            assert!(is_rfc3339(text), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_a_time() {
        for text in [
            "",
            "yesterday",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-11-14T22:13Z",
            "2023-11-14T22:13:20.Z",
            "2023-11-14T22:13:20. 5Z",
            "2023-11-14T22:13:20,5Z",
            "2023-11-14T22:13:20+0530",
            "2023-11-14T22:13:20+05",
            "2023-11-14T22:13:20+24:00",
            "2023-11-14T22:13:20+05:60",
            "2023-11-14T22:13:20Z ",
            " 2023-11-14T22:13:20Z",
            "2023-11-14T24:00:00Z",
            "2023-11-14T22:60:00Z",
            "2023-11-14T22:13:61Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2023-00-10T00:00:00Z",
            "2023-13-10T00:00:00Z",
            "2023-04-31T00:00:00Z",
            "2023-04-00T00:00:00Z",
            "20231114T221320Z",
            "2023-11-14T22:13:20Z[UTC]",
            "２０２３-11-14T22:13:20Z",
        ] {
            assert!(!is_rfc3339(text), "{text}");
        }
    }
}
