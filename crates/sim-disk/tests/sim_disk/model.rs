//! The rules of the model, one by one.

use candor_disk::{Disk, DiskFile, Open};
use candor_sim_disk::{DiskFault, SimDisk, Survival};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;

const NEW: Open = Open::CreateNew(0o600);

fn code<T: Debug>(result: io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

/// Creates a file with these bytes and syncs nothing.
fn put(disk: &SimDisk, path: &str, bytes: &str) {
    let file = disk.open(path, NEW).unwrap();
    file.append_all(bytes.as_bytes()).unwrap();
}

/// Creates a file that contains its path; content and name are durable.
fn put_durable(disk: &SimDisk, dir: &str, path: &str) {
    put(disk, path, path);
    disk.open(path, Open::Edit).unwrap().sync_all().unwrap();
    disk.sync_dir(dir).unwrap();
}

/// Returns every file of a disk with its bytes, as one line.
fn show(disk: &SimDisk, dir: &str) -> String {
    let mut shown = Vec::new();
    for name in disk.list(dir).unwrap() {
        let path = format!("{dir}/{}", name.to_str().unwrap());
        let path = path.trim_start_matches('/');
        match disk.open(path, Open::Read) {
            Ok(file) => {
                let bytes = file.read_all(1000).unwrap();
                shown.push(format!("{path}={}", String::from_utf8_lossy(&bytes)));
            }
            Err(_) => shown.push(format!("{path}/ {}", show(disk, path)).trim().to_string()),
        }
    }
    shown.join(" ")
}

/// Returns every disk that a power failure may leave.
fn images(disk: &SimDisk) -> BTreeSet<String> {
    let chance = (0..500).map(Survival::Chance);
    let all = chance.chain([Survival::Synced]);
    all.map(|survival| show(&disk.after(survival), ""))
        .collect()
}

fn set<const N: usize>(images: [&str; N]) -> BTreeSet<String> {
    images.map(str::to_string).into()
}

#[test]
fn name_and_content_are_synced_separately() {
    let disk = SimDisk::new(0);
    put(&disk, "f", "x");
    let file = disk.open("f", Open::Edit).unwrap();
    file.sync_all().unwrap();
    assert_eq!(images(&disk), set(["", "f=x"]));
    disk.sync_dir("").unwrap();
    assert_eq!(images(&disk), set(["f=x"]));
    file.write_all_at(b"y", 0).unwrap();
    assert_eq!(images(&disk), set(["f=x", "f=y"]));
}

#[test]
fn unsynced_changes_survive_independently() {
    let disk = SimDisk::new(0);
    put_durable(&disk, "", "a");
    put_durable(&disk, "", "b");
    for name in ["a", "b"] {
        let file = disk.open(name, Open::Edit).unwrap();
        file.write_all_at(b"!", 0).unwrap();
    }
    let both = set(["a=a b=b", "a=! b=b", "a=a b=!", "a=! b=!"]);
    assert_eq!(images(&disk), both);
    disk.after(Survival::Chance(1));
    disk.unlink("a").unwrap();
    disk.unlink("b").unwrap();
    let names = images(&disk);
    assert!(names.contains("") && names.contains("a=a b=b"));
    assert!(names.contains("a=a") && names.contains("b=b"));
}

#[test]
fn single_loss_and_single_survivor_are_not_rare() {
    let disk = SimDisk::new(0);
    for number in 0..20 {
        disk.create_dir(number.to_string(), 0o700).unwrap();
    }
    let kept = |seed| disk.after(Survival::Chance(seed)).list("").unwrap().len();
    let kept: BTreeSet<_> = (0..200).map(kept).collect();
    assert!(kept.contains(&1) && kept.contains(&10) && kept.contains(&19));
}

#[test]
fn rename_is_atomic() {
    let disk = SimDisk::new(0);
    put_durable(&disk, "", "old");
    put_durable(&disk, "", "new");
    disk.rename("new", "old").unwrap();
    assert_eq!(images(&disk), set(["new=new old=old", "old=new"]));
    disk.sync_dir("").unwrap();
    assert_eq!(images(&disk), set(["old=new"]));
}

#[test]
fn changes_of_one_name_keep_their_order() {
    let disk = SimDisk::new(0);
    put_durable(&disk, "", "log");
    disk.rename("log", "log.1").unwrap();
    put(&disk, "log", "");
    let rotated = set(["log=log", "log.1=log", "log= log.1=log"]);
    assert_eq!(images(&disk), rotated);
}

#[test]
fn lost_directory_contains_nothing() {
    let disk = SimDisk::new(0);
    put_durable(&disk, "", "f");
    disk.create_dir("d", 0o700).unwrap();
    disk.rename("f", "d/f").unwrap();
    assert_eq!(images(&disk), set(["f=f", "d/ f=f", "d/ d/f=f"]));
}

#[test]
fn move_between_directories_is_synced_in_both() {
    let start = || {
        let disk = SimDisk::new(0);
        disk.create_dir("a", 0o700).unwrap();
        disk.create_dir("b", 0o700).unwrap();
        disk.sync_dir("").unwrap();
        put_durable(&disk, "a", "a/f");
        disk.rename("a/f", "b/f").unwrap();
        disk
    };
    let (before, after) = ("a/ a/f=a/f b/", "a/ b/ b/f=a/f");
    let disk = start();
    assert_eq!(images(&disk), set([before, after]));
    disk.sync_dir("b").unwrap();
    assert_eq!(images(&disk), set(["a/ a/f=a/f b/ b/f=a/f", after]));
    disk.sync_dir("a").unwrap();
    assert_eq!(images(&disk), set([after]));
    let wrong_order = start();
    wrong_order.sync_dir("a").unwrap();
    assert_eq!(images(&wrong_order), set(["a/ b/", after]));
}

#[test]
fn directory_move_is_atomic() {
    let disk = SimDisk::new(0);
    disk.create_dir("a", 0o700).unwrap();
    disk.create_dir("b", 0o700).unwrap();
    disk.sync_dir("").unwrap();
    put_durable(&disk, "a", "a/f");
    disk.rename("a", "b/a").unwrap();
    let after = "b/ b/a/ b/a/f=a/f";
    assert_eq!(images(&disk), set(["a/ a/f=a/f b/", after]));
    disk.sync_dir("").unwrap();
    assert_eq!(images(&disk), set([after]));
}

#[test]
fn replaced_directory_loses_its_pending_changes() {
    let disk = SimDisk::new(0);
    disk.create_dir("a", 0o700).unwrap();
    disk.create_dir("b", 0o700).unwrap();
    put(&disk, "b/f", "");
    disk.unlink("b/f").unwrap();
    disk.rename("a", "b").unwrap();
    assert!(!disk.is_synced());
    disk.sync_dir("").unwrap();
    assert!(disk.is_synced());
    assert_eq!(images(&disk), set(["b/"]));
}

#[test]
fn crash_interrupts_the_operation() {
    let disk = SimDisk::new(0);
    put_durable(&disk, "", "f");
    let file = disk.open("f", Open::Edit).unwrap();
    disk.fail_at(disk.operations(), DiskFault::Crash);
    assert_eq!(code(file.append(b"!")), 108);
    assert!(disk.is_dead());
    disk.mark("too late");
    assert!(disk.marks().is_empty());
    assert_eq!(code(disk.list("")), 108);
    assert_eq!(code(file.try_lock()), 108);
    assert_eq!(show(&disk.after(Survival::Everything), ""), "f=f!");
    assert_eq!(show(&disk.after(Survival::Synced), ""), "f=f");
    let found = images(&disk);
    assert!(found.contains("f=f") && found.contains("f=f!"));
}

#[test]
fn same_seed_gives_the_same_disk() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        for name in ["a", "b", "c", "d", "e"] {
            put(&disk, name, &name.repeat(100));
        }
        disk.sync_dir("").unwrap();
        show(&disk.crash(), "")
    };
    assert_eq!(run(7), run(7));
    let different: BTreeSet<_> = (0..20).map(run).collect();
    assert!(different.len() > 10);
}

