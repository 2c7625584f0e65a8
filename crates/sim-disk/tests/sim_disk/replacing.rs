//! Replacing a file: the correct protocol never fails, and each omitted step is detected.

use candor_disk::{Disk, DiskFile, Open};
use candor_sim_disk::{DiskFault, SimDisk, TrialFailure, TrialSummary, Trials};
use std::io;

/// The random images of a crash that are enough to detect a wrong protocol.
const FEW: u64 = 8;

type Protocol = fn(&SimDisk, &[u8]) -> io::Result<()>;

fn version(number: usize) -> Vec<u8> {
    let line = format!("version {number}\n");
    line.repeat(100 - 30 * number).into_bytes()
}

/// Returns a disk on which version 0 is durable.
fn prepared() -> SimDisk {
    let disk = SimDisk::new(0);
    disk.create_dir("d", 0o700).unwrap();
    disk.sync_dir("").unwrap();
    right(&disk, &version(0)).unwrap();
    assert!(disk.is_synced());
    disk
}

fn right(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    let replaced = prepare_and_rename(disk, bytes, true);
    if replaced.is_err() {
        // The result does not matter: nobody reads the temporary file.
        disk.unlink("d/file.tmp").ok();
    }
    replaced?;
    disk.sync_dir("d")
}

fn prepare_and_rename(disk: &SimDisk, bytes: &[u8], sync: bool) -> io::Result<()> {
    let file = disk.open("d/file.tmp", Open::Create(0o600))?;
    file.set_len(0)?;
    file.append_all(bytes)?;
    if sync {
        file.sync_all()?;
    }
    disk.rename("d/file.tmp", "d/file")
}

fn without_sync_of_the_file(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    prepare_and_rename(disk, bytes, false)?;
    disk.sync_dir("d")
}

fn without_sync_of_the_directory(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    prepare_and_rename(disk, bytes, true)
}

fn sync_of_the_wrong_directory(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    prepare_and_rename(disk, bytes, true)?;
    disk.sync_dir("")
}

fn in_place(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open("d/file", Open::Create(0o600))?;
    file.set_len(0)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    disk.sync_dir("d")
}

fn unlinked_before_the_rename(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open("d/file.tmp", Open::Create(0o600))?;
    file.set_len(0)?;
    file.append_all(bytes)?;
    file.sync_all()?;
    disk.unlink("d/file")?;
    disk.rename_new("d/file.tmp", "d/file")?;
    disk.sync_dir("d")
}

fn ignoring_a_short_write(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open("d/file.tmp", Open::Create(0o600))?;
    file.set_len(0)?;
    file.append(bytes)?;
    file.sync_all()?;
    disk.rename("d/file.tmp", "d/file")?;
    disk.sync_dir("d")
}

fn syncing_again_after_a_failure(disk: &SimDisk, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open("d/file.tmp", Open::Create(0o600))?;
    file.set_len(0)?;
    file.append_all(bytes)?;
    file.sync_all().or_else(|_| file.sync_all())?;
    disk.rename("d/file.tmp", "d/file")?;
    disk.sync_dir("d")
}

/// Writes versions 1 and 2, continues after errors, and marks those that were acknowledged.
fn trials(protocol: Protocol, trials: Trials) -> Result<TrialSummary, TrialFailure> {
    let workload = |disk: &SimDisk| {
        for number in 1..3 {
            if protocol(disk, &version(number)).is_ok() {
                disk.mark(number);
            }
        }
    };
    let check = |disk: &SimDisk, acknowledged: &[String]| {
        let file = disk.open("d/file", Open::Read).expect("the file is there");
        let found = file.read_all(10_000).unwrap();
        let found = (0..3).find(|number| version(*number) == found);
        let found = found.expect("the file is some version, whole");
        let last = acknowledged.last().map_or(0, |mark| mark.parse().unwrap());
        assert!(
            found >= last,
            "version {last} was acknowledged, found {found}"
        );
    };
    trials.starting_from(&prepared()).run(workload, check)
}

#[test]
fn correct_protocol_never_fails() {
    let all = Trials::new().images(32).rounds(8).crash_after_faults();
    let summary = trials(right, all).unwrap();
    assert!(
        summary.operations >= 12 && summary.checks > 10_000,
        "{summary:?}"
    );
}

#[track_caller]
fn detected(protocol: Protocol, message: &str) -> TrialFailure {
    let few = Trials::new().images(FEW);
    let failure = trials(protocol, few).expect_err("detected");
    assert!(failure.message.contains(message), "{failure}");
    failure
}

#[test]
fn missing_file_sync_is_detected() {
    detected(without_sync_of_the_file, "whole");
}

#[test]
fn missing_directory_sync_is_detected() {
    detected(without_sync_of_the_directory, "was acknowledged");
    detected(sync_of_the_wrong_directory, "was acknowledged");
}

#[test]
fn writing_in_place_is_detected() {
    detected(in_place, "whole");
}

#[test]
fn moment_without_the_file_is_detected() {
    detected(unlinked_before_the_rename, "is there");
}

#[test]
fn ignored_short_write_is_detected() {
    let failure = detected(ignoring_a_short_write, "whole");
    assert!(
        failure
            .faults
            .iter()
            .all(|(_, fault)| *fault != DiskFault::Crash)
    );
}

#[test]
fn repeated_sync_after_a_failure_is_detected() {
    let few = Trials::new()
        .faults(&[DiskFault::Eio])
        .rounds(4)
        .images(FEW);
    let failure = trials(syncing_again_after_a_failure, few).expect_err("detected");
    assert!(failure.message.contains("whole"), "{failure}");
}

#[test]
fn failure_contains_all_that_is_needed_to_repeat_it() {
    let said = format!("{:?}", detected(without_sync_of_the_file, "whole"));
    for part in ["faults: [", "survived: ", "Rename", "file.tmp"] {
        assert!(said.contains(part), "{part} in\n{said}");
    }
    let panics = Trials::new().run(|_| panic!("here"), |_, _| {});
    assert!(panics.unwrap_err().to_string().starts_with("here"));
}
