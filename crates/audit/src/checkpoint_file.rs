//! The file that contains the checkpoint of a log. It is replaced atomically, and its counter never
//! decreases.

use crate::checkpoint::{Checkpoint, LogPosition, MAX_CHECKPOINT, Signer};
use candor_disk::{Disk, DiskFile, Open};
use std::fmt;
use std::io;
use std::time::Duration;

const MODE: u32 = 0o600;

/// The time between two attempts to get the lock, and the time after which they end.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A file that contains the checkpoint of a log. It should be out of reach of those who can change
/// the log.
pub struct CheckpointFile(Box<dyn CheckpointStore>);

impl CheckpointFile {
    /// Names the file on a disk. `NAME.lock` and `NAME.new` are used too.
    pub fn new<D: Disk>(disk: D, name: &str) -> CheckpointFile {
        let name = name.to_owned();
        CheckpointFile(Box::new(StoredCheckpoint { disk, name }))
    }

    /// Reads the checkpoint, or returns `None` if there is no file.
    pub fn read(&self) -> io::Result<Option<Checkpoint>> {
        self.0.read()
    }

    /// Replaces the checkpoint. Returns false if the file already contains this position or a later
    /// one, or if it is signed and there is no key to sign the new one.
    pub(crate) fn replace(&self, new: &NewCheckpoint<'_>) -> io::Result<bool> {
        self.0.replace(new)
    }
}

impl fmt::Debug for CheckpointFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Place")
    }
}

/// The content of a new checkpoint.
pub(crate) struct NewCheckpoint<'a> {
    pub(crate) log: &'a str,
    pub(crate) position: LogPosition,
    pub(crate) signer: Option<&'a Signer>,
    pub(crate) now: &'a (dyn Fn() -> String + Send + Sync),
    pub(crate) replaces: Replaces,
}

/// The existing checkpoints that a new one may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaces {
    /// Those of an earlier position in the same chain. A signed one is replaced only by one that is
    /// signed with the same key.
    Earlier,
    /// Those of the same chain, whoever signed them: the owner has verified the log and signs its
    /// end.
    SameChain,
    /// All: the owner has started a new chain.
    Any,
}

/// Hides the disk type of a checkpoint file, so that one log can have files on different disks.
trait CheckpointStore: Send + Sync {
    fn read(&self) -> io::Result<Option<Checkpoint>>;
    fn replace(&self, new: &NewCheckpoint<'_>) -> io::Result<bool>;
}

struct StoredCheckpoint<D> {
    disk: D,
    name: String,
}

impl<D: Disk> StoredCheckpoint<D> {
    fn lock(&self) -> io::Result<D::File> {
        let lock = format!("{}.lock", self.name);
        let file = self.disk.open(lock, Open::Create(MODE))?;
        let mut waited = Duration::ZERO;
        while !file.try_lock()? {
            if waited >= LOCK_TIMEOUT {
                let held = "another process holds the lock of the checkpoint";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, held));
            }
            std::thread::sleep(RETRY_INTERVAL);
            waited += RETRY_INTERVAL;
        }
        Ok(file)
    }

    /// Replaces the file atomically: after a failure it is the old one or the new one.
    fn replace_file(&self, text: &[u8]) -> io::Result<()> {
        let draft = format!("{}.new", self.name);
        // A file whose sync failed once cannot be relied on: a new one is created.
        match self.disk.unlink(&draft) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            gone => gone?,
        }
        let file = self.disk.open(&draft, Open::CreateNew(MODE))?;
        file.append_all(text)?;
        file.sync_all()?;
        self.disk.rename(&draft, &self.name)?;
        self.disk.sync_dir("")
    }
}

impl<D: Disk> CheckpointStore for StoredCheckpoint<D> {
    fn read(&self) -> io::Result<Option<Checkpoint>> {
        let file = match self.disk.open(&self.name, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let read = Checkpoint::read(&file.read_all(MAX_CHECKPOINT)?);
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        read.map(Some).map_err(invalid)
    }

    fn replace(&self, new: &NewCheckpoint<'_>) -> io::Result<bool> {
        let _lock = self.lock()?;
        let position = &new.position;
        let existing = match self.read() {
            Err(error)
                if new.replaces == Replaces::Any && error.kind() == io::ErrorKind::InvalidData =>
            {
                None
            }
            read => read?,
        };
        if let Some(existing) = &existing {
            if new.replaces != Replaces::Any && existing.chain != position.chain {
                return Err(refusal("the checkpoint there is of another chain"));
            }
            let is_newer = existing.seq < position.last.seq;
            match (new.replaces, existing.is_signed(), new.signer) {
                (Replaces::Any, ..) => {}
                (Replaces::SameChain, ..) if existing.seq <= position.last.seq => {}
                (Replaces::Earlier, false, None) if is_newer => {}
                (Replaces::Earlier, true, Some(signer)) if is_newer => {
                    if !existing.is_signed_by(std::slice::from_ref(signer.public_key())) {
                        return Err(refusal("another key has signed the checkpoint there"));
                    }
                }
                (Replaces::Earlier, false, Some(_)) if is_newer => {
                    return Err(refusal("the checkpoint there is not signed"));
                }
                _ => return Ok(false),
            }
        }
        let counter = existing.map_or(1, |existing| existing.counter + 1);
        let text = Checkpoint::write(new.log, position, counter, (new.now)(), new.signer);
        self.replace_file(&text.map_err(|error| io::Error::other(error.to_string()))?)?;
        Ok(true)
    }
}

/// Returns the error for a checkpoint that must not be replaced.
fn refusal(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::AppendReceipt;
    use crate::hash::Hash;
    use candor_sim_disk::{SimDisk, Trials};
    use ssh_key::PrivateKey;
    use ssh_key::private::{Ed25519Keypair, KeypairData};

    fn new(seq: u64) -> NewCheckpoint<'static> {
        let hash = Hash::of(&[&seq.to_le_bytes()]);
        NewCheckpoint {
            log: "log",
            position: LogPosition {
                chain: Hash::of(&[b"first"]),
                last: AppendReceipt { seq, hash },
            },
            signer: None,
            now: &|| String::from("now"),
            replaces: Replaces::Earlier,
        }
    }

