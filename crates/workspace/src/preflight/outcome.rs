//! How a command ended, or why it did not run.

use super::probe::Unavailable;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A command that ran, whatever came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it exited with; none where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    /// The end of what it wrote to stdout and stderr, as text without control characters.
    pub output_tail: String,
    /// How many bytes it wrote in all.
    pub output_bytes: u64,
    /// How long it ran.
    pub took: Duration,
    /// Whether the kernel confined it.
    pub sandboxed: bool,
    /// Whether every process it left behind was ended; false only without a sandbox or on old kernels.
    pub swept: bool,
}

impl Ran {
    /// Whether it ended by itself with 0.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }
}

/// Why a command did not run to an end of its own or of ours.
#[derive(Debug)]
pub enum RunError {
    /// The order cannot be carried out as it is: no program, too much of it, a NUL byte.
    Malformed(&'static str),
    /// No file of this name can be executed in `PATH`, or below the root.
    NotFound {
        /// The name, as the plan has it.
        program: String,
    },
    /// The program is there, but the system would not start it.
    NotStarted {
        /// The name, as the plan has it.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel offers no sandbox, and nobody allowed to run without.
    NoSandbox(Unavailable),
    /// A directory that the plan calls writable cannot be.
    Writable {
        /// The directory, relative to the root.
        path: PathBuf,
        /// Why.
        fault: WritableFault,
    },
    /// The root lies in a directory of this program's own, or contains one.
    RootHoldsOwn {
        /// That directory.
        path: PathBuf,
    },
    /// Around what must not be read more would have to be granted than we are willing to.
    TooManyGrants,
    /// The workspace has more files than we are willing to look through.
    TooManyEntries,
    /// The confinement could not be set up; the command was not started.
    Setup {
        /// What was being done.
        step: Step,
        /// What the system said.
        message: String,
        /// The number of the system's error, where it gave one.
        code: Option<i32>,
    },
    /// An error of the system around the command.
    Io {
        /// What was being done.
        step: Step,
        /// What the system said.
        source: io::Error,
    },
    /// The warden ended without a report.
    WardenLost,
    /// The caller stopped it; all of its processes were ended.
    Stopped,
}

/// Why a directory cannot be writable.
#[derive(Debug)]
pub enum WritableFault {
    /// It is empty, absolute, or has a component such as `..`.
    Malformed,
    /// It is, holds or lies in a protected path, or in one that must not be read.
    Protected,
    /// It is a link, or lies behind one.
    Link,
    /// There is something else than a directory.
    NotDirectory,
    /// The system would not make or open it.
    Io(io::Error),
}

/// What was being done when something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Making the temporary directory.
    Scratch,
    /// Reading the workspace or the toolchains for what may be granted.
    Grants,
    /// Starting the warden or the cell.
    Start,
    /// Handing the order over.
    Handover,
    /// Setting limits.
    Limits,
    /// Entering the Landlock sandbox.
    Landlock,
    /// Entering the filter of system calls.
    Filter,
    /// Entering the root.
    Root,
    /// Waiting for the command.
    Wait,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Scratch => "making the temporary directory",
            Step::Grants => "reading what may be granted",
            Step::Start => "starting the helper",
            Step::Handover => "handing over the order",
            Step::Limits => "setting limits",
            Step::Landlock => "entering the Landlock sandbox",
            Step::Filter => "filtering system calls",
            Step::Root => "entering the workspace root",
            Step::Wait => "waiting for the command",
        })
    }
}

impl fmt::Display for WritableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WritableFault::Malformed => f.write_str("it is not a relative path below the root"),
            WritableFault::Protected => f.write_str("it is, holds or lies in a protected path"),
            WritableFault::Link => f.write_str("it is a link or lies behind one"),
            WritableFault::NotDirectory => f.write_str("it is not a directory"),
            WritableFault::Io(error) => error.fmt(f),
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
            RunError::Writable { path, fault } => {
                write!(f, "{} cannot be writable: {fault}", path.display())
            }
            RunError::RootHoldsOwn { path } => write!(
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
