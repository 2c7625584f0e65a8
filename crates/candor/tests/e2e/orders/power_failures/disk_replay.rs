//! The files of a store on a simulated disk, changed by the steps of a server.

use super::system_calls::Step;
use candor_disk::{Disk as _, DiskFile as _, Open};
use candor_sim_disk::{SimDisk, Survival};
use std::fs;
use std::path::Path;

/// The files of a store that a crash may change.
const FILES: [&str; 2] = ["orders.db", "orders.db-wal"];

/// The permission bits of the files; they do not matter here.
const MODE: u32 = 0o600;

/// A simulated disk with a store.
pub(super) struct DiskReplay {
    disk: SimDisk,
}

impl DiskReplay {
    /// Starts with the files of a store that is not in use; all of it is synced.
    pub(super) fn of_store(store: &Path) -> DiskReplay {
        let disk = SimDisk::new(0);
        for name in FILES {
            let Ok(bytes) = fs::read(store.join(name)) else {
                continue;
            };
            let file = disk.open(name, Open::Create(MODE)).unwrap();
            assert_eq!(file.write_at(&bytes, 0).unwrap(), bytes.len());
            file.sync_all().unwrap();
        }
        disk.sync_dir(".").unwrap();
        DiskReplay { disk }
    }

    /// Does what the server did.
    pub(super) fn apply(&self, step: &Step) {
        let open = |file: &str| self.disk.open(file, Open::Edit).unwrap();
        match step {
            Step::Create { file } => drop(self.disk.open(file, Open::Create(MODE)).unwrap()),
            Step::Write {
                file,
                offset,
                bytes,
            } => {
                let written = open(file).write_at(bytes, *offset).unwrap();
                assert_eq!(written, bytes.len());
            }
            Step::SetLen { file, length } => open(file).set_len(*length).unwrap(),
            Step::Sync { file } => open(file).sync_data().unwrap(),
            Step::SyncNames => self.disk.sync_dir(".").unwrap(),
            Step::Unlink { file } => self.disk.unlink(file).unwrap(),
            Step::Answer(_) => {}
        }
    }

    /// Writes the files that are found after a crash to a directory.
    pub(super) fn copy_after(&self, survival: Survival, to: &Path) {
        let after = self.disk.after(survival);
        for entry in fs::read_dir(to).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for name in FILES {
            let Ok(file) = after.open(name, Open::Read) else {
                continue;
            };
            let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
            let read = file.read_at(&mut bytes, 0).unwrap();
            assert_eq!(read, bytes.len());
            fs::write(to.join(name), bytes).unwrap();
        }
    }
}
