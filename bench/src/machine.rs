//! The machine and the build that the figures belong to, without names and paths.

use jiff::Timestamp;
use rustix::process::{Resource, Rlimit};
use serde::Serialize;
use std::process::Command;

/// The machine, the build and the time of the figures.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_gb: f64,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    pub(crate) candor: String,
    pub(crate) date: String,
    /// The load of the machine before anything was measured.
    pub(crate) busy: String,
}

impl Machine {
    /// Describes this machine, now, with this version of candor.
    pub(crate) fn look(candor: String) -> Self {
        let memory = first_of("/proc/meminfo", "MemTotal");
        let kibibytes = memory.trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
        Machine {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: first_of("/proc/cpuinfo", "model name"),
            memory_gb: kibibytes * 1024.0 / 1e9,
            kernel: whole("/proc/sys/kernel/osrelease"),
            rustc: rustc(),
            candor,
            date: today(),
            busy: load(),
        }
    }
}

/// Raises the limit of open files as far as the machine permits.
pub(crate) fn raise_open_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // A part that needs more files than are permitted is not measured.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}

/// Returns how many files this process, and each one that it starts, can open.
pub(crate) fn open_files() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current.unwrap_or(u64::MAX)
}

fn whole(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.trim().to_owned()
}

/// Returns the value of the first line `name : value`.
fn first_of(file: &str, name: &str) -> String {
    let text = whole(file);
    let found = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name);
    found.map_or_else(|| "unknown".into(), |(_, value)| value.trim().to_owned())
}

fn load() -> String {
    let text = whole("/proc/loadavg");
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".into())
}

fn today() -> String {
    // The page of figures contains its date; nothing else here reads the clock.
    #[allow(clippy::disallowed_methods)]
    let now = Timestamp::now().to_string();
    now.split('T').next().unwrap_or_default().to_owned()
}
