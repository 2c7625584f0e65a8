//! Names as the least careful file system compares them.

/// Returns a name without the differences that some file system ignores: the case of letters, the
/// two characters beyond ASCII that are another case of one within (long s, the Kelvin sign),
/// invisible characters, and dots and spaces at the end. Bytes that are not UTF-8 stay.
pub(super) fn fold_name(name: &[u8]) -> Vec<u8> {
    let mut folded = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                _ if is_unseen(letter) => {}
                '\u{17f}' => folded.push(b's'),
                '\u{212a}' => folded.push(b'k'),
                letter => {
                    let mut bytes = [0; 4];
                    let lower = letter.to_ascii_lowercase().encode_utf8(&mut bytes);
                    folded.extend_from_slice(lower.as_bytes());
                }
            }
        }
        folded.extend_from_slice(chunk.invalid());
    }
    let seen = |byte: &u8| *byte != b'.' && *byte != b' ';
    // A name of dots and spaces alone is not another name of anything.
    if let Some(last) = folded.iter().rposition(seen) {
        folded.truncate(last + 1);
    }
    folded
}

/// Returns true for characters that Unicode ignores by default, as far as a file name may contain
/// them.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_name_are_folded() {
        for (name, folded) in [
            (".Git", ".git"),
            (".git. .", ".git"),
            ("\u{feff}.g\u{200d}it", ".git"),
            ("\u{212a}EY\u{17f}", "keys"),
            ("É", "É"),
            ("...", "..."),
            ("", ""),
        ] {
            assert_eq!(fold_name(name.as_bytes()), folded.as_bytes(), "{name:?}");
        }
        assert_eq!(fold_name(b"A\xffB"), b"a\xffb");
    }
}
