//! Several processes that append to one log, and processes that are killed while they append.

use crate::real_log::{checkpoint_file, options};
use candor_audit::{Log, LogLine, lines, verify_against};
use candor_disk::RealDisk;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts a process that appends this many lines.
fn start_appender(directory: &Path, count: u64) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_append-lines"));
    command
        .arg(directory)
        .arg(count.to_string())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Parses a printed receipt. Returns `None` if the process was killed while it printed.
fn parse_receipt(line: &str) -> Option<(u64, String)> {
    let (seq, hash) = line.split_once(' ')?;
    (hash.len() == 64).then(|| (seq.parse().unwrap(), hash.to_owned()))
}

/// Verifies the log and returns its lines by number.
fn verified_lines(directory: &Path) -> BTreeMap<u64, LogLine> {
    let checkpoint = checkpoint_file(directory).read().unwrap();
    let checkpoints: Vec<_> = checkpoint.into_iter().collect();
    let disk = RealDisk::at(directory).unwrap();
    let verified = verify_against(disk.clone(), "log", &checkpoints).unwrap();
    assert_eq!(verified.flaw, None);
    let all = lines(disk, "log", 1).unwrap().map(Result::unwrap);
    let all: BTreeMap<_, _> = all.map(|line| (line.seq.unwrap(), line)).collect();
    assert_eq!(all.len() as u64, verified.lines);
    all
}

fn has_line(all: &BTreeMap<u64, LogLine>, seq: u64, hash: &str) -> bool {
    let text = all
        .get(&seq)
        .map(|line| String::from_utf8_lossy(&line.bytes));
    text.is_some_and(|text| text.contains(&format!("\"hash\":\"{hash}\"")))
}

fn empty_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("state")).unwrap();
    directory
}

#[test]
fn four_processes_leave_no_gap() {
    let directory = empty_directory();
    let appenders: Vec<Child> = (0..4)
        .map(|_| start_appender(directory.path(), 500))
        .collect();
    let mut receipts = BTreeMap::new();
    for appender in appenders {
        let output = appender.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<_> = text.lines().filter_map(parse_receipt).collect();
        assert_eq!(printed.len(), 500);
        receipts.extend(printed);
    }
    let all = verified_lines(directory.path());
    assert!(all.keys().copied().eq(1..=2000));
    assert!(receipts.keys().copied().eq(1..=2000));
    let mut receipts = receipts.iter();
    assert!(receipts.all(|(seq, hash)| has_line(&all, *seq, hash)));
    let checkpoint = checkpoint_file(directory.path()).read().unwrap();
    assert_eq!(checkpoint.unwrap().seq, 2000);
}

#[test]
fn receipts_of_killed_processes_are_in_the_log() {
    let directory = empty_directory();
    let mut receipts = BTreeMap::new();
    let mut random = 7u32;
    for _ in 0..100 {
        let mut appender = start_appender(directory.path(), 1_000_000);
        let mut out = BufReader::new(appender.stdout.take().unwrap()).lines();
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let before = receipts.len();
        while receipts.len() - before < (random >> 26) as usize {
            receipts.extend(parse_receipt(&out.next().unwrap().unwrap()));
        }
        appender.kill().unwrap();
        let rest = out.map_while(Result::ok);
        receipts.extend(rest.filter_map(|line| parse_receipt(&line)));
        appender.wait().unwrap();
    }
    // Opening the log completes the unfinished write of the last process.
    let disk = RealDisk::at(directory.path()).unwrap();
    drop(Log::open(disk, "log", options(directory.path())).unwrap());
    let all = verified_lines(directory.path());
    assert!(all.keys().copied().eq(1..=all.len() as u64));
    for (seq, hash) in &receipts {
        assert!(has_line(&all, *seq, hash), "{seq} {hash}");
    }
}
