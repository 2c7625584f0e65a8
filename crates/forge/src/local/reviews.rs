//! Reviews of pull requests, and the approvals that the rules of a base count.

use super::LocalForge;
use super::comments::{CommentedLines, StoredComment, insert, touch};
use super::errors::{OrBroken, run_blocking};
use super::stored_pulls::{StoredPull, signed};
use super::{pull_attributes, url};
use crate::discussion_model::{APPROVED, CHANGES_REQUESTED, last_verdicts};
use crate::{
    Failure, MissingItem, NewReview, RepoName, Review, ReviewDecision, ReviewEvent,
    SubmittedReview, UnmetPrecondition,
};
use candor_street::EffectMark;
use sqlx::sqlite::SqliteConnection;
use std::sync::Arc;

const READ: &str = "the reviews could not be read";
const WRITE: &str = "the review could not be written";

/// The maximum number of reviews in an answer.
pub const MAX_REVIEWS: usize = 1_000;

/// A review in the database.
#[derive(Debug, Clone)]
pub(super) struct StoredReview {
    author: String,
    state: String,
    body: String,
    sha: String,
}

impl StoredReview {
    fn verdict(&self) -> (&str, &str) {
        (&self.author, &self.state)
    }
}

/// Returns the reviews of a pull request, oldest first.
pub(super) async fn of_pull(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
) -> Result<Vec<StoredReview>, Failure> {
    let rows: Vec<(String, String, String, String)> = sqlx::query_as(
        "SELECT author, state, body, sha FROM reviews WHERE repo = ? AND number = ? ORDER BY id",
    )
    .bind(repo)
    .bind(signed(number))
    .fetch_all(connection)
    .await
    .or_broken(READ)?;
    let rows = rows.into_iter();
    let review = |(author, state, body, sha)| StoredReview {
        author,
        state,
        body,
        sha,
    };
    Ok(rows.map(review).collect())
}

/// Returns the last reviews as an answer has them, and whether there are more.
pub(super) fn shown(reviews: Vec<StoredReview>) -> (Vec<Review>, bool) {
    let older = reviews.len().saturating_sub(MAX_REVIEWS);
    let last = reviews.into_iter().skip(older).map(|review| Review {
        author: Some(review.author),
        state: review.state,
        body: review.body,
    });
    (last.collect(), older > 0)
}

/// The approvals of a pull request.
#[derive(Debug, Clone, Default)]
pub(super) struct Approvals {
    /// The names that approve the present head.
    pub(super) approving: usize,
    /// True if somebody requests changes, of whatever head.
    pub(super) is_refused: bool,
    /// True if somebody has approved, whatever head.
    has_approval: bool,
}

impl Approvals {
    pub(super) fn of(reviews: &[StoredReview], head_sha: &str) -> Approvals {
        let verdicts = last_verdicts(reviews.iter().map(StoredReview::verdict));
        let now = reviews.iter().filter(|review| review.sha == head_sha);
        let now = last_verdicts(now.map(StoredReview::verdict));
        let approves = |name: &&String| verdicts.get(*name) == Some(&APPROVED);
        let approving = now.iter().filter(|(_, state)| **state == APPROVED);
        Approvals {
            approving: approving.map(|(name, _)| name).filter(approves).count(),
            is_refused: verdicts.values().any(|state| *state == CHANGES_REQUESTED),
            has_approval: verdicts.values().any(|state| *state == APPROVED),
        }
    }

    /// Returns true if a base that requires this many approvals can be merged into.
    pub(super) fn satisfy(&self, required: u32) -> bool {
        required == 0 || (self.approving >= required as usize && !self.is_refused)
    }

    pub(super) fn decision(&self, required: u32) -> Option<ReviewDecision> {
        match self.satisfy(required) {
            _ if self.is_refused => Some(ReviewDecision::ChangesRequested),
            false => Some(ReviewDecision::ReviewRequired),
            true if self.has_approval => Some(ReviewDecision::Approved),
            true => None,
        }
    }
}

