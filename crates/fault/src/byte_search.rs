//! Looks for bytes that need an escape, eight at a time: most texts of an answer are short and need none.

/// A word with this byte in every place.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of every byte.
const HIGH_BITS: u64 = repeat(0x80);

/// Returns a word in which the highest bit of a byte is set if that byte of `word` is zero. Bytes after the
/// first zero may be wrong.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeat(1)) & !word & HIGH_BITS
}

/// Marks the bytes that a JSON string cannot contain as they are. Bytes after the first mark may be wrong.
const fn escaped_bytes(word: u64) -> u64 {
    let control = word.wrapping_sub(repeat(b' ')) & !word & HIGH_BITS;
    control | zero_bytes(word ^ repeat(b'"')) | zero_bytes(word ^ repeat(b'\\'))
}

/// Marks the bytes that are not printable ASCII. Bytes after the first mark may be wrong.
const fn invisible_bytes(word: u64) -> u64 {
    let control = word.wrapping_sub(repeat(b' ')) & !word;
    (control | word) & HIGH_BITS | zero_bytes(word ^ repeat(0x7f))
}

/// Returns the offset of the first byte that a JSON string cannot contain as it is.
pub(crate) fn find_escaped(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let skipped = skip_plain_blocks(bytes);
    find(&bytes[skipped..], escaped_bytes).map(|at| skipped + at)
}

/// Returns true if a text consists of printable ASCII characters.
pub(crate) fn is_visible_ascii(text: &str) -> bool {
    find(text.as_bytes(), invisible_bytes).is_none()
}

/// Returns the offset of the first byte that `mark` marks.
#[inline]
fn find(bytes: &[u8], mark: impl Fn(u64) -> u64) -> Option<usize> {
    let first_mark = |word: u64| Some(mark(word)).filter(|marks| *marks != 0);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(marks) = first_mark(u64::from_le_bytes(*word)) {
            return Some(index * 8 + (marks.trailing_zeros() / 8) as usize);
        }
    }
    if rest.is_empty() {
        return None;
    }
    // The last bytes are looked at together, with bytes before them that are not marked or with spaces.
    let (word, start) = match bytes.last_chunk::<8>() {
        Some(last) => (u64::from_le_bytes(*last), bytes.len() - 8),
        None => (padded(rest), 0),
    };
    first_mark(word).map(|marks| start + (marks.trailing_zeros() / 8) as usize)
}

/// Returns the number of bytes at the start of a long text that need no escape: whole blocks, which the
/// processor compares with one instruction.
fn skip_plain_blocks(bytes: &[u8]) -> usize {
    let is_plain = |block: &[u8; 16]| {
        let any = block.iter().fold(false, |any, byte| {
            any | (*byte < b' ') | (*byte == b'"') | (*byte == b'\\')
        });
        !any
    };
    let (blocks, _) = bytes.as_chunks::<16>();
    16 * blocks.iter().take_while(|block| is_plain(block)).count()
}

/// Returns fewer than eight bytes as a word, with spaces behind them.
fn padded(bytes: &[u8]) -> u64 {
    let spaces = repeat(b' ');
    let word = bytes.iter().rev();
    word.fold(spaces, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,20}",
            "[ !#-\\[\\]-~]{0,30}[\\x00-\\x7f]{0,2}[a-z]{0,9}",
            "[a-zé😀\\x7f\\x80]{0,20}",
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn escaped_byte_is_found_as_by_the_oracle(text in text()) {
            let is_escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
            prop_assert_eq!(find_escaped(&text), text.bytes().position(is_escaped));
        }

        #[test]
        fn visible_text_is_recognised_as_by_the_oracle(text in text()) {
            prop_assert_eq!(is_visible_ascii(&text), text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        }
    }
}
