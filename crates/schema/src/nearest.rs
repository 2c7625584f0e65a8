//! Finds the allowed name that a mistyped one was probably meant to be.

use std::borrow::Cow;

/// The most characters of a name that is compared.
pub const MAX_NEAR_CHARS: usize = 64;

/// The maximum number of names that are compared.
pub const MAX_NEAR_CANDIDATES: usize = 512;

/// Names that share a beginning (`repository` and `repo`) are near from this similarity on.
const SIMILAR: f64 = 0.87;

/// Returns the known name nearest to `word`, the first of equals, if one is near.
///
/// Case, `_` and `-` make no difference, so that `pr_number` finds `prNumber`. A name is near when
/// at most a third of its characters were mistyped, or when both begin alike.
///
/// ```
/// use candor_schema::nearest;
///
/// let known = ["repo", "path", "prNumber"];
/// assert_eq!(nearest("repository", known.into_iter()), Some("repo"));
/// assert_eq!(nearest("PR_Number", known.into_iter()), Some("prNumber"));
/// assert_eq!(nearest("colour", known.into_iter()), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut known = known.peekable();
    // Often there is nothing to compare with.
    known.peek()?;
    let word = folded(word)?;
    known
        .take(MAX_NEAR_CANDIDATES)
        .filter_map(|name| Some((distance(&word, &folded(name)?)?, name)))
        // Of equals, `min_by_key` keeps the first.
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the name in a form that ignores case and separators; `None` if it is too long.
fn folded(name: &str) -> Option<Cow<'_, str>> {
    if name.chars().nth(MAX_NEAR_CHARS).is_some() {
        return None;
    }
    let is_folded = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name.bytes().all(is_folded) {
        return (!name.is_empty()).then_some(Cow::Borrowed(name));
    }
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-'));
    let folded: String = kept.flat_map(char::to_lowercase).collect();
    (!folded.is_empty()).then_some(Cow::Owned(folded))
}

/// Returns the number of edits between two names, if they are near.
fn distance(one: &str, other: &str) -> Option<usize> {
    let edits = edits(one, other);
    let longer = one.chars().count().max(other.chars().count());
    let near = edits * 3 <= longer || strsim::jaro_winkler(one, other) >= SIMILAR;
    near.then_some(edits)
}

/// Returns the optimal string alignment distance, without an allocation for short ASCII texts.
fn edits(one: &str, other: &str) -> usize {
    let is_short = |text: &str| text.is_ascii() && text.len() <= MAX_NEAR_CHARS;
    match is_short(one) && is_short(other) {
        true => short_edits(one.as_bytes(), other.as_bytes()),
        false => strsim::osa_distance(one, other),
    }
}

/// The distances of the beginnings of a text to the empty text.
const FIRST_DISTANCES: [u8; MAX_NEAR_CHARS + 1] = {
    let mut distances = [0; MAX_NEAR_CHARS + 1];
    let mut index = 0;
    while index < distances.len() {
        distances[index] = index as u8;
        index += 1;
    }
    distances
};

/// Returns both texts without the beginning and the end that they share, where nothing is edited.
fn differing_parts<'a>(one: &'a [u8], other: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = one.iter().zip(other).take_while(same).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(same)
        .count();
    (&one[..one.len() - end], &other[..other.len() - end])
}

