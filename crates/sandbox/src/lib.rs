//! Starts a process that can do no harm: commands of an agent, and servers of others.
//!
//! [`start`] starts a process at the best [`Level`] that the machine offers and [`Spec::least`] accepts;
//! [`probe`] finds out which level that is. Several processes take part, all of them this program, started
//! again, so no code runs between fork and exec and no code here is unsafe:
//!
//! - The *warden* watches from outside. It ends the process when its time is over, when the caller stops it
//!   or when the caller dies. It makes the namespaces and starts *process 1* in them.
//! - *Process 1* builds the file tree from nothing, gives up everything that the process must not have,
//!   starts the process and reaps orphans. When it ends, the kernel ends every process in the namespace.
//! - If the network is granted, the warden stays outside of all namespaces and serves the proxy there. The
//!   *entry* makes the namespaces for it and starts process 1.
//!
//! At [`Level::Landlock`] and [`Level::None`] the warden starts the *cell* instead, which gives up everything
//! that the process must not have, and becomes the process.
//!
//! The crate depends on no other crate of this workspace, never reads the environment and never prints.

mod error;
mod grants;
mod helper;
mod job;
mod level;
mod paths;
mod probe;
mod program;
mod proxy;
mod spec;
mod start;
mod tree;

pub use error::{Ended, RunError, SetupStep, StartError};
pub use grants::MAX_GRANTS;
pub use helper::{Stage, helper_main, helper_main_with};
pub use level::{Held, HeldNetwork, Level, Missing, Namespace, Offer, Part};
pub use probe::probe;
pub use proxy::{
    HostError, HostPattern, Hosts, MAX_CONNECTIONS, MAX_HEADER_BYTES, MAX_HOSTS, REQUEST_TIMEOUT,
    Resolve, SystemResolver, is_public,
};
pub use spec::{Helper, Limits, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Network, SYSTEM_PATHS, Spec};
pub use start::{Running, Standby, StopHandle, stand_by, start, start_with};
