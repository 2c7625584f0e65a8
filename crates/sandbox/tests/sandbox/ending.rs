//! The end of a command: by itself, by a signal, by its time limit, by the caller. No descendant survives.

use crate::fixture::{Fixture, PROGRAM};
use candor_sandbox::{CommandOutcome, RunError, stop_channel};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a process that leaves the group and the session, ignores signals, and writes its process id.
pub(crate) const ESCAPE: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > target/pid.new; mv target/pid.new target/pid; exec sleep 1000' &) ; while [ ! -e target/pid ]; do :; done; ";

/// Returns the processes that run in the workspace.
fn running(fixture: &Fixture) -> Vec<PathBuf> {
    let root = fixture.path("work");
    let here = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == root);
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .map(|process| process.unwrap().path())
        .filter(here)
        .collect()
}

pub(crate) fn assert_all_ended(fixture: &Fixture) {
    assert!(fixture.path("work/target/pid").exists());
    assert_eq!(running(fixture), Vec::<PathBuf>::new());
}

fn ending(outcome: &CommandOutcome) -> (Option<i32>, Option<i32>, bool) {
    (outcome.exit_code, outcome.signal, outcome.timed_out)
}

#[test]
fn exit_codes_and_signals_are_reported() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    assert_eq!(ending(&fixture.run_shell("exit 0")), (Some(0), None, false));
    assert_eq!(
        ending(&fixture.run_shell("exit 200")),
        (Some(200), None, false)
    );
    assert_eq!(
        ending(&fixture.run_shell("kill -TERM $$")),
        (None, Some(15), false)
    );
    assert_eq!(
        ending(&fixture.run_shell("kill -KILL $$")),
        (None, Some(9), false)
    );
}

#[test]
fn the_time_limit_ends_a_command_that_ignores_signals() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&[
        "sh",
        "-c",
        "trap '' TERM HUP INT; echo started; while :; do :; done",
    ]);
    spec.limits.time = Duration::from_secs(1);
    let started = Instant::now();
    let outcome = fixture.run(&spec);
    assert_eq!(ending(&outcome), (None, Some(9), true));
    assert_eq!(outcome.output_tail, "started\n");
    assert!(!outcome.is_success() && started.elapsed() < Duration::from_secs(30));
}

#[test]
fn descendants_end_with_the_command() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome = fixture.run_shell(&format!("{ESCAPE} sleep 1000 & exit 5"));
    assert_eq!(ending(&outcome), (Some(5), None, false));
    assert_all_ended(&fixture);
}

#[test]
fn descendants_end_with_the_time_limit() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let script = format!("{ESCAPE} sleep 1000");
    let mut spec = fixture.spec(&["sh", "-c", &script]);
    spec.limits.time = Duration::from_secs(2);
    assert!(fixture.run(&spec).timed_out);
    assert_all_ended(&fixture);
}

#[test]
fn a_chain_of_forking_processes_is_ended() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    fs::write(
        fixture.path("work/chain"),
        "echo $$ > target/last; setsid sh chain &\n",
    )
    .unwrap();
    let outcome = fixture.run_shell("sh chain; while [ ! -s target/last ]; do :; done; exit 4");
    assert_eq!(ending(&outcome), (Some(4), None, false));
    assert_eq!(running(&fixture), Vec::<PathBuf>::new());
}

#[test]
fn the_caller_can_stop_a_command() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let spec = fixture.spec(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]);
    let (handle, stop) = stop_channel().unwrap();
    let pid = fixture.path("work/target/pid");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !pid.exists() {
                std::thread::yield_now();
            }
            drop(handle);
        });
        assert!(matches!(
            fixture.run_until(&spec, &stop),
            Err(RunError::Stopped)
        ));
    });
    assert_all_ended(&fixture);
}

/// Root is exempt from the limit on processes, so that only the time limit would end this.
#[test]
fn a_fork_bomb_is_bounded_and_ended() {
    if candor_testkit::user::is_root() {
        return candor_testkit::skip_for_kernel("root is exempt from the limit on processes");
    }
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&["sh", "-c", "touch target/pid; f() { f & f & wait; }; f"]);
    spec.limits.processes = 64;
    spec.limits.time = Duration::from_secs(2);
    let outcome = fixture.run(&spec);
    assert!(
        outcome.output_tail.contains("fork"),
        "{}",
        outcome.output_tail
    );
    assert_all_ended(&fixture);
}

#[test]
fn descendants_end_with_a_killed_server() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut server = Command::new(PROGRAM)
        .arg("serve")
        .arg(fixture.path(""))
        .arg(format!("{ESCAPE} sleep 1000"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !fixture.path("work/target/pid").exists() {
        assert!(server.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    assert!(!running(&fixture).is_empty());
    server.kill().unwrap();
    server.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !running(&fixture).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", running(&fixture));
        std::thread::yield_now();
    }
}

#[test]
fn memory_files_and_processes_are_limited() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&[
        "sh",
        "-c",
        "ulimit -d; ulimit -n; ulimit -c; ulimit -f; ulimit -d unlimited",
    ]);
    spec.limits.memory = 64 << 20;
    spec.limits.files = 64;
    spec.limits.file = 1 << 20;
    let outcome = fixture.run(&spec);
    assert!(
        outcome.output_tail.starts_with("65536\n64\n0\n2048\n"),
        "{}",
        outcome.output_tail
    );

    spec.argv[2] = "ulimit -u 2> /dev/null || ulimit -p".into();
    spec.limits.processes = 7;
    let processes: u64 = fixture.run(&spec).output_tail.trim().parse().unwrap();
    assert!(
        (8..100_000).contains(&processes),
        "the user's processes and seven"
    );

    let lines = fixture.attack("memory", |spec| spec.limits.memory = 128 << 20);
    assert_eq!(lines, "1 MiB: done\n512 MiB: out of memory\n");
}
