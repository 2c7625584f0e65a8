//! Finds the words of a text: runs of letters and digits, in lower case.
//!
//! An apostrophe inside a word is removed, and with it the `s` of a possessive. Ideographs and kana, which are not
//! separated by spaces, are single words. An identifier such as `getUserMedia` gives its parts, then the whole.

/// The most bytes of a word. A longer word is cut.
const MOST_BYTES: usize = 64;

/// Visits every word of the text.
pub(super) fn words(text: &str, mut visit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut word = WordBuffer::default();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match CLASSES[usize::from(*byte)] {
            WordByte::Other => at += 1,
            _ => at = from(text, at, &mut word, &mut visit),
        }
    }
}

/// Visits the word that may begin at `start`. Returns the offset after it, which is greater than `start`.
fn from(text: &str, start: usize, word: &mut WordBuffer, visit: &mut impl FnMut(&str)) -> usize {
    let bytes = text.as_bytes();
    let plain = bytes.get(start..).unwrap_or(&[]);
    let length = plain
        .iter()
        .take_while(|byte| matches!(CLASSES[usize::from(**byte)], WordByte::Lower))
        .count();
    let end = start + length;
    // Most words consist of small letters and digits: they need no copy.
    if length > 0 && bytes.get(end).is_none_or(|byte| ends_word(*byte)) {
        visit(text.get(start..end.min(start + MOST_BYTES)).unwrap_or(""));
        return end;
    }
    word.clear();
    let end = word.read(text, start);
    word.give(visit);
    end
}

/// Returns true if this byte ends a word.
fn ends_word(byte: u8) -> bool {
    byte != b'\'' && matches!(CLASSES[usize::from(byte)], WordByte::Other)
}

/// The class of a byte in a word.
#[derive(Clone, Copy)]
enum WordByte {
    /// A small letter or a digit.
    Lower,
    /// A capital letter.
    Upper,
    /// A part of a character that is not ASCII.
    Wide,
    Other,
}

const CLASSES: [WordByte; 256] = classes();

const fn classes() -> [WordByte; 256] {
    let mut classes = [WordByte::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' => WordByte::Lower,
            b'A'..=b'Z' => WordByte::Upper,
            0x80.. => WordByte::Wide,
            _ => WordByte::Other,
        };
        byte += 1;
    }
    classes
}

/// The word that is being read, with the ends of the parts of an identifier.
#[derive(Default)]
struct WordBuffer {
    text: String,
    ends: Vec<usize>,
    /// True if its last character is a small letter.
    after_small: bool,
}

impl WordBuffer {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.after_small = false;
    }

    /// Reads to the end of the word. Returns the offset after it.
    fn read(&mut self, text: &str, start: usize) -> usize {
        let mut chars = text.get(start..).unwrap_or("").chars();
        while let Some(char) = chars.next() {
            let behind = chars.as_str();
            let next = text.len() - behind.len();
            match char {
                '\'' | '\u{2019}' => match after_apostrophe(behind) {
                    Apostrophe::Inside => {}
                    Apostrophe::Possessive => return next + 1,
                    Apostrophe::Outside => return next,
                },
                _ if stands_alone(char) => {
                    if !self.text.is_empty() {
                        return next - char.len_utf8();
                    }
                    self.push(char, behind);
                    return next;
                }
                _ if char.is_alphanumeric() => self.push(char, behind),
                _ if is_mark(char) && !self.text.is_empty() => self.push(char, behind),
                SOFT_HYPHEN => {}
                _ => return next,
            }
        }
        text.len()
    }

    fn push(&mut self, char: char, behind: &str) {
        if self.text.len() >= MOST_BYTES {
            return;
        }
        let upper = char.is_uppercase();
        if upper && !self.text.is_empty() && (self.after_small || begins_part(behind)) {
            self.ends.push(self.text.len());
        }
        self.after_small = char.is_lowercase();
        match char.is_ascii() {
            true => self.text.push(char.to_ascii_lowercase()),
            false => self.text.extend(char.to_lowercase()),
        }
    }

    fn give(&mut self, visit: &mut impl FnMut(&str)) {
        if self.text.is_empty() {
            return;
        }
        if !self.ends.is_empty() {
            let mut start = 0;
            for end in self.ends.iter().copied().chain([self.text.len()]) {
                visit(self.text.get(start..end).unwrap_or(""));
                start = end;
            }
        }
        visit(&self.text);
    }
}

