//! Makes one commit of several changes: blobs, a tree, a commit, and only then moves the branch. In an
//! empty repository only the Contents API can write, one file at a time.

use super::GithubForge;
use super::api::Api;
use super::branch_changes::head;
use super::commit_files::CommitSteps;
use super::contents::decoded;
use super::pull_branch;
use super::raw_types::{GitCommit, RawEntry, Sha};
use super::requests::GithubWrite;
use super::route::Route;
use crate::change_plan::{
    ChangePlan, FoundEntry, ParentTree, PathState, PlannedContent, PlannedEntry, editable, edited,
    paths,
};
use crate::{
    BackendContext, BackendFuture, ChangeForge, CommitInstruction, CommittedChanges,
    ConflictReport, Failure, GithubErrorResponse, ItemKind, MAX_TEXT_BYTES, MissingItem,
    PathChange, PathOperation, PullRequest, RepoName, RequestKind, RevertInstruction,
    UnmetPrecondition, UpdatedBranch,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_http_client::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
struct RawBlob {
    content: String,
}

#[derive(Debug, Deserialize)]
struct RawWritten {
    commit: RawWrittenCommit,
}

#[derive(Debug, Deserialize)]
struct RawWrittenCommit {
    sha: String,
    html_url: Option<String>,
}

async fn commit(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    order: &CommitInstruction,
) -> Result<CommittedChanges, Failure> {
    let steps = CommitSteps {
        api,
        context,
        repo,
        branch: &order.branch,
    };
    let parent = match head(api, context, repo, &order.branch).await {
        Ok(parent) => parent,
        // Of a read only an empty repository is a conflict.
        Err(Failure::GithubErrorResponse(GithubErrorResponse { status: 409, .. })) => {
            return first_commit(&steps, order).await;
        }
        Err(failure) => return Err(failure),
    };
    let expected = order.expected_head.as_ref();
    if let Some(expected) = expected.filter(|expected| !parent.starts_with(expected.as_str())) {
        return Err(Failure::BranchHeadMoved {
            expected: expected.clone(),
            actual: Some(parent),
        });
    }
    let base: GitCommit = steps.read("git/commits", &parent).await?;
    let plan = parent_tree(&steps, &base.tree.sha, &order.changes).await?;
    let tree = write_tree(&steps, &base.tree.sha, plan).await?;
    if tree == base.tree.sha {
        return Err(UnmetPrecondition::NothingToCommit.into());
    }
    let body = json!({ "message": order.message, "tree": tree, "parents": [parent] });
    let made: GitCommit = steps.make("git/commits", body).await?;
    match (steps.advance(&parent, &made.sha).await, expected) {
        (Ok(()), _) => {}
        (Err(Failure::Unmet(UnmetPrecondition::BranchMoved(_))), Some(expected)) => {
            let actual = head(api, context, repo, &order.branch).await;
            return Err(Failure::BranchHeadMoved {
                expected: expected.clone(),
                actual: actual.ok(),
            });
        }
        (Err(failure), _) => return Err(failure),
    }
    Ok(CommittedChanges {
        sha: made.sha,
        parent: Some(parent),
        url: made.html_url.unwrap_or_default(),
    })
}

/// Reads the entries and texts that the changes need, and plans them.
async fn parent_tree(
    steps: &CommitSteps<'_>,
    root: &str,
    changes: &[PathChange],
) -> Result<ChangePlan, Failure> {
    let mut directories = BTreeMap::new();
    directories.insert(String::new(), steps.entries(root).await?);
    let mut parent = ParentTree {
        states: BTreeMap::new(),
        contents: BTreeMap::new(),
    };
    let mut sizes = BTreeMap::new();
    for (path, _) in paths(changes) {
        let (state, size) = state(steps, &mut directories, path).await?;
        parent.states.insert(path, state);
        sizes.insert(path, size);
    }
    for path in edited(changes) {
        let Some(Ok(entry)) = parent.states.get(path).map(|state| editable(path, state)) else {
            continue;
        };
        let size = sizes.get(path).copied().flatten();
        if size.is_some_and(|size| size > MAX_TEXT_BYTES) {
            return Err(Failure::from(UnmetPrecondition::TooLarge {
                path: path.to_owned(),
                size,
                most: MAX_TEXT_BYTES,
            }));
        }
        let blob: RawBlob = steps.read("git/blobs", &entry.id).await?;
        parent.contents.insert(path, decoded(blob.content)?);
    }
    parent.plan(changes)
}

/// Returns the state of a path and the size of its blob. Directories that were read on the way are kept.
async fn state(
    steps: &CommitSteps<'_>,
    directories: &mut BTreeMap<String, Vec<RawEntry>>,
    path: &str,
) -> Result<(PathState, Option<u64>), Failure> {
    let mut above = String::new();
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        let entries = directories.get(&above).into_iter().flatten();
        let Some(entry) = entries.into_iter().find(|one| one.path == name) else {
            break;
        };
        let here = match above.is_empty() {
            true => name.to_owned(),
            false => format!("{above}/{name}"),
        };
        match (entry.kind.as_str(), names.peek()) {
            (_, None) => return Ok((PathState::Found(found(entry)), entry.size)),
            ("tree", Some(_)) => {
                let sha = entry.sha.clone();
                if !directories.contains_key(&here) {
                    directories.insert(here.clone(), steps.entries(&sha).await?);
                }
            }
            (_, Some(_)) => return Ok((PathState::BelowFile, None)),
        }
        above = here;
    }
    Ok((PathState::Missing(MissingItem::Path(path.to_owned())), None))
}

