//! Writes on the simulated disk: after any fault every answered call is on record, and log and files
//! agree.

use super::{ChangeKind, ChangeOrigin, FileChange, SettleError, Settlement, WriteQueue, hash_of};
use candor_audit::{AppendError, Log, LogOptions, verify};
use candor_disk::{Disk, DiskFile, Open};
use candor_sim_disk::{SimDisk, Subdirectory, Trials};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LOG: &str = "audit-log.jsonl";

type Files = BTreeMap<String, String>;

/// The files at the start.
fn initial_files() -> Files {
    [("a", "old a"), ("d/b", "old b")]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into()
}

fn prepare_disk() -> SimDisk {
    let disk = SimDisk::new(0);
    for dir in ["ws", "ws/d", "state"] {
        disk.create_dir(dir, 0o755).unwrap();
    }
    for (path, text) in initial_files() {
        let file = disk
            .open(format!("ws/{path}"), Open::Create(0o644))
            .unwrap();
        file.append_all(text.as_bytes()).unwrap();
        file.sync_all().unwrap();
    }
    for dir in ["", "ws", "ws/d"] {
        disk.sync_dir(dir).unwrap();
    }
    disk
}

fn modify(path: &str, before: &str, bytes: &str) -> FileChange {
    FileChange::new(
        path.to_owned(),
        ChangeKind::Modify {
            before: hash_of(before.as_bytes()),
            before_mode: 0o644,
            bytes: bytes.as_bytes().to_vec(),
            mode: 0o644,
        },
    )
}

fn make_executable(path: &str, text: &str) -> FileChange {
    FileChange::new(
        path.to_owned(),
        ChangeKind::Modify {
            before: hash_of(text.as_bytes()),
            before_mode: 0o644,
            bytes: text.as_bytes().to_vec(),
            mode: 0o755,
        },
    )
}

/// Returns the two changes of a move.
fn moved(from: &str, to: &str, bytes: &str) -> [FileChange; 2] {
    let hash = hash_of(bytes.as_bytes());
    let before = hash.clone();
    [
        FileChange::new(from.to_owned(), ChangeKind::Delete { before }),
        FileChange::new(
            to.to_owned(),
            ChangeKind::Copy {
                from: from.to_owned(),
                hash,
                length: bytes.len() as u64,
                mode: 0o644,
            },
        ),
    ]
}

/// Returns five calls: change a file, change three at once, change the first one again, make two
/// directories and move a file into them, and change a mode only.
fn calls() -> Vec<Vec<FileChange>> {
    let create = |path: &str, text: &str| {
        FileChange::new(
            path.to_owned(),
            ChangeKind::create(text.as_bytes().to_vec()),
        )
    };
    let delete = FileChange::new(
        String::from("d/b"),
        ChangeKind::Delete {
            before: hash_of(b"old b"),
        },
    );
    let [from, to] = moved("d/c", "n/m/c", "new c");
    vec![
        vec![modify("a", "old a", "a 1")],
        vec![modify("a", "a 1", "a 2"), create("d/c", "new c"), delete],
        vec![modify("a", "a 2", "a 3")],
        vec![
            from,
            to.with_dirs(vec![String::from("n"), String::from("n/m")]),
            create("n/x", "new x"),
        ],
        vec![make_executable("a", "a 3")],
    ]
}

fn members(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn lines(disk: &SimDisk) -> io::Result<Vec<Value>> {
    let file = disk.open(format!("ws/{LOG}"), Open::Read)?;
    let text = String::from_utf8(file.read_all(1 << 20)?).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.map_while(Result::ok).collect())
}

struct WriteFixture {
    log: Log,
    writing: Arc<WriteQueue<Subdirectory>>,
}

impl WriteFixture {
    fn open(disk: &SimDisk) -> Option<WriteFixture> {
        let root = Subdirectory(disk.clone(), "ws");
        let log = Log::open(root.clone(), LOG, LogOptions::default()).ok()?;
        let writing = Arc::new(WriteQueue::new(root, Subdirectory(disk.clone(), "state")));
        Some(WriteFixture { log, writing })
    }

    fn take_turn(&self, disk: &SimDisk) -> Option<super::WriteTurn<Subdirectory>> {
        let recorded = |about: &ChangeOrigin| {
            self.log.settle_blocking().map_err(SettleError::Log)?;
            let is_line_of_call =
                |line: &Value| line["call"] == about.request_id && line["ok"] == true;
            Ok(lines(disk)?.iter().any(is_line_of_call))
        };
        let record = |settled: &Settlement| {
            let line = json!({ "settled": settled.about.request_id, "finished": settled.finished });
            let appended = self.log.append_blocking(members(line));
            appended.map(drop).map_err(SettleError::Log)
        };
        let turn = self.writing.take_turn(Duration::ZERO).ok()?;
        turn.settle(recorded, record).ok()
    }

