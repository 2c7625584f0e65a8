//! The failures of a call, as types; `faults` maps them to codes.

use crate::command::{CommandError, CommandOutcome, FingerprintError};
use crate::dialect::Workspace;
use crate::edit::{EditError, PatchError};
use crate::governed::SnapshotError;
use crate::lock::{Lock, LockError};
use crate::loose_files::LooseFile;
use crate::path::PathError;
use crate::plan::{self, PhaseId, store};
use crate::policy::PolicyReport;
use crate::protected::PathRulesError;
use crate::reading::ReadError;
use crate::role::Role;
use crate::write::{SettleError, TurnError, WriteError};
use candor_audit::{AppendError, CheckpointVerdict, LogFlaw};
use candor_fault::{Fault, Violations};
use std::io;
use std::path::PathBuf;

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// `begin_session` was not called.
    NoSession,
    /// The workspace is locked.
    Locked(Box<Lock>),
    /// The workspace is locked, because a change of a dead process can be neither finished nor undone.
    JournalLocked(Box<Lock>),
    /// There is no lock to report about.
    NothingLocked,
    /// There are too many reports.
    ReportLimit(ReportLimit),
    /// The directory of reports is a file.
    ReportsNotDirectory(PathBuf),
    /// The tool belongs to the other role.
    OtherRole {
        tool: &'static str,
        role: Role,
        /// True if the workspace is locked.
        locked: bool,
    },
    /// The caller claims to have the other role.
    RoleClaim { claimed: String, role: Role },
    /// The session could not be started.
    Start(StartError),
    /// The arguments break a rule that no schema can state.
    Arguments(Violations),
    /// The path cannot be used.
    Path(PathError),
    /// The real path is not text.
    PathNotText(PathBuf),
    /// The path to write is a directory.
    IsDirectory(String),
    /// The file does not exist.
    Missing(String),
    /// The path is protected.
    Protected(String),
    /// The server is read-only.
    ReadOnly,
    /// Reading failed.
    Read(ReadError),
    /// The file that lists unreadable files cannot be used, so nothing is read.
    DenyRead(PathRulesError),
    /// The file that lists executed files cannot be used, so nothing is written.
    Executed(PathRulesError),
    /// The plan cannot be used.
    Plan(PlanFailure),
    /// Too many plans wait for an approval; a person has to run the command.
    TooManyDrafts { command: String },
    /// The file exists, and must not.
    Exists(String),
    /// The file is not the one that the caller saw.
    Changed {
        expected: String,
        actual: Option<String>,
    },
    /// The edits do not fit.
    Edit(EditError),
    /// The patch does not fit, or is not a patch.
    Patch(PatchError),
    /// The change adds something that the policy forbids.
    Policy(PolicyReport),
    /// A command of the plan failed.
    Check(Box<CommandOutcome>),
    /// A command of the plan could not be run.
    CheckNotRun(CommandError),
    /// The files that commands may change could not be listed or saved.
    NotGoverned(SnapshotError),
    /// Commands changed files that the plan does not allow; everything was put back.
    CommandChanges(RefusedPaths),
    /// The protected paths could not be compared.
    NotCompared(FingerprintError),
    /// A call is not made because another process writes.
    Turn(TurnError),
    /// A change of a dead process cannot be settled, because the log is not available.
    Unsettled(AppendError),
    /// The log has reached its maximum size.
    LogFull { bytes: u64, max: u64 },
    /// The line before the commands of a call could not be written, so none was started.
    StartNotRecorded(AppendError),
    /// Writing failed.
    Write(WriteError),
    /// An invariant does not hold.
    BrokenInvariant(BrokenInvariant),
    /// Any other failure of the operating system.
    Io(io::Error),
    /// A fault that was raised elsewhere.
    Raised(Fault<Workspace>),
}

/// Changes of commands that are refused.
#[derive(Debug)]
pub(crate) enum RefusedPaths {
    /// There are more changes than one call may make.
    TooMany { count: usize, paths: Vec<String> },
    /// Links that lead out of the root, and things that are neither files nor directories.
    NotFiles(Vec<String>),
    /// The phase does not allow them.
    Scope {
        /// The reason for the first of them.
        why: String,
        paths: Vec<String>,
    },
}

