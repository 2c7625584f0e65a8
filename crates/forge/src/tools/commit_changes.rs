//! `commit_changes`: one commit on a branch that writes, edits, deletes and moves files, all or nothing.

use super::change_rules::{ChangeItem, ChangeOp, parse_changes};
use super::{ToolSpec, write_tool_with_parser};
use crate::change_model::CommitInstruction;
use crate::fields::{self, answer, arguments, branch_to_commit, nullable, one_of, repo, sha, text};
use crate::forge::BackendContext;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The maximum number of changes of a commit.
pub const MAX_CHANGES: usize = 100;

#[derive(Deserialize)]
pub(super) struct ChangesArguments {
    pub(super) repo: RepoName,
    pub(super) branch: String,
    pub(super) message: String,
    pub(super) expected_head: Option<String>,
    /// The changes, parsed by the argument rules.
    #[serde(skip)]
    pub(super) changes: Vec<ChangeItem>,
}

#[derive(Serialize)]
struct ChangeAnswer {
    op: ChangeOp,
    path: String,
    to: Option<String>,
}

#[derive(Serialize)]
struct ChangesAnswer {
    sha: String,
    parent: Option<String>,
    branch: String,
    changes: Vec<ChangeAnswer>,
    url: String,
}

async fn commit(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ChangesArguments,
) -> Result<ChangesAnswer, Failure> {
    let shown = arguments.changes.iter().map(|item| ChangeAnswer {
        op: item.op,
        path: item.path.clone(),
        to: item.to.clone(),
    });
    let changes = shown.collect();
    let order = CommitInstruction {
        branch: arguments.branch,
        message: arguments.message,
        changes: arguments
            .changes
            .into_iter()
            .map(ChangeItem::change)
            .collect(),
        expected_head: arguments.expected_head,
    };
    let made = server
        .forge
        .commit_changes(&context, &arguments.repo, &order)
        .await?;
    Ok(ChangesAnswer {
        sha: made.sha,
        parent: made.parent,
        branch: order.branch,
        changes,
        url: made.url,
    })
}

pub(super) fn commit_changes() -> Tool<ForgeServer> {
    let change = arguments(
        &["op", "path"],
        json!({
            "op": one_of(&["write", "edit", "delete", "move", "chmod"], "What to do"),
            "path": fields::path("A file"),
            "to": fields::path("Its new path"),
            "content": { "type": "string" },
            "encoding": one_of(&["utf8", "base64"], "utf8 if absent"),
            "old_text": { "type": "string", "minLength": 1 },
            "new_text": { "type": "string" },
            "executable": { "type": "boolean" }
        }),
    );
    let spec = ToolSpec {
        name: "commit_changes",
        description: "Make one commit of 1 to 100 changes on a branch that exists; all or nothing, never forced. write: content*, encoding, executable. edit: old_text*, new_text* (old_text must occur exactly once). delete. move: to*, content, encoding. chmod: executable*. Each path at most once, also as `to`; base64 must be valid. In an empty repository it makes the first commit.",
        input: arguments(
            &["repo", "branch", "message", "changes"],
            json!({
                "repo": repo(),
                "branch": branch_to_commit(),
                "message": text(1, 10_000, "The commit's message"),
                "changes": { "type": "array", "minItems": 1, "maxItems": MAX_CHANGES, "items": change },
                "expected_head": sha("Commit only on top of this head")
            }),
        ),
        output: answer(
            json!({
                "sha": { "type": "string" },
                "parent": nullable("string"),
                "branch": { "type": "string" },
                "changes": {
                    "type": "array",
                    "items": answer(json!({ "op": { "type": "string" }, "path": { "type": "string" }, "to": nullable("string") }), &[])
                },
                "url": { "type": "string" }
            }),
            &[],
        ),
    };
    write_tool_with_parser(spec, parse_changes, commit)
}
