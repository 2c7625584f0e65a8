//! A path as a person may be shown it: short, on one line, with nothing that a terminal obeys.

use std::path::Path;

const SHOWN_CHARS: usize = 300;

/// Returns the path in one line: control characters are escaped, bytes that are not UTF-8 are
/// replaced, and the middle is left out if it is long.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let count = text.chars().count();
    if count <= SHOWN_CHARS {
        return text.escape_debug().to_string();
    }
    let half = SHOWN_CHARS / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{}…{}", start.escape_debug(), end.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn control_characters_are_escaped() {
        let path = Path::new(OsStr::from_bytes(b"a\x1b[2J\nb\xff\"\xc3\xa9"));
        assert_eq!(shown(path), "a\\u{1b}[2J\\nb\u{fffd}\\\"é");
    }

    #[test]
    fn middle_of_a_long_path_is_omitted() {
        let long = format!("{}{}", "a".repeat(200), "z".repeat(200));
        let expected = format!("{}…{}", "a".repeat(150), "z".repeat(150));
        assert_eq!(shown(Path::new(&long)), expected);
    }
}
