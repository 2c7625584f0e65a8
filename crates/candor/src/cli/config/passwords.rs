//! Passwords in addresses, which must not be shown.

use std::borrow::Cow;

/// The end of the scheme of an address.
const SCHEME_END: &str = "://";

/// The start of a password among the settings of an address.
const SETTING: &str = "password=";

/// Replaces every character of a password by an asterisk, so that columns stay as they are.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let ranges = ranges(text);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let is_hidden = |offset: usize| {
        ranges
            .iter()
            .any(|(start, end)| (*start..*end).contains(&offset))
    };
    let shown = text
        .char_indices()
        .map(|(offset, c)| match is_hidden(offset) {
            true => '*',
            false => c,
        });
    Cow::Owned(shown.collect())
}

pub(super) fn contains_password(text: &str) -> bool {
    !ranges(text).is_empty()
}

/// Returns the offsets of the passwords. It rather finds too much than too little.
fn ranges(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices(SCHEME_END) {
        let start = start + SCHEME_END.len();
        let address = &text[start..start + end_of_word(&text[start..])];
        let user = address.rfind('@').map_or("", |end| &address[..end]);
        if let Some(colon) = user.find(':') {
            found.push((start + colon + 1, start + user.len()));
        }
    }
    for (start, _) in text.match_indices(SETTING) {
        let start = start + SETTING.len();
        let value = &text[start..start + end_of_word(&text[start..])];
        let end = value.find('&').unwrap_or(value.len());
        found.push((start, start + end));
    }
    found.retain(|(start, end)| start < end);
    found
}

fn end_of_word(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    text.find(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_and_columns_stay() {
        for (text, shown) in [
            ("port = 5", "port = 5"),
            (
                r#"database = "postgres://u:pä/w@h/db" # x"#,
                r#"database = "postgres://u:****@h/db" # x"#,
            ),
            (
                "postgres://u@h/db?password=ab&sslmode=on",
                "postgres://u@h/db?password=**&sslmode=on",
            ),
            ("postgres://u:a@b@h", "postgres://u:***@h"),
            ("https://h:8/x", "https://h:8/x"),
        ] {
            assert_eq!(masked(text), shown);
            assert_eq!(contains_password(text), text != shown, "{text}");
        }
    }
}
