//! The specification of one command: the program, the paths it may touch, and its limits.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum number of arguments of a command, the program included.
pub const MAX_ARGUMENTS: usize = 256;
/// The maximum size of the arguments and the environment of a command together, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The system paths that a toolchain reads. Of `/etc` only the files that programs need to start, to
/// resolve names and to trust certificates. In `/proc` the kernel refuses the files of processes outside
/// the sandbox, such as their environments.
pub const SYSTEM_PATHS: &[&str] = &[
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

/// A command to run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program and its arguments. No shell interprets them.
    pub argv: Vec<String>,
    /// The working directory, canonical. The command may read it, except for the paths that
    /// [`PathRules`] hides.
    pub root: PathBuf,
    /// Directories below the root that the command may change, relative to it. They are created if
    /// missing.
    pub write: Vec<PathBuf>,
    /// Environment variables. They cannot replace `PATH`, `HOME` and `TMPDIR`.
    pub env: Vec<(String, String)>,
    pub network: bool,
    pub limits: Limits,
    /// Files and directories outside the root that the command may read, such as [`SYSTEM_PATHS`] and
    /// toolchains. Missing ones are skipped.
    pub read: Vec<PathBuf>,
    /// Files and directories that the command can neither read nor write, even if `read` contains them.
    pub hide: Vec<PathBuf>,
    /// `PATH`, in which the program is looked up.
    pub path: String,
    pub lang: String,
    /// A directory that does not exist yet. It is created for this command, contains its `HOME` and
    /// `TMPDIR`, and is removed afterwards.
    pub scratch: PathBuf,
    /// Allows the command to run if the kernel offers no sandbox.
    pub allow_unsandboxed: bool,
}

/// The resource limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub time: Duration,
    /// The number of bytes of its output that are kept, counted from the end.
    pub output: usize,
    /// The number of processes and threads that it may add to those of the user.
    pub processes: u64,
    /// The memory of each of its processes, in bytes.
    pub memory: u64,
    /// The size of a file that it writes, in bytes.
    pub file: u64,
    /// The number of files that each of its processes may have open.
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

/// The caller's rules about paths below the root. Every path is relative to the root.
#[derive(Clone, Copy)]
pub struct PathRules<'a> {
    /// Returns true if the command must not read a file or directory. It is not called for paths below
    /// a hidden directory.
    pub is_hidden: &'a dyn Fn(&Path) -> bool,
    /// Returns true if a directory of [`Spec::write`] may be writable.
    pub can_be_writable: &'a dyn Fn(&Path) -> bool,
}

/// The program that acts as warden and cell, see [`helper_main`](crate::helper_main).
#[derive(Debug, Clone)]
pub struct Helper {
    pub program: PathBuf,
    /// The arguments before the name of the stage.
    pub first_args: Vec<String>,
}
