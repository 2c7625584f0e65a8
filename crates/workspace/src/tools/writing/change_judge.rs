//! The checks of a change against the plan, the old file and the policy, in the same order for each file.

use super::RequestedChange;
use super::change_files::ChangeResult;
use super::change_target::{ChangeTarget, WriteTarget};
use super::old_file::{OldFile, read_text, require_hash};
use crate::edit::{apply_edits, apply_patch};
use crate::failure::Failure;
use crate::plan::{Operation, Scope, ScopeError};
use crate::policy::{self, PolicyReport, Profile};
use crate::protected::{DenyRead, ExecutedFiles};
use crate::reading::ReadError;
use crate::tools::ToolContext;
use crate::tools::plans::ChosenPlan;
use crate::write::{ChangeKind, FileChange, NewMode, file_mode};

/// A requested change that has passed its checks.
pub(super) struct PlannedChange {
    operation: &'static str,
    /// The moved file is removed first.
    pub(super) files: Vec<FileChange>,
}

impl PlannedChange {
    /// Returns the change as the answer shows it.
    pub(super) fn result(&self) -> ChangeResult {
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
pub(in crate::tools) struct ChangeJudge<'c> {
    work: &'c ToolContext,
    scope: Scope<'c>,
    chosen: &'c ChosenPlan,
    deny: &'c DenyRead,
    executed: &'c ExecutedFiles,
}

impl<'c> ChangeJudge<'c> {
    pub(in crate::tools) fn new(
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
    pub(in crate::tools) fn allows_path(
        &self,
        operation: Operation,
        path: &str,
    ) -> Result<(), ScopeError> {
        self.scope.allows(operation, path.as_bytes(), self.executed)
    }

    pub(super) fn change(
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
    pub(in crate::tools) fn check_doubtful(
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
    pub(in crate::tools) fn check_policy(
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
pub(in crate::tools) struct DoubtfulFile {
    path: String,
    report: PolicyReport,
}
