//! The levels of protection: what a machine offers, and what holds for one process.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A level of protection. A later level includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Only time and process group are under control.
    None,
    /// Landlock of version 3 or later and seccomp.
    Landlock,
    /// All six namespaces, a file tree built from nothing, a fresh `/proc` and seccomp.
    Full,
}

impl Level {
    /// Returns its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Landlock => "landlock",
            Level::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A namespace that belongs to the process alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Namespace {
    User,
    Mount,
    Pid,
    Ipc,
    Net,
    Uts,
}

impl Namespace {
    pub const ALL: [Namespace; 6] = [
        Namespace::User,
        Namespace::Mount,
        Namespace::Pid,
        Namespace::Ipc,
        Namespace::Net,
        Namespace::Uts,
    ];

    /// Returns its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Namespace::User => "user",
            Namespace::Mount => "mount",
            Namespace::Pid => "pid",
            Namespace::Ipc => "ipc",
            Namespace::Net => "net",
            Namespace::Uts => "uts",
        }
    }
}

/// A part of the sandbox that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    User,
    Mount,
    Pid,
    Ipc,
    Net,
    Uts,
    /// A fresh `/proc`.
    Proc,
    Landlock,
    Seccomp,
}

impl Part {
    /// Returns its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Part::User => "user",
            Part::Mount => "mount",
            Part::Pid => "pid",
            Part::Ipc => "ipc",
            Part::Net => "net",
            Part::Uts => "uts",
            Part::Proc => "proc",
            Part::Landlock => "landlock",
            Part::Seccomp => "seccomp",
        }
    }
}

/// A part that cannot be had, with the step that failed and its error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub part: Part,
    pub why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part.name(), self.why)
    }
}

/// The protection that a machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub level: Level,
    /// The version of Landlock that is used, if the kernel has it.
    pub landlock: Option<u8>,
    pub missing: Vec<Missing>,
    /// The namespaces of a process at this level.
    pub namespaces: Vec<Namespace>,
    pub seccomp: bool,
}

/// The network that a process really has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldNetwork {
    /// At most a loopback interface of its own.
    Off,
    /// A loopback interface of its own, with the proxy on it.
    Proxy,
    /// The machine's network.
    Machine,
}

impl HeldNetwork {
    /// Returns its name in records.
    pub fn name(self) -> &'static str {
        match self {
            HeldNetwork::Off => "off",
            HeldNetwork::Proxy => "proxy",
            HeldNetwork::Machine => "machine",
        }
    }
}

/// The protection that holds for one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub level: Level,
    pub namespaces: Vec<Namespace>,
    /// The version of Landlock that confines it.
    pub landlock: Option<u8>,
    pub seccomp: bool,
    pub network: HeldNetwork,
    /// The parts that the machine could not give.
    pub missing: Vec<Missing>,
}