fn short_edits(one: &[u8], other: &[u8]) -> usize {
    let (one, other) = differing_parts(one, other);
    if one.is_empty() || other.is_empty() {
        return one.len().max(other.len());
    }

    // Distances of a beginning of `one` to every beginning of `other`: those before it, and its own.
    // One byte each: no distance is longer than a text, and the arrays change places often.
    let mut before_last = [0_u8; MAX_NEAR_CHARS + 1];
    let mut last = FIRST_DISTANCES;
    let mut own = [0_u8; MAX_NEAR_CHARS + 1];
    for (i, a) in one.iter().enumerate() {
        own[0] = i as u8 + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + u8::from(a != b);
            own[j + 1] = replaced.min(own[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && a != b && *a == other[j - 1] && *b == one[i - 1] {
                own[j + 1] = own[j + 1].min(before_last[j - 1] + 1);
            }
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut own);
    }
    last[other.len()].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nearest_of(word: &str, known: &[&'static str]) -> Option<&'static str> {
        nearest(word, known.iter().copied())
    }

    #[test]
    fn typing_errors_are_recognised() {
        let known = ["repo", "path", "branch", "per_page", "commit_message"];
        assert_eq!(nearest_of("rpeo", &known), Some("repo"));
        assert_eq!(nearest_of("repository", &known), Some("repo"));
        assert_eq!(nearest_of("BRANCH", &known), Some("branch"));
        assert_eq!(nearest_of("brnach", &known), Some("branch"));
        assert_eq!(nearest_of("perPage", &known), Some("per_page"));
        assert_eq!(nearest_of("commit-mesage", &known), Some("commit_message"));
        assert_eq!(
            nearest_of("opened", &["open", "closed", "all"]),
            Some("open")
        );
    }

    #[test]
    fn different_words_are_not_similar() {
        assert_eq!(nearest_of("colour", &["repo", "path", "branch"]), None);
        assert_eq!(nearest_of("pots", &["path"]), None);
        assert_eq!(nearest_of("any", &["open", "closed", "all"]), None);
        assert_eq!(nearest_of("", &["a"]), None);
        assert_eq!(nearest_of("_-_", &["a"]), None);
        assert_eq!(nearest_of("a", &["b", ""]), None);
    }

    #[test]
    fn first_of_equally_similar_names_wins() {
        assert_eq!(nearest_of("pathx", &["patha", "pathb"]), Some("patha"));
        assert_eq!(nearest_of("pathx", &["pathb", "patha"]), Some("pathb"));
        assert_eq!(nearest_of("pathx", &["patha", "path"]), Some("patha"));
    }

    #[test]
    fn long_names_and_late_candidates_are_not_compared() {
        let long = "x".repeat(MAX_NEAR_CHARS + 1);
        assert_eq!(nearest(&long, [long.as_str()].into_iter()), None);
        let longest = "x".repeat(MAX_NEAR_CHARS);
        assert_eq!(
            nearest(&longest, [longest.as_str()].into_iter()),
            Some(longest.as_str())
        );
        let late = std::iter::repeat_n("zzz", MAX_NEAR_CANDIDATES).chain(["near"]);
        assert_eq!(nearest("near", late), None);
    }

    proptest! {
        #[test]
        fn edits_are_counted_as_by_the_oracle(one in "[ab_c]{0,9}", other in "[ab_c]{0,9}", long in "[a-c]{60,64}") {
            prop_assert_eq!(edits(&one, &other), strsim::osa_distance(&one, &other));
            prop_assert_eq!(edits(&long, &other), strsim::osa_distance(&long, &other));
            prop_assert_eq!(edits(&one, &long), strsim::osa_distance(&one, &long));
        }

        #[test]
        fn name_is_most_similar_to_itself(names in prop::collection::vec("[a-z]{1,12}", 1..8), pick in any::<prop::sample::Index>()) {
            let word = pick.get(&names);
            prop_assert_eq!(nearest(word, names.iter().map(String::as_str)), Some(word.as_str()));
        }

        #[test]
        fn name_with_one_typing_error_is_recognised(name in "[a-z]{3,20}", at in any::<prop::sample::Index>(), typed in "[0-9]") {
            let mut mistyped: Vec<char> = name.chars().collect();
            let at = at.index(mistyped.len());
            mistyped[at] = typed.chars().next().unwrap();
            let mistyped: String = mistyped.into_iter().collect();
            prop_assert_eq!(nearest(&mistyped, [name.as_str()].into_iter()), Some(name.as_str()));
        }
    }
}
