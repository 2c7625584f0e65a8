//! The log that several processes append to, on the real disk.

use candor_audit::{Checkpoints, Options, Place};
use candor_disk::RealDisk;
use std::path::Path;

/// The file of its checkpoints.
pub(crate) fn checkpoint_file(directory: &Path) -> Place {
    let disk = RealDisk::at(directory.join("state")).unwrap();
    Place::new(disk, "checkpoint")
}

pub(crate) fn options(directory: &Path) -> Options {
    Options {
        rotate_at: 100_000,
        checkpoints: Some(Checkpoints {
            places: vec![checkpoint_file(directory)],
            signer: None,
            now: Box::new(|| String::from("now")),
        }),
        ..Options::default()
    }
}
