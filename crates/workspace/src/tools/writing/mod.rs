//! `write_file`, `apply_changes`, `delete_file` and `move_file`: all checks in order, then all changes or none.

mod change_files;
mod change_judge;
mod change_request;
mod change_target;
mod old_file;
mod pending_changes;

use crate::argument_rules::{parse_changes, parse_write};
use crate::fields::{MAX_CHANGES, arguments, content, file_hash, one_of, path, planned};
use crate::notes::CallNotes;
use crate::server::WorkspaceServer;
use candor_street::{CallContext, Tool};
use change_files::change_files;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

pub(super) use change_judge::ChangeJudge;
pub(super) use pending_changes::{PendingChanges, apply, change_origin};

pub(crate) use change_request::{ChangeRequest, PlanChoice, RequestedChange};

pub use change_files::MAX_PATHS_BYTES;

#[derive(Deserialize)]
struct MoveFile {
    from: String,
    to: String,
    previous_hash: String,
    #[serde(flatten)]
    by: PlanChoice,
}

#[derive(Deserialize)]
struct DeleteFile {
    path: String,
    previous_hash: String,
    #[serde(flatten)]
    by: PlanChoice,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    let ways = ["content", "edits", "patch"];
    let mut change = json!({
        "type": "object",
        "properties": content(),
        "required": ["path"],
        "additionalProperties": false,
    });
    change["properties"]["delete"] =
        json!({ "type": "boolean", "description": "Delete the file instead; with previous_hash" });
    change["properties"]["from"] =
        path("Move this file to path, and make the edits in it; with previous_hash");
    let change = one_of(change, &["content", "edits", "patch", "delete", "from"]);
    vec![
        Tool::mutating_with_parser(
            "write_file",
            "Create or change one file, by its whole content, by edits or by a patch. For several files at once use apply_changes.",
            one_of(arguments(&["path"], planned(content())), &ways),
            parse_write,
            |server: Arc<WorkspaceServer>, request: ChangeRequest, cx: CallContext<CallNotes>| {
                crate::tools::run(server, cx, move |work| {
                    change_files(work, request)?.reply(true)
                })
            },
        ),
        Tool::mutating_with_parser(
            "apply_changes",
            "Write, move and delete several files, all or none of them.",
            arguments(
                &["changes"],
                planned(json!({
                    "changes": { "type": "array", "minItems": 1, "maxItems": MAX_CHANGES, "items": change }
                })),
            ),
            parse_changes,
            |server: Arc<WorkspaceServer>, request: ChangeRequest, cx: CallContext<CallNotes>| {
                crate::tools::run(server, cx, move |work| {
                    change_files(work, request)?.reply(false)
                })
            },
        ),
        Tool::mutating(
            "delete_file",
            "Delete one file that you have read.",
            arguments(
                &["path", "previous_hash"],
                planned(json!({
                    "path": path("The file, from the workspace root"),
                    "previous_hash": file_hash("Its hash, as read_file says it")
                })),
            ),
            |server: Arc<WorkspaceServer>, asked: DeleteFile, cx: CallContext<CallNotes>| {
                crate::tools::run(server, cx, move |work| {
                    let change = RequestedChange {
                        previous_hash: Some(asked.previous_hash),
                        delete: true,
                        ..RequestedChange::of(asked.path)
                    };
                    change_files(work, ChangeRequest::one(change, asked.by))?.reply(true)
                })
            },
        ),
        Tool::mutating(
            "move_file",
            "Move or rename one file that you have read. Its bytes and its mode stay.",
            arguments(
                &["from", "to", "previous_hash"],
                planned(json!({
                    "from": path("The file, from the workspace root"),
                    "to": path("Its new path; no file may be there, and missing directories are made"),
                    "previous_hash": file_hash("Its hash, as read_file says it")
                })),
            ),
            |server: Arc<WorkspaceServer>, asked: MoveFile, cx: CallContext<CallNotes>| {
                crate::tools::run(server, cx, move |work| {
                    let change = RequestedChange {
                        from: Some(asked.from),
                        previous_hash: Some(asked.previous_hash),
                        ..RequestedChange::of(asked.to)
                    };
                    let mut moved = change_files(work, ChangeRequest::one(change, asked.by))?;
                    moved.names_dirs = true;
                    moved.reply(true)
                })
            },
        ),
    ]
}