    /// Makes one call: turn, change, record, keep or undo, answer.
    fn call(&self, disk: &SimDisk, number: usize, changes: &[FileChange]) -> Option<()> {
        let turn = self.take_turn(disk)?;
        let about = ChangeOrigin {
            session_id: String::from("s"),
            request_id: number.to_string(),
            tool_name: String::from("write_file"),
            args_hash: String::new(),
            after_seq: 0,
        };
        let applied = turn.apply(about, changes, &format!("{number}x"));
        let line = json!({ "call": number.to_string(), "ok": applied.is_ok() });
        let recorded = self.log.append_blocking(members(line));
        match (applied, recorded) {
            (Ok(applied), Ok(_)) => {
                disk.mark(format!("done {number}"));
                let _ = applied.keep();
                Some(())
            }
            // The next call reads the log.
            (Ok(_), Err(AppendError::Unsure(_))) => None,
            (Ok(applied), Err(_)) => {
                let _ = applied.undo();
                None
            }
            (Err(_), recorded) => {
                if recorded.is_ok() {
                    disk.mark(format!("failed {number}"));
                }
                None
            }
        }
    }
}

fn workload(disk: &SimDisk) {
    let Some(fixture) = WriteFixture::open(disk) else {
        return;
    };
    for (number, changes) in calls().iter().enumerate() {
        // A later call expects the files of the earlier ones.
        if fixture.call(disk, number, changes).is_none() {
            break;
        }
    }
}

/// Returns the files with their contents, the executable ones marked with a star, and the directories.
fn files_on_disk(disk: &SimDisk) -> Files {
    let mut files_on_disk = Files::new();
    let mut dirs = vec![String::new()];
    while let Some(dir) = dirs.pop() {
        for name in disk.list(Path::new("ws").join(&dir)).unwrap() {
            let name = name.to_str().unwrap();
            if name.starts_with(LOG) {
                continue;
            }
            let path = format!("{dir}{name}");
            let file = match disk.open(format!("ws/{path}"), Open::Read) {
                Ok(file) => file,
                Err(_) => {
                    files_on_disk.insert(format!("{path}/"), String::new());
                    dirs.push(format!("{path}/"));
                    continue;
                }
            };
            let mut text = String::from_utf8(file.read_all(1 << 20).unwrap()).unwrap();
            if file.mode().unwrap() == 0o755 {
                text.push('*');
            }
            files_on_disk.insert(path, text);
        }
    }
    files_on_disk
}

/// Returns the contents of the files according to the log.
fn files_by_log(disk: &SimDisk) -> Files {
    let mut files = initial_files();
    files.insert(String::from("d/"), String::new());
    for line in lines(disk)
        .unwrap()
        .iter()
        .filter(|line| line["ok"] == true)
    {
        let number: usize = line["call"].as_str().unwrap().parse().unwrap();
        for change in &calls()[number] {
            let dirs = change.made_dirs.iter();
            files.extend(dirs.map(|dir| (format!("{dir}/"), String::new())));
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            match &change.what {
                ChangeKind::Create { bytes, .. } => {
                    files.insert(change.path.clone(), text(bytes));
                }
                ChangeKind::Modify { bytes, mode, .. } => {
                    let mark = if *mode == 0o755 { "*" } else { "" };
                    files.insert(change.path.clone(), text(bytes) + mark);
                }
                ChangeKind::Copy { .. } => {
                    files.insert(change.path.clone(), String::from("new c"));
                }
                ChangeKind::Delete { .. } => {
                    files.remove(&change.path);
                }
            }
        }
    }
    files
}

fn check(disk: &SimDisk, marks: &[String]) {
    let fixture = WriteFixture::open(disk).unwrap();
    drop(fixture.take_turn(disk).unwrap());
    drop(fixture);
    let verified = verify(Subdirectory(disk.clone(), "ws"), LOG).unwrap();
    assert_eq!(verified.flaw, None);
    assert_eq!(files_on_disk(disk), files_by_log(disk));
    for mark in marks {
        let (outcome, number) = mark.split_once(' ').unwrap();
        let is_line_of_call =
            |line: &Value| line["call"] == number && line["ok"] == (outcome == "done");
        assert!(lines(disk).unwrap().iter().any(is_line_of_call), "{mark}");
    }
}

#[test]
fn log_and_files_agree_whatever_fails() {
    let trials = Trials::new().starting_from(&prepare_disk());
    trials.run(workload, check).unwrap();
}

#[test]
fn log_and_files_agree_when_the_power_fails_after_a_fault() {
    let trials = Trials::new()
        .starting_from(&prepare_disk())
        .images(2)
        .rounds(1);
    trials.crash_after_faults().run(workload, check).unwrap();
}

/// Settling can crash too.
#[test]
fn settling_can_be_interrupted_anywhere() {
    use candor_sim_disk::{DiskFault, Survival};
    let complete = prepare_disk().after(Survival::Everything);
    workload(&complete);
    for number in 0..complete.operations() {
        let disk = prepare_disk().after(Survival::Everything);
        disk.fail_at(number, DiskFault::Crash);
        workload(&disk);
        let crashed = disk.after(Survival::Everything);
        let settle = |disk: &SimDisk| {
            if let Some(fixture) = WriteFixture::open(disk) {
                drop(fixture.take_turn(disk));
            }
        };
        let trials = Trials::new().starting_from(&crashed).images(2).rounds(1);
        trials.run(settle, check).unwrap();
    }
}
