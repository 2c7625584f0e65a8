//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code. The parts of a
//! fault that do not depend on its code are in `fault_parts.rs`.

use crate::command::CommandError;
use crate::dialect::Workspace;
use crate::dialect::codes::{self, INVARIANTS};
use crate::dialect::system_error::{Thrown, startup_failure};
use crate::edit::{EditError, EditProblem, PatchError, PatchMismatch};
use crate::failure::{
    BrokenInvariant, Failure, PlanFailure, RefusedPaths, ReportLimit, StartError,
};
use crate::fault_parts::{
    SENTENCE_CHARS, argument_violation, bad_checkpoint_cause, bad_checkpoint_message, cause,
    client_text, named, near, os,
};
use crate::governed::SnapshotError;
use crate::path::{PathError, shown};
use crate::plan::ScopeError;
use crate::plan::store::MAX_DRAFTS;
use crate::policy;
use crate::reading::ReadError;
use crate::report_history::{MAX_REPORTS_A_DAY, MAX_REPORTS_OF_LOCK};
use crate::shell_word::quoted;
use crate::write::{SettleError, TurnError, WriteError};
use candor_audit::AppendError;
use candor_fault::{Cause, ClientText, Dialect, Effect, Fault, Refusal, Retry, Violations};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::io;

/// The maximum number of paths in a cause.
const MAX_CAUSE_PATHS: usize = 100;

type F = Fault<Workspace>;

