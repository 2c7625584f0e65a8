//! Several processes on one log, and processes that are killed: this test starts itself again.

use crate::ground::members;
use candor_audit::{Checkpoints, Log, Options, Place, Raw, lines, verify_against};
use candor_disk::RealDisk;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

/// The directory of a child's log, and how many lines it appends.
const DIR: &str = "CANDOR_TEST_LOG";
const COUNT: &str = "CANDOR_TEST_LINES";

/// How many threads of a child append.
const THREADS: u64 = 4;

fn options(dir: &Path) -> Options {
    let place = Place::new(RealDisk::at(dir.join("state")).unwrap(), "checkpoint");
    Options {
        rotate_at: 100_000,
        checkpoints: Some(Checkpoints {
            places: vec![place],
            signer: None,
            now: Box::new(|| String::from("now")),
        }),
        ..Options::default()
    }
}

/// What a child does: it appends, and prints every receipt once it has it.
#[test]
fn child() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let count: u64 = std::env::var(COUNT).unwrap().parse().unwrap();
    let dir = Path::new(&dir);
    let log = Log::open(RealDisk::at(dir).unwrap(), "log", options(dir)).unwrap();
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (log, out) = (&log, &out);
            scope.spawn(move || {
                for n in 0..count / THREADS {
                    let line = json!({ "thread": thread, "n": n, "process": std::process::id() });
                    let receipt = log.append_blocking(members(line)).unwrap();
                    let said = format!("receipt {} {}\n", receipt.seq, receipt.hash);
                    let mut out = out.lock().unwrap();
                    out.write_all(said.as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

fn start(dir: &Path, count: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["processes::child", "--exact", "--nocapture"])
        .env(DIR, dir)
        .env(COUNT, count.to_string())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The number and the hash of a line that is a receipt.
fn receipt(line: &str) -> Option<(u64, String)> {
    // The harness writes its own words before the first one.
    let (_, said) = line.split_once("receipt ")?;
    let (seq, hash) = said.split_once(' ')?;
    (hash.len() == 64).then(|| (seq.parse().unwrap(), hash.to_owned()))
}

/// Every line of the log by its number, once everything about it is right.
fn whole(dir: &Path) -> BTreeMap<u64, Raw> {
    let place = Place::new(RealDisk::at(dir.join("state")).unwrap(), "checkpoint");
    let checkpoint: Vec<_> = place.read().unwrap().into_iter().collect();
    let disk = RealDisk::at(dir).unwrap();
    let verified = verify_against(disk.clone(), "log", &checkpoint).unwrap();
    assert_eq!(verified.flaw, None);
    let all = lines(disk, "log", 1).unwrap().map(Result::unwrap);
    let all: BTreeMap<_, _> = all.map(|line| (line.seq.unwrap(), line)).collect();
    assert_eq!(all.len() as u64, verified.lines);
    all
}

fn is_there(all: &BTreeMap<u64, Raw>, seq: u64, hash: &str) -> bool {
    let text = all
        .get(&seq)
        .map(|line| String::from_utf8_lossy(&line.bytes));
    text.is_some_and(|text| text.contains(&format!("\"hash\":\"{hash}\"")))
}

fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("state")).unwrap();
    dir
}

#[test]
fn four_processes_leave_no_gap() {
    let dir = directory();
    let children: Vec<Child> = (0..4).map(|_| start(dir.path(), 500)).collect();
    let outputs = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    let mut receipts = BTreeMap::new();
    for output in outputs {
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let own: Vec<_> = text.lines().filter_map(receipt).collect();
        assert_eq!(own.len(), 500);
        receipts.extend(own);
    }
    let all = whole(dir.path());
    assert!(all.keys().copied().eq(1..=2000));
    assert!(receipts.keys().copied().eq(1..=2000));
    assert!(
        receipts
            .iter()
            .all(|(seq, hash)| is_there(&all, *seq, hash))
    );
    let place = Place::new(
        RealDisk::at(dir.path().join("state")).unwrap(),
        "checkpoint",
    );
    assert_eq!(place.read().unwrap().unwrap().seq, 2000);
}

/// Killed at a hundred points under load, it has every line that it said it has.
#[test]
fn what_a_killed_process_promised_is_there() {
    let dir = directory();
    let mut promised = BTreeMap::new();
    let mut random = 7u32;
    for _ in 0..100 {
        let mut child = start(dir.path(), 1_000_000);
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let so_far = promised.len();
        while promised.len() - so_far < (random >> 26) as usize {
            promised.extend(receipt(&out.next().unwrap().unwrap()));
        }
        child.kill().unwrap();
        promised.extend(out.map_while(Result::ok).filter_map(|line| receipt(&line)));
        child.wait().unwrap();
    }
    // The next one settles what the last one left.
    drop(
        Log::open(
            RealDisk::at(dir.path()).unwrap(),
            "log",
            options(dir.path()),
        )
        .unwrap(),
    );
    let all = whole(dir.path());
    assert!(all.keys().copied().eq(1..=all.len() as u64));
    for (seq, hash) in &promised {
        assert!(is_there(&all, *seq, hash), "{seq} {hash}");
    }
}
