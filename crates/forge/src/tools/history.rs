//! The tools `get_commits`, `get_branches` and `create_branch`.

use super::{PageNumber, RevisionArguments, ToolSpec, paging, read_tool, write_tool};
use crate::fields::{
    answer, arguments, arguments_at, branch, new_branch, nullable, page, per_page, reference, repo,
    sha,
};
use crate::forge::BackendContext;
use crate::model::{Branch, Commit, Revision};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct CommitsArguments {
    repo: RepoName,
    branch: Option<String>,
    sha: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct CommitsAnswer {
    commits: Vec<Commit>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn commits(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CommitsArguments,
) -> Result<CommitsAnswer, Failure> {
    let from = match (arguments.sha, arguments.branch) {
        (Some(sha), _) => Revision::Commit(sha),
        (None, Some(branch)) => Revision::Branch(branch),
        (None, None) => Revision::Default,
    };
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .commits(&context, &arguments.repo, &from, paging)
        .await?;
    Ok(CommitsAnswer {
        commits: found.commits,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

fn person() -> Value {
    let text = || nullable("string");
    json!({
        "anyOf": [
            {
                "type": "object",
                "properties": { "name": text(), "email": text(), "date": text() }
            },
            { "type": "null" }
        ]
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
    let spec = ToolSpec {
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
    read_tool(spec, commits)
}

#[derive(Deserialize)]
struct BranchesArguments {
    repo: RepoName,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct BranchesAnswer {
    branches: Vec<Branch>,
    default: String,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn branches(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: BranchesArguments,
) -> Result<BranchesAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .branches(&context, &arguments.repo, paging)
        .await?;
    Ok(BranchesAnswer {
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
    let spec = ToolSpec {
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
    read_tool(spec, branches)
}

#[derive(Deserialize)]
struct CreateBranchArguments {
    repo: RepoName,
    name: String,
    #[serde(flatten)]
    at: RevisionArguments,
}

async fn make_branch(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CreateBranchArguments,
) -> Result<Branch, Failure> {
    let from = arguments.at.revision();
    server
        .forge
        .create_branch(&context, &arguments.repo, &arguments.name, &from)
        .await
}

pub(super) fn create_branch() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_branch",
        description: "Make a branch at a branch, tag or SHA (the default branch if absent). Not for moving one that exists.",
        input: arguments_at(
            &["repo", "name"],
            json!({ "repo": repo(), "name": new_branch(), "branch": branch(), "ref": reference() }),
        ),
        output: one_branch(),
    };
    write_tool(spec, make_branch).additive()
}