impl Failure {
    /// Maps the failure to a fault of the contract.
    pub(crate) fn fault(&self) -> F {
        match self {
            Failure::NoSession => codes::SessionNotInitialized
                .fault()
                .with_cause(named("NoSession", "no call of begin_session has succeeded")),
            Failure::Locked(lock) => {
                let fault = codes::SessionLocked.fault().with_cause(json!({
                    "error_code": lock.error_code,
                    "human_message": lock.human_message,
                    "seq": lock.seq,
                }));
                match lock.person {
                    true => fault
                        .with_remedy("Ask a person to look, and to run candor workspace unlock."),
                    false => fault.with_remedy(
                        "Say what happened with write_failure_report; that unlocks the session.",
                    ),
                }
            }
            Failure::JournalLocked(lock) => codes::SessionLocked
                .fault()
                .with_cause(json!({
                    "error_code": lock.error_code,
                    "human_message": lock.human_message,
                    "seq": lock.seq,
                }))
                .with_remedy("Ask a person to look, and to run candor workspace settle."),
            Failure::NothingLocked => codes::InsufficientPermissions
                .fault()
                .with_message("Nothing is locked, so there is nothing to report")
                .with_remedy("Go on, or tell the person what happened.")
                .with_cause(named(
                    "NothingLocked",
                    "a report is a change without a plan, so it is written only while the session is locked",
                )),
            Failure::ReportLimit(limit) => report_limit(*limit),
            Failure::ReportsNotDirectory(at) => codes::InvalidPath
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting_at_most(&shown(at), SENTENCE_CHARS)
                        .then(" is a file, so no report can be written there"),
                )
                .with_remedy("Ask a person to move the file away.")
                .with_cause(os(Errno::NOTDIR)),
            Failure::OtherRole { tool, role, .. } => codes::UnauthorizedAction
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting(tool)
                        .then(" is not a tool of the role ")
                        .quoting(role.label()),
                )
                .with_cause(named(
                    "OtherRole",
                    &format!("this server has the role {}", role.label()),
                )),
            Failure::RoleClaim { claimed, role } => codes::RoleMismatch
                .fault()
                .with_message(
                    ClientText::from("The call claims the role ")
                        .quoting(claimed)
                        .then("; this server has the role ")
                        .quoting(role.label()),
                )
                .with_cause(named(
                    "RoleClaim",
                    &format!("this server has the role {}", role.label()),
                )),
            Failure::Start(error) => start(error),
            Failure::Arguments(violations) => arguments(violations.clone()),
            Failure::Path(error) => path(error),
            Failure::PathNotText(real) => codes::InvalidPath.fault().with_cause(named(
                "PathNotText",
                &format!("{} is not UTF-8", shown(real)),
            )),
            Failure::IsDirectory(at) => codes::InvalidPath
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting_at_most(at, SENTENCE_CHARS)
                        .then(" is a directory, not a file"),
                )
                .with_cause(named("IsDirectory", &format!("{at} is a directory"))),
            Failure::Missing(at) => codes::FileNotFound
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting_at_most(at, SENTENCE_CHARS)
                        .then(" does not exist"),
                )
                .with_cause(os(Errno::NOENT)),
            Failure::Protected(at) => codes::UnauthorizedAction
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting_at_most(at, SENTENCE_CHARS)
                        .then(" is protected: no agent may change it"),
                )
                .with_cause(named("ProtectedPath", &format!("{at} is protected"))),
            Failure::ReadOnly => codes::InsufficientPermissions
                .fault()
                .with_message("This server was started to change nothing")
                .with_cause(named(
                    "ReadOnlyServer",
                    "the server was started with --read-only",
                )),
            Failure::Read(error) => read(error),
            Failure::DenyRead(error) => codes::FileReadFailed
                .fault()
                .with_message(
                    ClientText::from("Nothing is read: .candor/deny_read, ")
                        .quoting_at_most(&error.to_string(), SENTENCE_CHARS),
                )
                .with_remedy("Ask a person to correct .candor/deny_read.")
                .with_cause(Cause::error("DenyRead", error)),
            Failure::Executed(error) => codes::FileReadFailed
                .fault()
                .with_message(
                    ClientText::from("Nothing is written: .candor/executed, ")
                        .quoting_at_most(&error.to_string(), SENTENCE_CHARS),
                )
                .with_remedy("Ask a person to correct .candor/executed.")
                .with_cause(Cause::error("Executed", error)),
            Failure::Plan(failure) => plan(failure),
            Failure::TooManyDrafts { command } => codes::InsufficientPermissions
                .fault()
                .with_message(
                    ClientText::from("Too many plans wait for approval. Ask a person to run: ")
                        .quoting_at_most(command, SENTENCE_CHARS),
                )
                .with_cause(named(
                    "TooManyDrafts",
                    &format!("at most {MAX_DRAFTS} plans wait for approval"),
                )),
            Failure::Exists(at) => codes::FileAlreadyExists
                .fault()
                .with_message(
                    ClientText::from("")
                        .quoting_at_most(at, SENTENCE_CHARS)
                        .then(" exists already"),
                )
                .with_cause(os(Errno::EXIST)),
            Failure::Changed { expected, actual } => codes::HashMismatch
                .fault()
                .with_cause(json!({ "expected": expected, "actual": actual })),
            Failure::Edit(error) => edit(error),
            Failure::Patch(error) => patch(error),
            Failure::Policy(report) => policy_violation(report),
            Failure::Check(ran) => codes::PreflightFailed
                .fault(Effect::None)
                .with_cause(json!({
                    "argv": ran.argv,
                    "exit_code": ran.exit_code,
                    "signal": ran.signal,
                    "timed_out": ran.timed_out,
                    "output_tail": ran.output,
                })),
            Failure::CheckNotRun(error) => check_not_run(error),
            Failure::NotGoverned(error) => not_governed(error),
            Failure::CommandChanges(refused) => refused_changes(refused),
            Failure::NotCompared(error) => codes::PreflightFailed
                .fault(Effect::None)
                .with_message(client_text(error))
                .with_cause(Cause::error("NotCompared", error)),
            Failure::Turn(TurnError::Busy) => codes::UnknownToolFailure
                .fault(Retry::SameCall, Effect::None)
                .with_message("Another process is writing in this workspace")
                .with_cause(os(Errno::AGAIN)),
            Failure::Turn(TurnError::Io(error)) | Failure::Io(error) => system(error, Effect::None),
            Failure::LogFull { bytes, max } => codes::AuditLogFailed
                .fault(Effect::None)
                .with_message("The audit log has reached its maximum size")
                .with_remedy("Ask a person to move full files of the log away with candor audit retire, or to start the server with a larger --log-max.")
                .with_cause(json!({ "message": "the log is larger than --log-max", "code": null, "name": "AuditLog", "bytes": bytes, "max": max })),
            Failure::Unsettled(error) | Failure::StartNotRecorded(error) => log_unavailable(error),
            Failure::Write(WriteError::Undone(error)) => write(error, Effect::None),
            Failure::Write(WriteError::Stuck(error)) => stuck(error),
            Failure::BrokenInvariant(broken) => invariant(broken),
            Failure::Raised(fault) => fault.clone(),
        }
    }
}

