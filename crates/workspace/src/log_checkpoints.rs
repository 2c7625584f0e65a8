//! The checkpoints of a workspace's log: the one in the state directory, and those in the other
//! directories that the state directory remembers. So that a checkpoint that disappears is noticed,
//! a directory that was used once is never forgotten silently.

use crate::plan::durable::{self, IfExists};
use crate::state;
use candor_audit::{CheckpointFile, KnownCheckpoint, LogAnchor, PublicKey, Signer};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The checkpoint of a root's log, in its state directory.
pub const CHECKPOINT: &str = "checkpoint.json";

/// The file in the state directory of a root that lists its other checkpoint directories.
pub const CHECKPOINT_PLACES: &str = "checkpoint-places.json";

/// The maximum number of directories that are remembered.
pub const MAX_CHECKPOINT_PLACES: usize = 64;

/// The file in the state directory of a root that records the last line that was moved away.
pub const ANCHOR: &str = "retired.json";

const MODE: u32 = 0o600;
const MAX_BYTES: usize = 1024 * 1024;
const VERSION: u64 = 1;

/// The content of [`CHECKPOINT_PLACES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberedPlaces {
    v: u64,
    /// The directories that were given with `--checkpoint-to`.
    places: Vec<PathBuf>,
    /// The public key that signs the checkpoints, in OpenSSH's format, once one was used.
    key: Option<String>,
}

impl Default for RememberedPlaces {
    fn default() -> Self {
        RememberedPlaces {
            v: VERSION,
            places: Vec::new(),
            key: None,
        }
    }
}

/// The checkpoints that are known for the log of a root.
#[derive(Debug)]
pub struct LogCheckpoints {
    /// The state directory of the root.
    directory: PathBuf,
    /// `None` if nothing was remembered yet.
    remembered: Option<RememberedPlaces>,
    key: Option<PublicKey>,
    anchor: Option<LogAnchor>,
}

impl LogCheckpoints {
    /// Reads what the state directory of a root remembers. Returns `None` if there is no such
    /// directory.
    pub fn load(directory: &Path) -> io::Result<Option<LogCheckpoints>> {
        let disk = match RealDisk::at(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let remembered = read(&disk)?;
        let key = remembered.as_ref().and_then(|read| read.key.as_deref());
        let key = key.map(PublicKey::from_openssh).transpose();
        Ok(Some(LogCheckpoints {
            anchor: read_anchor(&disk)?,
            directory: directory.to_owned(),
            key: key.map_err(|_| damaged())?,
            remembered,
        }))
    }

    /// Returns true if a session or a person has used a checkpoint of this log before.
    pub fn were_used(&self) -> bool {
        self.remembered.is_some()
    }

    /// Returns the key that has signed the checkpoints, if one has.
    pub fn key(&self) -> Option<&PublicKey> {
        self.key.as_ref()
    }

    /// Returns the last line of the log that was moved away, if files were.
    pub fn anchor(&self) -> Option<&LogAnchor> {
        self.anchor.as_ref()
    }

    /// Stores the last line that was moved away; durable when this returns.
    pub fn save_anchor(&self, anchor: &LogAnchor) -> io::Result<()> {
        let disk = state::open(&self.directory)?;
        let bytes = serde_json::to_vec(anchor)?;
        durable::write(&disk, ".", ANCHOR, MODE, &bytes, IfExists::Replace)
    }

    /// Returns the path of every checkpoint file that should exist.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.directory.join(CHECKPOINT)];
        let places = self.remembered.iter().flat_map(|read| &read.places);
        paths.extend(places.map(|place| place.join(file_name(&self.directory))));
        paths
    }

    /// Reads every checkpoint that should exist, and those in further directories that do.
    pub fn read(&self, further: &[PathBuf]) -> Vec<KnownCheckpoint> {
        let paths = self.paths();
        let further = further
            .iter()
            .map(|dir| dir.join(file_name(&self.directory)));
        let further = further.filter(|path| !paths.contains(path) && path.exists());
        let all = paths.iter().cloned().chain(further);
        all.map(read_checkpoint).collect()
    }

    /// Remembers further directories, and the key that signs, if there is one.
    pub fn remember(&self, further: &[PathBuf], signer: Option<&Signer>) -> io::Result<()> {
        let mut new = self.remembered.clone().unwrap_or_default();
        for place in further {
            if !new.places.contains(place) {
                new.places.push(place.clone());
            }
        }
        if new.places.len() > MAX_CHECKPOINT_PLACES {
            return Err(io::Error::other(format!(
                "{CHECKPOINT_PLACES} would list more than {MAX_CHECKPOINT_PLACES} directories"
            )));
        }
        if let Some(signer) = signer {
            let key = signer.public_key().to_openssh();
            new.key = Some(key.map_err(|error| io::Error::other(error.to_string()))?);
        }
        if self.remembered.as_ref() == Some(&new) {
            return Ok(());
        }
        let disk = state::open(&self.directory)?;
        let mut bytes = serde_json::to_vec_pretty(&new)?;
        bytes.push(b'\n');
        durable::write(
            &disk,
            ".",
            CHECKPOINT_PLACES,
            MODE,
            &bytes,
            IfExists::Replace,
        )
    }
}

