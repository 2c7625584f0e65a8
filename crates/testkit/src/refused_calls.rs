//! Kernels that refuse a system call, simulated by a filter. If a filter cannot be made, that is the
//! test's failure.
#![allow(clippy::expect_used)]

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};
use std::thread;

/// Makes a system call fail with an error number, in this thread and in the processes that it starts. If
/// there are rules, only calls that match one of them fail.
///
/// # Panics
///
/// Panics if the filter cannot be installed.
pub fn refuse_call(call: i64, rules: Vec<SeccompRule>, error: u32) {
    let filter = SeccompFilter::new(
        [(call, rules)].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(error),
        std::env::consts::ARCH
            .try_into()
            .expect("a processor with filters"),
    );
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .expect("a filter of one call");
    seccompiler::apply_filter(&program).expect("a process may filter its own calls");
}

/// Runs `work` in a thread in which, and in whose processes, a system call fails.
///
/// # Panics
///
/// Panics if `work` does, or if the filter cannot be installed.
pub fn with_refused_call<T: Send>(call: i64, error: u32, work: impl FnOnce() -> T + Send) -> T {
    with_matching_calls_refused(call, Vec::new(), error, work)
}

/// As [`with_refused_call`], for calls that match one of these rules.
///
/// # Panics
///
/// Panics if `work` does, or if the filter cannot be installed.
pub fn with_matching_calls_refused<T: Send>(
    call: i64,
    rules: Vec<SeccompRule>,
    error: u32,
    work: impl FnOnce() -> T + Send,
) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            refuse_call(call, rules, error);
            work()
        });
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