fn found(entry: &RawEntry) -> FoundEntry {
    let kind = match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => ItemKind::Dir,
        ("commit", _) => ItemKind::Submodule,
        (_, "120000") => ItemKind::Symlink,
        _ => ItemKind::File,
    };
    FoundEntry {
        kind,
        mode: u32::from_str_radix(&entry.mode, 8).unwrap_or_default(),
        id: entry.sha.clone(),
    }
}

fn tree_entry(path: &str, mode: u32, sha: Option<&str>) -> Value {
    let kind = match mode {
        0o160_000 => "commit",
        _ => "blob",
    };
    json!({ "path": path, "mode": format!("{mode:06o}"), "type": kind, "sha": sha })
}

async fn write_tree(
    steps: &CommitSteps<'_>,
    base: &str,
    plan: ChangePlan,
) -> Result<String, Failure> {
    let removed = plan.removed.iter();
    let mut entries: Vec<_> = removed
        .map(|(path, mode)| tree_entry(path, *mode, None))
        .collect();
    for entry in plan.written {
        let PlannedEntry {
            path,
            mode,
            content,
        } = entry;
        let id = match content {
            PlannedContent::Object(id) => id,
            PlannedContent::Bytes(bytes) => {
                let body = json!({ "content": STANDARD.encode(bytes), "encoding": "base64" });
                let Sha { sha } = steps.make("git/blobs", body).await?;
                sha
            }
        };
        entries.push(tree_entry(&path, mode, Some(&id)));
    }
    let body = json!({ "base_tree": base, "tree": entries });
    let Sha { sha } = steps.make("git/trees", body).await?;
    Ok(sha)
}

/// Makes the first commit of an empty repository.
async fn first_commit(
    steps: &CommitSteps<'_>,
    order: &CommitInstruction,
) -> Result<CommittedChanges, Failure> {
    if let Some(expected) = &order.expected_head {
        return Err(Failure::BranchHeadMoved {
            expected: expected.clone(),
            actual: None,
        });
    }
    let [
        PathChange {
            path,
            operation:
                PathOperation::Write {
                    bytes,
                    executable: None,
                },
        },
    ] = order.changes.as_slice()
    else {
        return Err(UnmetPrecondition::FirstCommitOfSeveral.into());
    };
    let change = GithubWrite {
        method: Method::PUT,
        route: Route::of(steps.repo).then("contents").names(path),
        body: Some(json!({
            "message": order.message,
            "content": STANDARD.encode(bytes),
            "branch": order.branch,
        })),
        step: RequestKind::Write,
        missing: MissingItem::Repository,
    };
    let made: RawWritten = steps.api.change(steps.context, change).await?.json()?;
    Ok(CommittedChanges {
        sha: made.commit.sha,
        parent: None,
        url: made.commit.html_url.unwrap_or_default(),
    })
}

impl ChangeForge for GithubForge {
    fn commit_changes<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a CommitInstruction,
    ) -> BackendFuture<'a, CommittedChanges> {
        self.filtered(commit(&self.0, context, repo, order))
    }

    fn conflicts<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, ConflictReport> {
        self.filtered(pull_branch::conflicts(&self.0, context, repo, pull))
    }

    fn update_pull_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, UpdatedBranch> {
        self.filtered(pull_branch::update(&self.0, context, repo, pull))
    }

    fn revert_pull<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a RevertInstruction,
    ) -> BackendFuture<'a, PullRequest> {
        self.filtered(pull_branch::revert(&self.0, context, repo, order))
    }
}