impl LocalForge {
    /// Submits a review in the name of `author`. Returns its id.
    pub(super) async fn write_review(
        &self,
        mark: &EffectMark,
        repo: &RepoName,
        number: u64,
        author: &str,
        review: &NewReview,
    ) -> Result<SubmittedReview, Failure> {
        let location = self.location(repo).await?;
        let pull = self.row(repo, number).await?;
        if review.is_empty() {
            return Err(UnmetPrecondition::EmptyReview.into());
        }
        let is_own = |by: &String| by.to_lowercase() == author.to_lowercase();
        if review.event != ReviewEvent::Comment && pull.author.as_ref().is_some_and(is_own) {
            return Err(UnmetPrecondition::OwnPull(number).into());
        }
        let base_sha = self.check_review(&pull, review).await?;
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut change = self.change_rows(mark).await?;
        let there = touch(change.connection(), &folded, number, now).await?;
        there.ok_or(MissingItem::PullRequest(number))?;
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO reviews (repo, number, author, state, body, sha, created_at)
             VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(&folded)
        .bind(signed(number))
        .bind(author)
        .bind(review.event.state())
        .bind(review.body.as_deref().unwrap_or_default())
        .bind(&review.head_sha)
        .bind(now)
        .fetch_one(change.connection())
        .await
        .or_broken(WRITE)?;
        for comment in &review.comments {
            let lines = CommentedLines {
                review_id: Some(id),
                path: comment.path.clone(),
                line: comment.line,
                start_line: comment.start_line,
                side: comment.side,
                commit_sha: review.head_sha.clone(),
                base_sha: base_sha.clone(),
                in_reply_to: None,
            };
            let comment = StoredComment {
                id: 0,
                number,
                author: author.to_owned(),
                body: comment.body.clone(),
                lines: Some(lines),
                created_at: now,
            };
            insert(change.connection(), &folded, &comment).await?;
        }
        pull_attributes::answer_request(change.connection(), &folded, number, author).await?;
        change.commit(WRITE).await?;
        if review.event == ReviewEvent::Approve {
            self.merge_what_is_ready(repo).await;
        }
        Ok(SubmittedReview {
            id: u64::try_from(id).unwrap_or_default(),
            state: review.event.state().to_owned(),
            author: Some(author.to_owned()),
            url: format!("{}#review-{id}", url::pull(&location.name, number)),
        })
    }

    /// Fails if the head is another one or a commented line is not shown. Returns the merge base.
    async fn check_review(&self, pull: &StoredPull, review: &NewReview) -> Result<String, Failure> {
        let repo = RepoName::parse(&pull.repo).ok_or(MissingItem::Repository)?;
        let location = self.location(&repo).await?;
        let status = self.status(location.clone(), pull, false).await?;
        if status.head_sha != review.head_sha {
            return Err(Failure::HeadMoved {
                expected: review.head_sha.clone(),
                actual: Some(status.head_sha),
                state: None,
            });
        }
        let (root, pull, review) = (Arc::clone(&self.root), pull.clone(), review.clone());
        run_blocking(move || {
            root.build(&location, |base| {
                let (head, comments) = (&review.head_sha, &review.comments);
                let from = base.check_commented_lines(&root, &pull, head, comments)?;
                Ok(from.to_string())
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approvals(reviews: &[(&str, &str, &str)]) -> Approvals {
        let reviews = reviews.iter().map(|(author, state, sha)| StoredReview {
            author: (*author).to_owned(),
            state: (*state).to_owned(),
            body: String::new(),
            sha: (*sha).to_owned(),
        });
        Approvals::of(&reviews.collect::<Vec<_>>(), "new")
    }

    #[test]
    fn approvals_of_the_present_head_count() {
        let (yes, no) = (APPROVED, CHANGES_REQUESTED);
        let old = approvals(&[("a", yes, "old"), ("b", yes, "new")]);
        assert!(old.satisfy(1) && !old.satisfy(2));
        assert_eq!(old.decision(2), Some(ReviewDecision::ReviewRequired));
        assert_eq!(old.decision(0), Some(ReviewDecision::Approved));
        let twice = approvals(&[("a", yes, "new"), ("A", yes, "new")]);
        assert!(!twice.satisfy(2));
        let refused = approvals(&[("a", no, "old"), ("b", yes, "new")]);
        assert!(!refused.satisfy(1) && refused.satisfy(0));
        assert_eq!(refused.decision(1), Some(ReviewDecision::ChangesRequested));
        let changed = approvals(&[("a", no, "old"), ("a", yes, "new")]);
        assert!(changed.satisfy(1));
        let withdrawn = approvals(&[("a", yes, "new"), ("a", no, "new")]);
        assert!(!withdrawn.satisfy(1));
        assert_eq!(approvals(&[]).decision(0), None);
    }
}