    fn existing(disk: &SimDisk) -> Option<(u64, u64)> {
        let existing = CheckpointFile::new(disk.clone(), "checkpoint")
            .read()
            .unwrap();
        existing.map(|checkpoint| (checkpoint.counter, checkpoint.seq))
    }

    /// After any failure there is a complete checkpoint, the last acknowledged one or a later one.
    #[test]
    fn checkpoint_is_never_torn_and_never_goes_back() {
        let workload = |disk: &SimDisk| {
            let file = CheckpointFile::new(disk.clone(), "checkpoint");
            for seq in [3, 5, 9] {
                if file.replace(&new(seq)).is_ok() {
                    disk.mark(seq);
                }
            }
        };
        let check = |disk: &SimDisk, acknowledged: &[String]| {
            let acknowledged = acknowledged.iter().map(|seq| seq.parse::<u64>().unwrap());
            let stored = existing(disk);
            assert!(
                stored.map(|(_, seq)| seq) >= acknowledged.max(),
                "{stored:?}"
            );
            assert!(
                CheckpointFile::new(disk.clone(), "checkpoint")
                    .replace(&new(10))
                    .unwrap()
            );
            let counter = stored.map_or(0, |(counter, _)| counter) + 1;
            assert_eq!(existing(disk), Some((counter, 10)));
        };
        let trials = Trials::new().crash_after_faults();
        trials.run(workload, check).unwrap();
    }

    #[test]
    fn older_position_replaces_nothing() {
        let disk = SimDisk::new(1);
        let file = CheckpointFile::new(disk.clone(), "checkpoint");
        assert!(file.replace(&new(5)).unwrap());
        assert!(!file.replace(&new(5)).unwrap());
        assert!(!file.replace(&new(4)).unwrap());
        assert!(file.replace(&new(6)).unwrap());
        assert_eq!(existing(&disk), Some((2, 6)));
    }

    #[test]
    fn other_chain_is_refused_unless_it_is_new() {
        let disk = SimDisk::new(1);
        let file = CheckpointFile::new(disk.clone(), "checkpoint");
        file.replace(&new(5)).unwrap();
        let mut other = new(8);
        other.position.chain = Hash::of(&[b"other"]);
        let refused = file.replace(&other).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        other.position.last.seq = 1;
        other.replaces = Replaces::Any;
        assert!(file.replace(&other).unwrap());
        assert_eq!(existing(&disk), Some((2, 1)));
    }

    #[test]
    fn file_that_is_not_a_checkpoint_is_left_alone() {
        let disk = SimDisk::new(1);
        let file = disk.open("checkpoint", Open::Create(0o600)).unwrap();
        file.append_all(b"precious").unwrap();
        let refused = CheckpointFile::new(disk.clone(), "checkpoint").replace(&new(5));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(file.read_all(99).unwrap(), b"precious");
    }

    fn signer(seed: u8) -> Signer {
        let pair = Ed25519Keypair::from_seed(&[seed; 32]);
        Signer::new(PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap()).unwrap()
    }

    #[test]
    fn signed_checkpoint_is_replaced_by_the_same_key_only() {
        let disk = SimDisk::new(1);
        let file = CheckpointFile::new(disk.clone(), "checkpoint");
        let (own, other) = (signer(1), signer(2));
        let signed = |seq, signer| NewCheckpoint {
            signer: Some(signer),
            ..new(seq)
        };
        assert!(file.replace(&signed(5, &own)).unwrap());
        assert!(!file.replace(&new(6)).unwrap(), "without a key");
        let refused = file.replace(&signed(7, &other)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert_eq!(existing(&disk), Some((1, 5)));
        assert!(file.replace(&signed(8, &own)).unwrap());
        // The owner signs with another key.
        let by_owner = |seq, signer| NewCheckpoint {
            replaces: Replaces::SameChain,
            ..signed(seq, signer)
        };
        assert!(!file.replace(&by_owner(7, &other)).unwrap(), "older");
        assert!(file.replace(&by_owner(8, &other)).unwrap());
        assert_eq!(existing(&disk), Some((3, 8)));
    }

    #[test]
    fn unsigned_checkpoint_is_signed_by_the_owner_only() {
        let disk = SimDisk::new(1);
        let file = CheckpointFile::new(disk.clone(), "checkpoint");
        let own = signer(1);
        assert!(file.replace(&new(5)).unwrap());
        let signed = NewCheckpoint {
            signer: Some(&own),
            ..new(6)
        };
        let refused = file.replace(&signed).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let by_owner = NewCheckpoint {
            replaces: Replaces::SameChain,
            ..signed
        };
        assert!(file.replace(&by_owner).unwrap());
        assert!(file.read().unwrap().unwrap().is_signed());
    }
}
