//! The tools of the toolset `repos`: `list_commits`, `get_repository_tree`, `delete_branch` and
//! `create_repository`.

use super::answer_size::{cut_messages, fitting};
use super::comparison::commit_members;
use super::repositories::{FetchAnswer, fetch_members, fetched};
use super::{PageNumber, RevisionArguments, ToolSpec, paging, read_tool, write_tool};
use crate::fields::{
    answer, arguments, arguments_at, branch, branch_to_write, flag, nullable, page, path, per_page,
    reference, repo, sha, text, time,
};
use crate::forge::BackendContext;
use crate::model::{Commit, TreeItem};
use crate::repository_model::{CommitFilter, NewRepository};
use crate::server::{ForgeServer, MAX_TREE_ENTRIES};
use crate::{Failure, MissingItem, RepoName, UnmetPrecondition};
use candor_schema::Int;
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct CommitsArguments {
    repo: RepoName,
    #[serde(flatten)]
    at: RevisionArguments,
    path: Option<String>,
    author: Option<String>,
    since: Option<String>,
    until: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct CommitsAnswer {
    commits: Vec<Commit>,
    page: u32,
    per_page: u32,
    more: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

async fn commits(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CommitsArguments,
) -> Result<CommitsAnswer, Failure> {
    let filter = CommitFilter {
        path: arguments.path,
        author: arguments.author,
        since: arguments.since,
        until: arguments.until,
    };
    let (at, paging) = (
        arguments.at.revision(),
        paging(arguments.page, arguments.per_page),
    );
    let mut found = server
        .forge
        .filtered_commits(&context, &arguments.repo, &at, &filter, paging)
        .await?;
    let is_cut = cut_messages(&mut found.commits);
    Ok(CommitsAnswer {
        commits: found.commits,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
        truncated: found.truncated || is_cut,
    })
}

pub(super) fn list_commits() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "list_commits",
        description: "List commits, newest first, as `git log` does: of a path, an author or a time.",
        input: arguments_at(
            &["repo"],
            json!({
                "repo": repo(),
                "branch": branch(),
                "ref": reference(),
                "path": path("Only commits that change this path"),
                "author": text(1, 100, "A user name, or an author's name or address"),
                "since": time("Not before this time"),
                "until": time("Not after this time"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "commits": { "type": "array", "items": answer(commit_members(), &[]) },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" },
                "truncated": { "type": "boolean" }
            }),
            &["truncated"],
        ),
    };
    read_tool(spec, commits)
}

/// The maximum of `per_page` of a tree, and its default.
const MAX_TREE_PAGE: i64 = 1000;
const TREE_PAGE: usize = 200;

/// The maximum of `depth`.
const MAX_TREE_DEPTH: i64 = 20;

#[derive(Deserialize)]
struct TreeArguments {
    repo: RepoName,
    #[serde(flatten)]
    at: RevisionArguments,
    path: Option<String>,
    depth: Option<Int<1, MAX_TREE_DEPTH>>,
    page: PageNumber,
    per_page: Option<Int<1, MAX_TREE_PAGE>>,
}

#[derive(Serialize)]
struct TreeAnswer {
    r#ref: String,
    sha: String,
    total: usize,
    truncated: bool,
    tree: Vec<TreeItem>,
    page: usize,
    per_page: usize,
    more: bool,
}

async fn tree(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: TreeArguments,
) -> Result<TreeAnswer, Failure> {
    let at = arguments.at.revision();
    let found = server
        .forge
        .tree(&context, &arguments.repo, &at, MAX_TREE_ENTRIES)
        .await?;
    let top = arguments.path.unwrap_or_default();
    require_directory(&found.entries, &top, found.truncated)?;
    let depth = arguments
        .depth
        .map(|depth| depth.get().unsigned_abs() as usize);
    let mut entries: Vec<TreeItem> = found
        .entries
        .iter()
        .filter(|entry| is_within(&entry.path, &top, depth))
        .cloned()
        .collect();
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    let number = |number: i64| usize::try_from(number).unwrap_or(1);
    let page = arguments.page.map_or(1, |page| number(page.get()));
    let per_page = arguments
        .per_page
        .map_or(TREE_PAGE, |size| number(size.get()));
    let total = entries.len();
    let start = (page - 1) * per_page;
    let shown: Vec<TreeItem> = entries.into_iter().skip(start).take(per_page).collect();
    let all = shown.len();
    let tree = fitting(shown);
    Ok(TreeAnswer {
        r#ref: found.at,
        sha: found.sha,
        total,
        truncated: found.truncated || tree.len() < all,
        more: total > start + all,
        tree,
        page,
        per_page,
    })
}

/// Fails if a path of a complete tree is not a directory.
fn require_directory(entries: &[TreeItem], path: &str, is_cut: bool) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    match entries.iter().find(|entry| entry.path == path) {
        Some(entry) if entry.kind == "tree" => Ok(()),
        Some(_) => Err(UnmetPrecondition::NotADirectory(path.to_owned()).into()),
        None if is_cut => Ok(()),
        None => Err(MissingItem::Path(path.to_owned()).into()),
    }
}

