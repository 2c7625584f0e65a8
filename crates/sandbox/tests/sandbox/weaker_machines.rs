//! Machines that lack a part of the sandbox, simulated by filters that refuse the missing system calls and by
//! a user namespace that allows no further ones.

use crate::fixture::{ENOSYS, EPERM, Fixture, PROGRAM, helper};
use candor_sandbox::{HeldNetwork, Level, Namespace, Offer, Part, StartError, probe};
use candor_testkit::{refuse_call, with_refused_call};
use nix::libc;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
use std::process::Command;

fn parts(offer: &Offer) -> Vec<Part> {
    offer.missing.iter().map(|missing| missing.part).collect()
}

/// Returns true and reports the test as skipped if this machine offers less than the simulated one.
fn lacks(level: Level) -> bool {
    let offer = probe(&helper());
    let lacks = offer.level < level || offer.landlock.is_none();
    if lacks {
        candor_testkit::skip_for_kernel("the machine itself lacks a part");
    }
    lacks
}

#[test]
fn this_machine_offers_the_full_level() {
    let offer = probe(&helper());
    if offer.level < Level::Full {
        let missing: Vec<String> = offer.missing.iter().map(ToString::to_string).collect();
        return candor_testkit::skip_for_kernel(missing.join("; "));
    }
    assert_eq!(offer.namespaces, Namespace::ALL);
    assert!(offer.seccomp);
}

#[test]
fn without_namespaces_landlock_is_left() {
    if lacks(Level::Full) {
        return;
    }
    with_refused_call(libc::SYS_unshare, EPERM, || {
        let offer = probe(&helper());
        assert_eq!(
            (offer.level, parts(&offer)),
            (Level::Landlock, vec![Part::User])
        );
        assert_eq!(
            offer.missing[0].why,
            "making a user namespace failed with EPERM (Operation not permitted)"
        );
        assert_eq!(offer.namespaces, []);

        let fixture = Fixture::new(Level::Full);
        let refused = fixture.try_run(&fixture.spec(&["touch", "target/ran"]));
        match refused.map(|_| ()).unwrap_err() {
            StartError::Weaker { wanted, offer } => {
                assert_eq!((wanted, offer.level), (Level::Full, Level::Landlock));
                assert_eq!(parts(&offer), [Part::User]);
            }
            error => panic!("{error:?}"),
        }
        assert!(!fixture.path("work/target/ran").exists(), "nothing ran");

        let fixture = Fixture::new(Level::Landlock);
        let held = fixture.run_shell("true").held;
        assert_eq!(held.level, Level::Landlock);
        assert_eq!(held.network, HeldNetwork::Off);
        assert_eq!(held.missing.len(), 1);
    });
}

/// AppArmor's way: the namespace can be made, and every mount in it is refused.
#[test]
fn with_refused_mounts_the_other_namespaces_are_used() {
    if lacks(Level::Full) {
        return;
    }
    with_refused_call(libc::SYS_mount, EPERM, || {
        let offer = probe(&helper());
        assert_eq!(
            (offer.level, parts(&offer)),
            (Level::Landlock, vec![Part::Mount])
        );
        assert_eq!(
            offer.missing[0].why,
            "making mounts private failed with EPERM (Operation not permitted)"
        );
        let fixture = Fixture::new(Level::Landlock);
        let held = fixture.run_shell("true").held;
        let expected = [
            Namespace::User,
            Namespace::Ipc,
            Namespace::Net,
            Namespace::Uts,
        ];
        assert_eq!(held.namespaces, expected);
    });
}

/// Container runtimes mask `/proc`, so that a fresh one cannot be mounted.
#[test]
fn without_a_fresh_proc_the_level_is_not_full() {
    if lacks(Level::Full) {
        return;
    }
    let (read_only, flags) = (1, SeccompCmpArgLen::Dword);
    // The mount of /proc is the only one that is read-only from the start.
    let is_proc = SeccompCondition::new(3, flags, SeccompCmpOp::MaskedEq(0x21), read_only);
    let rule = SeccompRule::new(vec![is_proc.unwrap()]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            refuse_call(libc::SYS_mount, vec![rule], EPERM);
            let offer = probe(&helper());
            assert_eq!(
                (offer.level, parts(&offer)),
                (Level::Landlock, vec![Part::Proc])
            );
            assert!(
                offer.missing[0]
                    .why
                    .starts_with("mounting a fresh /proc failed")
            );
        });
    });
}

