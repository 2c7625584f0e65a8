//! Kernels without a sandbox, simulated by filters that refuse the missing system calls.

use crate::fixture::Fixture;
use candor_sandbox::{NoSandboxReason, RunError, SandboxSupport, probe};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const ENOSYS: u32 = 38;
const EPERM: u32 = 1;
const LANDLOCK_CREATE_RULESET: i64 = 444;

/// Makes a system call fail, in this thread and in the processes that it starts.
fn refuse_call(call: i64, rules: Vec<SeccompRule>, error: u32) {
    let filter: BpfProgram = SeccompFilter::new(
        [(call, rules)].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(error),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap()
    .try_into()
    .unwrap();
    seccompiler::apply_filter(&filter).unwrap();
}

#[test]
fn without_landlock_a_command_runs_only_if_that_is_allowed() {
    let fixture = Fixture::new();
    refuse_call(LANDLOCK_CREATE_RULESET, Vec::new(), ENOSYS);
    assert_eq!(
        probe(),
        SandboxSupport::Unavailable(NoSandboxReason::NoLandlock)
    );
    let script = format!("{} kill -TERM $$", crate::ending::ESCAPE);
    let mut spec = fixture.spec(&["sh", "-c", &script]);
    let refused = fixture.try_run(&spec).unwrap_err();
    assert!(matches!(
        refused,
        RunError::NoSandbox(NoSandboxReason::NoLandlock)
    ));
    assert!(!fixture.path("work/target/pid").exists(), "nothing ran");

    spec.allow_unsandboxed = true;
    let before = fixture.snapshot();
    let outcome = fixture.try_run(&spec).unwrap();
    assert_eq!(
        (outcome.sandboxed, outcome.descendants_ended, outcome.signal),
        (false, true, Some(15))
    );
    crate::ending::assert_all_ended(&fixture);
    assert_eq!(before, fixture.snapshot());

    spec.argv = ["sh", "-c", "echo forged >> audit-log.jsonl"]
        .map(String::from)
        .to_vec();
    assert!(fixture.try_run(&spec).unwrap().is_success());
    let after = fixture.snapshot();
    let log = fixture.path("work/audit-log.jsonl");
    assert_eq!(after[&log].2, b"line\nforged\n");
}

/// The warden ends processes one by one if it cannot confine its signals.
#[cfg(target_arch = "x86_64")]
#[test]
fn descendants_end_without_confined_signals_too() {
    const KILL: i64 = 62;
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let server = u64::from(std::process::id());
    let to_us = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, server);
    refuse_call(
        KILL,
        vec![SeccompRule::new(vec![to_us.unwrap()]).unwrap()],
        EPERM,
    );
    let outcome = fixture.run_shell(&format!("{} exit 6", crate::ending::ESCAPE));
    assert_eq!(outcome.exit_code, Some(6));
    crate::ending::assert_all_ended(&fixture);
}
