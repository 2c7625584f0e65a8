//! Statuses of commits: the latest state of each name.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use crate::{CheckState, CommitCheck, CommitChecks, Failure, RepoName, Revision};
use sqlx::sqlite::SqliteConnection;
use std::sync::Arc;

/// Returns GitHub's word for a state.
fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Passed => "success",
        CheckState::Failed => "failure",
        CheckState::Pending => "pending",
    }
}

fn read(word: &str) -> CheckState {
    match word {
        "success" => CheckState::Passed,
        "pending" => CheckState::Pending,
        _ => CheckState::Failed,
    }
}

/// Returns the statuses of a commit in the byte order of names.
pub(super) async fn of_commit(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    sha: &str,
) -> Result<Vec<CommitCheck>, Failure> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT name, state FROM checks WHERE repo = ? AND sha = ? ORDER BY name")
            .bind(repo.folded())
            .bind(sha)
            .fetch_all(connection)
            .await
            .or_broken("the statuses could not be read")?;
    let check = |(name, state): (String, String)| CommitCheck {
        name,
        state: read(&state),
        conclusion: state,
        url: None,
    };
    Ok(rows.into_iter().map(check).collect())
}

/// Writes the latest state of one name for a commit.
pub(super) async fn set(
    connection: &mut SqliteConnection,
    repo: &RepoName,
    sha: &str,
    name: &str,
    state: CheckState,
    description: Option<&str>,
    at: i64,
) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO checks (repo, sha, name, state, description, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (repo, sha, name)
         DO UPDATE SET state = excluded.state, description = excluded.description,
             updated_at = excluded.updated_at",
    )
    .bind(repo.folded())
    .bind(sha)
    .bind(name)
    .bind(word(state))
    .bind(description)
    .bind(at)
    .execute(connection)
    .await
    .or_broken("the status could not be written")?;
    Ok(())
}

impl LocalForge {
    /// Sets the status `name` of a commit and returns the commit's SHA.
    pub async fn set_status(
        &self,
        repo: &RepoName,
        at: &Revision,
        name: &str,
        state: CheckState,
        description: Option<&str>,
    ) -> Result<String, LocalForgeError> {
        let sha = self.full_sha(repo, at).await?;
        let mut writing = self.database.write().await?;
        let now = self.now().as_microsecond();
        set(&mut writing, repo, &sha, name, state, description, now).await?;
        writing.commit("the status could not be written").await?;
        self.merge_what_is_ready(repo).await;
        Ok(sha)
    }

    pub(super) async fn checks_of(
        &self,
        repo: &RepoName,
        sha: &str,
    ) -> Result<CommitChecks, Failure> {
        let sha = self
            .full_sha(repo, &Revision::Commit(sha.to_owned()))
            .await?;
        let mut reading = self.database.read().await?;
        let checks = of_commit(&mut reading, repo, &sha).await?;
        Ok(CommitChecks {
            sha,
            checks,
            unavailable: Vec::new(),
            truncated: false,
        })
    }

    pub(super) async fn full_sha(&self, repo: &RepoName, at: &Revision) -> Result<String, Failure> {
        let (root, repo, at) = (Arc::clone(&self.root), repo.clone(), at.clone());
        run_blocking(move || root.read(&repo, |opened| Ok(opened.resolve(&at)?.id.to_string())))
            .await
    }
}
