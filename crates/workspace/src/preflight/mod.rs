//! Runs a plan's commands, which an agent wrote, where they can do no harm.
//!
//! Three processes take part. The server works out what the command may touch and waits. The
//! *warden* is this program again: it starts the command, ends it in time, and leaves none of its
//! descendants alive. The *cell* is this program a third time: it gives up everything the command
//! must not have, then becomes the command. Nothing is done between fork and exec, so no code here is
//! unsafe.
//!
//! What holds, on a kernel with Landlock of version 3 (Linux 6.2) and seccomp:
//!
//! - Files: Landlock grants what the order lists. It knows no denials, so what must stay out of reach
//!   is granted around. Truncation is covered, which is why versions 1 and 2 do not count as a sandbox.
//! - Network: a command without it can make no socket at all; with it, none to processes of this
//!   machine through a file (such a socket is a way out of any sandbox). Landlock refuses TCP too.
//! - Signals: from version 6 on none leaves the command's own processes. Before, the server and the
//!   warden alone are out of reach.
//! - Privileges: none are gained, and those of root are given up. Files that the server has open are
//!   not passed on. Programs for another kind of processor (32 bits) are ended by the kernel.
//! - Memory, open files and the size of a file are limited for each process; the number of processes
//!   for the user, counted from those that run already. The kernel exempts root from the last.
//! - The end: whatever the command started ends with it, with its time, with a stop and with the server.
//!
//! What does not hold: the modes, owners and times of files can be changed where the user owns them
//! (Landlock does not cover that; [`Fingerprint`] sees modes and owners), a file that can be read can be
//! locked while the command runs, the disk can be filled in the writable directories, names and command
//! lines of other processes can be seen, and a hard link is as good as its other name.

mod fingerprint;
mod grants;
mod helper;
mod job;
mod order;
mod outcome;
mod probe;
mod program;
mod run;
mod scratch;
mod stop;
mod tail;
mod writable;

pub use fingerprint::{
    Fingerprint, FingerprintError, MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_ENTRIES,
};
pub use grants::{MAX_DEPTH, MAX_ENTRIES, MAX_GRANTS};
pub use helper::{Stage, helper_main};
pub use order::{Fence, Helper, Limits, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Order, SYSTEM};
pub use outcome::{Ran, RunError, Step, WritableFault};
pub use probe::{Sandbox, Unavailable, probe};
pub use run::run;
pub use stop::{Stop, Stopper, stop};