/// Maps files that commands may change and that could not be listed or saved, so that no command was started.
fn not_governed(error: &SnapshotError) -> F {
    let fault = codes::PreflightFailed
        .fault(Effect::None)
        .with_message(client_text(error))
        .with_cause(Cause::error("NotGoverned", error));
    match error {
        SnapshotError::NotSaved(source) if is_disk_full(source) => fault.with_remedy(
            "Ask a person to free space on the disk of the state directory, and try again.",
        ),
        _ => fault,
    }
}

/// Maps a command that could not be run. If the machine offers too weak a sandbox, the cause names what is
/// missing.
fn check_not_run(error: &CommandError) -> F {
    let mut cause = json!({
        "argv": null,
        "exit_code": null,
        "signal": null,
        "timed_out": false,
        "output_tail": "",
        "message": error.to_string(),
    });
    if let CommandError::Start(candor_sandbox::StartError::NotReadable { program }) = error {
        let directory = program.parent().unwrap_or(program);
        let directory = quoted(&directory.display().to_string());
        let message = format!(
            "{error}. A person can show it to them: candor workspace serve --preflight-read {directory}"
        );
        return codes::PreflightFailed
            .fault(Effect::None)
            .with_message(client_text(message))
            .with_cause(cause);
    }
    let CommandError::Start(candor_sandbox::StartError::Weaker { offer, .. }) = error else {
        return codes::PreflightFailed
            .fault(Effect::None)
            .with_message(client_text(error))
            .with_cause(cause);
    };
    let missing = offer.missing.iter();
    let missing: Vec<_> = missing
        .map(|missing| json!({ "part": missing.part.name(), "why": missing.why }))
        .collect();
    cause["sandbox"] = json!({ "level": offer.level.name(), "missing": missing });
    let message = format!(
        "{error}. A person can accept that: candor workspace serve --sandbox {}",
        offer.level
    );
    codes::PreflightFailed
        .fault(Effect::None)
        .with_message(client_text(message))
        .with_cause(cause)
}

fn report_limit(limit: ReportLimit) -> F {
    let (message, cause) = match limit {
        ReportLimit::Lock => (
            "There are enough reports about this lock",
            format!("a lock has at most {MAX_REPORTS_OF_LOCK} reports"),
        ),
        ReportLimit::Day => (
            "There are enough reports for today",
            format!("a workspace has at most {MAX_REPORTS_A_DAY} reports within a day"),
        ),
    };
    codes::InsufficientPermissions
        .fault()
        .with_message(message)
        .with_remedy("Ask a person to look, and to run candor workspace unlock.")
        .with_cause(named("ReportLimit", &cause))
}

/// Maps violations that no schema can state.
fn arguments(violations: Violations) -> F {
    Workspace::adopt(Refusal::Arguments(violations))
}

/// Maps a violation of one argument that no schema can state.
fn argument(member: &str, keyword: &'static str, message: &str, expected: &str) -> F {
    let violation = argument_violation(member, keyword, message, expected);
    arguments(std::iter::once(violation).collect())
}

