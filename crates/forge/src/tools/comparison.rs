//! The tools `compare_commits` and `get_commit`.

use super::answer_size::cut_messages;
use super::{PageNumber, ToolSpec, paging, read_tool};
use crate::comparison_model::{ComparedRevisions, ComparisonStatus, FileChange};
use crate::fields::{answer, arguments, head_revision, nullable, page, per_page, repo, revision};
use crate::forge::BackendContext;
use crate::model::{Commit, Revision};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the members of a commit in an answer.
pub(super) fn commit_members() -> Value {
    json!({
        "sha": { "type": "string" },
        "message": { "type": "string" },
        "author": nullable("object"),
        "committer": nullable("object"),
        "parents": { "type": "array" },
        "url": { "type": "string" }
    })
}

/// Returns the schema of the changed files in an answer.
pub(super) fn files() -> Value {
    let file = answer(
        json!({
            "path": { "type": "string" },
            "previous_path": nullable("string"),
            "status": { "type": "string" },
            "additions": { "type": "integer" },
            "deletions": { "type": "integer" },
            "patch": nullable("string")
        }),
        &[],
    );
    json!({ "type": "array", "items": file })
}

#[derive(Deserialize)]
struct CompareArguments {
    repo: RepoName,
    base: String,
    head: String,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct CompareAnswer {
    base_sha: String,
    head_sha: String,
    merge_base_sha: String,
    status: ComparisonStatus,
    ahead_by: u64,
    behind_by: u64,
    commits: Vec<Commit>,
    files: Vec<FileChange>,
    truncated: bool,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn compare(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CompareArguments,
) -> Result<CompareAnswer, Failure> {
    let (owner, head) = match arguments.head.split_once(':') {
        Some((owner, head)) => (Some(owner), head),
        None => (None, arguments.head.as_str()),
    };
    let elsewhere = owner.filter(|owner| !owner.eq_ignore_ascii_case(arguments.repo.owner()));
    let revisions = ComparedRevisions {
        base: arguments.base,
        head_owner: elsewhere.map(String::from),
        head: head.to_owned(),
    };
    let paging = paging(arguments.page, arguments.per_page);
    let mut found = server
        .forge
        .compare(&context, &arguments.repo, &revisions, paging)
        .await?;
    let is_cut = cut_messages(&mut found.commits);
    Ok(CompareAnswer {
        base_sha: found.base_sha,
        head_sha: found.head_sha,
        merge_base_sha: found.merge_base_sha,
        status: found.status,
        ahead_by: found.ahead_by,
        behind_by: found.behind_by,
        commits: found.commits,
        files: found.changes.files,
        truncated: found.changes.truncated || is_cut,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn compare_commits() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "compare_commits",
        description: "What head has that base has not: commits, oldest first, and on page 1 the files changed since their merge base (300 files, 256 KiB of patches at most).",
        input: arguments(
            &["repo", "base", "head"],
            json!({
                "repo": repo(),
                "base": revision("A branch, tag or SHA"),
                "head": head_revision(),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "base_sha": { "type": "string" },
                "head_sha": { "type": "string" },
                "merge_base_sha": { "type": "string" },
                "status": { "enum": ["ahead", "behind", "diverged", "identical"] },
                "ahead_by": { "type": "integer" },
                "behind_by": { "type": "integer" },
                "commits": { "type": "array", "items": answer(commit_members(), &[]) },
                "files": files(),
                "truncated": { "type": "boolean" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, compare)
}

#[derive(Deserialize)]
struct CommitArguments {
    repo: RepoName,
    r#ref: String,
}

#[derive(Serialize)]
struct LineStats {
    additions: u64,
    deletions: u64,
}

#[derive(Serialize)]
struct CommitAnswer {
    #[serde(flatten)]
    commit: Commit,
    stats: LineStats,
    files: Vec<FileChange>,
    truncated: bool,
}

async fn details(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CommitArguments,
) -> Result<CommitAnswer, Failure> {
    let at = Revision::Named(arguments.r#ref);
    let mut found = server
        .forge
        .commit_details(&context, &arguments.repo, &at)
        .await?;
    let is_cut = cut_messages(std::slice::from_mut(&mut found.commit));
    Ok(CommitAnswer {
        commit: found.commit,
        stats: LineStats {
            additions: found.additions,
            deletions: found.deletions,
        },
        files: found.changes.files,
        truncated: found.changes.truncated || is_cut,
    })
}

pub(super) fn get_commit() -> Tool<ForgeServer> {
    let mut output = commit_members();
    output["stats"] = json!({ "type": "object" });
    output["files"] = files();
    output["truncated"] = json!({ "type": "boolean" });
    let spec = ToolSpec {
        name: "get_commit",
        description: "One commit and what it does to which files (300 files, 256 KiB of patches at most); a merge is compared with its first parent.",
        input: arguments(
            &["repo", "ref"],
            json!({ "repo": repo(), "ref": revision("A branch, tag or SHA") }),
        ),
        output: answer(output, &[]),
    };
    read_tool(spec, details)
}
