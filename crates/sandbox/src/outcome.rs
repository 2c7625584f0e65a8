//! The outcome of a command, and the errors that keep it from running.

use super::probe::NoSandboxReason;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The outcome of a command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub argv: Vec<String>,
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// The end of its stdout and stderr, as text without control characters.
    pub output_tail: String,
    /// The number of bytes that it wrote in all.
    pub output_bytes: u64,
    pub duration: Duration,
    pub sandboxed: bool,
    /// True if all of its descendants were ended; false only without a sandbox or on old kernels.
    pub descendants_ended: bool,
}

impl CommandOutcome {
    /// Returns true if it ended by itself with exit code 0.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }
}

/// An error that kept a command from running to its end.
#[derive(Debug)]
pub enum RunError {
    /// The specification is invalid: no program, too many arguments, a NUL byte.
    Malformed(&'static str),
    /// There is no executable file of this name in `PATH` or below the root.
    NotFound {
        program: String,
    },
    /// The program exists, but the system refused to start it.
    NotStarted {
        program: String,
        source: io::Error,
    },
    /// The kernel offers no sandbox, and the specification does not allow running without one.
    NoSandbox(NoSandboxReason),
    /// A directory of [`Spec::write`](crate::Spec::write) cannot be writable.
    Writable {
        path: PathBuf,
        error: WritableError,
    },
    /// The root contains a hidden directory, or lies in one.
    RootOverlapsHidden {
        path: PathBuf,
    },
    /// More than [`MAX_GRANTS`](crate::MAX_GRANTS) grants would be needed around hidden files.
    TooManyGrants,
    /// The root has more than [`MAX_ENTRIES`](crate::MAX_ENTRIES) files.
    TooManyEntries,
    /// The sandbox could not be set up. The command was not started.
    Setup {
        step: SetupStep,
        message: String,
        code: Option<i32>,
    },
    /// A system call outside the sandbox failed.
    Io {
        step: SetupStep,
        source: io::Error,
    },
    WardenLost,
    /// The caller stopped the command; all of its processes were ended.
    Stopped,
}

/// The reason why a directory cannot be writable.
#[derive(Debug)]
pub enum WritableError {
    /// The path is empty, absolute, or has a component such as `..`.
    Malformed,
    /// The caller's rules forbid it, because it is, contains or lies in a protected path.
    Protected,
    /// The path is a link, or one of its parents is.
    Link,
    NotDirectory,
    Io(io::Error),
}

/// The step of the set-up that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetupStep {
    Scratch,
    Grants,
    Start,
    Handover,
    Limits,
    Landlock,
    Filter,
    Root,
    Wait,
}

impl fmt::Display for SetupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetupStep::Scratch => "making the temporary directory",
            SetupStep::Grants => "reading what may be granted",
            SetupStep::Start => "starting the helper",
            SetupStep::Handover => "handing over the order",
            SetupStep::Limits => "setting limits",
            SetupStep::Landlock => "entering the Landlock sandbox",
            SetupStep::Filter => "filtering system calls",
            SetupStep::Root => "entering the workspace root",
            SetupStep::Wait => "waiting for the command",
        })
    }
}

impl fmt::Display for WritableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WritableError::Malformed => f.write_str("it is not a relative path below the root"),
            WritableError::Protected => f.write_str("it is, holds or lies in a protected path"),
            WritableError::Link => f.write_str("it is a link or lies behind one"),
            WritableError::NotDirectory => f.write_str("it is not a directory"),
            WritableError::Io(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Malformed(what) => write!(f, "the command cannot be run: {what}"),
            RunError::NotFound { program } => {
                write!(f, "no program {program:?} in PATH or below the root")
            }
            RunError::NotStarted { program, source } => {
                write!(f, "{program:?} could not be started: {source}")
            }
            RunError::NoSandbox(reason) => write!(f, "commands need a sandbox: {reason}"),
            RunError::Writable { path, error } => {
                write!(f, "{} cannot be writable: {error}", path.display())
            }
            RunError::RootOverlapsHidden { path } => write!(
                f,
                "the root and this program's own directory {} overlap",
                path.display()
            ),
            RunError::TooManyGrants => f.write_str(
                "too many files lie beside files that must not be read; move those to a directory of their own",
            ),
            RunError::TooManyEntries => f.write_str(
                "the workspace has too many files to look through; list build directories as writable",
            ),
            RunError::Setup { step, message, .. } => write!(f, "{step}: {message}"),
            RunError::Io { step, source } => write!(f, "{step}: {source}"),
            RunError::WardenLost => {
                f.write_str("the helper that watches the command ended without a report")
            }
            RunError::Stopped => f.write_str("the command was stopped"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::NotStarted { source, .. } | RunError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
