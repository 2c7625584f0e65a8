//! Starts a process with few rights: commands of an agent, and later servers of others.
//!
//! Three processes take part. The server computes the grants of the command and waits. The *warden* is
//! the same program, started again: it starts the command, ends it in time, and leaves none of its
//! descendants alive. The *cell* is the same program, started a third time: it gives up everything that
//! the command must not have, then becomes the command. No code runs between fork and exec, so no code
//! here is unsafe.
//!
//! On a kernel with Landlock of version 3 (Linux 6.2) and seccomp this holds:
//!
//! - Files: Landlock grants what [`Spec`] lists. It has no denials, so whatever must stay out of reach
//!   is left out of the grants. Versions 1 and 2 do not cover truncation and do not count as a sandbox.
//! - Network: a command without it cannot make a socket. A command with it cannot make a local socket
//!   (`AF_UNIX`), because that is a way out of any sandbox. Landlock refuses TCP too.
//! - Signals: from version 6 on, none leaves the command's own processes. Before that, only the server
//!   and the warden are out of reach.
//! - Privileges: none are gained, and those of root are given up. Open files of the server are not
//!   inherited. The kernel ends programs for another architecture (32 bits).
//! - Memory, open files and the size of a file are limited for each process. The number of processes is
//!   limited for the user, counted from those that run already; root is exempt.
//! - The end: every descendant ends with the command, with its time, with a stop and with the server.
//!
//! This does not hold: the command can change modes, owners and times of files that the user owns
//! (Landlock does not cover that), lock a file that it can read, fill the disk through the writable
//! directories, and see the names and command lines of other processes. A hard link grants as much as
//! the other name of the file.

mod grants;
mod helper;
mod job;
mod outcome;
mod probe;
mod program;
mod run;
mod scratch;
mod spec;
mod stop;
mod tail;
mod writable;

pub use grants::{MAX_DEPTH, MAX_ENTRIES, MAX_GRANTS};
pub use helper::{Stage, helper_main};
pub use outcome::{CommandOutcome, RunError, SetupStep, WritableError};
pub use probe::{NoSandboxReason, SandboxSupport, probe};
pub use run::run;
pub use spec::{Helper, Limits, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, PathRules, SYSTEM_PATHS, Spec};
pub use stop::{StopHandle, StopSignal, stop_channel};
