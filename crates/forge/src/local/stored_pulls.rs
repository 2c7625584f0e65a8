//! Pull requests in the database.

use super::errors::OrBroken;
use crate::{Failure, PullFilter, RepoName};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, Row as _};

const READ: &str = "a pull request could not be read";
const WRITE: &str = "a pull request could not be written";

/// The state of a pull request in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredState {
    Open,
    Closed,
    /// The base is about to be moved. The base branch shows whether it was.
    Merging,
    Merged,
}

impl StoredState {
    fn word(self) -> &'static str {
        match self {
            StoredState::Open => "open",
            StoredState::Closed => "closed",
            StoredState::Merging => "merging",
            StoredState::Merged => "merged",
        }
    }

    fn read(word: &str) -> Option<StoredState> {
        [
            StoredState::Open,
            StoredState::Closed,
            StoredState::Merging,
            StoredState::Merged,
        ]
        .into_iter()
        .find(|state| state.word() == word)
    }
}

#[derive(Debug, Clone)]
pub(super) struct StoredPull {
    pub(super) repo: String,
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) state: StoredState,
    pub(super) draft: bool,
    pub(super) head: String,
    /// The owner of the fork, if the branch is in one.
    pub(super) head_owner: Option<String>,
    /// The last known head. That of an open pull request is its branch's.
    pub(super) head_sha: String,
    pub(super) base: String,
    pub(super) author: Option<String>,
    pub(super) merging_sha: Option<String>,
    /// The commit of the base before the merge.
    pub(super) merging_from: Option<String>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
}

impl<'r> FromRow<'r, SqliteRow> for StoredPull {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        let number: i64 = row.try_get("number")?;
        let state: String = row.try_get("state")?;
        let draft: i64 = row.try_get("draft")?;
        Ok(StoredPull {
            repo: row.try_get("repo")?,
            number: u64::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))?,
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            state: StoredState::read(&state)
                .ok_or_else(|| sqlx::Error::Decode("no state of a pull request".into()))?,
            draft: draft != 0,
            head: row.try_get("head")?,
            head_owner: row.try_get("head_owner")?,
            head_sha: row.try_get("head_sha")?,
            base: row.try_get("base")?,
            author: row.try_get("author")?,
            merging_sha: row.try_get("merging_sha")?,
            merging_from: row.try_get("merging_from")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

/// Converts a number for the database, which has no larger ones.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) async fn find(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    number: u64,
) -> Result<Option<StoredPull>, Failure> {
    let found = sqlx::query_as("SELECT * FROM pull_requests WHERE repo = ? AND number = ?")
        .bind(repo.folded())
        .bind(signed(number))
        .fetch_optional(connection)
        .await;
    found.or_broken(READ)
}

/// Lists the pull requests of a repository, newest first.
pub(super) async fn list(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    wanted: PullFilter,
    skip: u64,
    most: u64,
) -> Result<Vec<StoredPull>, Failure> {
    let sql = match wanted {
        PullFilter::Open => {
            "SELECT * FROM pull_requests WHERE repo = ? AND state IN ('open', 'merging')
             ORDER BY number DESC LIMIT ? OFFSET ?"
        }
        PullFilter::Closed => {
            "SELECT * FROM pull_requests WHERE repo = ? AND state IN ('closed', 'merged')
             ORDER BY number DESC LIMIT ? OFFSET ?"
        }
        PullFilter::All => {
            "SELECT * FROM pull_requests WHERE repo = ? ORDER BY number DESC LIMIT ? OFFSET ?"
        }
    };
    let found = sqlx::query_as(sql)
        .bind(repo.folded())
        .bind(signed(most))
        .bind(signed(skip))
        .fetch_all(connection)
        .await;
    found.or_broken(READ)
}

/// Returns the open pull request from one branch to another.
pub(super) async fn open_between(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
) -> Result<Option<u64>, Failure> {
    let found: Option<i64> = sqlx::query_scalar(
        "SELECT number FROM pull_requests WHERE repo = ? AND lower(coalesce(head_owner, '')) = lower(?)
         AND head = ? AND base = ? AND state IN ('open', 'merging')",
    )
    .bind(&pull.repo)
    .bind(pull.head_owner.as_deref().unwrap_or(""))
    .bind(&pull.head)
    .bind(&pull.base)
    .fetch_optional(connection)
    .await
    .or_broken(READ)?;
    Ok(found.and_then(|number| u64::try_from(number).ok()))
}

/// Lists open pull requests from a branch of the repository itself.
pub(super) async fn open_from(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    head: &str,
) -> Result<Vec<StoredPull>, Failure> {
    let found = sqlx::query_as(
        "SELECT * FROM pull_requests WHERE repo = ? AND head_owner IS NULL AND head = ?
         AND state IN ('open', 'merging') ORDER BY number",
    )
    .bind(repo.folded())
    .bind(head)
    .fetch_all(connection)
    .await;
    found.or_broken(READ)
}

