//! The names of files in the header of a diff.

use std::borrow::Cow;

/// The name of a side that has no file.
pub(super) const NOTHING: &str = "/dev/null";

/// The prefixes that git puts before a name; which one depends on its settings.
const PREFIXES: [&str; 7] = ["a/", "b/", "c/", "i/", "o/", "w/", "./"];

/// Parses the name after `--- ` or `+++ `: without a time, without quotes.
pub(super) fn named(rest: &str) -> Cow<'_, str> {
    if let Some(quoted) = rest.strip_prefix('"') {
        return unquoted(quoted);
    }
    let name = rest.split('\t').next().unwrap_or(rest);
    Cow::Borrowed(name.trim_end())
}

/// Returns true if a name in a diff means the file at a path.
pub(super) fn means(name: &str, path: &str) -> bool {
    let bare = || {
        PREFIXES
            .iter()
            .any(|prefix| name.strip_prefix(prefix) == Some(path))
    };
    name == path || bare()
}

/// Unquotes a name as git quotes it: letters and octal digits after backslashes, up to the next
/// quote.
fn unquoted(quoted: &str) -> Cow<'_, str> {
    let mut name = Vec::new();
    let mut bytes = quoted.bytes();
    while let Some(byte) = bytes.next() {
        let plain = match byte {
            b'"' => break,
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(first @ b'0'..=b'3') => {
                    let mut digit = || bytes.next().map_or(0, |digit| digit.wrapping_sub(b'0') & 7);
                    (first - b'0') << 6 | digit() << 3 | digit()
                }
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        name.push(plain);
    }
    Cow::Owned(String::from_utf8_lossy(&name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_git_and_diff_are_parsed() {
        assert_eq!(named("a/x y.rs\t2024-01-01 10:00:00 +0000"), "a/x y.rs");
        assert_eq!(named("a/x.rs "), "a/x.rs");
        assert_eq!(named(r#""a/\303\244\t\"\\.rs""#), "a/ä\t\"\\.rs");
        assert_eq!(named(r#""a/\3"#), "a/\u{fffd}");
    }

    #[test]
    fn name_matches_a_path_with_or_without_a_prefix() {
        assert!(means("a/src/x.rs", "src/x.rs"));
        assert!(means("src/x.rs", "src/x.rs"));
        assert!(means("./src/x.rs", "src/x.rs"));
        assert!(means("a/x.rs", "a/x.rs"));
        assert!(!means("x.rs", "a/x.rs"));
        assert!(!means("d/x.rs", "x.rs"));
        assert!(!means("a/b/x.rs", "x.rs"));
    }
}