/// Returns the checkpoint files that a server writes: the one in the state directory of a root, and
/// one in each further directory, which is created.
pub(crate) fn checkpoint_files(
    directory: &Path,
    further: &[PathBuf],
) -> io::Result<Vec<CheckpointFile>> {
    let mut files = vec![CheckpointFile::new(state::open(directory)?, CHECKPOINT)];
    for elsewhere in further {
        let name = file_name(directory);
        files.push(CheckpointFile::new(state::open(elsewhere)?, &name));
    }
    Ok(files)
}

/// Returns the name of a root's checkpoint in a directory that several roots may share.
fn file_name(directory: &Path) -> String {
    let id = directory.file_name().unwrap_or_default().display();
    format!("{id}.{CHECKPOINT}")
}

fn read(disk: &RealDisk) -> io::Result<Option<RememberedPlaces>> {
    let file = match disk.open(CHECKPOINT_PLACES, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let read: RememberedPlaces =
        serde_json::from_slice(&file.read_all(MAX_BYTES)?).map_err(|_| damaged())?;
    match read.v == VERSION && read.places.len() <= MAX_CHECKPOINT_PLACES {
        true => Ok(Some(read)),
        false => Err(damaged()),
    }
}

fn damaged() -> io::Error {
    damaged_file(CHECKPOINT_PLACES)
}

fn damaged_file(name: &str) -> io::Error {
    let message = format!("{name} in the state directory is damaged");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn read_anchor(disk: &RealDisk) -> io::Result<Option<LogAnchor>> {
    let file = match disk.open(ANCHOR, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let anchor: LogAnchor =
        serde_json::from_slice(&file.read_all(MAX_BYTES)?).map_err(|_| damaged_file(ANCHOR))?;
    match anchor.v == VERSION {
        true => Ok(Some(anchor)),
        false => Err(damaged_file(ANCHOR)),
    }
}

/// Reads a checkpoint without creating its directory.
fn read_checkpoint(path: PathBuf) -> KnownCheckpoint {
    let (Some(dir), Some(name)) = (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) else {
        let content = candor_audit::CheckpointContent::Unavailable(io::ErrorKind::NotFound.into());
        return KnownCheckpoint { path, content };
    };
    match RealDisk::at(dir) {
        Ok(disk) => {
            let file = CheckpointFile::new(disk, name);
            KnownCheckpoint::read(path, &file)
        }
        Err(error) => KnownCheckpoint {
            path,
            content: candor_audit::CheckpointContent::Unavailable(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_audit::{CheckpointContent, PrivateKey};
    use ssh_key::Algorithm;
    use ssh_key::rand_core::OsRng;

    #[test]
    fn directories_and_key_are_remembered_once() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("0123456789abcdef");
        assert!(LogCheckpoints::load(&own).unwrap().is_none());
        state::open(&own).unwrap();
        let loaded = || LogCheckpoints::load(&own).unwrap().unwrap();
        assert!(!loaded().were_used());
        let key = PrivateKey::random(&mut OsRng, Algorithm::Ed25519).unwrap();
        let signer = Signer::new(key).unwrap();
        let place = dir.path().join("elsewhere");
        loaded()
            .remember(std::slice::from_ref(&place), Some(&signer))
            .unwrap();
        loaded()
            .remember(std::slice::from_ref(&place), None)
            .unwrap();
        let name = "0123456789abcdef.checkpoint.json";
        assert_eq!(loaded().paths(), [own.join(CHECKPOINT), place.join(name)]);
        assert_eq!(
            loaded().key().map(|key| key.key_data().clone()),
            Some(signer.public_key().key_data().clone())
        );
        // Neither directory has a checkpoint, and reading creates none.
        for known in loaded().read(&[dir.path().join("third")]) {
            assert!(matches!(known.content, CheckpointContent::Unavailable(_)));
        }
        assert!(!place.exists());
        std::fs::write(own.join(CHECKPOINT_PLACES), "{}").unwrap();
        let damaged = LogCheckpoints::load(&own).unwrap_err();
        assert_eq!(damaged.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn number_of_directories_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = LogCheckpoints::load(dir.path()).unwrap().unwrap();
        let places = |count| (0..count).map(|n| PathBuf::from(format!("/none/{n}")));
        let most: Vec<_> = places(MAX_CHECKPOINT_PLACES).collect();
        loaded.remember(&most, None).unwrap();
        let more: Vec<_> = places(MAX_CHECKPOINT_PLACES + 1).collect();
        assert!(loaded.remember(&more, None).is_err());
    }
}
