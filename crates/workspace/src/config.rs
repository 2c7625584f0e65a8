//! What the person who starts a server decides.

use crate::approval::Signers;
use crate::path::Root;
use crate::role::Role;
use candor_audit::Signer;
use candor_sandbox::{Helper, Limits};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// How many strikes lock a session unless the owner says otherwise.
pub const LOCK_AFTER: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// Who can unlock a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnlockPolicy {
    /// A failure report does.
    #[default]
    Report,
    /// Only a person does.
    Person,
}

/// Finds a variable of the environment.
pub type VariableLookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How the commands of plans are run.
pub struct CommandConfig {
    /// The program that locks itself in and becomes the command.
    pub helper: Helper,
    /// Where programs and libraries are.
    pub readable: Vec<PathBuf>,
    /// What no command may read, whatever else it may.
    pub never: Vec<PathBuf>,
    /// Where programs are looked for.
    pub path: String,
    /// The language of their messages.
    pub lang: String,
    /// Where each command gets a directory of its own, while it runs.
    pub scratch: PathBuf,
    /// A variable of the server's own environment, for plans that pass one on.
    pub variable: VariableLookup,
    /// Whether commands may run where the kernel cannot lock them in.
    pub allow_unsandboxed: bool,
    /// What a command may use.
    pub limits: Limits,
}

/// Gives an id that nobody else has: a UUID.
pub type IdSource = Box<dyn Fn() -> String + Send + Sync>;

/// What the person who starts a server decides.
pub struct Config {
    /// What the server is for.
    pub role: Role,
    /// The workspaces that it may open.
    pub roots: Vec<Root>,
    /// The state directory of this program; each root has a directory in it.
    pub state: PathBuf,
    /// Where else checkpoints go.
    pub checkpoint_to: Vec<PathBuf>,
    /// The key that signs checkpoints.
    pub signer: Option<Signer>,
    /// Who may approve plans.
    pub signers: Signers,
    /// What a person has to say to the commands beside this server, so that they find the same keys and
    /// the same state.
    pub person_flags: Vec<String>,
    /// How many strikes lock a session.
    pub lock_after: NonZeroU32,
    /// Who can unlock one.
    pub unlock: UnlockPolicy,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// Whether the strict profile for Rust is on, whatever a plan says.
    pub rust_strict: bool,
    /// How the commands of plans are run.
    pub checks: CommandConfig,
    /// Whether failures carry a stack.
    pub debug_stack: bool,
    /// The user who runs the server.
    pub os_user: String,
    /// Where ids come from.
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
