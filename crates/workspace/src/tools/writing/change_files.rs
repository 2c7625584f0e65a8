//! The way of a call that changes files: resolves every path, judges every change, applies all of them, runs the
//! commands of the phase, and answers.

use super::change_target::ChangeTarget;
use super::{ChangeJudge, ChangeRequest, PendingChanges, apply};
use crate::failure::Failure;
use crate::notes::Subject;
use crate::tools::commands::CommandRules;
use crate::tools::plans::choose;
use crate::tools::reading::{denied, executed};
use crate::tools::{ToolContext, preflight, stopped_failure};
use crate::write::FileChange;
use candor_fault::{ArgumentPath as At, PathStep, Violation, excerpt};
use candor_street::{Reply, reply};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The maximum size of the paths of one call in bytes: its line in the log names them all.
pub const MAX_PATHS_BYTES: usize = 64 * 1024;

/// A changed file in the answer.
#[derive(Serialize)]
pub(super) struct ChangeResult {
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    pub(super) operation: &'static str,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) made_dirs: Vec<String>,
}

pub(super) struct ChangedFiles {
    done: Vec<ChangeResult>,
    by: Value,
    checks: Value,
    kept: PendingChanges,
    /// True if the answer has `made_dirs` even if there are none.
    pub(super) names_dirs: bool,
}

impl ChangedFiles {
    pub(super) fn reply(self, one: bool) -> Result<Reply, Failure> {
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

pub(super) fn change_files(
    work: &ToolContext,
    request: ChangeRequest,
) -> Result<ChangedFiles, Failure> {
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
