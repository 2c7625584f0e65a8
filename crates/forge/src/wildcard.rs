//! Patterns in which `*` matches any characters but `/`.

/// Returns true if a text matches a pattern. Backtracks to the last `*` only, so the time is at most
/// the product of the two lengths.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = text.get(seen) {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, seen));
            }
            Some(&wanted) if wanted == byte => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((after, from)) if text.get(from) != Some(&b'/') => {
                    star = Some((after, from + 1));
                    (at, seen) = (after, from + 1);
                }
                _ => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Implements the rule by recursion, for comparison.
    fn plainly(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => plainly(rest, text),
            (Some((b'*', rest)), Some((b'/', _))) => plainly(rest, text),
            (Some((b'*', rest)), Some((_, more))) => plainly(rest, text) || plainly(pattern, more),
            (Some((one, rest)), Some((other, more))) => one == other && plainly(rest, more),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn it_says_what_the_rule_says(pattern in "[ab*/]{0,8}", text in "[ab/]{0,8}") {
            let wanted = plainly(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(&pattern, &text), wanted);
        }
    }
}
