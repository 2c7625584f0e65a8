//! `write_file`, `apply_changes`, `delete_file` and `move_file`: all checks in order, then all changes or none.

use super::commands::{ChangedByCommands, CommandRules};
use super::plans::{ChosenPlan, choose};
use super::reading::{denied, executed};
use super::{ToolContext, preflight, stopped_failure};
use crate::argument_rules::{parse_changes, parse_write};
use crate::audit_line;
use crate::edit::{Edit, apply_edits, apply_patch};
use crate::failure::Failure;
use crate::fields::{MAX_CHANGES, arguments, content, file_hash, one_of, path, planned};
use crate::notes::{CallNotes, Subject, Unrecorded};
use crate::path::{
    FileKind, MAX_MADE_DIRS, PathError, ResolvedPath, TypedPath, resolve_new_path, resolve_path,
};
use crate::plan::{Operation, Scope, ScopeError};
use crate::policy::{self, PolicyReport, Profile};
use crate::protected::{DenyRead, ExecutedFiles, is_write_protected};
use crate::reading::{MAX_WHOLE_BYTES, ReadError};
use crate::server::WorkspaceServer;
use crate::write::{
    AppliedChanges, ChangeKind, ChangeOrigin, FileChange, NewMode, WriteTurn, file_mode, hash_of,
    read_hash,
};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_fault::{ArgumentPath as At, Cause, PathStep, Violation, excerpt};
use candor_street::{CallContext, Pending, Reply, Tool, reply};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The maximum size of the paths of one call in bytes: its line in the log names them all.
pub const MAX_PATHS_BYTES: usize = 64 * 1024;

/// A change that a caller requests.
#[derive(Deserialize)]
pub(crate) struct RequestedChange {
    path: String,
    /// The path of the file that is moved.
    from: Option<String>,
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
    /// True or false to set or clear the right to execute; `None` keeps it.
    executable: Option<bool>,
}

impl RequestedChange {
    /// A change that does nothing yet.
    fn of(path: String) -> RequestedChange {
        RequestedChange {
            path,
            from: None,
            content: None,
            edits: None,
            patch: None,
            previous_hash: None,
            create_only: false,
            delete: false,
            executable: None,
        }
    }

