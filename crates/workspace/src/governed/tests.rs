//! Governed files on the simulated disk: after any fault the tree agrees with the log.

use super::{GovernedRun, SavedBytes, SnapshotError, recover, remove_abandoned};
use crate::plan::Operation;
use crate::write::{ChangeOrigin, SettleError};
use candor_audit::{Log, LogOptions, lines};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_sim_disk::{SimDisk, Subdirectory, Trials};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

const LOG: &str = "log";

type Files = BTreeMap<String, String>;

fn write<D: Disk>(disk: &D, path: &str, text: &str) -> Option<()> {
    let file = disk.open(path, Open::Create(0o644)).ok()?;
    file.set_len(0).ok()?;
    file.append_all(text.as_bytes()).ok()
}

fn prepare_disk() -> SimDisk {
    let disk = SimDisk::new(0);
    for dir in ["ws", "ws/src", "ws/src/old", "state"] {
        disk.create_dir(dir, 0o755).unwrap();
    }
    for (path, text) in [
        ("ws/.gitignore", "*.log\n"),
        ("ws/src/a", "old a"),
        ("ws/src/b", "old b"),
        ("ws/src/old/c", "old c"),
        ("ws/src/x.log", "ignored"),
    ] {
        write(&disk, path, text).unwrap();
        disk.open(path, Open::Read).unwrap().sync_all().unwrap();
    }
    for dir in ["", "ws", "ws/src", "ws/src/old"] {
        disk.sync_dir(dir).unwrap();
    }
    disk
}

/// Returns the files of the tree that git does not ignore.
fn files_on_disk(disk: &SimDisk) -> Files {
    let root = Subdirectory(disk.clone(), "ws");
    let mut files = Files::new();
    let mut dirs = vec![String::from("src")];
    while let Some(dir) = dirs.pop() {
        for name in root.list(&dir).unwrap() {
            let path = format!("{dir}/{}", name.to_str().unwrap());
            match root.open(&path, Open::Read) {
                Ok(_) if path.ends_with(".log") => {}
                Ok(file) => {
                    let bytes = file.read_all(1 << 20).unwrap();
                    files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
                }
                Err(_) => dirs.push(path),
            }
        }
    }
    files
}