#[test]
fn without_landlock_the_full_level_holds() {
    if lacks(Level::Full) {
        return;
    }
    with_refused_call(libc::SYS_landlock_create_ruleset, ENOSYS, || {
        let offer = probe(&helper());
        assert_eq!((offer.level, offer.landlock), (Level::Full, None));
        assert_eq!(parts(&offer), [Part::Landlock]);
        let fixture = Fixture::new(Level::Full);
        let before = fixture.snapshot();
        for (attack, attempts) in [("log", 9), ("workspace", 17), ("own", 13)] {
            assert_eq!(fixture.refused_attack(attack), attempts);
        }
        assert_eq!(before, fixture.snapshot());
    });
}

#[test]
fn without_both_a_command_runs_only_if_that_is_allowed() {
    let without_both = || {
        refuse_call(libc::SYS_landlock_create_ruleset, Vec::new(), ENOSYS);
        refuse_call(libc::SYS_unshare, Vec::new(), EPERM);
        let offer = probe(&helper());
        assert_eq!(offer.level, Level::None);
        assert_eq!(parts(&offer), [Part::User, Part::Landlock]);

        let fixture = Fixture::new(Level::Landlock);
        let script = format!("{} kill -TERM $$", crate::ending::ESCAPE);
        let mut spec = fixture.spec(&["sh", "-c", &script]);
        let refused = fixture.try_run(&spec).map(|_| ()).unwrap_err();
        assert!(matches!(refused, StartError::Weaker { .. }), "{refused:?}");
        assert!(!fixture.path("work/target/pid").exists(), "nothing ran");

        spec.least = Level::None;
        let before = fixture.snapshot();
        let ran = fixture.try_run(&spec).unwrap();
        assert_eq!((ran.held.level, ran.held.seccomp), (Level::None, false));
        assert_eq!(
            (ran.end.descendants_ended, ran.end.signal),
            (true, Some(15))
        );
        crate::ending::assert_all_ended(&fixture);
        assert_eq!(before, fixture.snapshot());

        spec.argv[2] = "echo forged >> audit-log.jsonl".into();
        assert!(fixture.try_run(&spec).unwrap().is_success());
        let log = fixture.path("work/audit-log.jsonl");
        assert_eq!(fixture.snapshot()[&log].2, b"line\nforged\n");
    };
    std::thread::scope(|scope| scope.spawn(without_both).join().unwrap());
}

/// The machine whose administrator forbids user namespaces.
#[test]
fn a_limit_of_zero_user_namespaces_is_named() {
    if lacks(Level::Full) {
        return;
    }
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" probe";
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-current-user",
            "--keep-caps",
            "sh",
            "-c",
            script,
            PROGRAM,
        ])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "landlock\nuser: making a user namespace failed with ENOSPC (No space left on device)\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The warden ends processes one by one if it cannot confine its signals.
#[cfg(target_arch = "x86_64")]
#[test]
fn descendants_end_without_confined_signals_too() {
    if lacks(Level::Full) {
        return;
    }
    let server = u64::from(std::process::id());
    let to_us = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, server);
    let rule = SeccompRule::new(vec![to_us.unwrap()]).unwrap();
    let unconfined = || {
        refuse_call(libc::SYS_unshare, Vec::new(), EPERM);
        refuse_call(libc::SYS_kill, vec![rule], EPERM);
        let fixture = Fixture::new(Level::Landlock);
        let ran = fixture.run_shell(&format!("{} exit 6", crate::ending::ESCAPE));
        assert_eq!(ran.end.exit_code, Some(6));
        crate::ending::assert_all_ended(&fixture);
    };
    std::thread::scope(|scope| scope.spawn(unconfined).join().unwrap());
}
