//! The part of a backend for issues.

use crate::{
    BackendContext, BackendFuture, Issue, IssueChange, IssueDetails, IssueMatches, IssuePage,
    IssueQuery, NewIssue, Paging, RepoName,
};

/// A backend that keeps issues. They share their numbers with pull requests.
pub trait IssueForge {
    /// Lists issues, never pull requests.
    fn issues<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a IssueQuery,
        paging: Paging,
    ) -> BackendFuture<'a, IssuePage>;

    /// Returns an issue with its last comments.
    fn issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, IssueDetails>;

    /// Opens an issue.
    fn create_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewIssue,
    ) -> BackendFuture<'a, Issue>;

    /// Changes an issue.
    fn update_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a IssueChange,
    ) -> BackendFuture<'a, Issue>;

    /// Searches the issues and pull requests of a repository.
    fn search_issues<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, IssueMatches>;
}
