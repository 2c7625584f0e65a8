//! `write_file`, `apply_changes` and `delete_file`: all checks in order, then all changes or none.

use super::plans::{ChosenPlan, choose};
use super::reading::denied;
use super::{ToolContext, preflight, stopped_failure};
use crate::argument_rules::{parse_changes, parse_write};
use crate::audit_line;
use crate::edit::{Edit, apply_edits, apply_patch};
use crate::failure::Failure;
use crate::fields::{MAX_CHANGES, arguments, content, file_hash, one_of, path, planned};
use crate::notes::{CallNotes, Subject, Unrecorded};
use crate::path::{FileKind, PathError, ResolvedPath, TypedPath, resolve_path};
use crate::plan::{Operation, Scope};
use crate::policy;
use crate::protected::{DenyRead, is_write_protected};
use crate::reading::{MAX_WHOLE_BYTES, ReadError};
use crate::server::WorkspaceServer;
use crate::write::{
    AppliedChanges, ChangeKind, ChangeOrigin, FileChange, WriteTurn, hash_of, read_hash,
};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_fault::{ArgumentPath as At, Cause, PathStep, Violation, excerpt};
use candor_street::{CallContext, Pending, Reply, Tool, reply};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// The maximum size of the paths of one call in bytes: its line in the log names them all.
pub const MAX_PATHS_BYTES: usize = 64 * 1024;

/// A change that a caller requests.
#[derive(Deserialize)]
pub(crate) struct RequestedChange {
    path: String,
    /// The whole new content, decoded by the argument rules.
    #[serde(skip)]
    pub(crate) content: Option<Vec<u8>>,
    edits: Option<Vec<Edit>>,
    patch: Option<String>,
    previous_hash: Option<String>,
    #[serde(default)]
    create_only: bool,
    #[serde(default)]
    delete: bool,
}

/// The plan and phase of a call.
#[derive(Deserialize)]
pub(crate) struct PlanChoice {
    pub(super) plan_hash: Option<String>,
    pub(super) phase_id: Option<String>,
}