fn files(all: &[(&str, &str)]) -> Files {
    let all = all.iter();
    all.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn origin(number: u64) -> ChangeOrigin {
    ChangeOrigin {
        session_id: String::from("s"),
        request_id: number.to_string(),
        tool_name: String::from("run_command"),
        args_hash: String::new(),
        after_seq: 0,
    }
}

fn members(line: Value) -> Map<String, Value> {
    line.as_object().unwrap().clone()
}

fn open_log(disk: &SimDisk) -> Option<Log> {
    Log::open(disk.clone(), LOG, LogOptions::default()).ok()
}

/// Pretends to be a command: changes, removes and creates files, and syncs nothing.
fn command(root: &Subdirectory, number: u64) -> Option<()> {
    write(root, "src/a", &format!("new a {number}"))?;
    write(root, "src/x.log", "ignored too")?;
    if number == 0 {
        root.unlink("src/old/c").ok()?;
        root.remove_dir("src/old").ok()?;
        root.create_dir("src/new", 0o755).ok()?;
        write(root, "src/new/d", "new d")?;
        // Rules that a command writes do not hold for itself.
        write(root, "src/.gitignore", "*.hidden\n")?;
        return write(root, "src/f.hidden", "new f");
    }
    root.unlink("src/new/d").ok()?;
    write(root, "src/e", "new e")
}

/// Runs two calls: the first is recorded, the second is refused and put back.
fn workload(disk: &SimDisk) {
    let _ = try_workload(disk);
}

fn try_workload(disk: &SimDisk) -> Option<()> {
    let root = Subdirectory(disk.clone(), "ws");
    let state = Subdirectory(disk.clone(), "state");
    let log = open_log(disk)?;
    let mut saved = SavedBytes::new(state.clone(), "s");
    for number in 0..2 {
        let mut run = GovernedRun::begin(
            root.clone(),
            state.clone(),
            &mut saved,
            &[String::from("src")],
            BTreeSet::new(),
            origin(number),
        )
        .ok()?;
        let start = json!({ "start": number.to_string() });
        log.append_blocking(members(start)).ok()?;
        let ran = command(&root, number);
        let changes = run.changes();
        if number == 0 && ran.is_some() {
            changes.ok()?;
            run.sync().ok()?;
            let line = json!({ "call": number.to_string(), "ok": true });
            log.append_blocking(members(line)).ok()?;
            disk.mark(format!("done {number}"));
            run.keep().ok()?;
        } else {
            run.undo().ok()?;
            let line = json!({ "call": number.to_string(), "ok": false });
            log.append_blocking(members(line)).ok()?;
            disk.mark(format!("failed {number}"));
        }
    }
    saved.remove().ok()
}

fn log_lines(disk: &SimDisk) -> io::Result<Vec<Value>> {
    let lines = lines(disk.clone(), LOG, 1)?;
    let lines = lines.map(|line| Ok(serde_json::from_slice(&line?.bytes)?));
    lines.collect()
}

/// Returns true if the log has the line of a call that was made.
fn is_recorded(disk: &SimDisk, log: &Log, about: &ChangeOrigin) -> Result<bool, SettleError> {
    log.settle_blocking().map_err(SettleError::Log)?;
    let is_own = |line: &Value| line["call"] == about.request_id && line["ok"] == true;
    Ok(log_lines(disk)?.iter().any(is_own))
}

/// Puts back what a dead process left, on record.
fn settle(disk: &SimDisk) -> Result<(), SettleError> {
    let log = Log::open(disk.clone(), LOG, LogOptions::default()).map_err(SettleError::Log)?;
    let root = Subdirectory(disk.clone(), "ws");
    let state = Subdirectory(disk.clone(), "state");
    let recorded = |about: &ChangeOrigin| is_recorded(disk, &log, about);
    recover(&root, &state, recorded, |recovered| {
        let line = json!({ "call": recovered.about.request_id, "ok": false });
        log.append_blocking(members(line))
            .map_err(SettleError::Log)?;
        Ok(())
    })
}

fn check(disk: &SimDisk, marks: &[String]) {
    settle(disk).unwrap();
    let state = Subdirectory(disk.clone(), "state");
    remove_abandoned(&state).unwrap();
    assert!(super::pending_entry(&state).unwrap().is_none());
    let lines = log_lines(disk).unwrap();
    let is_done = lines
        .iter()
        .any(|line| line["call"] == "0" && line["ok"] == true);
    let expected = match is_done {
        false => files(&[
            ("src/a", "old a"),
            ("src/b", "old b"),
            ("src/old/c", "old c"),
        ]),
        true => files(&[
            ("src/.gitignore", "*.hidden\n"),
            ("src/a", "new a 0"),
            ("src/b", "old b"),
            ("src/f.hidden", "new f"),
            ("src/new/d", "new d"),
        ]),
    };
    assert_eq!(files_on_disk(disk), expected, "{lines:?}");
    for mark in marks {
        let (outcome, number) = mark.split_once(' ').unwrap();
        let is_own = |line: &Value| line["call"] == number && line["ok"] == (outcome == "done");
        assert!(lines.iter().any(is_own), "{mark}");
    }
    // Everything that was started has an end, unless nothing of it happened.
    for start in lines.iter().filter_map(|line| line["start"].as_str()) {
        let has_end = lines.iter().any(|line| line["call"] == start);
        assert!(has_end || is_done == (start == "1"), "{start}");
    }
    for name in state.list("governed").unwrap_or_default() {
        let name = name.into_string().unwrap();
        assert!(name.ends_with(".tmp"), "{name} is left");
    }
}

#[test]
fn tree_agrees_with_the_log_whatever_fails() {
    let trials = Trials::new().starting_from(&prepare_disk());
    trials.run(workload, check).unwrap();
}

/// Putting back can be interrupted too.
#[test]
fn putting_back_can_be_interrupted_anywhere() {
    use candor_sim_disk::{DiskFault, Survival};
    let whole = prepare_disk().after(Survival::Everything);
    workload(&whole);
    for number in (0..whole.operations()).step_by(7) {
        let disk = prepare_disk().after(Survival::Everything);
        disk.fail_at(number, DiskFault::Crash);
        workload(&disk);
        let crashed = disk.after(Survival::Everything);
        let trials = Trials::new().starting_from(&crashed).images(2).rounds(1);
        trials.run(|disk| drop(settle(disk)), check).unwrap();
    }
}

/// A tree on the real disk, with a state directory beside it.
struct RealTree {
    dir: tempfile::TempDir,
    root: RealDisk,
    state: RealDisk,
}

impl RealTree {
    fn new() -> RealTree {
        let dir = tempfile::tempdir().unwrap();
        for name in ["root/src/deep", "state"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let at = |name: &str| RealDisk::at(dir.path().join(name)).unwrap();
        let (root, state) = (at("root"), at("state"));
        let tree = RealTree { dir, root, state };
        for (path, text) in [("src/a", "a"), ("src/b", "b"), ("src/deep/c", "c")] {
            std::fs::write(tree.path(path), text).unwrap();
        }
        std::os::unix::fs::symlink("a", tree.path("src/link")).unwrap();
        tree
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join("root").join(path)
    }

    fn begin(&self) -> GovernedRun<RealDisk> {
        self.try_begin().unwrap()
    }

    fn try_begin(&self) -> Result<GovernedRun<RealDisk>, SnapshotError> {
        let mut saved = SavedBytes::new(self.state.clone(), "s");
        let writable = [String::from("src")];
        let (root, state) = (self.root.clone(), self.state.clone());
        let tracked = BTreeSet::new();
        GovernedRun::begin(root, state, &mut saved, &writable, tracked, origin(0))
    }

    fn look(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut todo = vec![self.path("src")];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let shown = path
                    .strip_prefix(self.dir.path())
                    .unwrap()
                    .display()
                    .to_string();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_symlink() {
                    let target = std::fs::read_link(&path).unwrap();
                    all.push(format!("{shown} -> {}", target.display()));
                } else if metadata.is_dir() {
                    all.push(format!("{shown}/"));
                    todo.push(path);
                } else {
                    all.push(format!(
                        "{shown}: {}",
                        std::fs::read_to_string(&path).unwrap()
                    ));
                }
            }
        }
        all.sort_unstable();
        all
    }
}