/// Lists pull requests whose merge was interrupted.
pub(super) async fn interrupted(
    connection: &mut SqliteConnection,
) -> Result<Vec<StoredPull>, Failure> {
    let found =
        sqlx::query_as("SELECT * FROM pull_requests WHERE state = 'merging' ORDER BY repo, number")
            .fetch_all(connection)
            .await;
    found.or_broken(READ)
}

/// Writes a new pull request with the next number. Returns `None` if an open one for the same branches
/// exists. The number in `pull` is ignored.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
) -> Result<Option<u64>, Failure> {
    let number: Option<i64> = sqlx::query_scalar(
        "INSERT INTO pull_requests (repo, number, title, body, state, draft, head, head_owner, head_sha,
             base, author, created_at, updated_at)
         VALUES (?1, (SELECT 1 + max(
                 (SELECT coalesce(max(number), 0) FROM pull_requests WHERE repo = ?1),
                 (SELECT coalesce(max(number), 0) FROM issues WHERE repo = ?1))),
             ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT DO NOTHING RETURNING number",
    )
    .bind(&pull.repo)
    .bind(&pull.title)
    .bind(&pull.body)
    .bind(pull.state.word())
    .bind(i64::from(pull.draft))
    .bind(&pull.head)
    .bind(&pull.head_owner)
    .bind(&pull.head_sha)
    .bind(&pull.base)
    .bind(&pull.author)
    .bind(pull.created_at)
    .bind(pull.updated_at)
    .fetch_optional(connection)
    .await
    .or_broken(WRITE)?;
    Ok(number.and_then(|number| u64::try_from(number).ok()))
}

/// Writes the fields that may change while a pull request is open or closed.
pub(super) async fn change(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
) -> Result<(), Failure> {
    let closed_at = (pull.state == StoredState::Closed).then_some(pull.updated_at);
    sqlx::query(
        "UPDATE pull_requests SET title = ?, body = ?, state = ?, draft = ?, head_sha = ?, updated_at = ?,
             closed_at = CASE WHEN ? IS NULL THEN NULL ELSE coalesce(closed_at, ?) END
         WHERE repo = ? AND number = ?",
    )
    .bind(&pull.title)
    .bind(&pull.body)
    .bind(pull.state.word())
    .bind(i64::from(pull.draft))
    .bind(&pull.head_sha)
    .bind(pull.updated_at)
    .bind(closed_at)
    .bind(closed_at)
    .bind(&pull.repo)
    .bind(signed(pull.number))
    .execute(connection)
    .await
    .or_broken(WRITE)?;
    Ok(())
}

/// Writes the title and description of a merged pull request. Its other fields do not change.
pub(super) async fn reword(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE pull_requests SET title = ?, body = ?, updated_at = ? WHERE repo = ? AND number = ?",
    )
    .bind(&pull.title)
    .bind(&pull.body)
    .bind(pull.updated_at)
    .bind(&pull.repo)
    .bind(signed(pull.number))
    .execute(connection)
    .await
    .or_broken(WRITE)?;
    Ok(())
}

/// Changes the state from open to merging. Returns true if it was open.
pub(super) async fn begin_merge(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
    sha: &str,
    from: &str,
) -> Result<bool, Failure> {
    let begun: Option<i64> = sqlx::query_scalar(
        "UPDATE pull_requests SET state = 'merging', merging_sha = ?, merging_from = ?, head_sha = ?
         WHERE repo = ? AND number = ? AND state = 'open' RETURNING number",
    )
    .bind(sha)
    .bind(from)
    .bind(&pull.head_sha)
    .bind(&pull.repo)
    .bind(signed(pull.number))
    .fetch_optional(connection)
    .await
    .or_broken(WRITE)?;
    Ok(begun.is_some())
}

/// Changes the state from merging to merged.
pub(super) async fn end_merge(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
    at: i64,
) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE pull_requests SET state = 'merged', merged_sha = merging_sha, updated_at = ?1,
             closed_at = ?1, merged_at = ?1
         WHERE repo = ?2 AND number = ?3 AND state = 'merging'",
    )
    .bind(at)
    .bind(&pull.repo)
    .bind(signed(pull.number))
    .execute(&mut *connection)
    .await
    .or_broken(WRITE)?;
    super::pull_attributes::write_auto_merge(connection, &pull.repo, pull.number, None, at).await
}

/// Changes the state from merging back to open.
pub(super) async fn give_up_merge(
    connection: &mut SqliteConnection,
    pull: &StoredPull,
) -> Result<(), Failure> {
    sqlx::query(
        "UPDATE pull_requests SET state = 'open', merging_sha = NULL, merging_from = NULL
         WHERE repo = ? AND number = ? AND state = 'merging'",
    )
    .bind(&pull.repo)
    .bind(signed(pull.number))
    .execute(connection)
    .await
    .or_broken(WRITE)?;
    Ok(())
}