    /// Returns true if it can create the file, and so the directories above it.
    fn can_create(&self) -> bool {
        self.from.is_some() || self.content.is_some() || self.patch.is_some()
    }
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

impl ChangeRequest {
    fn one(change: RequestedChange, by: PlanChoice) -> ChangeRequest {
        ChangeRequest {
            changes: vec![change],
            by,
        }
    }
}

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
                super::run(server, cx, move |work| {
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
                super::run(server, cx, move |work| {
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

/// A changed file in the answer.
#[derive(Serialize)]
struct ChangeResult {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    operation: &'static str,
    before: Option<String>,
    after: Option<String>,
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    made_dirs: Vec<String>,
}

struct ChangedFiles {
    done: Vec<ChangeResult>,
    by: Value,
    checks: Value,
    kept: PendingChanges,
    /// True if the answer has `made_dirs` even if there are none.
    names_dirs: bool,
}

impl ChangedFiles {
    fn reply(self, one: bool) -> Result<Reply, Failure> {
        let mut answer = match (one, self.done.first()) {
            (true, Some(only)) => json!(only),
            _ => json!({ "changes": self.done }),
        };
        if self.names_dirs && answer.get("made_dirs").is_none() {
            answer["made_dirs"] = json!([]);
        }
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
        let target = ChangeTarget::resolve(work, change)?;
        length += target.length();
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
    let executed = executed(work)?;
    let judge = ChangeJudge::new(work, &chosen, &deny, &executed)?;
    let mut seen = BTreeSet::new();
    let mut made_dirs = BTreeSet::new();
    let mut changes = Vec::with_capacity(requested.len());
    let mut done = Vec::with_capacity(requested.len());
    let mut doubtful = Vec::new();
    for (requested, before) in requested.into_iter().zip(targets) {
        // Another call may have written between the first look and our turn.
        let target = ChangeTarget::resolve(work, &requested)?;
        if !target.paths().eq(before.paths())
            || !target.paths().all(|path| seen.insert(path.to_owned()))
        {
            return Err(repeated(&requested.path));
        }
        let planned = judge.change(requested, &target, &mut doubtful)?;
        let dirs = target.missing_dirs(&mut made_dirs)?;
        let mut result = planned.result();
        result.made_dirs.clone_from(&dirs);
        done.push(result);
        let mut files = planned.files;
        if let Some(last) = files.pop() {
            files.push(last.with_dirs(dirs));
        }
        changes.extend(files);
    }
    judge.check_doubtful(doubtful, &changes)?;
    cx.notes
        .update(|notes| notes.subjects = changes.iter().map(subject).collect());
    cx.mark.begins().map_err(stopped_failure)?;
    let applied = apply(work, turn, &changes).inspect_err(|failure| {
        if !matches!(failure, Failure::Write(crate::write::WriteError::Stuck(_))) {
            cx.mark.undone();
        }
    })?;
    let mut kept = PendingChanges::new(work, applied);
    let mut checks = Value::Null;
    if phase.preflight == crate::plan::Preflight::EachWrite {
        let rules = CommandRules {
            fresh: false,
            must_pass: true,
            has_turn: true,
        };
        match preflight::run_checks(work, &chosen, &rules) {
            Ok(ran) => {
                checks = preflight::describe(&ran.outcomes);
                kept.by_commands = ran.changed;
            }
            // The files that the commands changed could not be put back, so these are not either.
            Err(failure @ Failure::Write(crate::write::WriteError::Stuck(_))) => {
                return Err(failure);
            }
            Err(failure) => {
                kept.take_back().map_err(crate::write::WriteError::Stuck)?;
                cx.mark.undone();
                return Err(failure);
            }
        }
    }
    cx.mark.done();
    Ok(ChangedFiles {
        done,
        by: chosen.to_json(),
        checks,
        kept,
        names_dirs: false,
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

fn subject(change: &FileChange) -> Subject {
    Subject {
        path: change.path.clone(),
        before: change.what.before().map(String::from),
        after: change.after.clone(),
        bytes: change.what.length(),
        mode: change.what.git_mode(),
    }
}

/// A resolved path that may be written.
struct WriteTarget {
    path: String,
    kind: Option<FileKind>,
    located: ResolvedPath,
}

/// Makes the first checks: the path resolves to a file beneath the root that is not protected.
fn resolve_target(
    work: &ToolContext,
    typed: &str,
    may_make_dirs: bool,
) -> Result<WriteTarget, Failure> {
    let root = &work.session.root;
    let typed = TypedPath::read(typed, root)?;
    let located = match may_make_dirs {
        true => resolve_new_path(root, &typed)?,
        false => resolve_path(root, &typed)?,
    };
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

/// The resolved paths of a requested change.
struct ChangeTarget {
    /// The file that is moved.
    from: Option<WriteTarget>,
    to: WriteTarget,
}

impl ChangeTarget {
    fn resolve(work: &ToolContext, requested: &RequestedChange) -> Result<ChangeTarget, Failure> {
        let from = requested.from.as_deref();
        let from = from.map(|from| resolve_target(work, from, false));
        Ok(ChangeTarget {
            from: from.transpose()?,
            to: resolve_target(work, &requested.path, requested.can_create())?,
        })
    }

    /// Returns the paths that are changed.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let from = self.from.iter();
        let from = from.filter(|from| from.path != self.to.path);
        from.chain([&self.to]).map(|target| target.path.as_str())
    }

    fn length(&self) -> usize {
        let dirs = self.to.located.missing_dirs.iter();
        let dirs = dirs.map(|dir| dir.as_os_str().len());
        self.paths().map(str::len).chain(dirs).sum()
    }

    /// Returns the directories to make that no earlier change of the call makes.
    fn missing_dirs(&self, made: &mut BTreeSet<String>) -> Result<Vec<String>, Failure> {
        let mut dirs = Vec::new();
        for dir in &self.to.located.missing_dirs {
            let text = dir.to_str();
            let text = text.ok_or_else(|| Failure::PathNotText(dir.clone()))?;
            if made.insert(text.to_owned()) {
                dirs.push(text.to_owned());
            }
        }
        match made.len() > MAX_MADE_DIRS {
            true => Err(PathError::ParentMissing {
                parent: PathBuf::from(dirs.pop().unwrap_or_default()),
            }
            .into()),
            false => Ok(dirs),
        }
    }
}

/// A requested change that has passed its checks.
struct PlannedChange {
    operation: &'static str,
    /// The moved file is removed first.
    files: Vec<FileChange>,
}

impl PlannedChange {
    /// Returns the change as the answer shows it.
    fn result(&self) -> ChangeResult {
        let moved = match self.files.as_slice() {
            [from, _] => Some(from),
            _ => None,
        };
        let before = self.files.first();
        let last = self.files.last();
        ChangeResult {
            path: last.map(|file| file.path.clone()).unwrap_or_default(),
            from: moved.map(|from| from.path.clone()),
            operation: self.operation,
            before: before.and_then(|file| file.what.before().map(String::from)),
            after: last.and_then(|file| file.after.clone()),
            bytes: last.and_then(|file| file.what.length()),
            made_dirs: Vec::new(),
        }
    }
}

/// The checks of one call, made for each of its files in the same order.
pub(super) struct ChangeJudge<'c> {
    work: &'c ToolContext,
    scope: Scope<'c>,
    chosen: &'c ChosenPlan,
    deny: &'c DenyRead,
    executed: &'c ExecutedFiles,
}

impl<'c> ChangeJudge<'c> {
    pub(super) fn new(
        work: &'c ToolContext,
        chosen: &'c ChosenPlan,
        deny: &'c DenyRead,
        executed: &'c ExecutedFiles,
    ) -> Result<ChangeJudge<'c>, Failure> {
        Ok(ChangeJudge {
            work,
            scope: work.session.plan_cache.scope(chosen.phase())?,
            chosen,
            deny,
            executed,
        })
    }

    fn allows(&self, operation: Operation, target: &WriteTarget) -> Result<(), Failure> {
        Ok(self.allows_path(operation, &target.path)?)
    }

    /// Checks that the phase allows an operation on a real path.
    pub(super) fn allows_path(&self, operation: Operation, path: &str) -> Result<(), ScopeError> {
        self.scope.allows(operation, path.as_bytes(), self.executed)
    }

    fn change(
        &self,
        requested: RequestedChange,
        target: &ChangeTarget,
        doubtful: &mut Vec<DoubtfulFile>,
    ) -> Result<PlannedChange, Failure> {
        match &target.from {
            Some(from) => self.moved(requested, from, &target.to, doubtful),
            None => self.written(requested, &target.to, doubtful),
        }
    }

    /// Refuses a file of Rust with findings, unless it is a module of tests after this call.
    pub(super) fn check_doubtful(
        &self,
        doubtful: Vec<DoubtfulFile>,
        changes: &[FileChange],
    ) -> Result<(), Failure> {
        let disk = self.work.session.root.disk();
        let mut read = |path: &str| {
            let changed = changes.iter().rev().find(|change| change.path == path);
            match changed.map(|change| &change.what) {
                Some(ChangeKind::Create { bytes, .. } | ChangeKind::Modify { bytes, .. }) => {
                    String::from_utf8(bytes.clone()).ok()
                }
                Some(ChangeKind::Copy { from, .. }) => read_text(&disk, from),
                Some(ChangeKind::Delete { .. }) => None,
                None => read_text(&disk, path),
            }
        };
        for file in doubtful {
            if !policy::is_test_module(&file.path, &mut read) {
                return Err(Failure::Policy(file.report));
            }
        }
        Ok(())
    }

    fn written(
        &self,
        requested: RequestedChange,
        target: &WriteTarget,
        doubtful: &mut Vec<DoubtfulFile>,
    ) -> Result<PlannedChange, Failure> {
        let operation = match (requested.delete, target.kind) {
            (true, _) => Operation::Delete,
            (false, None) => Operation::Create,
            (false, Some(_)) => Operation::Modify,
        };
        self.allows(operation, target)?;
        if requested.create_only && target.kind.is_some() {
            return Err(Failure::Exists(target.path.clone()));
        }
        let old = match target.kind {
            Some(_) => Some(OldFile::read(&self.work.session.root.disk(), &target.path)?),
            None => None,
        };
        let before = old.as_ref().map(|old| old.hash.clone());
        require_hash(requested.previous_hash.as_ref(), before.as_ref())?;
        let path = target.path.clone();
        let planned = |what| PlannedChange {
            operation: operation.name(),
            files: vec![FileChange::new(path.clone(), what)],
        };
        if requested.delete {
            let before = before.ok_or_else(|| Failure::Missing(path.clone()))?;
            return Ok(planned(ChangeKind::Delete { before }));
        }
        let executable = requested.executable;
        let bytes = self.new_bytes(requested, target, old.as_ref())?;
        let old_bytes = old.as_ref().and_then(|old| old.bytes.as_deref());
        let old_text = old_bytes.map(|bytes| (path.as_str(), bytes));
        doubtful.extend(self.check_policy(&path, &bytes, old_text)?);
        Ok(planned(match old {
            None => ChangeKind::Create {
                bytes,
                mode: NewMode::Usual {
                    executable: executable == Some(true),
                },
            },
            Some(OldFile { hash, mode, .. }) => ChangeKind::Modify {
                before: hash,
                before_mode: mode,
                bytes,
                mode: file_mode(mode, executable),
            },
        }))
    }

    /// Checks a move: it removes one file and creates the other.
    fn moved(
        &self,
        requested: RequestedChange,
        from: &WriteTarget,
        to: &WriteTarget,
        doubtful: &mut Vec<DoubtfulFile>,
    ) -> Result<PlannedChange, Failure> {
        self.allows(Operation::Delete, from)?;
        self.allows(Operation::Create, to)?;
        if to.kind.is_some() {
            return Err(Failure::Exists(to.path.clone()));
        }
        let old = match from.kind {
            Some(_) => Some(OldFile::read(&self.work.session.root.disk(), &from.path)?),
            None => None,
        };
        let before = old.as_ref().map(|old| old.hash.clone());
        require_hash(requested.previous_hash.as_ref(), before.as_ref())?;
        let old = old.ok_or_else(|| Failure::Missing(from.path.clone()))?;
        // Under another name the file could be read.
        self.check_readable(from)?;
        let mode = file_mode(old.mode, requested.executable);
        let is_edited = requested
            .edits
            .as_ref()
            .is_some_and(|edits| !edits.is_empty());
        let created = match is_edited {
            true => ChangeKind::Create {
                bytes: self.new_bytes(requested, from, Some(&old))?,
                mode: NewMode::Exact(mode),
            },
            false => ChangeKind::Copy {
                from: from.path.clone(),
                hash: old.hash.clone(),
                length: old.length,
                mode,
            },
        };
        let old_bytes = old.bytes.as_deref();
        let new_bytes = match &created {
            ChangeKind::Create { bytes, .. } => Some(bytes.as_slice()),
            _ => old_bytes,
        };
        if let Some(bytes) = new_bytes {
            let old = old_bytes.map(|bytes| (from.path.as_str(), bytes));
            doubtful.extend(self.check_policy(&to.path, bytes, old)?);
        }
        let removed = ChangeKind::Delete { before: old.hash };
        Ok(PlannedChange {
            operation: "move",
            files: vec![
                FileChange::new(from.path.clone(), removed),
                FileChange::new(to.path.clone(), created),
            ],
        })
    }

    /// Checks what the new bytes add to the old ones, which may have had another path. Findings that
    /// do not matter in tests are returned: the declaration of the file may be changed by the same call.
    pub(super) fn check_policy(
        &self,
        path: &str,
        after: &[u8],
        before: Option<(&str, &[u8])>,
    ) -> Result<Option<DoubtfulFile>, Failure> {
        let report = policy::check(policy::PolicyRequest {
            path,
            before,
            after,
            rust_strict: self.work.server.config.rust_strict || self.chosen.is_rust_strict(),
            exceptions: &self.chosen.exceptions(path),
        });
        match report.profile() {
            None => Ok(None),
            Some(Profile::Secrets) => Err(Failure::Policy(report)),
            Some(Profile::RustStrict) => Ok(Some(DoubtfulFile {
                path: path.to_owned(),
                report,
            })),
        }
    }

    fn check_readable(&self, target: &WriteTarget) -> Result<(), Failure> {
        if target.located.any(|path| self.deny.denies(path)) {
            let path = target.located.real.clone();
            return Err(ReadError::Denied { path }.into());
        }
        Ok(())
    }

    fn new_bytes(
        &self,
        requested: RequestedChange,
        target: &WriteTarget,
        old: Option<&OldFile>,
    ) -> Result<Vec<u8>, Failure> {
        if let Some(content) = requested.content {
            return Ok(content);
        }
        // An edit that does not fit is answered with lines of the file, so hidden files are refused.
        self.check_readable(target)?;
        match (&requested.edits, &requested.patch) {
            (Some(edits), _) => {
                let old = old.ok_or_else(|| Failure::Missing(target.path.clone()))?;
                match edits.is_empty() {
                    // Only the mode changes.
                    true => Ok(old.bytes()?.to_vec()),
                    false => Ok(apply_edits(old.text()?, edits)?.into_bytes()),
                }
            }
            (None, Some(patch)) => {
                let text = old.map(OldFile::text).transpose()?;
                Ok(apply_patch(text, patch, &target.path)?.into_bytes())
            }
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// A file of Rust with findings that are permitted in tests.
pub(super) struct DoubtfulFile {
    path: String,
    report: PolicyReport,
}

fn read_text(disk: &RealDisk, path: &str) -> Option<String> {
    let file = disk.open(path, Open::Read).ok()?;
    String::from_utf8(file.read_all(MAX_WHOLE_BYTES as usize).ok()?).ok()
}

/// Checks that the file is the one that the caller saw.
fn require_hash(expected: Option<&String>, actual: Option<&String>) -> Result<(), Failure> {
    match expected {
        Some(expected) if actual != Some(expected) => Err(Failure::Changed {
            expected: expected.clone(),
            actual: actual.cloned(),
        }),
        _ => Ok(()),
    }
}

/// A file before it is changed.
struct OldFile {
    hash: String,
    mode: u32,
    length: u64,
    /// `None` if the file is too large to be read at once.
    bytes: Option<Vec<u8>>,
}

impl OldFile {
    fn read(disk: &RealDisk, path: &str) -> Result<OldFile, Failure> {
        let read = |error: io::Error| Failure::Read(ReadError::from(error));
        let file = disk.open(path, Open::Read).map_err(read)?;
        let mode = file.mode().map_err(read)?;
        let length = file.len().map_err(read)?;
        if length > MAX_WHOLE_BYTES {
            return Ok(OldFile {
                hash: read_hash(&file).map_err(read)?,
                mode,
                length,
                bytes: None,
            });
        }
        let bytes = file.read_all(MAX_WHOLE_BYTES as usize).map_err(read)?;
        Ok(OldFile {
            hash: hash_of(&bytes),
            mode,
            length: bytes.len() as u64,
            bytes: Some(bytes),
        })
    }

    /// Returns the old bytes, which a partial change needs.
    fn bytes(&self) -> Result<&[u8], Failure> {
        let too_large = ReadError::TooLarge {
            size: MAX_WHOLE_BYTES + 1,
            limit: MAX_WHOLE_BYTES,
        };
        self.bytes.as_deref().ok_or(Failure::Read(too_large))
    }

    /// Returns the old text.
    fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(self.bytes()?).map_err(|error| {
            Failure::Read(ReadError::NotText {
                at: error.valid_up_to() as u64,
            })
        })
    }
}

/// Applies changes that have passed every check.
pub(super) fn apply(
    work: &ToolContext,
    turn: WriteTurn<RealDisk>,
    changes: &[FileChange],
) -> Result<AppliedChanges<RealDisk>, Failure> {
    let about = change_origin(work);
    let id = (work.server.config.ids)();
    let id: String = id
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    Ok(turn.apply(about, changes, &id)?)
}

/// Returns the origin of the changes of a call.
pub(super) fn change_origin(work: &ToolContext) -> ChangeOrigin {
    let ToolContext { session, cx, .. } = work;
    let call = &cx.call;
    let args_hash = audit_line::args_hash(call);
    cx.notes
        .update(|notes| notes.args_hash = Some(args_hash.clone()));
    ChangeOrigin {
        session_id: session.id.clone(),
        request_id: audit_line::redact_and_cut(&call.id),
        tool_name: call.name.clone(),
        args_hash,
        after_seq: session.last_seq(),
    }
}

type AfterKeep = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Changes that wait for their record.
pub(super) struct PendingChanges {
    /// The changes that the call made itself.
    applied: Option<AppliedChanges<RealDisk>>,
    /// The changes of its commands, which came later.
    by_commands: Option<ChangedByCommands>,
    notes: Arc<CallNotes>,
    then: Option<AfterKeep>,
}

impl PendingChanges {
    pub(super) fn new(work: &ToolContext, applied: AppliedChanges<RealDisk>) -> PendingChanges {
        PendingChanges {
            applied: Some(applied),
            by_commands: None,
            notes: Arc::clone(&work.cx.notes),
            then: None,
        }
    }

    /// Returns the changes of commands.
    pub(super) fn by_commands(work: &ToolContext, changed: ChangedByCommands) -> PendingChanges {
        PendingChanges {
            applied: None,
            by_commands: Some(changed),
            notes: Arc::clone(&work.cx.notes),
            then: None,
        }
    }

    /// Leaves everything as it is, because it is on record.
    fn make_final(self) -> io::Result<()> {
        if let Some(changed) = self.by_commands {
            changed.keep()?;
        }
        if let Some(applied) = self.applied {
            applied.keep()?;
        }
        self.then.map_or(Ok(()), |then| then())
    }

    /// Takes everything back, the latest change first.
    fn take_back(self) -> io::Result<()> {
        if let Some(changed) = self.by_commands {
            changed.undo()?;
        }
        self.applied.map_or(Ok(()), AppliedChanges::undo)
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
        match self.then {
            // Two small writes that wait for no disk: another thread would take longer to be woken.
            None => Box::pin(std::future::ready(self.make_final().map_err(Cause::from))),
            Some(_) => blocking(move || self.make_final()),
        }
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        blocking(move || match self.notes.read().unrecorded {
            // It is uncertain whether the line is in the log: the next session checks it, and
            // settles the change.
            Unrecorded::Perhaps => Err(io::Error::other("left for the next session to settle")),
            _ => self.take_back(),
        })
    }
}
