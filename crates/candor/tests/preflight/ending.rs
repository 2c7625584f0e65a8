//! Ending: by itself, by a signal, by its time, by the caller; and nothing stays behind.

use crate::place::Place;
use candor_workspace::preflight::{Ran, RunError, stop};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a process that leaves the group and the session, ignores what it can, and notes its number.
pub(crate) const ESCAPE: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > target/pid.new; mv target/pid.new target/pid; exec sleep 1000' &) ; while [ ! -e target/pid ]; do :; done; ";

/// Whoever started in the workspace and is still there.
fn left(place: &Place) -> Vec<PathBuf> {
    let root = place.at("work");
    let here = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == root);
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .map(|process| process.unwrap().path())
        .filter(here)
        .collect()
}

pub(crate) fn gone(place: &Place) {
    assert!(place.at("work/target/pid").exists());
    assert_eq!(left(place), Vec::<PathBuf>::new());
}

fn end(ran: &Ran) -> (Option<i32>, Option<i32>, bool) {
    (ran.exit_code, ran.signal, ran.timed_out)
}

#[test]
fn exit_codes_and_signals_are_told() {
    let place = Place::new();
    assert_eq!(end(&place.shell("exit 0")), (Some(0), None, false));
    assert_eq!(end(&place.shell("exit 200")), (Some(200), None, false));
    assert_eq!(end(&place.shell("kill -TERM $$")), (None, Some(15), false));
    assert_eq!(end(&place.shell("kill -KILL $$")), (None, Some(9), false));
}

#[test]
fn time_ends_what_ignores_every_signal() {
    let place = Place::new();
    let mut order = place.order(&[
        "sh",
        "-c",
        "trap '' TERM HUP INT; echo started; while :; do :; done",
    ]);
    order.limits.time = Duration::from_secs(1);
    let began = Instant::now();
    let ran = place.run(&order);
    assert_eq!(end(&ran), (None, Some(9), true));
    assert_eq!(ran.output_tail, "started\n");
    assert!(!ran.passed() && began.elapsed() < Duration::from_secs(30));
}

#[test]
fn nothing_outlives_a_command_that_ended() {
    let place = Place::new();
    let ran = place.shell(&format!("{ESCAPE} sleep 1000 & exit 5"));
    assert_eq!(end(&ran), (Some(5), None, false));
    gone(&place);
}

#[test]
fn nothing_outlives_a_command_whose_time_was_over() {
    let place = Place::new();
    let script = format!("{ESCAPE} sleep 1000");
    let mut order = place.order(&["sh", "-c", &script]);
    order.limits.time = Duration::from_secs(2);
    assert!(place.run(&order).timed_out);
    gone(&place);
}

#[test]
fn a_chain_of_processes_that_fork_and_end_is_ended() {
    let place = Place::new();
    fs::write(
        place.at("work/chain"),
        "echo $$ > target/last; setsid sh chain &\n",
    )
    .unwrap();
    let ran = place.shell("sh chain; while [ ! -s target/last ]; do :; done; exit 4");
    assert_eq!(end(&ran), (Some(4), None, false));
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}

#[test]
fn the_caller_stops_it() {
    let place = Place::new();
    let order = place.order(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]);
    let (stopper, stop) = stop().unwrap();
    let pid = place.at("work/target/pid");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !pid.exists() {
                std::thread::yield_now();
            }
            drop(stopper);
        });
        assert!(matches!(
            place.run_until(&order, &stop),
            Err(RunError::Stopped)
        ));
    });
    gone(&place);
}

/// Root may start as many processes as it likes, so that there only its time would end this.
#[test]
fn processes_that_multiply_are_bounded_and_ended() {
    let place = Place::new();
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        return;
    }
    let mut order = place.order(&["sh", "-c", "touch target/pid; f() { f & f & wait; }; f"]);
    order.limits.processes = 64;
    order.limits.time = Duration::from_secs(2);
    let ran = place.run(&order);
    assert!(ran.output_tail.contains("fork"), "{}", ran.output_tail);
    gone(&place);
}

/// The server of the next test, where that test says so.
#[test]
fn serving() {
    if let Some(base) = std::env::var_os("SERVE") {
        let place = Place::of(base.into());
        let _ = place.try_run(&place.order(&["sh", "-c", &format!("{ESCAPE} sleep 1000")]));
    }
}

#[test]
fn nothing_outlives_a_server_that_was_killed() {
    let place = Place::new();
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["ending::serving", "--exact"])
        .env("SERVE", place.at(""))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !place.at("work/target/pid").exists() {
        assert!(server.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    assert!(!left(&place).is_empty());
    server.kill().unwrap();
    server.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !left(&place).is_empty() {
        assert!(Instant::now() < until, "{:?}", left(&place));
        std::thread::yield_now();
    }
}

#[test]
fn memory_files_and_processes_are_limited() {
    let place = Place::new();
    let mut order = place.order(&[
        "sh",
        "-c",
        "ulimit -d; ulimit -n; ulimit -c; ulimit -f; ulimit -d unlimited",
    ]);
    order.limits.memory = 64 << 20;
    order.limits.files = 64;
    order.limits.file = 1 << 20;
    let ran = place.run(&order);
    assert!(
        ran.output_tail.starts_with("65536\n64\n0\n2048\n"),
        "{}",
        ran.output_tail
    );

    order.argv[2] = "ulimit -u 2> /dev/null || ulimit -p".into();
    order.limits.processes = 7;
    let processes: u64 = place.run(&order).output_tail.trim().parse().unwrap();
    assert!(
        (8..100_000).contains(&processes),
        "those of the user and seven"
    );

    let said = place.attack("memory", |order| order.limits.memory = 128 << 20);
    assert_eq!(said, "1 MiB: done\n512 MiB: out of memory\n");
}
