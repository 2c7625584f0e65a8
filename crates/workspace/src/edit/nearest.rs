//! The lines of a file that look most like a text that is not in it.

use super::lines::cut;
use std::collections::HashSet;
use std::fmt;

/// The maximum number of characters of a line that are shown.
pub const MAX_NEAR_TEXT: usize = 200;

/// The maximum number of lines that are named.
const MAX_NEAR: usize = 3;

/// The maximum number of lines of the wanted text that are compared.
const LOOKED_AT: usize = 64;

/// The maximum number of bytes of a line that are compared.
const COMPARED: usize = 400;

/// Lines that share less than this many thousandths with the wanted one are not named.
const ALIKE: usize = 350;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearbyLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its text without the line break, cut to [`MAX_NEAR_TEXT`] characters.
    pub text: String,
}

impl NearbyLine {
    pub(crate) fn new(line: usize, text: &str) -> Self {
        let text = String::from(cut(text, MAX_NEAR_TEXT));
        Self { line, text }
    }
}

/// The lines as one phrase; `None` if there are none.
pub(crate) struct LineList<'a>(pub(crate) &'static str, pub(crate) &'a [NearbyLine]);

impl fmt::Display for LineList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, near) in self.1.iter().enumerate() {
            match index {
                0 => write!(f, "; {} ", self.0)?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{}: `{}`", near.line, near.text)?;
        }
        Ok(())
    }
}

/// Finds the lines most similar to the first line of `wanted` that the text does not contain, best
/// first. Makes one pass over the text to see which lines it contains, and one to compare.
pub(crate) fn nearest(text: &str, wanted: &str) -> Vec<NearbyLine> {
    let Some(line) = missing_line(text, wanted) else {
        return Vec::new();
    };
    let pairs = BytePairs::of(line);
    let mut best: Vec<(usize, usize, &str)> = Vec::new();
    for (index, candidate) in text.lines().enumerate() {
        let score = pairs.similarity(candidate);
        let worst = best.last().map_or(0, |found| found.0);
        if score < ALIKE || (best.len() == MAX_NEAR && score <= worst) {
            continue;
        }
        let position = best.partition_point(|found| found.0 >= score);
        best.insert(position, (score, index + 1, candidate));
        best.truncate(MAX_NEAR);
    }
    let named = best.into_iter();
    named
        .map(|(_, line, text)| NearbyLine::new(line, text))
        .collect()
}

/// Returns the first line of `wanted` that is not a line of the text, or the first that is not
/// blank if the text has all of them.
fn missing_line<'a>(text: &str, wanted: &'a str) -> Option<&'a str> {
    let lines = || {
        let lines = wanted.lines().take(LOOKED_AT);
        lines.filter(|line| !line.trim().is_empty())
    };
    let mut missing: HashSet<&str> = lines().collect();
    for line in text.lines() {
        missing.remove(line);
        if missing.is_empty() {
            break;
        }
    }
    lines()
        .find(|line| missing.contains(line))
        .or_else(|| lines().next())
}

/// The pairs of neighbouring bytes of a line.
struct BytePairs {
    has: Vec<bool>,
    count: usize,
}

impl BytePairs {
    fn of(line: &str) -> Self {
        let mut has = vec![false; 1 << 16];
        let mut count = 0;
        for pair in compared(line).windows(2) {
            has[pair_index(pair)] = true;
            count += 1;
        }
        Self { has, count }
    }

    /// Returns the similarity of two lines in thousandths.
    fn similarity(&self, line: &str) -> usize {
        let bytes = compared(line);
        let shared = bytes
            .windows(2)
            .filter(|pair| self.has[pair_index(pair)])
            .count();
        let both = self.count + bytes.len().saturating_sub(1);
        // A short line that repeats one pair counts as equal at most.
        (2000 * shared.min(self.count))
            .checked_div(both)
            .unwrap_or(0)
    }
}

fn compared(line: &str) -> &[u8] {
    let bytes = line.trim().as_bytes();
    &bytes[..bytes.len().min(COMPARED)]
}

fn pair_index(pair: &[u8]) -> usize {
    match pair {
        [one, other] => usize::from(*one) << 8 | usize::from(*other),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn main() {\n    let total = add(1, 2);\n    print(total);\n}\n";

    fn nearest_numbers(text: &str) -> Vec<usize> {
        nearest(TEXT, text).iter().map(|near| near.line).collect()
    }

    #[test]
    fn most_similar_line_comes_first() {
        assert_eq!(nearest_numbers("let total = add(1, 3);")[0], 2);
        assert_eq!(
            nearest_numbers("fn main() {\n    let total = sum(1, 2);\n")[0],
            2
        );
        assert_eq!(nearest_numbers("print (total);"), [3, 2]);
    }

    #[test]
    fn dissimilar_text_has_no_nearest_lines() {
        assert!(nearest_numbers("zzzzzzzz").is_empty());
        assert!(nearest_numbers("\n  \n").is_empty());
        assert_eq!(nearest("", "a"), []);
    }

    #[test]
    fn long_line_is_cut_between_characters() {
        let line = "ä".repeat(1000);
        let lines = nearest(&line, &"ä".repeat(990));
        assert_eq!(
            lines,
            [NearbyLine {
                line: 1,
                text: "ä".repeat(200)
            }]
        );
    }
}