fn start(error: &StartError) -> F {
    let failed = codes::SessionInitializationFailed.fault();
    let because = |message: &str| named("StartError", message);
    match error {
        StartError::Unnamed { roots } => {
            let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
            argument(
                "workspace_root",
                "required",
                "is required",
                &format!("one of {}", roots.join(", ")),
            )
        }
        StartError::Blank => failed
            .with_message("The workspace root is blank")
            .with_cause(because("workspace_root is blank")),
        StartError::Relative => failed
            .with_message("The workspace root must be an absolute path")
            .with_cause(because("workspace_root is not absolute")),
        StartError::Unusable(error) => failed
            .with_message("The workspace root cannot be opened")
            .with_cause(Cause::error("IoError", error)),
        StartError::NotARoot { roots } => {
            let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
            failed
                .with_message("The workspace root is none of those that this server was started with")
                .with_cause(json!({ "message": "not a root of this server", "code": null, "name": "StartError", "roots": roots }))
        }
        StartError::Other { root } => failed
            .with_message("The session has another workspace root")
            .with_remedy("Go on in the root that session_status shows.")
            .with_cause(because(&format!("the session's root is {}", root.display()))),
        StartError::Flawed(flaw) => failed
            .with_message(
                ClientText::from("The audit log does not verify: its line ")
                    .number(flaw.seq())
                    .then(" is the first that is wrong"),
            )
            .with_remedy("Ask a person to run candor audit verify, and candor audit quarantine to begin a new log.")
            .with_cause(json!({ "message": "the audit log does not verify", "code": null, "name": "BrokenLog", "first_bad_seq": flaw.seq(), "flaw": flaw })),
        StartError::Checkpoint(bad) => failed
            .with_message(bad_checkpoint_message(bad.verdict))
            .with_remedy("Ask a person to run candor audit verify. If the log is right, candor audit checkpoint --sign-with signs its end.")
            .with_cause(bad_checkpoint_cause(bad)),
        StartError::Unchecked { missing } => {
            let missing: Vec<_> = missing.iter().map(|path| path.display().to_string()).collect();
            failed
                .with_message("A checkpoint of the audit log is missing, and this server requires it")
                .with_remedy("Ask a person to run candor audit verify, then candor audit checkpoint --sign-with if the log is right.")
                .with_cause(json!({ "message": "the completeness of the audit log cannot be checked", "code": null, "name": "Checkpoint", "flaw": "checkpoint_missing", "checkpoints": missing }))
        }
        StartError::LooseLog(loose) => failed
            .with_message(client_text(loose))
            .with_remedy("Ask the owner of the machine to run the command in the message.")
            .with_cause(because(&loose.to_string())),
        StartError::Log(error @ AppendError::Locked) => log_unavailable(error),
        StartError::Log(error) => failed
            .with_message("The audit log cannot be opened")
            .with_remedy("Ask a person to look at the log with candor audit verify.")
            .with_cause(Cause::error("LogError", error)),
        StartError::State(error) => failed
            .with_message("The state directory of the workspace cannot be used")
            .with_remedy("Ask the owner of the machine to look at the state directory.")
            .with_cause(Cause::error("IoError", error)),
    }
}

fn path(error: &PathError) -> F {
    let fault = match error {
        PathError::Invalid(_) | PathError::NotOrdinary(_) | PathError::Loop => {
            codes::InvalidPath.fault()
        }
        PathError::Traversal => codes::PathTraversalBlocked.fault(),
        PathError::Outside { .. } => codes::OutsideWorkspace.fault(),
        PathError::ParentMissing { .. } | PathError::ParentIsFile { .. } => {
            codes::PathNotFound.fault()
        }
        PathError::Denied(_) => codes::InsufficientPermissions.fault(),
        PathError::Io(error) => return system(error, Effect::None),
    };
    fault
        .with_message(client_text(error))
        .with_cause(cause("PathError", error))
}

fn read(error: &ReadError) -> F {
    let fault = match error {
        ReadError::Path(error) => return path(error),
        ReadError::Io(error) if is_exhausted(error) => return system(error, Effect::None),
        ReadError::Denied { .. } => codes::UnauthorizedAction.fault(),
        ReadError::NotFound { .. } => codes::FileNotFound.fault(),
        ReadError::NotADirectory { .. } => codes::PathNotFound.fault(),
        ReadError::Glob(why) => {
            return argument("glob", "format", why, "a glob as ripgrep has them");
        }
        ReadError::Pattern(why) => {
            return argument(
                "pattern",
                "format",
                why,
                "a regular expression as ripgrep has them",
            );
        }
        ReadError::IsDirectory { .. }
        | ReadError::TooLarge { .. }
        | ReadError::NotText { .. }
        | ReadError::Stopped
        | ReadError::Io(_) => codes::FileReadFailed.fault(),
    };
    let fault = fault.with_message(client_text(error));
    match error {
        ReadError::NotFound { .. } => fault.with_cause(os(Errno::NOENT)),
        ReadError::IsDirectory { .. } => fault.with_cause(os(Errno::ISDIR)),
        error => fault.with_cause(cause("ReadError", error)),
    }
}

