//! The tables of the database. Each format is the statements that follow the one before, so that a new
//! database and a migrated one have the same tables.
//!
//! Times are microseconds since 1970. `repo` is the name of a repository in lower case. Issues and pull
//! requests of a repository share one sequence of numbers.

use super::errors::OrBroken;
use crate::Failure;
use sqlx::sqlite::SqliteConnection;

/// The newest format.
pub(super) const FORMAT: u64 = 2;

/// The statements of each format, the first one first.
const FORMATS: [&[&str]; FORMAT as usize] = [&FORMAT_1, &FORMAT_2];

const FORMAT_1: [&str; 5] = [
    "CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pulls (
        repo TEXT NOT NULL, number BIGINT NOT NULL, title TEXT NOT NULL, body TEXT,
        state TEXT NOT NULL, draft BIGINT NOT NULL,
        head TEXT NOT NULL, head_owner TEXT, head_sha TEXT NOT NULL, base TEXT NOT NULL,
        author TEXT, merging_sha TEXT, merging_from TEXT, merged_sha TEXT,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, closed_at BIGINT, merged_at BIGINT,
        PRIMARY KEY (repo, number))",
    "CREATE UNIQUE INDEX open_pulls ON pulls (repo, lower(coalesce(head_owner, '')), head, base)
        WHERE state IN ('open', 'merging')",
    "CREATE TABLE statuses (
        repo TEXT NOT NULL, sha TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
        description TEXT, at BIGINT NOT NULL, PRIMARY KEY (repo, sha, name))",
    "CREATE TABLE protections (
        repo TEXT NOT NULL, branch TEXT NOT NULL, require_pull_request BIGINT NOT NULL,
        locked BIGINT NOT NULL, required_checks TEXT NOT NULL, PRIMARY KEY (repo, branch))",
];

const FORMAT_2: [&str; 19] = [
    // The table gets another name, so that a program of format 1 that was started before the migration
    // fails: it would give numbers of issues to pull requests, and merge without approvals.
    "ALTER TABLE pulls RENAME TO pull_requests",
    // A check is a job. Its id stays when it is set again.
    "CREATE TABLE checks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        repo TEXT NOT NULL, sha TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
        description TEXT, branch TEXT, attempt BIGINT NOT NULL DEFAULT 1,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, UNIQUE (repo, sha, name))",
    "INSERT INTO checks (repo, sha, name, state, description, created_at, updated_at)
        SELECT repo, sha, name, state, description, at, at FROM statuses
        ORDER BY at, repo, sha, name",
    "DROP TABLE statuses",
    "CREATE INDEX checks_of_repository ON checks (repo, id)",
    // The end of a check's log. `bytes` is the size of the whole log. A log belongs to one attempt.
    "CREATE TABLE check_logs (
        check_id BIGINT NOT NULL PRIMARY KEY, attempt BIGINT NOT NULL, log BLOB NOT NULL,
        bytes BIGINT NOT NULL, at BIGINT NOT NULL)",
    "ALTER TABLE protections ADD COLUMN required_approvals BIGINT NOT NULL DEFAULT 0",
    "CREATE TABLE issues (
        repo TEXT NOT NULL, number BIGINT NOT NULL, title TEXT NOT NULL, body TEXT,
        state TEXT NOT NULL, state_reason TEXT, author TEXT,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, closed_at BIGINT,
        PRIMARY KEY (repo, number))",
    // Labels and assignees of issues and of pull requests.
    "CREATE TABLE labels (
        repo TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (repo, number, name))",
    "CREATE INDEX labelled ON labels (repo, name, number)",
    "CREATE TABLE assignees (
        repo TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (repo, number, name))",
    "CREATE INDEX assigned ON assignees (repo, name, number)",
    // `state` is a word of GitHub: APPROVED, CHANGES_REQUESTED or COMMENTED.
    "CREATE TABLE reviews (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        repo TEXT NOT NULL, number BIGINT NOT NULL, author TEXT NOT NULL, state TEXT NOT NULL,
        body TEXT NOT NULL, sha TEXT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE INDEX reviews_of_pull ON reviews (repo, number, id)",
    // Comments of issues and pull requests, and comments of reviews, which have a path and a line.
    // `commit_sha` is the head and `base_sha` the merge base of the lines that were commented on.
    "CREATE TABLE comments (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        repo TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, author TEXT NOT NULL,
        body TEXT NOT NULL, review_id BIGINT, path TEXT, line BIGINT, start_line BIGINT, side TEXT,
        commit_sha TEXT, base_sha TEXT, in_reply_to BIGINT, created_at BIGINT NOT NULL)",
    "CREATE INDEX comments_of_number ON comments (repo, number, id)",
    // `kind` is `user` or `team`.
    "CREATE TABLE requested_reviewers (
        repo TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
        at BIGINT NOT NULL, PRIMARY KEY (repo, number, kind, name))",
    "CREATE TABLE auto_merges (
        repo TEXT NOT NULL, number BIGINT NOT NULL, method TEXT NOT NULL, enabled_by TEXT NOT NULL,
        at BIGINT NOT NULL, PRIMARY KEY (repo, number))",
    // The tag itself is in git.
    "CREATE TABLE releases (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        repo TEXT NOT NULL, tag TEXT NOT NULL, title TEXT, body TEXT,
        draft BIGINT NOT NULL, prerelease BIGINT NOT NULL, author TEXT NOT NULL,
        created_at BIGINT NOT NULL, published_at BIGINT, UNIQUE (repo, tag))",
];

/// Deletes the rows of a repository, the logs before the checks that they belong to.
const FORGET: [&str; 12] = [
    "DELETE FROM check_logs WHERE check_id IN (SELECT id FROM checks WHERE repo = ?)",
    "DELETE FROM checks WHERE repo = ?",
    "DELETE FROM pull_requests WHERE repo = ?",
    "DELETE FROM protections WHERE repo = ?",
    "DELETE FROM issues WHERE repo = ?",
    "DELETE FROM labels WHERE repo = ?",
    "DELETE FROM assignees WHERE repo = ?",
    "DELETE FROM reviews WHERE repo = ?",
    "DELETE FROM comments WHERE repo = ?",
    "DELETE FROM requested_reviewers WHERE repo = ?",
    "DELETE FROM auto_merges WHERE repo = ?",
    "DELETE FROM releases WHERE repo = ?",
];

/// Brings a database from a format to the newest one, in the transaction of the caller. A database without
/// tables has the format 0.
pub(super) async fn upgrade(
    connection: &mut SqliteConnection,
    from: u64,
    what: &'static str,
) -> Result<(), Failure> {
    if from == FORMAT {
        return Ok(());
    }
    let done = usize::try_from(from).unwrap_or(usize::MAX);
    for statement in FORMATS.into_iter().skip(done).flatten() {
        let run = sqlx::query(*statement).execute(&mut *connection).await;
        run.or_broken(what)?;
    }
    let record = "INSERT INTO meta (key, value) VALUES ('format', ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    let recorded = sqlx::query(record).bind(FORMAT.to_string());
    recorded.execute(connection).await.or_broken(what)?;
    Ok(())
}

/// Deletes all rows of a repository.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    repo: &str,
    what: &'static str,
) -> Result<(), Failure> {
    for statement in FORGET {
        let gone = sqlx::query(statement).bind(repo).execute(&mut *connection);
        gone.await.or_broken(what)?;
    }
    Ok(())
}
