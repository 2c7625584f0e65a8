//! What is to be run, with what it may touch and use.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many arguments a command may have, its name included.
pub const MAX_ARGUMENTS: usize = 256;
/// How many bytes the arguments and the environment of a command may have together.
pub const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// What a toolchain needs of the system, to be read only. Of `/etc` only what programs look up to
/// start, to resolve names and to trust certificates; of `/proc` the kernel refuses what belongs to
/// processes outside the sandbox, environments first of all.
pub const SYSTEM: &[&str] = &[
    "/bin",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/proc",
    "/sbin",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/usr",
];

/// One command of a plan.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// The workspace, canonical; the command starts there.
    pub root: PathBuf,
    /// Directories below the root that the command may change, relative; made where missing.
    pub writable: Vec<PathBuf>,
    /// The variables that the plan lists. They cannot replace `PATH`, `HOME` and `TMPDIR`.
    pub env: Vec<(String, String)>,
    /// Whether the plan grants the network.
    pub network: bool,
    /// What the command may use up.
    pub limits: Limits,
    /// Files and directories outside the root to be read: [`SYSTEM`] and the toolchains. What is
    /// missing is passed over.
    pub readable: Vec<PathBuf>,
    /// Files and directories never to be read or written, even where `readable` contains them.
    pub never: Vec<PathBuf>,
    /// `PATH`: where the program is looked for.
    pub path: String,
    /// `LANG`.
    pub lang: String,
    /// A directory that does not exist yet: made for this command, holds its `HOME` and `TMPDIR`, and
    /// is removed afterwards.
    pub scratch: PathBuf,
    /// Whether a person allowed commands where the kernel offers no sandbox.
    pub allow_unsandboxed: bool,
}

/// What a command may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes of its output are kept: the last ones.
    pub output: usize,
    /// How many processes and threads it may add to those of the user.
    pub processes: u64,
    /// How many bytes of memory each of its processes may have.
    pub memory: u64,
    /// How long a file it writes may become, in bytes.
    pub file: u64,
    /// How many files each of its processes may have open.
    pub files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(600),
            output: 8 * 1024,
            processes: 1024,
            memory: 8 << 30,
            file: 4 << 30,
            files: 4096,
        }
    }
}

/// What the workspace says about its paths; every path is relative to the root.
#[derive(Clone, Copy)]
pub struct Fence<'a> {
    /// Whether a path must not be read. Asked for files and directories; what lies in a directory that
    /// must not be read is not asked for.
    pub unreadable: &'a dyn Fn(&Path) -> bool,
    /// Whether a path must not be written.
    pub protected: &'a dyn Fn(&Path) -> bool,
    /// The protected paths that can be named, so that nothing above them is writable either.
    pub protected_paths: &'a [PathBuf],
}

/// How this program is started again as warden and cell.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// What comes before the stage's name on its command line.
    pub first_args: Vec<String>,
}
