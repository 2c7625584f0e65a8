//! Kernels that cannot confine a command, played by filters that refuse what they do not have.

use crate::place::Place;
use candor_workspace::preflight::{RunError, Sandbox, Unavailable, probe};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const ENOSYS: u32 = 38;
const EPERM: u32 = 1;
const LANDLOCK_CREATE_RULESET: i64 = 444;

/// From now on this call fails, in this thread and in what it starts.
fn without(call: i64, rules: Vec<SeccompRule>, error: u32) {
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
fn without_landlock_a_command_runs_only_where_a_person_allowed_it() {
    let place = Place::new();
    without(LANDLOCK_CREATE_RULESET, Vec::new(), ENOSYS);
    assert_eq!(probe(), Sandbox::Unavailable(Unavailable::NoLandlock));
    let script = format!("{} kill -TERM $$", crate::ending::ESCAPE);
    let mut order = place.order(&["sh", "-c", &script]);
    let refused = place.try_run(&order).unwrap_err();
    assert!(matches!(
        refused,
        RunError::NoSandbox(Unavailable::NoLandlock)
    ));
    assert!(!place.at("work/target/pid").exists(), "nothing ran");

    order.allow_unsandboxed = true;
    let before = place.everything_else();
    let ran = place.try_run(&order).unwrap();
    assert_eq!(
        (ran.sandboxed, ran.swept, ran.signal),
        (false, true, Some(15))
    );
    crate::ending::gone(&place);
    assert_eq!(before, place.everything_else());

    order.argv = ["sh", "-c", "echo forged >> audit-log.jsonl"]
        .map(String::from)
        .to_vec();
    assert!(place.try_run(&order).unwrap().passed());
    let after = place.everything_else();
    assert_eq!(
        before.differences(&after),
        [place.at("work/audit-log.jsonl")]
    );
}

/// Where the warden cannot be sure that its signals stay among its own, it ends processes one by one.
#[cfg(target_arch = "x86_64")]
#[test]
fn without_kept_signals_nothing_stays_behind_either() {
    const KILL: i64 = 62;
    let place = Place::new();
    let server = u64::from(std::process::id());
    let to_us = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, server);
    without(
        KILL,
        vec![SeccompRule::new(vec![to_us.unwrap()]).unwrap()],
        EPERM,
    );
    let ran = place.shell(&format!("{} exit 6", crate::ending::ESCAPE));
    assert_eq!(ran.exit_code, Some(6));
    crate::ending::gone(&place);
}