#[test]
fn every_kind_of_change_is_found_and_put_back() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let tree = RealTree::new();
    let before = tree.look();
    let mut run = tree.begin();
    fs::write(tree.path("src/a"), "A").unwrap();
    fs::remove_file(tree.path("src/b")).unwrap();
    fs::create_dir(tree.path("src/b")).unwrap();
    fs::write(tree.path("src/b/inside"), "x").unwrap();
    fs::remove_dir_all(tree.path("src/deep")).unwrap();
    symlink("/etc", tree.path("src/deep")).unwrap();
    fs::remove_file(tree.path("src/link")).unwrap();
    fs::write(tree.path("src/link"), "a file now").unwrap();
    fs::write(tree.path("src/tool"), "new").unwrap();
    fs::set_permissions(tree.path("src/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let found = run.changes().unwrap();
    assert!(found.odd.is_empty());
    let shown: Vec<_> = found
        .changes
        .iter()
        .map(|change| format!("{} {} {:?}", change.operation, change.path, change.mode))
        .collect();
    assert_eq!(
        shown,
        [
            "modify src/a Some(\"100644\")",
            "delete src/b None",
            "create src/b/inside Some(\"100644\")",
            "create src/deep None",
            "delete src/deep/c None",
            "modify src/link Some(\"100644\")",
            "create src/tool Some(\"100755\")",
        ]
    );
    assert_eq!(
        run.bytes_before("src/a").unwrap().as_deref(),
        Some(&b"a"[..])
    );
    assert_eq!(run.bytes_before("src/tool").unwrap(), None);
    run.undo().unwrap();
    assert_eq!(tree.look(), before);
}

#[test]
fn mode_alone_is_a_change() {
    use std::os::unix::fs::PermissionsExt;
    let tree = RealTree::new();
    let mut run = tree.begin();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tree.path("src/a"), executable).unwrap();
    let found = run.changes().unwrap().changes;
    assert_eq!((found.len(), found[0].operation), (1, Operation::Modify));
    assert_eq!(found[0].before, found[0].after);
    run.undo().unwrap();
    let mode = std::fs::metadata(tree.path("src/a"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn pipes_that_appear_are_found_and_removed() {
    let tree = RealTree::new();
    let before = tree.look();
    let mut run = tree.begin();
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, tree.path("src/pipe"), fifo, mode, 0).unwrap();
    let found = run.changes().unwrap();
    assert_eq!(found.odd, [Path::new("src/pipe")]);
    run.undo().unwrap();
    assert_eq!(tree.look(), before);
}

#[test]
fn number_of_governed_files_is_bounded() {
    let tree = RealTree::new();
    for number in 0..super::MAX_GOVERNED_FILES {
        std::fs::write(tree.path(&format!("src/deep/{number}")), "").unwrap();
    }
    let begun = tree.try_begin();
    assert!(matches!(begun, Err(SnapshotError::TooLarge)));
    assert!(super::pending_entry(&tree.state).unwrap().is_none());
}

#[test]
fn size_of_governed_files_is_bounded() {
    let tree = RealTree::new();
    let large = std::fs::File::create(tree.path("src/large")).unwrap();
    large.set_len(super::MAX_GOVERNED_BYTES).unwrap();
    let begun = tree.try_begin();
    assert!(matches!(begun, Err(SnapshotError::TooLarge)));
}

/// Links are swapped in and out of the writable directory by another process while its difference is taken
/// and put back. Nothing outside changes.
#[test]
fn swapped_links_lead_nowhere() {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    let tree = RealTree::new();
    let outside = tree.dir.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    for name in ["a", "b", "deep/c"] {
        fs::write(outside.join(name), "outside").unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let (src, aside, link) = (tree.path("src"), tree.path("aside"), tree.path("link"));
            let mut swaps = 0;
            while swaps < 10_000 && !stop.load(Ordering::Relaxed) {
                let _ = symlink(&outside, &link);
                if fs::rename(&src, &aside).is_ok() {
                    let _ = fs::rename(&link, &src);
                    std::thread::yield_now();
                    let _ = fs::remove_file(&src);
                    let _ = fs::rename(&aside, &src);
                }
                swaps += 1;
            }
            let _ = fs::remove_file(&link);
            swaps
        });
        while !swapper.is_finished() {
            let begun = tree.try_begin();
            if let Ok(mut run) = begun {
                // The change of a command, wherever the directory is now.
                if let Ok(file) = tree.root.open("aside/a", Open::Edit) {
                    let _ = file.write_all_at(b"changed", 0);
                }
                let _ = run.changes();
                let _ = run.undo();
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(swapper.join().unwrap(), 10_000);
    });
    for name in ["a", "b", "deep/c"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "outside");
    }
    let mut names: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "deep"]);
}
