//! Issues in the database, and the trait `IssueForge` for the local backend.

use super::LocalForge;
use super::comments::{self, NumberKind};
use super::errors::OrBroken;
use super::history::skipped;
use super::pull_attributes::{NameTable, names, replace_names};
use super::stored_pulls::{self, signed};
use super::{times, url};
use crate::{
    BackendContext, BackendFuture, Failure, Issue, IssueChange, IssueDetails, IssueForge,
    IssueMatches, IssuePage, IssueQuery, LAST_COMMENTS, MissingItem, NewIssue, Paging, PullFilter,
    PullState, RepoName, UnmetPrecondition,
};
use candor_fault::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, Row as _};
use std::collections::BTreeSet;

const READ: &str = "the issues could not be read";
const WRITE: &str = "the issue could not be written";

/// An issue in the database.
#[derive(Debug, Clone)]
struct StoredIssue {
    number: u64,
    title: String,
    body: Option<String>,
    is_open: bool,
    state_reason: Option<String>,
    author: Option<String>,
    created_at: i64,
    updated_at: i64,
    closed_at: Option<i64>,
}

impl<'r> FromRow<'r, SqliteRow> for StoredIssue {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        let number: i64 = row.try_get("number")?;
        let state: String = row.try_get("state")?;
        Ok(StoredIssue {
            number: u64::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))?,
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            is_open: state == "open",
            state_reason: row.try_get("state_reason")?,
            author: row.try_get("author")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
            closed_at: row.try_get("closed_at")?,
        })
    }
}

/// Returns an issue. A pull request of that number is another thing.
async fn find(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    number: u64,
) -> Result<StoredIssue, Failure> {
    let found: Option<StoredIssue> =
        sqlx::query_as("SELECT * FROM issues WHERE repo = ? AND number = ?")
            .bind(repo.folded())
            .bind(signed(number))
            .fetch_optional(&mut *connection)
            .await
            .or_broken(READ)?;
    match found {
        Some(issue) => Ok(issue),
        None => Err(match stored_pulls::find(connection, repo, number).await? {
            Some(_) => UnmetPrecondition::IsPullRequest(number).into(),
            None => MissingItem::Issue(number).into(),
        }),
    }
}

/// Returns an issue as an answer has it.
async fn shown(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    issue: StoredIssue,
) -> Result<Issue, Failure> {
    let (folded, number) = (repo.folded(), issue.number);
    let labels = names(&mut *connection, NameTable::Labels, &folded, number).await?;
    let assignees = names(&mut *connection, NameTable::Assignees, &folded, number).await?;
    Ok(Issue {
        number,
        title: issue.title,
        body: issue.body,
        state: match issue.is_open {
            true => PullState::Open,
            false => PullState::Closed,
        },
        state_reason: issue.state_reason,
        author: issue.author,
        labels,
        assignees,
        comment_count: comments::count(connection, &folded, number).await?,
        created_at: times::of_micros(issue.created_at),
        updated_at: times::of_micros(issue.updated_at),
        closed_at: issue.closed_at.map(times::of_micros),
        url: url::issue(repo, number),
    })
}

/// Lists the issues that match, newest first. Case of names does not count.
async fn list(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    query: &IssueQuery,
    skip: u64,
    most: u64,
) -> Result<Vec<StoredIssue>, Failure> {
    let state = match query.state {
        PullFilter::Open => Some("open"),
        PullFilter::Closed => Some("closed"),
        PullFilter::All => None,
    };
    let since = query.since.as_deref().map(|text| text.parse::<Timestamp>());
    let since = match since {
        Some(Ok(at)) => at.as_microsecond(),
        // The schema admits RFC 3339 only; a leap second is none here.
        Some(Err(_)) | None => i64::MIN,
    };
    let labels: BTreeSet<_> = query
        .labels
        .iter()
        .map(|one| one.to_ascii_lowercase())
        .collect();
    let wanted = serde_json::to_string(&labels).unwrap_or_default();
    let rows = sqlx::query_as(
        "SELECT * FROM issues WHERE repo = ?1 AND (?2 IS NULL OR state = ?2) AND updated_at >= ?3
         AND (?4 IS NULL
             OR (?4 = 'none' AND NOT EXISTS (SELECT 1 FROM assignees
                 WHERE assignees.repo = issues.repo AND assignees.number = issues.number))
             OR EXISTS (SELECT 1 FROM assignees
                 WHERE assignees.repo = issues.repo AND assignees.number = issues.number
                 AND (?4 = '*' OR lower(name) = lower(?4))))
         AND (SELECT count(DISTINCT lower(name)) FROM labels
             WHERE labels.repo = issues.repo AND labels.number = issues.number
             AND lower(name) IN (SELECT value FROM json_each(?5))) = ?6
         ORDER BY number DESC LIMIT ?7 OFFSET ?8",
    )
    .bind(repo.folded())
    .bind(state)
    .bind(since)
    .bind(query.assignee.as_deref())
    .bind(wanted)
    .bind(signed(labels.len() as u64))
    .bind(signed(most))
    .bind(signed(skip))
    .fetch_all(connection);
    rows.await.or_broken(READ)
}

