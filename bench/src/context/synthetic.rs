//! Synthetic documents: words distributed as in any language, and terms that a known share of the
//! documents contains.

use super::seeded_numbers::SeededNumbers;
use std::io;
use std::path::Path;

const SEED: u64 = 20_261_115;

/// The number of different words.
const WORDS: f64 = 20_000.0;

/// The shares of documents that contain a planted term, in thousandths.
pub(crate) const SHARES: [usize; 4] = [1, 10, 100, 500];

/// The number of different terms for each share.
pub(crate) const TERMS: usize = 4;

const FOLDER: usize = 1000;

/// Returns a term that `share` of a thousand documents contain.
pub(crate) fn term(share: usize, which: usize) -> String {
    format!("planted{share}of1000no{which}")
}

/// Writes this many documents below a directory.
pub(crate) fn write(documents: usize, below: &Path) -> io::Result<()> {
    for number in 0..documents {
        let folder = below.join(format!("part-{:03}", number / FOLDER));
        if number % FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(
            folder.join(format!("page-{number:06}.md")),
            document(number),
        )?;
    }
    Ok(())
}

/// Returns a document of about a kilobyte.
fn document(number: usize) -> String {
    let mut chance = SeededNumbers::new(SEED ^ (number as u64) << 20);
    let mut text = format!("# Page {number}\n\n");
    // Most are short, some are three times as long.
    let words = 70 + chance.below(60) + (chance.fraction().powi(3) * 300.0) as usize;
    for place in 1..=words {
        text.push_str(&word(&mut chance));
        text.push(if place % 12 == 0 { '\n' } else { ' ' });
    }
    for share in SHARES {
        for which in (0..TERMS).filter(|which| planted(number, share, *which)) {
            for _ in 0..=chance.below(3) {
                text.push_str(&term(share, which));
                text.push(' ');
            }
        }
    }
    text.push('\n');
    text
}

/// Returns true if a document contains a term: exactly `share` of every thousand do.
fn planted(number: usize, share: usize, which: usize) -> bool {
    (number * 7919 + which * 257) % 1000 < share
}

/// Returns a word; the n-th most frequent one is n times rarer than the first.
fn word(chance: &mut SeededNumbers) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu",
        "ya",
    ];
    let mut rank = WORDS.powf(chance.fraction()) as usize;
    let mut word = String::new();
    while rank > 0 {
        word.push_str(SYLLABLES[rank % SYLLABLES.len()]);
        rank /= SYLLABLES.len();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thousand_documents_contain_their_share() {
        for share in SHARES {
            for which in 0..TERMS {
                for from in [0, 5000] {
                    let among = from..from + 1000;
                    let found = among.filter(|number| planted(*number, share, which));
                    assert_eq!(found.count(), share);
                }
            }
        }
    }

    #[test]
    fn documents_are_reproducible_and_about_a_kilobyte() {
        assert_eq!(document(7), document(7));
        assert_ne!(document(7), document(8));
        let bytes: usize = (0..200).map(|number| document(number).len()).sum();
        assert!((600..1600).contains(&(bytes / 200)), "{}", bytes / 200);
    }
}
