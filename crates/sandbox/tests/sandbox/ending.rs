//! The end of a command: by itself, by a signal, by its time limit, by the caller. No descendant survives.

use crate::fixture::{Fixture, PROGRAM, Ran, at_both_levels, helper};
use candor_sandbox::{Hosts, Level, Network, start};
use rustix::process::{Pid, Signal, kill_process};
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

fn ending(ran: &Ran) -> (Option<i32>, Option<i32>, bool) {
    (ran.end.exit_code, ran.end.signal, ran.end.timed_out)
}

#[test]
fn exit_codes_and_signals_are_reported() {
    at_both_levels(|fixture| {
        for (script, expected) in [
            ("exit 0", (Some(0), None, false)),
            ("exit 200", (Some(200), None, false)),
            ("kill -TERM $$", (None, Some(15), false)),
            ("kill -KILL $$", (None, Some(9), false)),
        ] {
            assert_eq!(ending(&fixture.run_shell(script)), expected, "{script}");
        }
    });
}

#[test]
fn the_time_limit_ends_a_command_that_ignores_signals() {
    at_both_levels(|fixture| {
        let script = "trap '' TERM HUP INT; echo started; while :; do :; done";
        let mut spec = fixture.spec(&["sh", "-c", script]);
        spec.limits.time = Some(Duration::from_secs(1));
        let started = Instant::now();
        let ran = fixture.run(&spec);
        assert_eq!(ending(&ran), (None, Some(9), true));
        assert_eq!(ran.output, "started\n");
        assert!(started.elapsed() < Duration::from_secs(30));
    });
}

#[test]
fn descendants_end_with_the_command() {
    at_both_levels(|fixture| {
        let ran = fixture.run_shell(&format!("{ESCAPE} sleep 1000 & exit 5"));
        assert_eq!(ending(&ran), (Some(5), None, false));
        assert_all_ended(fixture);
    });
}

#[test]
fn descendants_end_with_the_time_limit() {
    at_both_levels(|fixture| {
        let script = format!("{ESCAPE} sleep 1000");
        let mut spec = fixture.spec(&["sh", "-c", &script]);
        spec.limits.time = Some(Duration::from_secs(2));
        assert!(fixture.run(&spec).end.timed_out);
        assert_all_ended(fixture);
    });
}

#[test]
fn a_chain_of_forking_processes_is_ended() {
    at_both_levels(|fixture| {
        let chain = "echo $$ > target/last; setsid sh chain &\n";
        fs::write(fixture.path("work/chain"), chain).unwrap();
        let ran = fixture.run_shell("sh chain; while [ ! -s target/last ]; do :; done; exit 4");
        assert_eq!(ending(&ran), (Some(4), None, false));
        assert_eq!(running(fixture), Vec::<PathBuf>::new());
    });
}

#[test]
fn the_caller_can_stop_a_command() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]);
        spec.limits.time = None;
        let process = start(&spec, &helper()).unwrap();
        let pid = fixture.path("work/target/pid");
        while !pid.exists() {
            std::thread::yield_now();
        }
        process.stop();
        let end = process.wait().unwrap();
        assert!(end.stopped && end.descendants_ended && !end.timed_out);
        assert_all_ended(fixture);
    });
}

#[test]
fn dropping_a_command_ends_it() {
    at_both_levels(|fixture| {
        let spec = fixture.spec(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]);
        let process = start(&spec, &helper()).unwrap();
        let pid = fixture.path("work/target/pid");
        while !pid.exists() {
            std::thread::yield_now();
        }
        drop(process);
        assert_all_ended(fixture);
    });
}

/// Root is exempt from the limit on processes, so that only the time limit would end this.
#[test]
fn a_fork_bomb_is_bounded_and_ended() {
    if candor_testkit::user::is_root() {
        return candor_testkit::skip_for_kernel("root is exempt from the limit on processes");
    }
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["sh", "-c", "touch target/pid; f() { f & f & wait; }; f"]);
        spec.limits.processes = 64;
        spec.limits.time = Some(Duration::from_secs(2));
        let ran = fixture.run(&spec);
        assert!(ran.output.contains("fork"), "{}", ran.output);
        assert_all_ended(fixture);
    });
}

/// Waits until no process of the command is left.
fn await_end(fixture: &Fixture) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !running(fixture).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", running(fixture));
        std::thread::yield_now();
    }
}

#[test]
fn descendants_end_with_a_killed_server() {
    at_both_levels(|fixture| {
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
        assert!(!running(fixture).is_empty());
        server.kill().unwrap();
        server.wait().unwrap();
        await_end(fixture);
    });
}

