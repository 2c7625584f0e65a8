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
/// line as fit, but at least one. `fits` is told the length of a part; the search starts at `guess`.
///
/// The part fits, unless it is a single character. With one more line, or one more character of the first
/// line, it would not fit, even if a longer part takes fewer tokens than a shorter one.
pub(crate) fn fitting(text: &str, guess: usize, fits: impl Fn(usize) -> bool) -> usize {
    if fits(text.len()) {
        return text.len();
    }
    let (lines, first_line) = last_fitting(text.len(), guess, &fits, |low, at, high| {
        line_end_between(text, low, at, high)
    });
    if lines > 0 {
        return lines;
    }
    let (characters, _) = last_fitting(first_line, guess, &fits, |low, at, high| {
        character_end_between(text, low, at, high)
    });
    match characters {
        0 => text.chars().next().map_or(0, char::len_utf8),
        end => end,
    }
}

/// The first distance from the guess at which a search looks for the border.
const FIRST_STEP: usize = 64;

/// Returns the last position that fits, or 0, and the position after it, which does not fit. `end` does
/// not fit. `between` returns a position between two others, close to the one that is wanted.
fn last_fitting(
    end: usize,
    guess: usize,
    fits: &impl Fn(usize) -> bool,
    between: impl Fn(usize, usize, usize) -> Option<usize>,
) -> (usize, usize) {
    let (mut low, mut high) = (0, end);
    let (mut at, mut step) = (guess, FIRST_STEP);
    // True once there is a tested position below the border, and one above it.
    let (mut is_above, mut is_below) = (false, false);
    while let Some(position) = between(low, at.clamp(low, high), high) {
        match fits(position) {
            true => (low, is_below) = (position, true),
            false => (high, is_above) = (position, true),
        }
        at = match (is_below, is_above) {
            (true, false) => low.saturating_add(step),
            (false, true) => high.saturating_sub(step),
            _ => low + (high - low) / 2,
        };
        step = step.saturating_mul(2);
    }
    (low, high)
}

/// Returns an end of a line between `low` and `high`: the last one up to `at`, or the first one after it.
fn line_end_between(text: &str, low: usize, at: usize, high: usize) -> Option<usize> {
    let inside = text.as_bytes().get(low..high.checked_sub(1)?)?;
    let (before, after) = inside.split_at((at - low).min(inside.len()));
    let is_end = |byte: &u8| *byte == b'\n';
    let last = before.iter().rposition(is_end);
    let first = || Some(before.len() + after.iter().position(is_end)?);
    Some(low + last.or_else(first)? + 1)
}

/// Returns an end of a character between `low` and `high`, close to `at`.
fn character_end_between(text: &str, low: usize, at: usize, high: usize) -> Option<usize> {
    let near = match text.floor_char_boundary(at) {
        near if near > low => near.min(text.floor_char_boundary(high.checked_sub(1)?)),
        _ => low,
    };
    let position = match near > low {
        true => near,
        false => text.ceil_char_boundary(low + 1),
    };
    (position < high).then_some(position)
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
        for guess in [0, 1, 4, 9, usize::MAX] {
            assert_eq!(fitting("🦊a", guess, |_| false), 4);
            assert_eq!(fitting("\na", guess, |_| false), 1);
            assert_eq!(fitting("", guess, |_| false), 0);
        }
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
        fn fitting_part_ends_after_a_line_or_a_character(text in text(), most in 0usize..60, guess in 0usize..90) {
            let end = fitting(&text, guess, |length| length <= most);
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
                let first = text.chars().next().unwrap().len_utf8();
                prop_assert!(end <= most.max(first));
                // A text of one character that does not fit is given whole.
                let next = text[end..].chars().next().map_or(0, char::len_utf8);
                prop_assert!(end + next > most);
            }
        }

        /// A longer part may take fewer tokens than a shorter one.
        #[test]
        fn part_fits_and_the_next_one_does_not(text in text(), guess in 0usize..90, fitting_lengths in any::<u64>()) {
            let fits = |length: usize| length > 0 && fitting_lengths.rotate_left(length as u32) & 1 == 1;
            let end = fitting(&text, guess, fits);
            prop_assert!(text.is_char_boundary(end));
            if end == text.len() {
                let single = text.chars().count() <= 1;
                prop_assert!(fits(end) || single);
                return Ok(());
            }
            prop_assert!(end > 0);
            if text[..end].ends_with('\n') && fits(end) {
                prop_assert!(!fits(end + lines(&text[end..])[0].len()));
            } else {
                // A part of the first line, which does not fit as a whole.
                let first_line = lines(&text)[0].len();
                prop_assert!(end <= first_line && !fits(first_line));
                let next = end + text[end..].chars().next().unwrap().len_utf8();
                let first = text.chars().next().unwrap().len_utf8();
                if fits(end) {
                    prop_assert!(!fits(next));
                } else {
                    prop_assert!(end == first);
                }
            }
        }
    }
}
