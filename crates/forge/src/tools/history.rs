//! `get_commits`, `get_branches` and `create_branch`: where a repository stands and how it came there.

use super::{About, At, Page, paging, reading, writing};
use crate::fields::{
    answer, arguments, arguments_at, branch, new_branch, page, per_page, reference, repo, sha,
};
use crate::forge::Turn;
use crate::model::{Branch, Commit, Revision};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct History {
    repo: RepoName,
    branch: Option<String>,
    sha: Option<String>,
    page: Page,
    per_page: Page,
}

#[derive(Serialize)]
struct Commits {
    commits: Vec<Commit>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn commits(server: Arc<ForgeServer>, turn: Turn, asked: History) -> Result<Commits, Failure> {
    let from = match (asked.sha, asked.branch) {
        (Some(sha), _) => Revision::Commit(sha),
        (None, Some(branch)) => Revision::Branch(branch),
        (None, None) => Revision::Default,
    };
    let paging = paging(asked.page, asked.per_page);
    let found = server
        .forge
        .commits(&turn, &asked.repo, &from, paging)
        .await?;
    Ok(Commits {
        commits: found.commits,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

fn person() -> Value {
    let text = || json!({ "type": ["string", "null"] });
    json!({
        "type": ["object", "null"],
        "properties": { "name": text(), "email": text(), "date": text() }
    })
}

pub(super) fn get_commits() -> Tool<ForgeServer> {
    let commit = answer(
        json!({
            "sha": { "type": "string" },
            "message": { "type": "string" },
            "author": person(),
            "committer": person(),
            "parents": { "type": "array", "items": { "type": "string" } },
            "url": { "type": "string" }
        }),
        &[],
    );
    let about = About {
        name: "get_commits",
        description: "List commits, newest first, from a SHA, else a branch. Not for files: use get_tree.",
        input: arguments(
            &["repo"],
            json!({ "repo": repo(), "branch": branch(), "sha": sha("Where to begin, instead of branch"), "page": page(), "per_page": per_page() }),
        ),
        output: answer(
            json!({
                "commits": { "type": "array", "items": commit },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    reading(about, commits)
}

#[derive(Deserialize)]
struct Listing {
    repo: RepoName,
    page: Page,
    per_page: Page,
}

#[derive(Serialize)]
struct Branches {
    branches: Vec<Branch>,
    default: String,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn branches(
    server: Arc<ForgeServer>,
    turn: Turn,
    asked: Listing,
) -> Result<Branches, Failure> {
    let paging = paging(asked.page, asked.per_page);
    let found = server.forge.branches(&turn, &asked.repo, paging).await?;
    Ok(Branches {
        branches: found.branches,
        default: found.default,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

fn one_branch() -> Value {
    answer(
        json!({
            "name": { "type": "string" },
            "protected": { "type": "boolean" },
            "sha": { "type": "string" }
        }),
        &[],
    )
}

pub(super) fn get_branches() -> Tool<ForgeServer> {
    let about = About {
        name: "get_branches",
        description: "List branches with their heads, and which is the default.",
        input: arguments(
            &["repo"],
            json!({ "repo": repo(), "page": page(), "per_page": per_page() }),
        ),
        output: answer(
            json!({
                "branches": { "type": "array", "items": one_branch() },
                "default": { "type": "string" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    reading(about, branches)
}

#[derive(Deserialize)]
struct NewBranch {
    repo: RepoName,
    name: String,
    #[serde(flatten)]
    at: At,
}

async fn make_branch(
    server: Arc<ForgeServer>,
    turn: Turn,
    asked: NewBranch,
) -> Result<Branch, Failure> {
    let from = asked.at.revision();
    server
        .forge
        .create_branch(&turn, &asked.repo, &asked.name, &from)
        .await
}

pub(super) fn create_branch() -> Tool<ForgeServer> {
    let about = About {
        name: "create_branch",
        description: "Make a branch at a branch, tag or SHA (the default branch if absent). Not for moving one that exists.",
        input: arguments_at(
            &["repo", "name"],
            json!({ "repo": repo(), "name": new_branch(), "branch": branch(), "ref": reference() }),
        ),
        output: one_branch(),
    };
    writing(about, make_branch).additive()
}
