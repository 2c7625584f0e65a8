//! The data of discussions: comments, reviews, requested reviewers, auto-merge, and queries for pull
//! requests.

use crate::{MergeMethod, PullFilter, PullRequest, Review};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The order to merge a pull request as soon as its rules allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AutoMerge {
    pub merge_method: MergeMethod,
    /// `None` if the account was deleted.
    pub enabled_by: Option<String>,
}

/// The parts of a pull request that people attach to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullAttributes {
    pub labels: Vec<String>,
    pub requested_reviewers: Vec<String>,
    pub requested_teams: Vec<String>,
    pub auto_merge: Option<AutoMerge>,
}

/// The kind of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommentKind {
    /// A comment on the whole issue or pull request.
    Comment,
    /// A comment on a line of a pull request.
    Review,
}

/// A side of a difference: before it or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DiffSide {
    Left,
    #[default]
    Right,
}

impl DiffSide {
    pub(crate) fn word(self) -> &'static str {
        match self {
            DiffSide::Left => "LEFT",
            DiffSide::Right => "RIGHT",
        }
    }
}

/// A comment of an issue or a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comment {
    pub id: u64,
    pub kind: CommentKind,
    /// `None` if the account was deleted.
    pub author: Option<String>,
    pub body: String,
    /// Only a comment on a line has a path.
    pub path: Option<String>,
    /// The line as it is now. That of an outdated comment is the one it was made on.
    pub line: Option<u64>,
    pub side: Option<DiffSide>,
    /// The head that was commented on.
    pub commit_sha: Option<String>,
    pub in_reply_to: Option<u64>,
    /// True if its line has changed since.
    pub outdated: bool,
    pub created_at: String,
    pub url: String,
}

/// A page of comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentPage {
    /// Oldest first.
    pub comments: Vec<Comment>,
    /// True if there is a next page.
    pub more: bool,
    /// True if there are more comments than are read.
    pub truncated: bool,
}

/// The verdict of a review to submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewEvent {
    Approve,
    RequestChanges,
    Comment,
}

impl ReviewEvent {
    /// Returns the state of a review with this verdict.
    pub(crate) fn state(self) -> &'static str {
        match self {
            ReviewEvent::Approve => APPROVED,
            ReviewEvent::RequestChanges => CHANGES_REQUESTED,
            ReviewEvent::Comment => "COMMENTED",
        }
    }
}

/// A comment on a line, or on the lines from `start_line` to `line`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LineComment {
    /// From the root of the repository.
    pub path: String,
    pub line: u64,
    pub start_line: Option<u64>,
    #[serde(default)]
    pub side: DiffSide,
    pub body: String,
}

/// A review to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    pub event: ReviewEvent,
    pub body: Option<String>,
    pub comments: Vec<LineComment>,
    /// The full SHA of the reviewed head.
    pub head_sha: String,
}

impl NewReview {
    /// Returns true if the review has neither an approval nor a text.
    pub(crate) fn is_empty(&self) -> bool {
        self.event != ReviewEvent::Approve && self.body.is_none() && self.comments.is_empty()
    }
}

/// A review that was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedReview {
    pub id: u64,
    /// One of APPROVED, CHANGES_REQUESTED, COMMENTED.
    pub state: String,
    pub author: Option<String>,
    pub url: String,
}

/// The people and teams whose review is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RequestedReviewers {
    pub requested_reviewers: Vec<String>,
    pub requested_teams: Vec<String>,
}

/// The verdict of all reviews of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewDecision {
    Approved,
    ChangesRequested,
    /// The base requires more approvals. Only the local backend knows this.
    ReviewRequired,
}

pub(crate) const APPROVED: &str = "APPROVED";
pub(crate) const CHANGES_REQUESTED: &str = "CHANGES_REQUESTED";
const DISMISSED: &str = "DISMISSED";

/// Returns the last verdict of each author, by the author's name in lower case. `reviews` are in the order
/// in which they were submitted. A comment changes no verdict.
pub(crate) fn last_verdicts<'a>(
    reviews: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, &'a str> {
    let mut verdicts = BTreeMap::new();
    for (author, state) in reviews {
        match state {
            APPROVED | CHANGES_REQUESTED => {
                verdicts.insert(author.to_lowercase(), state);
            }
            DISMISSED => {
                verdicts.remove(&author.to_lowercase());
            }
            _ => {}
        }
    }
    verdicts
}

/// Returns the verdict of reviews, without the rules of the base.
pub(crate) fn decision(reviews: &[Review]) -> Option<ReviewDecision> {
    let named = reviews.iter().filter_map(|review| {
        let author = review.author.as_deref()?;
        Some((author, review.state.as_str()))
    });
    let verdicts = last_verdicts(named);
    let has = |wanted: &str| verdicts.values().any(|state| *state == wanted);
    match (has(CHANGES_REQUESTED), has(APPROVED)) {
        (true, _) => Some(ReviewDecision::ChangesRequested),
        (false, true) => Some(ReviewDecision::Approved),
        (false, false) => None,
    }
}

/// A query for pull requests. `None` admits every value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullQuery {
    pub state: PullFilter,
    /// The owner of the head branch, if it is in a fork.
    pub head_owner: Option<String>,
    pub head: Option<String>,
    pub base: Option<String>,
    pub author: Option<String>,
    pub label: Option<String>,
}

impl PullQuery {
    /// Returns true if each pull request must be looked at to decide.
    pub(crate) fn needs_filter(&self) -> bool {
        self.author.is_some() || self.label.is_some()
    }

    /// Returns true if author and labels are the wanted ones. Case does not count, as on GitHub.
    pub(crate) fn admits_names(&self, author: Option<&str>, labels: &[String]) -> bool {
        let same = |wanted: &str, given: &str| wanted.to_lowercase() == given.to_lowercase();
        let author = author.unwrap_or_default();
        let mut labels = labels.iter();
        self.author
            .as_ref()
            .is_none_or(|wanted| same(wanted, author))
            && self
                .label
                .as_ref()
                .is_none_or(|wanted| labels.any(|label| same(wanted, label)))
    }
}

/// The number of newest pull requests that are filtered by author and label.
pub const MAX_FILTERED_PULLS: usize = 1_000;

/// A page of pull requests that match a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPulls {
    /// Newest first.
    pub pulls: Vec<PullRequest>,
    /// True if there is a next page.
    pub more: bool,
    /// True if there are older pull requests that were not looked at.
    pub incomplete: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_verdict_of_each_author_counts() {
        let review = |author: &str, state: &str| Review {
            author: Some(author.to_owned()),
            state: state.to_owned(),
            body: String::new(),
        };
        let decide = |reviews: &[(&str, &str)]| {
            let reviews = reviews.iter().map(|(author, state)| review(author, state));
            decision(&reviews.collect::<Vec<_>>())
        };
        assert_eq!(decide(&[]), None);
        assert_eq!(decide(&[("a", "COMMENTED")]), None);
        let approved = Some(ReviewDecision::Approved);
        assert_eq!(decide(&[("a", APPROVED), ("a", "COMMENTED")]), approved);
        assert_eq!(
            decide(&[("a", APPROVED), ("b", CHANGES_REQUESTED)]),
            Some(ReviewDecision::ChangesRequested)
        );
        let changed = [("B", CHANGES_REQUESTED), ("a", APPROVED), ("b", APPROVED)];
        assert_eq!(decide(&changed), approved);
        assert_eq!(decide(&[("a", APPROVED), ("a", DISMISSED)]), None);
    }
}
