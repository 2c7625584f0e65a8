//! The log that several processes append to, on the real disk.

use candor_audit::{CheckpointFile, CheckpointWriter, LogOptions};
use candor_disk::RealDisk;
use std::path::Path;

/// The file of its checkpoints.
pub(crate) fn checkpoint_file(directory: &Path) -> CheckpointFile {
    let disk = RealDisk::at(directory.join("state")).unwrap();
    CheckpointFile::new(disk, "checkpoint")
}

pub(crate) fn options(directory: &Path) -> LogOptions {
    LogOptions {
        rotate_at: 100_000,
        checkpoints: Some(CheckpointWriter {
            files: vec![checkpoint_file(directory)],
            signer: None,
            now: Box::new(|| String::from("now")),
        }),
        ..LogOptions::default()
    }
}