const SOFT_HYPHEN: char = '\u{ad}';

/// The meaning of an apostrophe, by what follows it.
enum Apostrophe {
    Inside,
    /// Only an `s` follows, which is removed too.
    Possessive,
    Outside,
}

fn after_apostrophe(behind: &str) -> Apostrophe {
    let mut chars = behind.chars();
    let first = chars.next();
    let more = chars.next().is_some_and(char::is_alphanumeric);
    match first {
        Some('s' | 'S') if !more => Apostrophe::Possessive,
        Some(char) if char.is_alphanumeric() => Apostrophe::Inside,
        _ => Apostrophe::Outside,
    }
}

/// Returns true if a capital after capitals or digits starts a part: the `E` of `HTMLElement` does, no letter of `URLs`
/// does.
fn begins_part(behind: &str) -> bool {
    let mut chars = behind.chars();
    let lower = |char: char| char.is_lowercase();
    match (chars.next(), chars.next()) {
        (Some('s'), next) => next.is_some_and(lower),
        (Some(next), _) => lower(next),
        (None, _) => false,
    }
}

/// Returns true for ideographs and kana.
fn stands_alone(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && char.is_alphanumeric()
}

/// Returns true for combining marks.
fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words_of(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        for (text, expected) in [
            ("The quick, brown-fox_2!", "the quick brown fox 2"),
            ("ÉCOLE Straße ΣΟΦΙΑ", "école straße σοφια"),
            ("dog's dogs' dog’s DOG'S", "dog dogs dog dog"),
            ("don't o’clock 'quoted'", "dont oclock quoted"),
            ("日本語 text かな", "日 本 語 text か な"),
            ("abc日def", "abc 日 def"),
            ("e\u{301}t\u{e9} co\u{ad}operate", "e\u{301}té cooperate"),
            ("한국어 हिन्दी", "한국어 हिन दी"),
            ("— … \u{2028}\u{0}", ""),
            ("'", ""),
            ("''s", "s"),
        ] {
            assert_eq!(words_of(text).join(" "), expected, "{text:?}");
        }
    }

    #[test]
    fn identifiers_give_their_parts_and_the_whole() {
        for (text, expected) in [
            ("getUserMedia()", "get user media getusermedia"),
            ("HTMLElement", "html element htmlelement"),
            ("Int32Array", "int32 array int32array"),
            ("URLs and IDs", "urls and ids"),
            ("HTML 3D", "html 3d"),
            ("snake_case", "snake case"),
            ("éÉ", "é é éé"),
        ] {
            assert_eq!(words_of(text).join(" "), expected, "{text:?}");
        }
    }

    #[test]
    fn long_word_is_cut() {
        let beginning = "a".repeat(MOST_BYTES);
        assert_eq!(words_of(&"a".repeat(1000)), [beginning.as_str()]);
        assert_eq!(words_of(&"A".repeat(1000)), [beginning.as_str()]);
        assert!(words_of(&"é".repeat(1000))[0].len() <= MOST_BYTES + 3);
    }

    proptest! {
        #[test]
        fn words_consist_of_letters_and_digits(text in "\\PC*|[a-zA-Z0-9' éÉ日’\u{301}\u{ad}-]*") {
            for word in words_of(&text) {
                prop_assert!(!word.is_empty() && word.len() <= MOST_BYTES + 8);
                let first = word.chars().next().unwrap();
                prop_assert!(first.is_alphanumeric(), "{:?}", word);
            }
        }

        #[test]
        fn case_of_whole_words_is_ignored(text in "[a-z0-9 '-]*") {
            let upper = words_of(&text.to_uppercase());
            prop_assert_eq!(words_of(&text), upper);
        }
    }
}