/// The changes that a call requests, and the plan that allows them.
pub(crate) struct ChangeRequest {
    pub(crate) changes: Vec<RequestedChange>,
    pub(crate) by: PlanChoice,
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
    let change = one_of(change, &["content", "edits", "patch", "delete"]);
    vec![
        Tool::mutating_with_parser(
            "write_file",
            "Create or change one file, by its whole content, by edits or by a patch. For several files at once use apply_changes.",
            one_of(arguments(&["path"], planned(content())), &ways),
            parse_write,
            |server: Arc<WorkspaceServer>, request: ChangeRequest, cx: CallContext<CallNotes>| {
                super::run(server, cx, move |work| {
                    change_files(work, request)?.reply(true)
                })
            },
        ),
        Tool::mutating_with_parser(
            "apply_changes",
            "Write and delete several files, all or none of them.",
            arguments(
                &["changes"],
                planned(json!({
                    "changes": { "type": "array", "minItems": 1, "maxItems": MAX_CHANGES, "items": change }
                })),
            ),
            parse_changes,
            |server: Arc<WorkspaceServer>, request: ChangeRequest, cx: CallContext<CallNotes>| {
                super::run(server, cx, move |work| {
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
                super::run(server, cx, move |work| {
                    let change = RequestedChange {
                        path: asked.path,
                        content: None,
                        edits: None,
                        patch: None,
                        previous_hash: Some(asked.previous_hash),
                        create_only: false,
                        delete: true,
                    };
                    let request = ChangeRequest {
                        changes: vec![change],
                        by: asked.by,
                    };
                    change_files(work, request)?.reply(true)
                })
            },
        ),
    ]
}

/// A changed file in the answer.
#[derive(Serialize)]
struct ChangeResult {
    path: String,
    operation: Operation,
    before: Option<String>,
    after: Option<String>,
    bytes: Option<u64>,
}

struct ChangedFiles {
    done: Vec<ChangeResult>,
    by: Value,
    checks: Value,
    kept: PendingChanges,
}

impl ChangedFiles {
    fn reply(self, one: bool) -> Result<Reply, Failure> {
        let mut answer = match (one, self.done.first()) {
            (true, Some(only)) => json!(only),
            _ => json!({ "changes": self.done }),
        };
        answer["plan"] = self.by;
        if !self.checks.is_null() {
            answer["preflight"] = self.checks;
        }
        Ok(reply(&answer)?.with_pending(self.kept))
    }
}

fn change_files(work: &ToolContext, request: ChangeRequest) -> Result<ChangedFiles, Failure> {
    let ToolContext {
        server,
        session,
        cx,
    } = work;
    let ChangeRequest {
        changes: requested,
        by,
    } = request;
    let mut targets = Vec::with_capacity(requested.len());
    let mut length = 0;
    for change in &requested {
        let target = resolve_target(work, &change.path)?;
        length += target.path.len();
        targets.push(target);
        if length > MAX_PATHS_BYTES {
            return Err(too_long());
        }
    }
    if server.config.read_only {
        return Err(Failure::ReadOnly);
    }
    let chosen = choose(work, &by)?;
    let phase = chosen.phase();
    let turn = session.take_turn()?;
    let deny = denied(work)?;
    let scope = session.plan_cache.scope(phase)?;
    let mut seen = BTreeSet::new();
    let mut changes = Vec::with_capacity(requested.len());
    for (requested, path) in requested.into_iter().zip(targets) {
        // Another call may have written between the first look and our turn.
        let real = resolve_target(work, &requested.path)?;
        if real.path != path.path || !seen.insert(real.path.clone()) {
            return Err(repeated(&requested.path));
        }
        changes.push(change(work, requested, &real, &scope, &chosen, &deny)?);
    }
    let done: Vec<_> = changes.iter().map(done).collect();
    cx.notes
        .update(|notes| notes.subjects = done.iter().map(subject).collect());
    cx.mark.begins().map_err(stopped_failure)?;
    let applied = apply(work, turn, &changes).inspect_err(|failure| {
        if !matches!(failure, Failure::Write(crate::write::WriteError::Stuck(_))) {
            cx.mark.undone();
        }
    })?;
    let checked = match phase.preflight {
        crate::plan::Preflight::EachWrite => preflight::run_all(work, phase),
        crate::plan::Preflight::OnRequest => Ok(Value::Null),
    };
    let checks = match checked {
        Ok(checks) => checks,
        Err(failure) => {
            applied.undo().map_err(crate::write::WriteError::Stuck)?;
            cx.mark.undone();
            return Err(failure);
        }
    };
    cx.mark.done();
    Ok(ChangedFiles {
        done,
        by: chosen.to_json(),
        checks,
        kept: PendingChanges::new(work, applied),
    })
}

fn repeated(path: &str) -> Failure {
    wrong(
        "uniquePath",
        "must NOT change a file twice",
        &format!("each file once, not {path} twice"),
        "make one change of the two",
    )
}

fn too_long() -> Failure {
    wrong(
        "maxLength",
        "must NOT have longer paths than one line of the log can hold",
        &format!("at most {MAX_PATHS_BYTES} bytes of paths"),
        "make several calls",
    )
}

fn wrong(keyword: &'static str, message: &str, expected: &str, hint: &str) -> Failure {
    let violation = Violation {
        path: At(vec![PathStep::Member(String::from("changes"))]),
        keyword,
        message: message.into(),
        params: json!({}).into(),
        value: excerpt(&Value::Null),
        expected: expected.into(),
        hint: Some(hint.to_owned()),
    };
    Failure::Arguments(std::iter::once(violation).collect())
}

fn done(change: &FileChange) -> ChangeResult {
    let (operation, after) = match &change.what {
        ChangeKind::Create { bytes } => (Operation::Create, Some(bytes)),
        ChangeKind::Modify { bytes, .. } => (Operation::Modify, Some(bytes)),
        ChangeKind::Delete { .. } => (Operation::Delete, None),
    };
    ChangeResult {
        path: change.path.clone(),
        operation,
        before: change.what.before().map(String::from),
        after: change.after.clone(),
        bytes: after.map(|bytes| bytes.len() as u64),
    }
}

fn subject(done: &ChangeResult) -> Subject {
    Subject {
        path: done.path.clone(),
        before: done.before.clone(),
        after: done.after.clone(),
        bytes: done.bytes,
    }
}

/// A resolved path that may be written.
pub(super) struct WriteTarget {
    pub(super) path: String,
    kind: Option<FileKind>,
    located: ResolvedPath,
}

/// Makes the first checks: the path resolves to a file beneath the root that is not protected.
fn resolve_target(work: &ToolContext, typed: &str) -> Result<WriteTarget, Failure> {
    let root = &work.session.root;
    let located = resolve_path(root, &TypedPath::read(typed, root)?)?;
    let path = match located.real.to_str() {
        Some(path) => path.to_owned(),
        None => return Err(Failure::PathNotText(located.real)),
    };
    work.cx.notes.update(|notes| {
        if !notes.subjects.iter().any(|subject| subject.path == path) {
            let path = path.clone();
            notes.subjects.push(Subject {
                path,
                ..Subject::default()
            });
        }
    });
    if located.any(is_write_protected) {
        return Err(Failure::Protected(path));
    }
    if located.real.as_os_str().is_empty() {
        return Err(PathError::Invalid(crate::path::InvalidPath::Root).into());
    }
    let kind = located.file_stat.map(|stat| stat.kind);
    if kind == Some(FileKind::Directory) {
        return Err(Failure::IsDirectory(path));
    }
    Ok(WriteTarget {
        path,
        kind,
        located,
    })
}

/// Makes the other checks of one file, in their order.
fn change(
    work: &ToolContext,
    requested: RequestedChange,
    real: &WriteTarget,
    scope: &Scope<'_>,
    chosen: &ChosenPlan,
    deny: &DenyRead,
) -> Result<FileChange, Failure> {
    let operation = match (requested.delete, real.kind) {
        (true, _) => Operation::Delete,
        (false, None) => Operation::Create,
        (false, Some(_)) => Operation::Modify,
    };
    scope.allows(operation, real.path.as_bytes())?;
    if requested.create_only && real.kind.is_some() {
        return Err(Failure::Exists(real.path.clone()));
    }
    let old = match real.kind {
        Some(_) => Some(OldFile::read(&work.session.root.disk(), &real.path)?),
        None => None,
    };
    let before = old.as_ref().map(|old| old.hash.clone());
    if let Some(expected) = &requested.previous_hash
        && before.as_ref() != Some(expected)
    {
        return Err(Failure::Changed {
            expected: expected.clone(),
            actual: before,
        });
    }
    let path = real.path.clone();
    if requested.delete {
        let before = before.ok_or_else(|| Failure::Missing(path.clone()))?;
        return Ok(FileChange::new(path, ChangeKind::Delete { before }));
    }
    let bytes = new_bytes(requested, real, old.as_ref(), deny)?;
    let old_bytes = old.as_ref().and_then(|old| old.bytes.as_deref());
    let report = policy::check(policy::PolicyRequest {
        path: &path,
        before: old_bytes,
        after: &bytes,
        rust_strict: work.server.config.rust_strict || chosen.is_rust_strict(),
        exceptions: &chosen.exceptions(&path),
    });
    if !report.findings.is_empty() {
        return Err(Failure::Policy(report));
    }
    let what = match old {
        None => ChangeKind::Create { bytes },
        Some(OldFile { hash, mode, .. }) => ChangeKind::Modify {
            before: hash,
            bytes,
            mode,
        },
    };
    Ok(FileChange::new(path, what))
}

/// A file before it is changed.
struct OldFile {
    hash: String,
    mode: u32,
    /// `None` if the file is too large to be read at once.
    bytes: Option<Vec<u8>>,
}

impl OldFile {
    fn read(disk: &RealDisk, path: &str) -> Result<OldFile, Failure> {
        let read = |error: io::Error| Failure::Read(ReadError::from(error));
        let file = disk.open(path, Open::Read).map_err(read)?;
        let mode = file.mode().map_err(read)?;
        if file.len().map_err(read)? > MAX_WHOLE_BYTES {
            let hash = read_hash(&file).map_err(read)?;
            let bytes = None;
            return Ok(OldFile { hash, mode, bytes });
        }
        let bytes = file.read_all(MAX_WHOLE_BYTES as usize).map_err(read)?;
        Ok(OldFile {
            hash: hash_of(&bytes),
            mode,
            bytes: Some(bytes),
        })
    }

    /// Returns the old text, which a partial change needs.
    fn text(&self) -> Result<&str, Failure> {
        let bytes = self.bytes.as_deref().ok_or(ReadError::TooLarge {
            size: MAX_WHOLE_BYTES + 1,
            limit: MAX_WHOLE_BYTES,
        })?;
        std::str::from_utf8(bytes).map_err(|error| {
            Failure::Read(ReadError::NotText {
                at: error.valid_up_to() as u64,
            })
        })
    }
}

fn new_bytes(
    requested: RequestedChange,
    real: &WriteTarget,
    old: Option<&OldFile>,
    deny: &DenyRead,
) -> Result<Vec<u8>, Failure> {
    if let Some(content) = requested.content {
        return Ok(content);
    }
    // An edit that does not fit is answered with lines of the file, so hidden files are refused.
    if real.located.any(|path| deny.denies(path)) {
        let path = real.located.real.clone();
        return Err(ReadError::Denied { path }.into());
    }
    let text = old.map(OldFile::text).transpose()?;
    match (&requested.edits, &requested.patch) {
        (Some(edits), _) => {
            let text = text.ok_or_else(|| Failure::Missing(real.path.clone()))?;
            Ok(apply_edits(text, edits)?.into_bytes())
        }
        (None, Some(patch)) => Ok(apply_patch(text, patch, &real.path)?.into_bytes()),
        (None, None) => Ok(Vec::new()),
    }
}

/// Applies changes that have passed every check.
pub(super) fn apply(
    work: &ToolContext,
    turn: WriteTurn<RealDisk>,
    changes: &[FileChange],
) -> Result<AppliedChanges<RealDisk>, Failure> {
    let ToolContext {
        server,
        session,
        cx,
    } = work;
    let call = &cx.call;
    let args_hash = audit_line::args_hash(call);
    cx.notes
        .update(|notes| notes.args_hash = Some(args_hash.clone()));
    let about = ChangeOrigin {
        session_id: session.id.clone(),
        request_id: audit_line::redact_and_cut(&call.id),
        tool_name: call.name.clone(),
        args_hash,
        after_seq: session.last_seq(),
    };
    let id = (server.config.ids)();
    let id: String = id
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    Ok(turn.apply(about, changes, &id)?)
}

type AfterKeep = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Applied changes that wait for their record.
pub(super) struct PendingChanges {
    applied: AppliedChanges<RealDisk>,
    notes: Arc<CallNotes>,
    then: Option<AfterKeep>,
}

impl PendingChanges {
    pub(super) fn new(work: &ToolContext, applied: AppliedChanges<RealDisk>) -> PendingChanges {
        PendingChanges {
            applied,
            notes: Arc::clone(&work.cx.notes),
            then: None,
        }
    }

    /// Adds an action that runs once the change is final.
    pub(super) fn then(
        mut self,
        then: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> PendingChanges {
        self.then = Some(Box::new(then));
        self
    }
}

fn blocking(
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> BoxFuture<'static, Result<(), Cause>> {
    Box::pin(async {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(io::Error::other)
            .flatten()
            .map_err(Cause::from)
    })
}

impl Pending for PendingChanges {
    fn keep(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        let PendingChanges { applied, then, .. } = *self;
        match then {
            // Two small writes that wait for no disk: another thread would take longer to be woken.
            None => Box::pin(std::future::ready(applied.keep().map_err(Cause::from))),
            Some(then) => blocking(move || {
                applied.keep()?;
                then()
            }),
        }
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        blocking(move || match self.notes.read().unrecorded {
            // It is uncertain whether the line is in the log: the next session checks it, and
            // settles the change.
            Unrecorded::Perhaps => Err(io::Error::other("left for the next session to settle")),
            _ => self.applied.undo(),
        })
    }
}
