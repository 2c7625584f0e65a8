//! The end of a process, and the errors that keep it from starting or running to its end.

use crate::level::{Level, Offer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The end of a process and of all its descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// True if the caller stopped it.
    pub stopped: bool,
    /// True if all of its descendants have ended.
    pub descendants_ended: bool,
    pub duration: Duration,
    /// The connections that the proxy made.
    pub connections: u64,
    /// The requests that the proxy refused.
    pub refused: u64,
}

/// An error that kept a process from starting.
#[derive(Debug)]
pub enum StartError {
    /// The specification is invalid: no program, too many arguments, a NUL byte.
    Malformed(&'static str),
    /// There is no executable file of this name in `PATH` or below the working directory.
    NotFound { program: String },
    /// The program exists, but the system refused to start it.
    NotStarted { program: String, source: io::Error },
    /// The program exists, but not among the paths that the process may read.
    NotReadable { program: PathBuf },
    /// The machine offers less than [`Spec::least`](crate::Spec::least). Nothing was started.
    Weaker { wanted: Level, offer: Box<Offer> },
    /// A path of [`Spec::write`](crate::Spec::write) does not exist or is a link.
    Unwritable { path: PathBuf },
    /// More than [`MAX_GRANTS`](crate::MAX_GRANTS) grants or covers would be needed around hidden files.
    TooManyGrants,
    /// The sandbox could not be set up.
    Setup {
        step: SetupStep,
        message: String,
        code: Option<i32>,
    },
    /// A system call outside the sandbox failed.
    Io { step: SetupStep, source: io::Error },
    /// The helper ended without a report.
    HelperLost,
}

/// An error that kept the end of a process from being known. All of its processes were ended.
#[derive(Debug)]
pub enum RunError {
    Io(io::Error),
    /// The helper ended without a report.
    HelperLost,
}

/// A step of the set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetupStep {
    Paths,
    Start,
    Handover,
    Tree,
    Directory,
    Limits,
    Privileges,
    Landlock,
    Filter,
}

impl fmt::Display for SetupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetupStep::Paths => "reading the paths of the command",
            SetupStep::Start => "starting the helper",
            SetupStep::Handover => "handing over the order",
            SetupStep::Tree => "building the file tree",
            SetupStep::Directory => "entering the working directory",
            SetupStep::Limits => "setting limits",
            SetupStep::Privileges => "dropping privileges",
            SetupStep::Landlock => "entering the Landlock sandbox",
            SetupStep::Filter => "filtering system calls",
        })
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Malformed(problem) => write!(f, "the command cannot be run: {problem}"),
            StartError::NotFound { program } => {
                write!(f, "no program {program:?} in PATH or below the root")
            }
            StartError::NotStarted { program, source } => {
                write!(f, "{program:?} could not be started: {source}")
            }
            StartError::NotReadable { program } => write!(
                f,
                "the program {} lies outside of the paths that commands may read",
                program.display()
            ),
            StartError::Weaker { wanted, offer } => {
                let level = offer.level;
                write!(
                    f,
                    "commands need the sandbox level `{wanted}`, and this machine offers `{level}`"
                )?;
                for (index, missing) in offer.missing.iter().enumerate() {
                    write!(f, "{} {missing}", if index == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
            StartError::Unwritable { path } => {
                write!(f, "{} is missing or a link, so it cannot be writable", path.display())
            }
            StartError::TooManyGrants => f.write_str(
                "too many files lie beside files that must not be read; move those to a directory of their own",
            ),
            StartError::Setup { step, message, .. } => write!(f, "{step}: {message}"),
            StartError::Io { step, source } => write!(f, "{step}: {source}"),
            StartError::HelperLost => HELPER_LOST.fmt(f),
        }
    }
}

const HELPER_LOST: &str = "the helper that watches the command ended without a report";

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::NotStarted { source, .. } | StartError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Io(error) => error.fmt(f),
            RunError::HelperLost => HELPER_LOST.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}
