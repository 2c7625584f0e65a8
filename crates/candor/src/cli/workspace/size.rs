//! Sizes as people write them: 500MiB, 4GiB.

/// Parses a number of bytes with an optional unit.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    let bytes = shift.and_then(|shift| number.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| String::from("write a number of bytes, such as 500MiB or 4GiB"))
}

/// Returns a size as people read it, with one digit after the point.
pub(super) fn show(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >> shift > 0);
    match unit {
        Some((name, shift)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_with_one_digit() {
        assert_eq!(show(12), "12 bytes");
        assert_eq!(show(1536), "1.5 KiB");
        assert_eq!(show(300 << 20), "300.0 MiB");
        assert_eq!(show(5 << 30), "5.0 GiB");
    }

    #[test]
    fn units_are_binary() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("3KiB"), Ok(3072));
        assert_eq!(parse("500MiB"), Ok(500 << 20));
        assert_eq!(parse("4GiB"), Ok(4 << 30));
        for bad in [
            "",
            "GiB",
            "4GB",
            "4 GiB",
            "-1",
            "1.5GiB",
            "99999999999999GiB",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
