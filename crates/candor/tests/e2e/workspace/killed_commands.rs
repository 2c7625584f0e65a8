//! Commands whose server, warden or first process is killed: nothing of them stays alive, and no mount is left.

use crate::requests::call;
use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::lacks_sandbox;
use candor_testkit::is_long;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

/// The time in which everything must have ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process that is killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Server,
    Warden,
    /// Process 1 of the namespace.
    First,
}

/// Returns the processes whose arguments contain a text.
fn processes_with(argument: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let has_argument = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == argument.as_bytes())
    };
    pids.filter(has_argument).collect()
}

/// Returns the parent of a process.
fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.unwrap().trim().parse().unwrap()
}

/// Returns the child of the server from which a process descends.
fn warden_of(mut pid: u32, server: u32) -> u32 {
    while parent(pid) != server {
        pid = parent(pid);
    }
    pid
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

/// Kills a process while a command runs. `mark` is an argument that no other process has.
fn kill_once(fixture: &WorkspaceFixture, victim: Victim, mark: &str) {
    let mut client = fixture.executor(&[]);
    let server = client.server.process().pid();
    let script = format!("echo new > src/a.txt; sleep {mark} & sleep {mark}");
    let command = json!({ "argv": ["bash", "-c", script] });
    client.server.send_line(call(7, "run_command", &command));
    let sleeping = loop {
        let found = processes_with(mark);
        if found.len() == 2 {
            break found[0];
        }
        std::thread::yield_now();
    };
    let bash = parent(sleeping);
    let victim = match victim {
        Victim::Server => server,
        Victim::Warden => warden_of(bash, server),
        Victim::First => parent(bash),
    };
    kill_process(
        Pid::from_raw(victim.try_into().unwrap()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    let since = Instant::now();
    while !processes_with(mark).is_empty() {
        assert!(
            since.elapsed() < PATIENCE,
            "a process of the command is still alive"
        );
        std::thread::yield_now();
    }
    drop(client);
    fixture.executor(&[]).end();
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
}

fn kill_often(victim: Victim, first_mark: u32) {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({
        "allow": ["docs/**"],
        "commands": [["bash", "-c", "*"]],
        "writable": ["src"],
    }));
    let before = mounts();
    let rounds = if is_long() { 50 } else { 5 };
    for round in 0..rounds {
        kill_once(&fixture, victim, &(first_mark + round).to_string());
    }
    assert_eq!(mounts(), before);
    fixture.verify();
}

#[test]
fn killed_server_leaves_no_process_and_no_mount() {
    kill_often(Victim::Server, 861_000);
}

#[test]
fn killed_warden_leaves_no_process_and_no_mount() {
    kill_often(Victim::Warden, 862_000);
}

#[test]
fn killed_first_process_leaves_no_process_and_no_mount() {
    kill_often(Victim::First, 863_000);
}
