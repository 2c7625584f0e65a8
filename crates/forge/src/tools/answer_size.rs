//! Bounds the size of answers: an answer of a tool of `loop` has at most 512 KiB.

use crate::model::{Commit, Review};
use serde::Serialize;

/// The maximum size of an answer.
pub const MAX_ANSWER_BYTES: usize = 512 * 1024;

/// The bytes of a list in an answer. The rest is for the other members.
const MAX_LIST_BYTES: usize = MAX_ANSWER_BYTES - 32 * 1024;

/// The bytes of all messages of the commits in an answer. Patches need the rest.
const MAX_MESSAGES_BYTES: usize = 128 * 1024;

/// Returns the first entries that fit into an answer.
pub(super) fn fitting<T: Serialize>(entries: Vec<T>) -> Vec<T> {
    let mut room = MAX_LIST_BYTES;
    let fits = |entry: &T| {
        let size = candor_fault::to_json(entry).len() + 1;
        let fits = size <= room;
        room -= size.min(room);
        fits
    };
    entries.into_iter().take_while(fits).collect()
}

/// Cuts long messages, so that those of all commits fit into an answer. Returns true if one was cut.
pub(super) fn cut_messages(commits: &mut [Commit]) -> bool {
    let most = MAX_MESSAGES_BYTES / commits.len().max(1);
    let mut is_cut = false;
    for commit in commits {
        if commit.message.len() > most {
            let end = commit.message.floor_char_boundary(most);
            commit.message.truncate(end);
            is_cut = true;
        }
    }
    is_cut
}

/// The bytes of an entry beside its text.
const ENTRY_BYTES: usize = 4 * 1024;

/// Cuts long texts, so that those of all entries fit into an answer. Returns true if one was cut.
pub(super) fn cut_texts<'a>(texts: impl ExactSizeIterator<Item = &'a mut String>) -> bool {
    let each = MAX_LIST_BYTES / texts.len().max(1);
    let most = each.saturating_sub(ENTRY_BYTES).max(each / 8);
    let mut is_cut = false;
    for text in texts {
        // A character may need more bytes in JSON than in the text.
        while candor_fault::to_json(text).len() > most {
            let excess = candor_fault::to_json(text).len() - most;
            let end = text.len() - excess.div_ceil(6).min(text.len());
            let end = text.floor_char_boundary(end);
            text.truncate(end);
            is_cut = true;
        }
    }
    is_cut
}

/// The bytes of the texts of all reviews in an answer. Patches need the rest.
const MAX_REVIEWS_BYTES: usize = 128 * 1024;

/// Cuts the texts of the oldest reviews, so that all of them fit into an answer. Returns true if one was cut.
pub(super) fn cut_reviews(reviews: &mut [Review]) -> bool {
    let mut room = MAX_REVIEWS_BYTES;
    let mut is_cut = false;
    for review in reviews.iter_mut().rev() {
        let size = candor_fault::to_json(&review.body).len();
        match room.checked_sub(size) {
            Some(rest) => room = rest,
            None => {
                is_cut |= !review.body.is_empty();
                review.body.clear();
            }
        }
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_old_reviews_are_cut() {
        let review = |bytes: usize| Review {
            author: None,
            state: String::from("COMMENTED"),
            body: "x".repeat(bytes),
        };
        let mut few = vec![review(10_000); 10];
        assert!(!cut_reviews(&mut few));
        let mut many = vec![review(10_000); 20];
        assert!(cut_reviews(&mut many));
        let kept: Vec<_> = many.iter().map(|one| one.body.len()).collect();
        assert_eq!((kept[0], kept[7], kept[19]), (0, 10_000, 10_000));
    }

    #[test]
    fn texts_of_all_entries_fit() {
        let mut short = vec![String::from("short"); 100];
        assert!(!cut_texts(short.iter_mut()));
        for text in ["\u{1}", "ü", "x"] {
            let mut long = vec![text.repeat(70_000); 100];
            assert!(cut_texts(long.iter_mut()));
            let size = candor_fault::to_json(&long).len();
            assert!(
                size <= MAX_LIST_BYTES && size > MAX_LIST_BYTES / 16,
                "{size}"
            );
        }
        let mut whole = ["x".repeat(10_000)];
        assert!(!cut_texts(whole.iter_mut()));
    }

    #[test]
    fn list_is_cut_by_its_bytes() {
        let entries = vec!["\n".repeat(1000); 1000];
        let kept = fitting(entries).len();
        let size = candor_fault::to_json(&vec!["\n".repeat(1000); kept]).len();
        assert!(
            (200..300).contains(&kept) && size <= MAX_LIST_BYTES + 2,
            "{kept}"
        );
        assert_eq!(fitting(vec![1, 2, 3]), [1, 2, 3]);
    }

    #[test]
    fn messages_of_all_commits_fit() {
        let commit = |message: String| Commit {
            sha: String::new(),
            message,
            author: None,
            committer: None,
            parents: Vec::new(),
            url: String::new(),
        };
        let mut short = vec![commit(String::from("short")); 100];
        assert!(!cut_messages(&mut short));
        let mut long = vec![commit("ü".repeat(MAX_MESSAGES_BYTES)); 3];
        assert!(cut_messages(&mut long));
        let bytes: usize = long.iter().map(|one| one.message.len()).sum();
        assert!(bytes <= MAX_MESSAGES_BYTES && bytes > MAX_MESSAGES_BYTES - 10);
    }
}
