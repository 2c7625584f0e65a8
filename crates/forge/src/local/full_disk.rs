//! Recognises a full disk as the reason why git could not write.
//!
//! libgit2 reports such a failure without the error of the operating system, so the disk is asked by
//! writing a file.

use super::LocalForge;
use super::errors::{is_full, run_blocking};
use crate::{Failure, RepoName};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// The file that is written in a repository and removed again.
const PROBE_FILE: &str = "candor.probe";

/// The bytes that a disk with room takes. A write of git needs a few blocks at least.
const PROBE_BYTES: usize = 256 * 1024;

/// Returns true if a directory has no room for a file.
fn is_disk_full(dir: &Path) -> bool {
    let path = dir.join(PROBE_FILE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; PROBE_BYTES])?;
        file.sync_data()
    });
    drop(fs::remove_file(&path));
    written.is_err_and(|error| is_full(&error))
}

impl LocalForge {
    /// Returns the result of a change, with a full disk as the reason if git failed on one.
    pub(super) async fn name_full_disk<T>(
        &self,
        repo: &RepoName,
        changed: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        // An object that could not be written may be reported as one that is missing.
        let failure = match changed.await {
            Err(failure @ (Failure::Broken(..) | Failure::Damaged(..))) => failure,
            other => return other,
        };
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        let full = run_blocking(move || Ok(is_disk_full(&root.find(&repo)?.path))).await;
        Err(match (full, failure) {
            (Ok(true), Failure::Broken(_, cause) | Failure::Damaged(_, cause)) => {
                Failure::DiskFull(cause)
            }
            (_, failure) => failure,
        })
    }
}
