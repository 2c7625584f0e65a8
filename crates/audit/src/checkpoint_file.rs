//! A place where checkpoints of a log are kept: one file, replaced as a whole, whose counter never goes
//! back whoever writes it.

use crate::checkpoint::{Checkpoint, LogPosition, MAX_CHECKPOINT, Signer};
use candor_disk::{Disk, DiskFile, Open};
use std::fmt;
use std::io;
use std::time::Duration;

/// The mode of new files.
const MODE: u32 = 0o600;

/// How often the lock is asked for, and for how long.
const ASK_AGAIN: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(5);

/// Where checkpoints of a log are kept. It should be out of reach of whoever could change the log.
pub struct CheckpointFile(Box<dyn CheckpointStore>);

impl CheckpointFile {
    /// The file of this name on a disk; `NAME.lock` and `NAME.new` beside it are used too.
    pub fn new<D: Disk>(disk: D, name: &str) -> CheckpointFile {
        let name = name.to_owned();
        CheckpointFile(Box::new(StoredCheckpoint { disk, name }))
    }

    /// The checkpoint that is there.
    pub fn read(&self) -> io::Result<Option<Checkpoint>> {
        self.0.read()
    }

    /// Puts a checkpoint there; false where as good a one is there already.
    pub(crate) fn put(&self, said: &NewCheckpoint<'_>) -> io::Result<bool> {
        self.0.put(said)
    }
}

impl fmt::Debug for CheckpointFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Place")
    }
}

/// What a new checkpoint says.
pub(crate) struct NewCheckpoint<'a> {
    pub(crate) log: &'a str,
    pub(crate) mark: LogPosition,
    pub(crate) signer: Option<&'a Signer>,
    pub(crate) now: &'a (dyn Fn() -> String + Send + Sync),
    /// A person has begun the chain anew: whatever was said before is over.
    pub(crate) anew: bool,
}

trait CheckpointStore: Send + Sync {
    fn read(&self) -> io::Result<Option<Checkpoint>>;
    fn put(&self, said: &NewCheckpoint<'_>) -> io::Result<bool>;
}

struct StoredCheckpoint<D> {
    disk: D,
    name: String,
}

impl<D: Disk> StoredCheckpoint<D> {
    fn locked(&self) -> io::Result<D::File> {
        let lock = format!("{}.lock", self.name);
        let file = self.disk.open(lock, Open::Create(MODE))?;
        let mut waited = Duration::ZERO;
        while !file.try_lock()? {
            if waited >= PATIENCE {
                let held = "another process holds the lock of the checkpoint";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, held));
            }
            std::thread::sleep(ASK_AGAIN);
            waited += ASK_AGAIN;
        }
        Ok(file)
    }

    /// Replaces the file as a whole: whatever fails, the old one or the new one is there.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let draft = format!("{}.new", self.name);
        // A file whose sync failed once cannot be trusted to take another: it is made anew.
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

    fn put(&self, said: &NewCheckpoint<'_>) -> io::Result<bool> {
        let _lock = self.locked()?;
        let mark = &said.mark;
        let counter = match self.read() {
            Ok(None) => 1,
            Ok(Some(there)) if said.anew => there.counter + 1,
            Ok(Some(there)) if there.chain != mark.chain => {
                let foreign = "the checkpoint there is of another chain";
                return Err(io::Error::new(io::ErrorKind::InvalidData, foreign));
            }
            Ok(Some(there)) if there.seq >= mark.last.seq => return Ok(false),
            Ok(Some(there)) => there.counter + 1,
            Err(error) if said.anew && error.kind() == io::ErrorKind::InvalidData => 1,
            Err(error) => return Err(error),
        };
        let text = Checkpoint::write(said.log, mark, counter, (said.now)(), said.signer);
        self.replace(&text.map_err(io::Error::other)?)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::AppendReceipt;
    use crate::hash::Hash;
    use candor_sim_disk::{SimDisk, Trials};

    fn said(seq: u64) -> NewCheckpoint<'static> {
        let hash = Hash::of(&[&seq.to_le_bytes()]);
        NewCheckpoint {
            log: "log",
            mark: LogPosition {
                chain: Hash::of(&[b"first"]),
                last: AppendReceipt { seq, hash },
            },
            signer: None,
            now: &|| String::from("now"),
            anew: false,
        }
    }

    fn there(disk: &SimDisk) -> Option<(u64, u64)> {
        let there = CheckpointFile::new(disk.clone(), "checkpoint")
            .read()
            .unwrap();
        there.map(|checkpoint| (checkpoint.counter, checkpoint.seq))
    }

    /// Whatever fails, a whole checkpoint is there, one that was promised or a later one.
    #[test]
    fn a_checkpoint_is_never_torn_and_never_goes_back() {
        let workload = |disk: &SimDisk| {
            let place = CheckpointFile::new(disk.clone(), "checkpoint");
            for seq in [3, 5, 9] {
                if place.put(&said(seq)).is_ok() {
                    disk.mark(seq);
                }
            }
        };
        let check = |disk: &SimDisk, promised: &[String]| {
            let promised = promised.iter().map(|seq| seq.parse::<u64>().unwrap());
            let found = there(disk);
            assert!(found.map(|(_, seq)| seq) >= promised.max(), "{found:?}");
            assert!(
                CheckpointFile::new(disk.clone(), "checkpoint")
                    .put(&said(10))
                    .unwrap()
            );
            let counter = found.map_or(0, |(counter, _)| counter) + 1;
            assert_eq!(there(disk), Some((counter, 10)));
        };
        let trials = Trials::new().crash_after_faults();
        trials.run(workload, check).unwrap();
    }

    #[test]
    fn an_older_end_replaces_nothing() {
        let disk = SimDisk::new(1);
        let place = CheckpointFile::new(disk.clone(), "checkpoint");
        assert!(place.put(&said(5)).unwrap());
        assert!(!place.put(&said(5)).unwrap());
        assert!(!place.put(&said(4)).unwrap());
        assert!(place.put(&said(6)).unwrap());
        assert_eq!(there(&disk), Some((2, 6)));
    }

    #[test]
    fn another_chain_takes_over_only_when_a_person_says_so() {
        let disk = SimDisk::new(1);
        let place = CheckpointFile::new(disk.clone(), "checkpoint");
        place.put(&said(5)).unwrap();
        let mut other = said(8);
        other.mark.chain = Hash::of(&[b"other"]);
        let refused = place.put(&other).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        other.mark.last.seq = 1;
        other.anew = true;
        assert!(place.put(&other).unwrap());
        assert_eq!(there(&disk), Some((2, 1)));
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        let disk = SimDisk::new(1);
        let file = disk.open("checkpoint", Open::Create(0o600)).unwrap();
        file.append_all(b"precious").unwrap();
        let refused = CheckpointFile::new(disk.clone(), "checkpoint").put(&said(5));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(file.read_all(99).unwrap(), b"precious");
    }
}