#[test]
fn faults_return_system_codes_once() {
    let disk = SimDisk::new(0);
    let file = disk.open("f", NEW).unwrap();
    let next = |fault| disk.fail_at(disk.operations(), fault);
    next(DiskFault::Enospc);
    assert_eq!(code(file.append(b"abc")), 28);
    assert_eq!(file.len().unwrap(), 0);
    next(DiskFault::Eio);
    assert_eq!(code(file.append(b"abc")), 5);
    file.set_len(0).unwrap();
    next(DiskFault::Short);
    assert!((1..3).contains(&file.append(b"abc").unwrap()));
    file.set_len(0).unwrap();
    next(DiskFault::Short);
    file.append_all(b"abc").unwrap();
    next(DiskFault::Eio);
    assert_eq!(code(file.read_all(10)), 5);
    assert_eq!(file.read_all(10).unwrap(), b"abc");
    next(DiskFault::Eio);
    assert_eq!(code(disk.rename("f", "g")), 5);
    next(DiskFault::Enospc);
    assert_eq!(code(disk.create_dir("d", 0o700)), 28);
    assert_eq!(show(&disk, ""), "f=abc");
    next(DiskFault::Short);
    disk.unlink("f").unwrap();
}

#[test]
fn space_is_allocated_in_blocks_and_released() {
    let disk = SimDisk::new(0);
    disk.set_capacity(3 * 4096);
    let file = disk.open("f", NEW).unwrap();
    assert_eq!(file.append(&[1; 20_000]).unwrap(), 3 * 4096);
    assert_eq!(code(file.append(b"x")), 28);
    let other = disk.open("g", NEW).unwrap();
    assert_eq!(code(other.append(b"x")), 28);
    file.set_len(4096).unwrap();
    other.reserve(4096).unwrap();
    assert_eq!(code(other.reserve(3 * 4096)), 28);
    file.append_all(&[2; 4096]).unwrap();
    assert_eq!(code(file.append(b"x")), 28);
    other.append_all(&[3; 4096]).unwrap();
    disk.unlink("f").unwrap();
    other.append_all(&[3; 2 * 4096]).unwrap();
    assert_eq!(code(file.append_all(&[0; 1 << 29])), 27);
}

#[test]
fn names_stay_unknown_after_a_failed_directory_sync() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        put_durable(&disk, "", "old");
        put(&disk, "new", "");
        disk.unlink("old").unwrap();
        disk.fail_at(disk.operations(), DiskFault::Eio);
        assert_eq!(code(disk.sync_dir("")), 5);
        assert_eq!(show(&disk, ""), "new=");
        disk.sync_dir("").unwrap();
        show(&disk.after(Survival::Synced), "")
    };
    let found: BTreeSet<_> = (0..50).map(run).collect();
    assert_eq!(found, set(["", "new=", "new= old=old", "old=old"]));
}

#[test]
fn locks_end_with_the_handle_and_with_the_process() {
    let disk = SimDisk::new(0);
    let first = disk.open("lock", NEW).unwrap();
    let second = disk.open("lock", Open::Edit).unwrap();
    assert!(first.try_lock().unwrap() && first.try_lock().unwrap());
    assert!(!second.try_lock().unwrap());
    let next = disk.after(Survival::Everything);
    let third = next.open("lock", Open::Edit).unwrap();
    assert!(third.try_lock().unwrap());
    drop(first);
    assert!(second.try_lock().unwrap());
}
