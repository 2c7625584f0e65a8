//! Normalised forms of names and phone numbers, by which support staff looks people up.

/// The fewest digits of a phone number that can be looked up.
pub const MIN_PHONE_DIGITS: usize = 7;

/// Returns a text in lower case with single spaces.
fn fold(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Returns the form in which the names of orders are compared: without case and one leading `#`.
pub fn order_name_key(name: &str) -> String {
    fold(name.trim_start().strip_prefix('#').unwrap_or(name))
}

/// Returns the form in which a searched name of a person is compared with [`person_keys`].
pub fn person_name_key(name: &str) -> String {
    fold(name)
}

/// Returns the names that find a person: "first last", "last, first" and the last name alone.
pub fn person_keys(first: Option<&str>, last: Option<&str>) -> Vec<String> {
    let (first, last) = (fold(first.unwrap_or("")), fold(last.unwrap_or("")));
    let mut keys = match (first.is_empty(), last.is_empty()) {
        (true, true) => Vec::new(),
        (false, true) => vec![first],
        (true, false) => vec![last],
        (false, false) => vec![format!("{first} {last}"), format!("{last}, {first}"), last],
    };
    keys.dedup();
    keys
}

/// Returns the digits of a phone number without leading zeros, or `None` if there are too few to
/// look it up.
pub fn phone_digits(phone: &str) -> Option<String> {
    let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    (digits.len() >= MIN_PHONE_DIGITS).then(|| digits.to_owned())
}

/// Returns true if two phone numbers match: the shorter one is the end of the longer one.
pub fn is_same_phone(one: &str, other: &str) -> bool {
    match (phone_digits(one), phone_digits(other)) {
        (Some(one), Some(other)) => one.ends_with(&other) || other.ends_with(&one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn person_is_found_by_three_forms_of_the_name() {
        let keys = person_keys(Some(" Ada  Maria"), Some("KELLER"));
        assert_eq!(keys, ["ada maria keller", "keller, ada maria", "keller"]);
        assert!(keys.contains(&person_name_key("Keller,  ADA maria")));
        assert_eq!(person_keys(None, Some("Keller")), ["keller"]);
        assert_eq!(person_keys(Some("Ada"), None), ["ada"]);
        assert_eq!(person_keys(Some(" "), None), [""; 0]);
    }

    #[test]
    fn order_name_has_one_leading_sign_removed() {
        assert_eq!(order_name_key("#A-17"), "a-17");
        assert_eq!(order_name_key("##17"), "#17");
        assert_eq!(order_name_key("17"), "17");
    }

    #[test]
    fn phones_match_by_their_last_digits() {
        for (one, other, same) in [
            ("+49 30 1234567", "030/123 45 67", true),
            ("1234567", "+1 (212) 123-4567", true),
            ("123456", "123456", false),
            ("0001234567", "1234567", true),
            ("+49 30 1234567", "+49 40 1234567", false),
            ("+49 30 1234567", "2234567", false),
        ] {
            assert_eq!(is_same_phone(one, other), same, "{one} {other}");
            assert_eq!(is_same_phone(other, one), same, "{other} {one}");
        }
    }
}
