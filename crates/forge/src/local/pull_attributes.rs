//! Labels, requested reviewers and auto-merge of pull requests in the database. Labels and assignees of
//! issues are in the same tables.

use super::errors::OrBroken;
use super::stored_pulls::signed;
use crate::{AutoMerge, Failure, MergeMethod, PullAttributes, RequestedReviewers};
use sqlx::sqlite::SqliteConnection;

const READ: &str = "a pull request could not be read";
const WRITE: &str = "a pull request could not be written";

/// A table of names that are attached to an issue or a pull request.
#[derive(Debug, Clone, Copy)]
pub(super) enum NameTable {
    Labels,
    Assignees,
}

impl NameTable {
    fn statements(self) -> (&'static str, &'static str, &'static str) {
        match self {
            NameTable::Labels => (
                "SELECT name FROM labels WHERE repo = ? AND number = ? ORDER BY name",
                "DELETE FROM labels WHERE repo = ? AND number = ?",
                "INSERT INTO labels (repo, number, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ),
            NameTable::Assignees => (
                "SELECT name FROM assignees WHERE repo = ? AND number = ? ORDER BY name",
                "DELETE FROM assignees WHERE repo = ? AND number = ?",
                "INSERT INTO assignees (repo, number, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ),
        }
    }
}

/// Returns the names of an issue or a pull request, sorted.
pub(super) async fn names(
    connection: &mut SqliteConnection,
    table: NameTable,
    repo: &str,
    number: u64,
) -> Result<Vec<String>, Failure> {
    let (read, ..) = table.statements();
    let found = sqlx::query_scalar(read)
        .bind(repo)
        .bind(signed(number))
        .fetch_all(connection);
    found.await.or_broken(READ)
}

/// Replaces the names of an issue or a pull request.
pub(super) async fn replace_names(
    connection: &mut SqliteConnection,
    table: NameTable,
    repo: &str,
    number: u64,
    names: &[String],
) -> Result<(), Failure> {
    let (_, delete, insert) = table.statements();
    let deleted = sqlx::query(delete).bind(repo).bind(signed(number));
    deleted.execute(&mut *connection).await.or_broken(WRITE)?;
    for name in names {
        let inserted = sqlx::query(insert).bind(repo).bind(signed(number));
        let inserted = inserted.bind(name).execute(&mut *connection);
        inserted.await.or_broken(WRITE)?;
    }
    Ok(())
}

/// Returns everybody whose review is awaited, sorted.
pub(super) async fn requested(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
) -> Result<RequestedReviewers, Failure> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT kind, name FROM requested_reviewers WHERE repo = ? AND number = ? ORDER BY name",
    )
    .bind(repo)
    .bind(signed(number))
    .fetch_all(connection)
    .await
    .or_broken(READ)?;
    let (teams, users): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(kind, _)| kind == "team");
    let names = |rows: Vec<(String, String)>| rows.into_iter().map(|(_, name)| name).collect();
    Ok(RequestedReviewers {
        requested_reviewers: names(users),
        requested_teams: names(teams),
    })
}

/// Adds people and teams whose review is awaited. A name that is there in another case stays.
pub(super) async fn request(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
    wanted: &RequestedReviewers,
    at: i64,
) -> Result<(), Failure> {
    let users = wanted.requested_reviewers.iter().map(|name| ("user", name));
    let teams = wanted.requested_teams.iter().map(|name| ("team", name));
    for (kind, name) in users.chain(teams) {
        let added = sqlx::query(
            "INSERT INTO requested_reviewers (repo, number, kind, name, at)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM requested_reviewers
                 WHERE repo = ?1 AND number = ?2 AND kind = ?3 AND lower(name) = lower(?4))",
        )
        .bind(repo)
        .bind(signed(number))
        .bind(kind)
        .bind(name)
        .bind(at)
        .execute(&mut *connection);
        added.await.or_broken(WRITE)?;
    }
    Ok(())
}

/// Removes the request to somebody who has reviewed.
pub(super) async fn answer_request(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
    name: &str,
) -> Result<(), Failure> {
    let gone = sqlx::query(
        "DELETE FROM requested_reviewers
         WHERE repo = ? AND number = ? AND kind = 'user' AND lower(name) = lower(?)",
    )
    .bind(repo)
    .bind(signed(number))
    .bind(name)
    .execute(connection);
    gone.await.or_broken(WRITE)?;
    Ok(())
}

pub(super) fn method_word(method: MergeMethod) -> &'static str {
    match method {
        MergeMethod::Merge => "merge",
        MergeMethod::Squash => "squash",
        MergeMethod::Rebase => "rebase",
    }
}

fn method(word: &str) -> MergeMethod {
    match word {
        "squash" => MergeMethod::Squash,
        "rebase" => MergeMethod::Rebase,
        _ => MergeMethod::Merge,
    }
}

pub(super) async fn auto_merge(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
) -> Result<Option<AutoMerge>, Failure> {
    let row: Option<(String, String)> =
        sqlx::query_as("SELECT method, enabled_by FROM auto_merges WHERE repo = ? AND number = ?")
            .bind(repo)
            .bind(signed(number))
            .fetch_optional(connection)
            .await
            .or_broken(READ)?;
    Ok(row.map(|(word, by)| AutoMerge {
        merge_method: method(&word),
        enabled_by: Some(by),
    }))
}

/// Enables or disables auto-merge.
pub(super) async fn write_auto_merge(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
    wanted: Option<&AutoMerge>,
    at: i64,
) -> Result<(), Failure> {
    let deleted = sqlx::query("DELETE FROM auto_merges WHERE repo = ? AND number = ?")
        .bind(repo)
        .bind(signed(number))
        .execute(&mut *connection);
    deleted.await.or_broken(WRITE)?;
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let inserted = sqlx::query(
        "INSERT INTO auto_merges (repo, number, method, enabled_by, at) VALUES (?, ?, ?, ?, ?)",
    )
    .bind(repo)
    .bind(signed(number))
    .bind(method_word(wanted.merge_method))
    .bind(wanted.enabled_by.as_deref().unwrap_or_default())
    .bind(at)
    .execute(connection);
    inserted.await.or_broken(WRITE)?;
    Ok(())
}

/// Returns the pull requests with auto-merge whose base or head may be in a repository: its own, and those
/// of repositories with the same name, of which it may be a fork.
pub(super) async fn with_auto_merge(
    connection: &mut SqliteConnection,
    repo: &str,
) -> Result<Vec<(String, u64)>, Failure> {
    let name = repo.split_once('/').map_or(repo, |(_, name)| name);
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT repo, number FROM auto_merges WHERE substr(repo, instr(repo, '/') + 1) = ?
         ORDER BY repo, number",
    )
    .bind(name)
    .fetch_all(connection)
    .await
    .or_broken(READ)?;
    let rows = rows.into_iter();
    Ok(rows
        .filter_map(|(repo, number)| Some((repo, u64::try_from(number).ok()?)))
        .collect())
}

/// Reads everything that is attached to a pull request.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
) -> Result<PullAttributes, Failure> {
    let labels = names(&mut *connection, NameTable::Labels, repo, number).await?;
    let requested = requested(&mut *connection, repo, number).await?;
    Ok(PullAttributes {
        labels,
        requested_reviewers: requested.requested_reviewers,
        requested_teams: requested.requested_teams,
        auto_merge: auto_merge(connection, repo, number).await?,
    })
}