/// Returns the process ids of the helpers of this stage that this test started.
fn helpers(stage: &str) -> Vec<i32> {
    let mut found = Vec::new();
    let mut todo = vec![std::process::id().to_string()];
    while let Some(process) = todo.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            todo.extend(children.split_whitespace().map(str::to_owned));
        }
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if line
            .split(|byte| *byte == 0)
            .any(|argument| argument == stage.as_bytes())
        {
            found.push(process.parse().unwrap());
        }
    }
    found
}

/// Stops the warden between the start of the command and its report. Returns `None` if the moment was
/// missed; the warden then goes on.
fn stop_warden_during_start(fixture: &Fixture, stage: &str) -> Option<Pid> {
    let has_started = || fixture.path("work/target/pid").exists();
    let deadline = Instant::now() + Duration::from_secs(60);
    while helpers(stage).is_empty() {
        if has_started() {
            // A cell becomes the command, possibly between two looks at the processes.
            return None;
        }
        assert!(Instant::now() < deadline, "no {stage} and no command");
        std::thread::yield_now();
    }
    let [warden] = helpers("warden")[..] else {
        panic!("one warden");
    };
    let warden = Pid::from_raw(warden).unwrap();
    kill_process(warden, Signal::STOP).unwrap();
    // Without the job, which the warden sends, the command never starts.
    let deadline = Instant::now() + Duration::from_secs(2);
    while !has_started() {
        if Instant::now() > deadline {
            kill_process(warden, Signal::CONT).unwrap();
            return None;
        }
        std::thread::yield_now();
    }
    Some(warden)
}

#[test]
fn command_ends_if_the_server_is_killed_during_its_start() {
    at_both_levels(|fixture| {
        let stage = match fixture.level {
            Level::Full => "process-one",
            _ => "cell",
        };
        let is_caught = |_| {
            let _ = fs::remove_file(fixture.path("work/target/pid"));
            let mut server = Command::new(PROGRAM)
                .arg("serve")
                .arg(fixture.path(""))
                .arg(format!("{ESCAPE} sleep 1000"))
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let stopped = stop_warden_during_start(fixture, stage);
            server.kill().unwrap();
            server.wait().unwrap();
            if let Some(warden) = stopped {
                kill_process(warden, Signal::CONT).unwrap();
            }
            await_end(fixture);
            stopped.is_some()
        };
        assert!((0..100).any(is_caught), "the warden was never caught");
    });
}

#[test]
fn descendants_end_with_any_killed_helper() {
    crate::fixture::at_full_level(|fixture| {
        let proxy = || Network::Proxy(Hosts::Any);
        for (stage, network) in [
            ("warden", Network::Off),
            ("process-one", Network::Off),
            ("warden", proxy()),
            ("entry", proxy()),
            ("process-one", proxy()),
        ] {
            let _ = fs::remove_file(fixture.path("work/target/pid"));
            let mut spec = fixture.spec(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]);
            spec.network = network;
            let process = start(&spec, &helper()).unwrap();
            while !fixture.path("work/target/pid").exists() {
                std::thread::yield_now();
            }
            assert!(!running(fixture).is_empty());
            let [victim] = helpers(stage)[..] else {
                panic!("one {stage}");
            };
            kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL).unwrap();
            await_end(fixture);
            match process.wait() {
                Ok(end) => assert_eq!((end.exit_code, end.signal), (None, Some(9)), "{stage}"),
                Err(_) => assert_eq!(stage, "warden"),
            }
        }
    });
}

#[test]
fn memory_files_and_processes_are_limited() {
    at_both_levels(|fixture| {
        let script = "ulimit -d; ulimit -n; ulimit -c; ulimit -f; ulimit -d unlimited";
        let mut spec = fixture.spec(&["sh", "-c", script]);
        spec.limits.memory = 64 << 20;
        spec.limits.files = 64;
        spec.limits.file = 1 << 20;
        let ran = fixture.run(&spec);
        assert!(
            ran.output.starts_with("65536\n64\n0\n2048\n"),
            "{}",
            ran.output
        );

        spec.argv[2] = "ulimit -u 2> /dev/null || ulimit -p".into();
        spec.limits.processes = 7;
        let processes: u64 = fixture.run(&spec).output.trim().parse().unwrap();
        assert!(
            (8..100_000).contains(&processes),
            "the user's processes and seven"
        );

        let lines = fixture.attack("memory", |spec| spec.limits.memory = 128 << 20);
        assert_eq!(lines, "1 MiB: done\n512 MiB: out of memory\n");
    });
}
