//! The specification of one process: the program, the paths it may touch, its network and its limits.

use crate::level::Level;
use crate::proxy::Hosts;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The maximum number of arguments of a command, the program included.
pub const MAX_ARGUMENTS: usize = 256;
/// The maximum size of the arguments and the environment of a command together, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The system paths that a toolchain reads. Of `/etc` only the files that programs need to start, to
/// resolve names and to trust certificates. At [`Level::Full`] `/proc` is a fresh one.
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

/// The devices that every process may use.
pub(crate) const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// A process to start. Every path is absolute.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program and its arguments. No shell interprets them. A program without a slash is looked up
    /// in `PATH` of `env`.
    pub argv: Vec<String>,
    /// The working directory, canonical.
    pub cwd: PathBuf,
    /// All environment variables. A granted network adds those that name the proxy.
    pub env: Vec<(String, OsString)>,
    /// Files and directories that the process may read. Missing ones are skipped.
    pub read: Vec<PathBuf>,
    /// Files and directories that the process may change; they must exist. Wins over `read`.
    pub write: Vec<PathBuf>,
    /// Files and directories that the process can neither read nor write. Wins over `write`.
    pub hide: Vec<PathBuf>,
    pub network: Network,
    pub limits: Limits,
    /// The weakest level that is acceptable. The best level that the machine offers is used.
    pub least: Level,
    /// Sends stderr to the pipe of stdout, so that the order of both streams is kept.
    pub merge_output: bool,
}

/// The network of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// None. At [`Level::Full`] the process has a loopback interface of its own.
    Off,
    /// These hosts, through a proxy. Below [`Level::Full`] the machine's whole network.
    Proxy(Hosts),
    /// The machine's whole network.
    Machine,
}

/// The resource limits of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The time until the process is ended. `None` lets it run until it ends or is stopped.
    pub time: Option<Duration>,
    /// The number of processes and threads that it may start.
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
            time: Some(Duration::from_secs(600)),
            processes: 1024,
            memory: 8 << 30,
            file: 4 << 30,
            files: 4096,
        }
    }
}

/// The program that acts as the helper processes, see [`helper_main`](crate::helper_main).
#[derive(Debug, Clone)]
pub struct Helper {
    pub program: PathBuf,
    /// The arguments before the name of the stage.
    pub first_args: Vec<String>,
}
