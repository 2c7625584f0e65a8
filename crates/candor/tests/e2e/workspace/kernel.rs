//! Machines on which something fails: limits on a running process, and kernels without a sandbox.

use candor_sandbox::{Helper, Level, Offer, probe};
use candor_testkit::user::with_settings_of;
use candor_testkit::with_refused_call;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::process::Command;

/// Returns true and reports the test as skipped if this kernel cannot confine the commands of a plan.
pub(crate) fn lacks_sandbox() -> bool {
    let offer = offer();
    if offer.level == Level::Full {
        return false;
    }
    let missing: Vec<String> = offer.missing.iter().map(ToString::to_string).collect();
    candor_testkit::skip_for_kernel(missing.join("; "));
    true
}

/// Returns the sandbox that this machine offers.
pub(crate) fn offer() -> Offer {
    probe(&Helper {
        program: env!("CARGO_BIN_EXE_candor").into(),
        first_args: vec!["internal-sandbox".into()],
    })
}

/// Runs `work` as if this machine offered no namespaces: commands then run at the level `landlock`.
pub(crate) fn without_namespaces<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    with_refused_call(UNSHARE, 1, work)
}

/// Runs something as if this kernel had neither namespaces nor Landlock.
pub(crate) fn without_sandbox<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    const ENOSYS: u32 = 38;
    with_refused_call(LANDLOCK_CREATE_RULESET, ENOSYS, || without_namespaces(work))
}

/// The number of the system call that makes namespaces.
const UNSHARE: i64 = if cfg!(target_arch = "x86_64") {
    272
} else {
    97
};

/// Limits a resource of a running process; `None` removes the limit.
pub(crate) fn limit(pid: u32, resource: Resource, maximum: Option<u64>) {
    let pid = Pid::from_raw(pid.try_into().unwrap());
    let limits = rustix::process::getrlimit(resource);
    let limit = Rlimit {
        current: maximum.or(limits.maximum),
        maximum: limits.maximum,
    };
    prlimit(pid, resource, limit).unwrap();
}

/// Returns the same command in a process that ignores the signal for files that are too large.
pub(crate) fn with_ignored_size_signal(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(command.get_program());
    with_settings_of(command, shell)
}