fn plan(failure: &PlanFailure) -> F {
    match failure {
        PlanFailure::None => codes::PlanNotFound
            .fault()
            .with_message("There is no plan")
            .with_cause(named("PlanMissing", "docs/plans holds no plan")),
        PlanFailure::Missing { asked } => codes::PlanNotFound
            .fault()
            .with_message(ClientText::from("There is no plan ").quoting(asked))
            .with_cause(named(
                "PlanMissing",
                &format!("no plan begins with {asked}"),
            )),
        PlanFailure::Ambiguous { hashes } => argument(
            "plan_hash",
            "unique",
            "begins the hashes of several plans",
            &format!("more digits; there are {}", hashes.join(", ")),
        ),
        PlanFailure::Unnamed { member, among } => argument(
            member,
            "required",
            "is required",
            &format!("one of {}", among.join(", ")),
        ),
        PlanFailure::NotApproved { hash, why, command } => codes::PlanNotApproved
            .fault()
            .with_message(
                ClientText::from("The plan is not approved (")
                    .quoting_at_most(why, SENTENCE_CHARS)
                    .then("). Ask a person to run: ")
                    .quoting_at_most(command, SENTENCE_CHARS),
            )
            .with_cause(
                json!({ "message": why, "code": null, "name": "NotApproved", "command": command }),
            )
            .with_facts(|facts| facts.plan_hash = hash.clone()),
        PlanFailure::Damaged { hash, damage } => codes::PlanEnforcementFailed
            .fault()
            .with_message(
                ClientText::from("The stored plan is damaged: ")
                    .quoting_at_most(&damage.to_string(), SENTENCE_CHARS),
            )
            .with_cause(named("PlanDamaged", &damage.to_string()))
            .with_facts(|facts| facts.plan_hash = Some(hash.clone())),
        PlanFailure::CommandNotGranted {
            phase,
            argv,
            granted,
        } => {
            let shown: Vec<_> = granted.iter().map(|pattern| pattern.join(" ")).collect();
            let shown = match shown.is_empty() {
                true => String::from("no command"),
                false => shown.join("; "),
            };
            codes::PlanScopeViolation
                .fault()
                .with_message(
                    ClientText::from("Phase ")
                        .quoting_at_most(phase.as_str(), SENTENCE_CHARS)
                        .then(" does not grant this command; it grants: ")
                        .quoting_at_most(&shown, SENTENCE_CHARS),
                )
                .with_remedy(
                    "Run a command that a pattern grants, or ask for a plan that grants this one.",
                )
                .with_cause(json!({
                    "message": "no pattern grants the command",
                    "code": null,
                    "name": "PlanScope",
                    "argv": argv,
                    "granted": granted,
                }))
        }
        PlanFailure::Scope(refusal @ ScopeError::Executed { path, .. }) => {
            codes::PlanScopeViolation
                .fault()
                .with_message(client_text(refusal))
                .with_remedy("Ask for a plan whose `allow` names the file, or leave it alone.")
                .with_cause(json!({
                    "message": refusal.to_string(),
                    "code": null,
                    "name": "PlanScope",
                    "executed": true,
                    "entry": String::from_utf8_lossy(path),
                }))
        }
        PlanFailure::Scope(refusal) => codes::PlanScopeViolation
            .fault()
            .with_message(client_text(refusal))
            .with_cause(Cause::error("PlanScope", refusal)),
    }
}

/// Maps changes of commands that are refused; everything was put back.
fn refused_changes(refused: &RefusedPaths) -> F {
    let (message, paths) = match refused {
        RefusedPaths::TooMany { count, paths } => (
            format!(
                "The commands changed {count} files, more or larger ones than one call may change"
            ),
            paths,
        ),
        RefusedPaths::NotFiles(paths) => (
            String::from(
                "The commands made a link that leads out, or something that is not a file",
            ),
            paths,
        ),
        RefusedPaths::Scope { why, paths, .. } => (
            format!("The commands changed files that the plan does not allow: {why}"),
            paths,
        ),
    };
    let shown: Vec<_> = paths.iter().take(MAX_CAUSE_PATHS).collect();
    codes::PlanScopeViolation
        .fault()
        .with_message(ClientText::from("").quoting_at_most(&message, SENTENCE_CHARS))
        .with_remedy("Everything was put back. Ask for a plan that allows these files, or run a command that leaves them alone.")
        .with_cause(json!({
            "message": message,
            "code": null,
            "name": "PlanScope",
            "paths": shown,
            "omitted": paths.len() - shown.len(),
        }))
}

