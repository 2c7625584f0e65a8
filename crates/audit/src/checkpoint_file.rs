//! The file that contains the checkpoint of a log. It is replaced atomically, and its counter never
//! decreases.

use crate::checkpoint::{Checkpoint, LogPosition, MAX_CHECKPOINT, Signer};
use candor_disk::{Disk, DiskFile, Open};
use std::fmt;
use std::io;
use std::time::Duration;

const MODE: u32 = 0o600;

/// How often the lock is tried, and for how long.
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
    /// one.
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
    /// The owner has started a new chain; the checkpoint of the old chain is replaced.
    pub(crate) new_chain: bool,
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
        let counter = match self.read() {
            Ok(None) => 1,
            Ok(Some(existing)) if new.new_chain => existing.counter + 1,
            Ok(Some(existing)) if existing.chain != position.chain => {
                let other = "the checkpoint there is of another chain";
                return Err(io::Error::new(io::ErrorKind::InvalidData, other));
            }
            Ok(Some(existing)) if existing.seq >= position.last.seq => return Ok(false),
            Ok(Some(existing)) => existing.counter + 1,
            Err(error) if new.new_chain && error.kind() == io::ErrorKind::InvalidData => 1,
            Err(error) => return Err(error),
        };
        let text = Checkpoint::write(new.log, position, counter, (new.now)(), new.signer);
        self.replace_file(&text.map_err(|error| io::Error::other(error.to_string()))?)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::AppendReceipt;
    use crate::hash::Hash;
    use candor_sim_disk::{SimDisk, Trials};

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
            new_chain: false,
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
        other.new_chain = true;
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
}