impl LocalForge {
    async fn listed_issues(
        &self,
        repo: &RepoName,
        query: &IssueQuery,
        paging: Paging,
    ) -> Result<IssuePage, Failure> {
        let location = self.location(repo).await?;
        let most = u64::from(paging.per_page);
        let mut reading = self.database.read().await?;
        let mut rows = list(&mut reading, repo, query, skipped(paging), most + 1).await?;
        let more = rows.len() as u64 > most;
        rows.truncate(paging.per_page as usize);
        let mut issues = Vec::with_capacity(rows.len());
        for row in rows {
            issues.push(shown(&mut reading, &location.name, row).await?);
        }
        Ok(IssuePage { issues, more })
    }

    async fn one_issue(&self, repo: &RepoName, number: u64) -> Result<IssueDetails, Failure> {
        let location = self.location(repo).await?;
        let mut reading = self.database.read().await?;
        let row = find(&mut reading, repo, number).await?;
        let issue = shown(&mut reading, &location.name, row).await?;
        let most = LAST_COMMENTS as u64;
        let skip = issue.comment_count.saturating_sub(most);
        let last = comments::list(&mut reading, &repo.folded(), number, skip, most).await?;
        let show = |row| comments::shown(&location.name, NumberKind::Issue, row, None);
        Ok(IssueDetails {
            issue,
            comments: last.into_iter().map(show).collect(),
        })
    }

    async fn open_issue(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        new: &NewIssue,
    ) -> Result<Issue, Failure> {
        let location = self.location(repo).await?;
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut change = self.change_rows(&context.mark).await?;
        let number: i64 = sqlx::query_scalar(
            "INSERT INTO issues (repo, number, title, body, state, author, created_at, updated_at)
             VALUES (?1, (SELECT 1 + max(
                 (SELECT coalesce(max(number), 0) FROM pull_requests WHERE repo = ?1),
                 (SELECT coalesce(max(number), 0) FROM issues WHERE repo = ?1))),
                 ?2, ?3, 'open', ?4, ?5, ?5) RETURNING number",
        )
        .bind(&folded)
        .bind(&new.title)
        .bind(&new.body)
        .bind(&self.identity.name)
        .bind(now)
        .fetch_one(change.connection())
        .await
        .or_broken(WRITE)?;
        let number = u64::try_from(number).unwrap_or_default();
        let connection = change.connection();
        let (labels, assignees) = (NameTable::Labels, NameTable::Assignees);
        replace_names(connection, labels, &folded, number, &new.labels).await?;
        replace_names(connection, assignees, &folded, number, &new.assignees).await?;
        let row = find(connection, repo, number).await?;
        let issue = shown(connection, &location.name, row).await?;
        change.commit(WRITE).await?;
        Ok(issue)
    }

    async fn change_issue(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        number: u64,
        order: &IssueChange,
    ) -> Result<Issue, Failure> {
        let location = self.location(repo).await?;
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut change = self.change_rows(&context.mark).await?;
        let connection = change.connection();
        let mut issue = find(connection, repo, number).await?;
        if let Some(title) = &order.title {
            issue.title.clone_from(title);
        }
        if let Some(body) = &order.body {
            issue.body = Some(body.clone());
        }
        let is_open = order.state.map(|state| state == PullState::Open);
        let is_open = is_open.unwrap_or(issue.is_open);
        let reason = order.state_reason.map(|reason| reason.word().to_owned());
        issue.state_reason = match is_open {
            true => None,
            // An issue that is closed without a reason is completed, as on GitHub.
            false if issue.is_open => Some(reason.unwrap_or_else(|| "completed".to_owned())),
            false => reason.or(issue.state_reason),
        };
        issue.closed_at = match is_open {
            true => None,
            false => issue.closed_at.or(Some(now)),
        };
        sqlx::query(
            "UPDATE issues SET title = ?, body = ?, state = ?, state_reason = ?, updated_at = ?,
                 closed_at = ? WHERE repo = ? AND number = ?",
        )
        .bind(&issue.title)
        .bind(&issue.body)
        .bind(if is_open { "open" } else { "closed" })
        .bind(&issue.state_reason)
        .bind(now)
        .bind(issue.closed_at)
        .bind(&folded)
        .bind(signed(number))
        .execute(&mut *connection)
        .await
        .or_broken(WRITE)?;
        if let Some(labels) = &order.labels {
            replace_names(connection, NameTable::Labels, &folded, number, labels).await?;
        }
        if let Some(assignees) = &order.assignees {
            replace_names(connection, NameTable::Assignees, &folded, number, assignees).await?;
        }
        let row = find(connection, repo, number).await?;
        let issue = shown(connection, &location.name, row).await?;
        change.commit(WRITE).await?;
        Ok(issue)
    }
}

impl IssueForge for LocalForge {
    fn issues<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a IssueQuery,
        paging: Paging,
    ) -> BackendFuture<'a, IssuePage> {
        Box::pin(self.listed_issues(repo, query, paging))
    }

    fn issue<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, IssueDetails> {
        Box::pin(self.one_issue(repo, number))
    }

    fn create_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewIssue,
    ) -> BackendFuture<'a, Issue> {
        Box::pin(self.open_issue(context, repo, new))
    }

    fn update_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a IssueChange,
    ) -> BackendFuture<'a, Issue> {
        Box::pin(self.change_issue(context, repo, number, change))
    }

    fn search_issues<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, IssueMatches> {
        Box::pin(self.found_issues(repo, query, paging))
    }
}