fn edit(error: &EditError) -> F {
    let fault = match error.problem {
        EditProblem::EmptyOld | EditProblem::TooLarge | EditProblem::TooMany => {
            return argument(
                "edits",
                "edit",
                &error.to_string(),
                "edits that can be made",
            );
        }
        EditProblem::NotFound { .. } | EditProblem::NotUnique { .. } => {
            codes::PatchApplyFailed.fault()
        }
    };
    fault.with_message(client_text(error)).with_cause(json!({
        "message": error.to_string(),
        "code": null,
        "name": "EditError",
        "edit": error.index,
        "nearest": near(&error.nearest),
    }))
}

fn patch(error: &PatchError) -> F {
    let (fault, nearest) = match error {
        PatchError::Invalid { .. } => (codes::PatchInvalid.fault(), Value::Null),
        PatchError::DoesNotApply {
            reason: PatchMismatch::NoFile,
            ..
        } => (codes::FileNotFound.fault(), Value::Null),
        PatchError::DoesNotApply { nearest, .. } => {
            (codes::PatchApplyFailed.fault(), near(nearest))
        }
    };
    fault.with_message(client_text(error)).with_cause(json!({
        "message": error.to_string(),
        "code": null,
        "name": "PatchError",
        "nearest": nearest,
    }))
}

fn policy_violation(report: &policy::PolicyReport) -> F {
    let is_secret = |finding: &policy::Finding| finding.rule.profile() == policy::Profile::Secrets;
    let fault = match report.findings.iter().any(is_secret) {
        true => codes::PolicyViolation.fault(),
        false => codes::RustPolicyViolation.fault(),
    };
    let first = report.findings.first();
    let fault = match first {
        Some(first) => fault.with_message(
            ClientText::from("The edit adds ")
                .quoting(first.rule.name())
                .then(" in line ")
                .number(first.line as i64)
                .then("; ")
                .quoting_at_most(&first.how, SENTENCE_CHARS),
        ),
        None => fault,
    };
    let findings = report.findings.iter().map(|finding| {
        json!({ "rule": finding.rule.name(), "line": finding.line, "text": finding.text })
    });
    let findings: Vec<_> = findings.collect();
    fault.with_cause(json!({ "findings": findings, "omitted": report.omitted }))
}

/// Maps a change of a dead process that can be neither finished nor undone. Returns `None` if another
/// attempt may succeed without a person.
pub(crate) fn unsettled_journal(error: SettleError) -> Result<F, SettleError> {
    match error {
        SettleError::Log(_) => Err(error),
        SettleError::Io(io) if is_exhausted(&io) => Err(SettleError::Io(io)),
        error => Ok(invariant(&BrokenInvariant::Journal(error))),
    }
}

/// Returns true if the process or the machine has run out of something that has nothing to do with the file.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Returns true if the disk is full, so that the same attempt may succeed later.
pub(crate) fn is_disk_full(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT))
}

/// Maps an error of the operating system during a write.
fn write(error: &io::Error, effect: Effect) -> F {
    let failed = |fault: F| fault.with_cause(Cause::error("IoError", error));
    match Errno::from_io_error(error) {
        Some(
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::IO | Errno::FBIG | Errno::INVAL,
        ) => failed(codes::FileWriteFailed.fault()),
        Some(Errno::EXIST) => failed(codes::FileAlreadyExists.fault()),
        Some(Errno::NOENT) => failed(codes::FileNotFound.fault()),
        _ => system(error, effect),
    }
}

/// Maps a failed write whose undo failed too: the next turn to write settles the files.
fn stuck(error: &io::Error) -> F {
    codes::UnknownToolFailure
        .fault(Retry::Never, Effect::Unknown)
        .with_message(
            "The change failed half-way and could not be taken back; the next call that writes settles it",
        )
        .with_cause(Cause::error("IoError", error))
}

/// Maps an error of the operating system that no other function here maps.
fn system(error: &io::Error, effect: Effect) -> F {
    let fault = match Errno::from_io_error(error) {
        _ if is_disk_full(error) && effect == Effect::None => codes::FileWriteFailed.fault(),
        Some(Errno::ACCESS | Errno::PERM) => codes::InsufficientPermissions.fault(),
        Some(Errno::LOOP | Errno::XDEV) => codes::OutsideWorkspace.fault(),
        _ => codes::UnknownToolFailure.fault(Retry::AfterChange, effect),
    };
    fault.with_cause(Cause::error("IoError", error))
}

