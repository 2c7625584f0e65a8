//! The words of v0: lower-cased text, split at Unicode white space, duplicates and order kept.

/// Calls `visit` with every word of `text`, lower-cased, and says how many there are.
///
/// Lower-casing word by word gives what lower-casing the whole text would: the one rule that looks at
/// neighbours (the final sigma) stops at white space.
pub(crate) fn each_word(text: &str, mut visit: impl FnMut(&str)) -> u64 {
    let mut lower = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        count += 1;
        if !word.is_ascii() {
            visit(&word.to_lowercase());
        } else if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
            visit(&lower);
        } else {
            visit(word);
        }
    }
    count
}

/// The words of a query.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word| words.push(word.to_owned()));
    words
}

/// What a content costs: a token for every four bytes that are begun.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_white_space_splits_and_nothing_else_does() {
        let text = "A\u{b}b\u{85}C\u{a0}d\u{2003}e\u{2028}f\u{3000}g\u{1c}h\u{200b}i\u{180e}j";
        assert_eq!(
            words(text),
            ["a", "b", "c", "d", "e", "f", "g\u{1c}h\u{200b}i\u{180e}j"]
        );
        assert_eq!(words(" \t\r\n"), Vec::<String>::new());
        assert_eq!(words("ΟΔΟΣ ΟΔΟΣ. İ ẞ Ⅷ"), ["οδος", "οδος.", "i̇", "ß", "ⅷ"]);
    }

    #[test]
    fn begun_tokens_count() {
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn word_by_word_is_the_whole(text in "[a-zA-ZΣσς.'\u{301}\u{ad}\u{345}İıſK \n\u{85}\u{2028}\u{1c}-]{0,40}|\\PC{0,40}") {
            let whole = text.to_lowercase();
            let plain: Vec<_> = whole.split_whitespace().map(str::to_owned).collect();
            prop_assert_eq!(words(&text), plain);
        }
    }
}
