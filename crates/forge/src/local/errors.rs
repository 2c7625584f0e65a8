//! Errors of the local backend, and work on blocking threads.

use crate::{DamagedItem, Failure, RepoName};
use candor_fault::{Cause, Effect};
use git2::ErrorClass;
use std::error::Error;
use std::path::PathBuf;
use std::{fmt, io};

/// The reason why a local forge cannot be created, opened or changed.
#[derive(Debug)]
pub enum LocalForgeError {
    /// There is no forge in the directory.
    NotAForge(PathBuf),
    /// The directory contains other files.
    NotEmpty(PathBuf),
    /// The database was written by a newer program.
    Newer {
        /// The format of the database.
        found: u64,
        /// The newest supported format.
        known: u64,
    },
    /// A repository of that name exists.
    Exists(RepoName),
    /// There is no git repository at the path.
    NotARepository(PathBuf),
    /// The pattern is not a branch name, even with its `*` replaced.
    BadPattern(String),
    Failed(Box<Failure>),
}

impl fmt::Display for LocalForgeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocalForgeError::NotAForge(dir) => {
                write!(out, "there is no forge in {}", dir.display())
            }
            LocalForgeError::NotEmpty(dir) => {
                write!(out, "{} is not empty, and no forge", dir.display())
            }
            LocalForgeError::Newer { found, known } => write!(
                out,
                "the forge has the format {found}, and this program supports {known} at most"
            ),
            LocalForgeError::Exists(repo) => write!(out, "the repository {repo} is there already"),
            LocalForgeError::NotARepository(path) => {
                write!(out, "there is no git repository at {}", path.display())
            }
            LocalForgeError::BadPattern(pattern) => {
                write!(
                    out,
                    "{pattern:?} is neither a branch nor a pattern of branches"
                )
            }
            LocalForgeError::Failed(failure) => match &**failure {
                Failure::Broken(what, Cause::Error { message, .. } | Cause::Text(message)) => {
                    write!(out, "{what}: {message}")
                }
                // The message is the same as a client's.
                other => out.write_str(other.clone().fault(Effect::None).message()),
            },
        }
    }
}

impl Error for LocalForgeError {}

impl From<Failure> for LocalForgeError {
    fn from(failure: Failure) -> Self {
        LocalForgeError::Failed(Box::new(failure))
    }
}

/// Converts an error to a failure.
pub(super) trait IntoFailure: Sized {
    fn broken(self, what: &'static str) -> Failure;
}

impl IntoFailure for git2::Error {
    fn broken(self, what: &'static str) -> Failure {
        let cause = Cause::error("GitError", &self);
        match self.class() {
            // The names of entries are the caller's, so a tree is refused with its own error.
            ErrorClass::Odb | ErrorClass::Object | ErrorClass::Zlib | ErrorClass::Sha1 => {
                Failure::Damaged(DamagedItem::Object, cause)
            }
            _ => Failure::Broken(what, cause),
        }
    }
}

/// Converts an error of reading a ref.
pub(super) fn damaged_ref(item: DamagedItem, error: &git2::Error) -> Failure {
    let item = match error.class() {
        ErrorClass::Odb | ErrorClass::Object => DamagedItem::Object,
        _ => item,
    };
    Failure::Damaged(item, Cause::error("GitError", error))
}

/// The result codes of SQLite for a disk without room: `SQLITE_FULL`, and `SQLITE_IOERR_SHMSIZE` for the
/// shared memory of the journal.
const SQLITE_FULL: u32 = 13;
const SQLITE_IOERR_SHMSIZE: u32 = 4874;

impl IntoFailure for sqlx::Error {
    fn broken(self, what: &'static str) -> Failure {
        let cause = Cause::error("DatabaseError", &self);
        let code = self.as_database_error().and_then(|error| error.code());
        let code = code.and_then(|code| code.parse::<u32>().ok());
        match code {
            Some(SQLITE_IOERR_SHMSIZE) => Failure::DiskFull(cause),
            Some(code) if code & 0xff == SQLITE_FULL => Failure::DiskFull(cause),
            _ => Failure::Broken(what, cause),
        }
    }
}

impl IntoFailure for io::Error {
    fn broken(self, what: &'static str) -> Failure {
        match is_full(&self) {
            true => Failure::DiskFull(Cause::from(self)),
            false => Failure::Broken(what, Cause::from(self)),
        }
    }
}

/// Returns true if an operation failed because the disk or the quota has no room.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Converts the error of a result, with the step that failed.
pub(super) trait OrBroken<T> {
    fn or_broken(self, what: &'static str) -> Result<T, Failure>;
}

impl<T, E: IntoFailure> OrBroken<T> for Result<T, E> {
    fn or_broken(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| error.broken(what))
    }
}

/// Returns the failure of a change that a test stopped.
pub(super) fn stopped() -> Failure {
    Failure::Broken(
        "the change was stopped",
        Cause::from("stopped by its probe"),
    )
}

/// Runs blocking work on a thread for it.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    // Boxed, so that the runtime is compiled once for each type of result and not for each piece of work.
    let work: Box<dyn FnOnce() -> Result<T, Failure> + Send> = Box::new(work);
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(cancelled) => Err(Failure::Broken(
                "the program is ending",
                Cause::error("JoinError", &cancelled),
            )),
        },
    }
}