fn invariant(broken: &BrokenInvariant) -> F {
    let (id, message, cause) = match broken {
        BrokenInvariant::State(why) => (
            "STATE_INTACT",
            ClientText::from("The state directory does not hold what this program wrote"),
            named("StateError", why),
        ),
        BrokenInvariant::Lock(error) => (
            "STATE_INTACT",
            ClientText::from("The lock of the workspace cannot be read"),
            Cause::error("LockError", error),
        ),
        BrokenInvariant::Journal(error) => (
            "JOURNAL_CONSISTENT",
            ClientText::from("The journal of writes and the files contradict each other"),
            named(
                "JournalError",
                match error {
                    SettleError::Foreign => "the journal was not written by this program",
                    SettleError::Contradiction => "the log has a change that the files do not have",
                    SettleError::Io(_) | SettleError::Log(_) => {
                        "an interrupted change can be neither finished nor undone"
                    }
                },
            ),
        ),
        BrokenInvariant::Root => (
            "ROOT_UNCHANGED",
            ClientText::from("The workspace root is another directory than the session began with"),
            named("RootChanged", "the root was moved or replaced"),
        ),
        BrokenInvariant::Protected(paths) => {
            let paths: Vec<_> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            (
                "PROTECTED_PATHS_UNCHANGED",
                ClientText::from("A command of the plan changed protected paths"),
                Cause::from(
                    json!({ "message": "protected paths were changed", "code": null, "name": "ProtectedChanged", "paths": paths }),
                ),
            )
        }
        BrokenInvariant::Chain(flaw) => (
            "AUDIT_CHAIN_INTACT",
            ClientText::from("The audit log does not verify: its line ")
                .number(flaw.seq())
                .then(" is the first that is wrong"),
            Cause::from(
                json!({ "message": "the audit log does not verify", "code": null, "name": "BrokenLog", "first_bad_seq": flaw.seq(), "flaw": flaw }),
            ),
        ),
        BrokenInvariant::Checkpoint(bad) => (
            "AUDIT_CHAIN_INTACT",
            ClientText::from(bad_checkpoint_message(bad.verdict)),
            bad_checkpoint_cause(bad),
        ),
    };
    let id = INVARIANTS.iter().find(|known| known.name == id);
    codes::InvariantViolation
        .fault(Effect::None)
        .with_message(message)
        .with_cause(cause)
        .with_facts(|facts| facts.invariant_id = id.map(|known| known.name))
}

/// Maps a log that was unavailable before anything was done.
fn log_unavailable(error: &AppendError) -> F {
    let fault = match error {
        AppendError::Locked => codes::AuditLockFailed.fault(Retry::SameCall, Effect::None),
        _ => codes::AuditLogFailed.fault(Effect::None),
    };
    fault.with_cause(Cause::error("AuditLog", error))
}

/// Returns true if the failure is that the call is not on record.
pub(crate) fn is_unrecorded(fault: &F) -> bool {
    fault.is(codes::AuditLogFailed)
}

/// Maps a call that is not on record because another process held the log.
pub(crate) fn log_was_busy(unrecorded: &F) -> F {
    let effect = unrecorded.effect();
    let retry = match effect {
        Effect::None => Retry::SameCall,
        Effect::Done | Effect::Unknown => Retry::AfterChange,
    };
    let fault = codes::AuditLockFailed.fault(retry, effect);
    match unrecorded.cause() {
        Some(cause) => fault.with_cause(cause.clone()),
        None => fault,
    }
}

/// Returns true if a failure locks the session for good, no matter what raised it.
pub(crate) fn is_invariant(fault: &F) -> bool {
    fault.is(codes::InvariantViolation)
}

/// Maps a configuration or a key that cannot be used at start.
pub fn bootstrap_failure(message: &str) -> F {
    startup_failure(
        codes::BootstrapFailure,
        Some(client_text(message)),
        Thrown::Text(message.to_owned()),
    )
}

/// Maps a record or a registry that is broken at start.
pub fn self_audit_failure(message: &str) -> F {
    startup_failure(
        codes::SelfAuditFailure,
        Some(client_text(message)),
        Thrown::Text(message.to_owned()),
    )
}
