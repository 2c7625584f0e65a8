//! The place of a workspace's log: its root, or its state directory, which no agent can reach. The state
//! directory records the choice.

use crate::path::Root;
use crate::plan::durable::{self, IfExists};
use crate::state::{self, LOG};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The file in the state directory of a root that records the place of its log.
const FILE: &str = "log-place.json";

const MODE: u32 = 0o600;
const MAX_BYTES: usize = 1024;

/// The place of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogPlace {
    /// In the root of the workspace.
    #[default]
    Root,
    /// In the state directory of the root.
    State,
}

impl fmt::Display for LogPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            LogPlace::Root => "root",
            LogPlace::State => "state",
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedPlace {
    v: u64,
    log: LogPlace,
}

impl LogPlace {
    /// Reads the place of a root's log. `directory` is the state directory of the root.
    pub fn read(directory: &Path) -> io::Result<LogPlace> {
        let disk = match RealDisk::at(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogPlace::Root),
            opened => opened?,
        };
        let file = match disk.open(FILE, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogPlace::Root),
            opened => opened?,
        };
        let read: Option<RecordedPlace> = serde_json::from_slice(&file.read_all(MAX_BYTES)?).ok();
        match read {
            Some(RecordedPlace { v: 1, log }) => Ok(log),
            _ => {
                let message = format!("{FILE} in the state directory is damaged");
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }

    /// Records the place of a root's log; durable when this returns.
    pub fn record(self, directory: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(&RecordedPlace { v: 1, log: self })?;
        let disk = state::open(directory)?;
        durable::write(&disk, ".", FILE, MODE, &bytes, IfExists::Replace)
    }

    /// Returns the path of the newest file of the log.
    pub fn path(self, root: &Root, directory: &Path) -> PathBuf {
        match self {
            LogPlace::Root => root.path().join(LOG),
            LogPlace::State => directory.join(LOG),
        }
    }

    /// Opens the directory that contains the log.
    pub fn disk(self, root: &Root, directory: &Path) -> io::Result<RealDisk> {
        match self {
            LogPlace::Root => Ok(root.disk()),
            LogPlace::State => state::open(directory),
        }
    }
}

/// Opens the directory that contains the log of a root.
pub fn log_disk(root: &Root, directory: &Path) -> io::Result<RealDisk> {
    LogPlace::read(directory)?.disk(root, directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_the_root_until_another_one_is_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("state");
        assert_eq!(LogPlace::read(&own).unwrap(), LogPlace::Root);
        LogPlace::State.record(&own).unwrap();
        assert_eq!(LogPlace::read(&own).unwrap(), LogPlace::State);
        std::fs::write(own.join(FILE), "{}").unwrap();
        let damaged = LogPlace::read(&own).unwrap_err();
        assert_eq!(damaged.kind(), io::ErrorKind::InvalidData);
    }
}
