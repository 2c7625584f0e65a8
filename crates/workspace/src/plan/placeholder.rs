//! Placeholders in the arguments and variables of commands: `{build_dir}`.

/// The placeholder for the path of the private build directory.
const BUILD_DIR: &str = "{build_dir}";

/// Returns a text with the path of the build directory in place of its placeholder.
pub(crate) fn fill_build_dir(text: &str, build_dir: &str) -> String {
    text.replace(BUILD_DIR, build_dir)
}

/// Returns a placeholder that has no meaning: lower-case letters and `_` in braces, other than `{build_dir}`.
pub(super) fn find_unknown(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = rest.get(open + 1..)?;
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let length = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let end = open + 1 + length + 1;
        match rest.get(open..end) {
            Some(found) if length > 0 && found.ends_with('}') && found != BUILD_DIR => {
                return Some(found);
            }
            _ => rest = after,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_braces_are_placeholders() {
        for literal in [
            "{}",
            "{ print }",
            "{\"a\":1}",
            "{1}",
            "a{b",
            "${HOME}",
            "{build_dir}",
            "{",
        ] {
            assert_eq!(find_unknown(literal), None, "{literal}");
        }
        assert_eq!(find_unknown("--out={buildir}/x"), Some("{buildir}"));
        assert_eq!(find_unknown("{{nope}}"), Some("{nope}"));
        assert_eq!(find_unknown("é{a"), None);
        assert_eq!(find_unknown("{build_dir}{x}é"), Some("{x}"));
        assert_eq!(fill_build_dir("{build_dir}/a:{build_dir}", "/b"), "/b/a:/b");
    }
}
