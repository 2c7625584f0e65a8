//! The data of issues.

use crate::{Comment, PullFilter, PullState};
use serde::{Deserialize, Serialize};

/// The reason why an issue is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateReason {
    Completed,
    NotPlanned,
}

impl StateReason {
    pub(crate) fn word(self) -> &'static str {
        match self {
            StateReason::Completed => "completed",
            StateReason::NotPlanned => "not_planned",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub state: PullState,
    /// The backend's word for the reason why it is closed or open again.
    pub state_reason: Option<String>,
    /// `None` if the account was deleted.
    pub author: Option<String>,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    pub comment_count: u64,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    pub url: String,
}

/// A query for issues. An empty list and `None` admit every issue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueQuery {
    pub state: PullFilter,
    /// The labels that an issue must have, all of them.
    pub labels: Vec<String>,
    /// A name, `*` for anybody, `none` for nobody.
    pub assignee: Option<String>,
    /// The earliest time of the last change, in RFC 3339.
    pub since: Option<String>,
}

/// A page of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuePage {
    /// Newest first.
    pub issues: Vec<Issue>,
    /// True if there is a next page.
    pub more: bool,
}

/// The number of comments in the answer about one issue.
pub const LAST_COMMENTS: usize = 30;

/// An issue with its last comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueDetails {
    pub issue: Issue,
    /// Oldest first.
    pub comments: Vec<Comment>,
}

/// An issue to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    pub title: String,
    pub body: Option<String>,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
}

/// Changes of an issue. `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueChange {
    pub title: Option<String>,
    pub body: Option<String>,
    pub state: Option<PullState>,
    pub state_reason: Option<StateReason>,
    /// Replaces all labels.
    pub labels: Option<Vec<String>>,
    /// Replaces all assignees.
    pub assignees: Option<Vec<String>>,
}

/// The kind of a search result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    Issue,
    PullRequest,
}

/// An issue or a pull request that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueMatch {
    pub number: u64,
    pub kind: IssueKind,
    pub title: String,
    pub state: PullState,
    pub author: Option<String>,
    pub labels: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub url: String,
}

/// A page of issues and pull requests that match a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueMatches {
    pub results: Vec<IssueMatch>,
    /// The number of matches on all pages.
    pub total_count: u64,
    /// True if the search ended before it was complete.
    pub incomplete: bool,
    /// True if there is a next page.
    pub more: bool,
}