/// Returns true if a path is below a directory, by at most `depth` levels.
fn is_within(path: &str, top: &str, depth: Option<usize>) -> bool {
    let below = match top {
        "" => Some(path),
        _ => path
            .strip_prefix(top)
            .and_then(|rest| rest.strip_prefix('/')),
    };
    let level = below.map(|below| below.matches('/').count() + 1);
    level.is_some_and(|level| depth.is_none_or(|depth| level <= depth))
}

pub(super) fn get_repository_tree() -> Tool<ForgeServer> {
    let entry = answer(
        json!({
            "path": { "type": "string" },
            "type": { "type": "string" },
            "size": nullable("integer"),
            "mode": { "type": "string" }
        }),
        &[],
    );
    let integer = |most: i64, description: &str| json!({ "type": "integer", "minimum": 1, "maximum": most, "description": description });
    let spec = ToolSpec {
        name: "get_repository_tree",
        description: "List the paths below a directory at a branch, tag or SHA, page by page, to a depth.",
        input: arguments_at(
            &["repo"],
            json!({
                "repo": repo(),
                "branch": branch(),
                "ref": reference(),
                "path": path("A directory; the root if absent"),
                "depth": integer(MAX_TREE_DEPTH, "Levels below it; all if absent"),
                "page": page(),
                "per_page": integer(MAX_TREE_PAGE, "200 if absent")
            }),
        ),
        output: answer(
            json!({
                "ref": { "type": "string" },
                "sha": { "type": "string" },
                "total": { "type": "integer" },
                "truncated": { "type": "boolean" },
                "tree": { "type": "array", "items": entry },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, tree)
}

#[derive(Deserialize)]
struct DeleteArguments {
    repo: RepoName,
    branch: String,
    expected_sha: Option<String>,
}

#[derive(Serialize)]
struct DeleteAnswer {
    branch: String,
    sha: String,
}

async fn delete(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: DeleteArguments,
) -> Result<DeleteAnswer, Failure> {
    let expected = arguments.expected_sha.as_deref();
    let sha = server
        .forge
        .delete_branch_at(&context, &arguments.repo, &arguments.branch, expected)
        .await?;
    Ok(DeleteAnswer {
        branch: arguments.branch,
        sha,
    })
}

pub(super) fn delete_branch() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "delete_branch",
        description: "Delete a branch, never the default branch or a protected one. The answer has its last head.",
        input: arguments(
            &["repo", "branch"],
            json!({
                "repo": repo(),
                "branch": branch_to_write(),
                "expected_sha": sha("Its head; another one is refused")
            }),
        ),
        output: answer(
            json!({ "branch": { "type": "string" }, "sha": { "type": "string" } }),
            &[],
        ),
    };
    write_tool(spec, delete)
}

#[derive(Deserialize)]
struct CreateArguments {
    repo: RepoName,
    description: Option<String>,
    private: Option<bool>,
    init: Option<bool>,
}

async fn create(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CreateArguments,
) -> Result<FetchAnswer, Failure> {
    let new = NewRepository {
        // A description is one line.
        description: arguments
            .description
            .map(|text| text.replace(['\n', '\r'], " ")),
        private: arguments.private.unwrap_or(true),
        init: arguments.init.unwrap_or(false),
    };
    let made = server
        .forge
        .create_repository(&context, &arguments.repo, &new)
        .await?;
    Ok(fetched(made, None))
}

pub(super) fn create_repository() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_repository",
        description: "Make a repository: of the token's own account, else of the organisation in `repo`.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "description": text(1, 350, "What it is, in one line"),
                "private": flag("true if absent"),
                "init": flag("Begin with a commit that has a README; false if absent")
            }),
        ),
        output: fetch_members(),
    };
    write_tool(spec, create).additive()
}
