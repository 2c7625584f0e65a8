//! Rules that protect branches, by name or by a pattern in which `*` matches any characters but `/`. If
//! several match, all of them apply.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken};
use crate::wildcard::matches;
use crate::{Failure, RepoName};
use candor_fault::Cause;
use git2::Branch;
use sqlx::sqlite::SqliteConnection;
use std::collections::BTreeSet;

const READ: &str = "the protection rules could not be read";
const WRITE: &str = "the protection rules could not be written";

/// The conditions for changing a branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchRules {
    /// The branch changes through pull requests only.
    pub require_pull_request: bool,
    /// The branch cannot be changed.
    pub locked: bool,
    /// The checks that a pull request must have passed.
    pub required_checks: BTreeSet<String>,
    /// The number of people who must approve the head of a pull request.
    pub required_approvals: u32,
}

/// Rules with the pattern of their branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchProtection {
    /// A branch, or a pattern of branches.
    pub branch: String,
    pub rules: BranchRules,
}

/// All rules of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct BranchProtections(Vec<BranchProtection>);

impl BranchProtections {
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        repo: &RepoName,
    ) -> Result<BranchProtections, Failure> {
        let rows: Vec<(String, i64, i64, String, i64)> = sqlx::query_as(
            "SELECT branch, require_pull_request, locked, required_checks, required_approvals
             FROM protections WHERE repo = ? ORDER BY branch",
        )
        .bind(repo.folded())
        .fetch_all(connection)
        .await
        .or_broken(READ)?;
        let read = |(branch, pull, locked, checks, approvals): (String, i64, i64, String, i64)| {
            let checks = serde_json::from_str(&checks);
            let required_checks =
                checks.map_err(|error| Failure::Broken(READ, Cause::error("JsonError", &error)))?;
            Ok(BranchProtection {
                branch,
                rules: BranchRules {
                    require_pull_request: pull != 0,
                    locked: locked != 0,
                    required_checks,
                    required_approvals: u32::try_from(approvals).unwrap_or(u32::MAX),
                },
            })
        };
        let all: Result<_, Failure> = rows.into_iter().map(read).collect();
        Ok(BranchProtections(all?))
    }

    /// Returns the rules of a branch, and `None` if it is not protected.
    pub(super) fn of(&self, branch: &str) -> Option<BranchRules> {
        let matching = self.0.iter().filter(|one| matches(&one.branch, branch));
        matching.fold(None, |before, one| {
            let mut rules = before.unwrap_or_default();
            rules.require_pull_request |= one.rules.require_pull_request;
            rules.locked |= one.rules.locked;
            let more = one.rules.required_checks.iter().cloned();
            rules.required_checks.extend(more);
            let approvals = one.rules.required_approvals;
            rules.required_approvals = rules.required_approvals.max(approvals);
            Some(rules)
        })
    }

    /// Returns true if a branch accepts no direct commits.
    pub(super) fn forbid_commit(&self, branch: &str) -> bool {
        let rules = self.of(branch);
        rules.is_some_and(|rules| rules.require_pull_request || rules.locked)
    }
}

impl LocalForge {
    /// Protects branches. Replaces the rules of the same pattern.
    pub async fn protect(
        &self,
        repo: &RepoName,
        branch: &str,
        rules: &BranchRules,
    ) -> Result<(), LocalForgeError> {
        let named = Branch::name_is_valid(&branch.replace('*', "x"));
        if !named.or_broken(WRITE)? {
            return Err(LocalForgeError::BadPattern(branch.to_owned()));
        }
        self.require_repository(repo).await?;
        let checks = serde_json::to_string(&rules.required_checks);
        let checks =
            checks.map_err(|error| Failure::Broken(WRITE, Cause::error("JsonError", &error)))?;
        let mut writing = self.database.write().await?;
        sqlx::query(
            "INSERT INTO protections (repo, branch, require_pull_request, locked, required_checks,
                 required_approvals)
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (repo, branch)
             DO UPDATE SET require_pull_request = excluded.require_pull_request,
                 locked = excluded.locked, required_checks = excluded.required_checks,
                 required_approvals = excluded.required_approvals",
        )
        .bind(repo.folded())
        .bind(branch)
        .bind(i64::from(rules.require_pull_request))
        .bind(i64::from(rules.locked))
        .bind(checks)
        .bind(i64::from(rules.required_approvals))
        .execute(&mut *writing)
        .await
        .or_broken(WRITE)?;
        writing.commit(WRITE).await?;
        Ok(())
    }

    /// Removes rules. Returns true if the pattern had any.
    pub async fn unprotect(&self, repo: &RepoName, branch: &str) -> Result<bool, LocalForgeError> {
        self.require_repository(repo).await?;
        let mut writing = self.database.write().await?;
        let gone: Option<String> = sqlx::query_scalar(
            "DELETE FROM protections WHERE repo = ? AND branch = ? RETURNING branch",
        )
        .bind(repo.folded())
        .bind(branch)
        .fetch_optional(&mut *writing)
        .await
        .or_broken(WRITE)?;
        writing.commit(WRITE).await?;
        Ok(gone.is_some())
    }

    /// Returns the rules of a repository in the byte order of patterns.
    pub async fn protections(
        &self,
        repo: &RepoName,
    ) -> Result<Vec<BranchProtection>, LocalForgeError> {
        self.require_repository(repo).await?;
        Ok(self.rules_of(repo).await?.0)
    }

    pub(super) async fn rules_of(&self, repo: &RepoName) -> Result<BranchProtections, Failure> {
        let mut reading = self.database.read().await?;
        BranchProtections::read(&mut reading, repo).await
    }

    async fn require_repository(&self, repo: &RepoName) -> Result<(), Failure> {
        self.location(repo).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stands_for_anything_but_a_slash() {
        let yes = [
            ("main", "main"),
            ("*", "main"),
            ("release/*", "release/1"),
            ("*/*", "a/b"),
        ];
        for (pattern, branch) in yes {
            assert!(matches(pattern, branch), "{pattern} {branch}");
        }
        let yes = [
            ("a*b*c", "a-b-b-c"),
            ("a*", "a"),
            ("**", "a"),
            ("*-x", "a-x-x"),
        ];
        for (pattern, branch) in yes {
            assert!(matches(pattern, branch), "{pattern} {branch}");
        }
        let no = [
            ("main", "Main"),
            ("*", "a/b"),
            ("release/*", "release/1/2"),
            ("a*b", "ab/b"),
            ("", "a"),
        ];
        for (pattern, branch) in no {
            assert!(!matches(pattern, branch), "{pattern} {branch}");
        }
    }
}
