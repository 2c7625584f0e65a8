//! The configuration of a server, decided by the person who starts it.

use crate::approval::Signers;
use crate::path::Root;
use crate::role::Role;
use candor_audit::Signer;
use candor_sandbox::{Helper, Level, Limits};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The default number of strikes that lock a session.
pub const LOCK_AFTER: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// The default of [`Config::log_max`]: 4 GiB.
pub const LOG_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// The way to unlock a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnlockPolicy {
    /// A failure report unlocks it.
    #[default]
    Report,
    /// Only a person can unlock it.
    Person,
}

/// Finds a variable of the environment.
pub type VariableLookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The configuration of the commands of plans.
pub struct CommandConfig {
    /// The program that locks itself in and becomes the command.
    pub helper: Helper,
    /// Paths of programs and libraries, which commands may read.
    pub readable: Vec<PathBuf>,
    /// Paths that no command may read.
    pub never: Vec<PathBuf>,
    /// `PATH` of the commands.
    pub path: String,
    /// The language of their messages.
    pub lang: String,
    /// The parent of the temporary directories of commands.
    pub scratch: PathBuf,
    /// The parent of the private build directories.
    pub build: PathBuf,
    /// The owner's files and directories whose modes are compared if the sandbox does not protect them.
    pub guarded: Vec<PathBuf>,
    /// A variable of the server's own environment, for plans that pass one on.
    pub variable: VariableLookup,
    /// The weakest level of the sandbox that commands may run at.
    pub least: Level,
    /// The resource limits of a command.
    pub limits: Limits,
}

/// Returns a new UUID.
pub type IdSource = Box<dyn Fn() -> String + Send + Sync>;

/// The configuration of a server, decided by the person who starts it.
pub struct Config {
    pub role: Role,
    /// The workspaces that it may open.
    pub roots: Vec<Root>,
    /// The state directory of this program; each root has a directory in it.
    pub state: PathBuf,
    /// Further directories for checkpoints.
    pub checkpoint_to: Vec<PathBuf>,
    /// The key that signs checkpoints. Every existing checkpoint must be signed with it.
    pub signer: Option<Signer>,
    /// True if a session may begin only if the log agrees with every checkpoint that is known.
    pub require_checkpoint: bool,
    /// The number of calls a second; further ones wait. `None` means no limit.
    pub max_rate: Option<NonZeroU32>,
    /// The size of the log in bytes above which nothing is done any more.
    pub log_max: u64,
    /// The people who may approve plans.
    pub signers: Signers,
    /// Flags that a person adds to commands outside this server, so that they find the same keys and
    /// the same state.
    pub person_flags: Vec<String>,
    /// The number of strikes that lock a session.
    pub lock_after: NonZeroU32,
    pub unlock: UnlockPolicy,
    /// True if nothing may be written.
    pub read_only: bool,
    /// True if the strict profile for Rust is always on, even if a plan does not ask for it.
    pub rust_strict: bool,
    /// The configuration of the commands of plans.
    pub checks: CommandConfig,
    /// True if failures carry a stack.
    pub debug_stack: bool,
    /// The user who runs the server.
    pub os_user: String,
    pub ids: IdSource,
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config")
            .field("role", &self.role)
            .field("roots", &self.roots)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}
