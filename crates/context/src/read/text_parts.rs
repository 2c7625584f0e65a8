//! Parts of a text: lines, ranges of bytes, and the part that fits a budget.

use std::ops::Range;

/// Returns the number of lines. A line ends after `\n`; a last line without `\n` counts.
pub(crate) fn count_lines(text: &str) -> u64 {
    let open = !text.is_empty() && !text.ends_with('\n');
    newlines(text.as_bytes()) + u64::from(open)
}

/// Returns the range of lines, counted from 1, both included. `to` may be behind the last line. Returns
/// `None` if `from` is behind the last line or `to` is before `from`.
pub(crate) fn range_of_lines(text: &str, from: u64, to: u64) -> Option<Range<usize>> {
    if from == 0 || to < from {
        return None;
    }
    let start = start_of_line(text, 0, from - 1).filter(|start| *start < text.len())?;
    let end = start_of_line(text, start, to - from + 1).unwrap_or(text.len());
    Some(start..end)
}

/// Returns the offset after the next `lines` lines that begin at `start`, or `None` if there are fewer.
fn start_of_line(text: &str, start: usize, lines: u64) -> Option<usize> {
    let mut at = start;
    let bytes = text.as_bytes();
    for _ in 0..lines {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|byte| *byte == b'\n')? + 1;
    }
    Some(at)
}

/// Returns the first and the last line of a range, counted from 1. Returns `None` if it is empty.
pub(crate) fn lines_of(text: &str, range: &Range<usize>) -> Option<[u64; 2]> {
    let before = text.as_bytes().get(..range.start)?;
    let inside = text
        .as_bytes()
        .get(range.start..range.end.checked_sub(1)?)?;
    let first = newlines(before) + 1;
    (range.start < range.end).then(|| [first, first + newlines(inside)])
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the length of the part of a text that fits: whole lines, or as many characters of the first
/// line as fit, but at least one. `fits` is told the length of a part.
pub(crate) fn fitting(text: &str, fits: impl Fn(usize) -> bool) -> usize {
    if fits(text.len()) {
        return text.len();
    }
    let end = last_fitting(text, &fits);
    match text.as_bytes()[..end]
        .iter()
        .rposition(|byte| *byte == b'\n')
    {
        Some(line) => line + 1,
        None => match end {
            0 => text.chars().next().map_or(0, char::len_utf8),
            end => end,
        },
    }
}

/// Returns the length of the longest part that fits and ends between two characters.
fn last_fitting(text: &str, fits: &impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = text.floor_char_boundary(low + (high - low).div_ceil(2));
        let middle = match middle > low {
            true => middle,
            // The character in the middle begins at `low`.
            false => text.ceil_char_boundary(low + 1),
        };
        if middle > high {
            break;
        }
        match fits(middle) {
            true => low = middle,
            false => high = text.floor_char_boundary(middle - 1),
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts with many ends of lines, `\r\n`, wide characters and long lines.
    pub(crate) fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => Just(String::from("\n")),
            1 => Just(String::from("\r\n")),
            2 => "[ab é漢🦊]{0,12}",
            1 => "\\PC{0,30}",
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    fn lines(text: &str) -> Vec<&str> {
        text.split_inclusive('\n').collect()
    }

    #[test]
    fn empty_text_has_no_lines() {
        assert_eq!(count_lines(""), 0);
        assert_eq!(range_of_lines("", 1, 1), None);
        assert_eq!(lines_of("", &(0..0)), None);
        assert_eq!(lines_of("ab", &(1..1)), None);
    }

    #[test]
    fn last_line_needs_no_newline() {
        assert_eq!(
            (count_lines("a"), count_lines("a\n"), count_lines("\n\n")),
            (1, 1, 2)
        );
        assert_eq!(range_of_lines("a\nb", 2, 9), Some(2..3));
        assert_eq!(range_of_lines("a\nb\n", 3, 3), None);
        assert_eq!(range_of_lines("a\nb\n", 2, 1), None);
        assert_eq!(range_of_lines("a\nb\n", 0, 1), None);
    }

    #[test]
    fn part_is_never_empty_if_the_text_is_not() {
        assert_eq!(fitting("🦊a", |_| false), 4);
        assert_eq!(fitting("\na", |_| false), 1);
        assert_eq!(fitting("", |_| false), 0);
    }

    proptest! {
        #[test]
        fn lines_agree_with_split_lines(text in text(), from in 1u64..30, count in 0u64..30) {
            let all = lines(&text);
            prop_assert_eq!(count_lines(&text), all.len() as u64);
            let range = range_of_lines(&text, from, from + count);
            let expected: String = all.iter().skip(from as usize - 1).take(count as usize + 1).copied().collect();
            prop_assert_eq!(range.clone().map_or("", |range| &text[range]), expected.as_str());
            if let Some(range) = range {
                let last = (from + count).min(all.len() as u64);
                prop_assert_eq!(lines_of(&text, &range), Some([from, last]));
            }
        }

        #[test]
        fn fitting_part_ends_after_a_line_or_a_character(text in text(), most in 0usize..60) {
            let end = fitting(&text, |length| length <= most);
            prop_assert!(text.is_char_boundary(end));
            prop_assert_eq!(end == 0, text.is_empty());
            if text.len() <= most {
                prop_assert_eq!(end, text.len());
                return Ok(());
            }
            let first_line = lines(&text)[0].len();
            if first_line <= most {
                // Whole lines, and the next one would not fit.
                prop_assert!(text[..end].ends_with('\n') && end <= most);
                let next = lines(&text[end..])[0].len();
                prop_assert!(end + next > most);
            } else {
                let next = text[end..].chars().next().unwrap().len_utf8();
                let first = text.chars().next().unwrap().len_utf8();
                prop_assert!(end <= most.max(first) && end + next > most);
            }
        }
    }
}
