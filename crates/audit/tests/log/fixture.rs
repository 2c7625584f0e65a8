//! A log on a simulated disk, with its checkpoints on two others.

use candor_audit::{AppendReceipt, Checkpoint, CheckpointFile, CheckpointWriter, Log, LogOptions};
use candor_disk::{Disk, DiskFile, Open};
use candor_sim_disk::SimDisk;
use serde_json::{Map, Value, json};

pub(crate) fn members(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A log with two checkpoint files.
pub(crate) struct LogFixture {
    pub(crate) log: SimDisk,
    pub(crate) near: SimDisk,
    pub(crate) far: SimDisk,
}

impl LogFixture {
    pub(crate) fn new() -> LogFixture {
        LogFixture {
            log: SimDisk::new(1),
            near: SimDisk::new(2),
            far: SimDisk::new(3),
        }
    }

    pub(crate) fn options(&self) -> LogOptions {
        let files =
            [&self.near, &self.far].map(|disk| CheckpointFile::new(disk.clone(), "checkpoint"));
        LogOptions {
            checkpoints: Some(CheckpointWriter {
                files: files.into(),
                signer: None,
                now: Box::new(|| String::from("2026-01-02T03:04:05.678Z")),
            }),
            ..LogOptions::default()
        }
    }

    /// Appends `count` lines and closes the log.
    pub(crate) fn append(&self, count: u64, word: &str) -> Vec<AppendReceipt> {
        self.append_with(count, word, self.options())
    }

    pub(crate) fn append_with(
        &self,
        count: u64,
        word: &str,
        options: LogOptions,
    ) -> Vec<AppendReceipt> {
        let log = Log::open(self.log.clone(), "log", options).unwrap();
        let lines = (0..count).map(|n| members(json!({ "n": n, "word": word })));
        lines
            .map(|line| log.append_blocking(line).unwrap())
            .collect()
    }

    /// Reads both checkpoints.
    pub(crate) fn checkpoints(&self) -> Vec<Checkpoint> {
        [&self.near, &self.far].map(checkpoint).into()
    }

    pub(crate) fn text(&self) -> String {
        text(&self.log, "log")
    }

    /// Replaces the text of the log's current file.
    pub(crate) fn set(&self, text: &str) {
        set(&self.log, "log", text);
    }
}

pub(crate) fn checkpoint(disk: &SimDisk) -> Checkpoint {
    let file = CheckpointFile::new(disk.clone(), "checkpoint");
    file.read().unwrap().unwrap()
}

pub(crate) fn text(disk: &SimDisk, name: &str) -> String {
    let file = disk.open(name, Open::Read).unwrap();
    String::from_utf8(file.read_all(1 << 24).unwrap()).unwrap()
}

pub(crate) fn set(disk: &SimDisk, name: &str, text: &str) {
    let file = disk.open(name, Open::Create(0o600)).unwrap();
    file.set_len(0).unwrap();
    file.append_all(text.as_bytes()).unwrap();
}