/// The bound that a report would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportLimit {
    /// The reports about one lock.
    Lock,
    /// The reports of a workspace within a day.
    Day,
}

/// The reason why a session could not be started.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The server has several roots, and the call names none of them.
    Unnamed { roots: Vec<PathBuf> },
    /// The root was left blank.
    Blank,
    /// The root is not absolute.
    Relative,
    /// The root is not a directory, or cannot be opened.
    Unusable(io::Error),
    /// The server was not started with this root.
    NotARoot { roots: Vec<PathBuf> },
    /// There is a session with another root.
    Other { root: PathBuf },
    /// The log is broken.
    Flawed(LogFlaw),
    /// A checkpoint contradicts the log or cannot be trusted.
    Checkpoint(BadCheckpoint),
    /// The log has lines, and a checkpoint is missing although one is required.
    Unchecked { missing: Vec<PathBuf> },
    /// Other users could change the log.
    LooseLog(LooseFile),
    /// The log cannot be opened.
    Log(candor_audit::OpenError),
    /// The state directory of the root cannot be used.
    State(io::Error),
}

/// A checkpoint that contradicts the log or cannot be trusted.
#[derive(Debug)]
pub(crate) struct BadCheckpoint {
    pub(crate) path: PathBuf,
    pub(crate) verdict: CheckpointVerdict,
}

/// A failure about the plan of a call.
#[derive(Debug)]
pub(crate) enum PlanFailure {
    /// There are no plans.
    None,
    /// There is no such plan.
    Missing { asked: String },
    /// Several plans begin with this reference.
    Ambiguous { hashes: Vec<String> },
    /// There are several plans or phases, and the call names none of them.
    Unnamed {
        member: &'static str,
        among: Vec<String>,
    },
    /// It is not approved, with the reason; a person has to run the command.
    NotApproved {
        hash: Option<String>,
        why: String,
        command: String,
    },
    /// The stored plan is damaged.
    Damaged {
        hash: String,
        damage: store::PlanDamage,
    },
    /// No pattern of the phase grants the command.
    CommandNotGranted {
        phase: PhaseId,
        argv: Vec<String>,
        granted: Vec<Vec<String>>,
    },
    /// The plan does not allow it.
    Scope(plan::ScopeError),
}

/// An invariant that does not hold.
#[derive(Debug)]
pub(crate) enum BrokenInvariant {
    /// The state directory contains something that this program did not write.
    State(String),
    /// The lock in the state directory cannot be read.
    Lock(LockError),
    /// The journal contradicts the files.
    Journal(SettleError),
    /// The root is another directory than the session began with.
    Root,
    /// A command changed protected paths.
    Protected(Vec<PathBuf>),
    /// The log does not verify.
    Chain(LogFlaw),
    /// A checkpoint of the log contradicts it or cannot be trusted.
    Checkpoint(BadCheckpoint),
}

macro_rules! from {
    ($($of:ty => $variant:ident),* $(,)?) => {$(
        impl From<$of> for Failure {
            fn from(why: $of) -> Self {
                Failure::$variant(why)
            }
        }
    )*};
}

from! {
    StartError => Start,
    Violations => Arguments,
    PathError => Path,
    ReadError => Read,
    PlanFailure => Plan,
    EditError => Edit,
    PatchError => Patch,
    CommandError => CheckNotRun,
    FingerprintError => NotCompared,
    TurnError => Turn,
    WriteError => Write,
    BrokenInvariant => BrokenInvariant,
    io::Error => Io,
    Fault<Workspace> => Raised,
}

impl From<SettleError> for Failure {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Io(error) => Failure::Io(error),
            SettleError::Log(error) => Failure::Unsettled(error),
            error => Failure::BrokenInvariant(BrokenInvariant::Journal(error)),
        }
    }
}

impl From<plan::ScopeError> for Failure {
    fn from(refusal: plan::ScopeError) -> Self {
        Failure::Plan(PlanFailure::Scope(refusal))
    }
}
