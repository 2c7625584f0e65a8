//! `candor orders backup`: copies a SQLite store while servers run.

use super::database::{DatabaseArgs, DatabaseLocation};
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_disk::{Disk as _, DiskFile as _, Open, RealDisk};
use candor_orders::sql::{BackupError, backup};
use clap::Args;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// The mode of a copy: it contains the data of customers.
const FILE_MODE: u32 = 0o600;

/// Copy a SQLite database to a file while servers run
///
/// The copy is consistent: it has every change that was answered before the command started. It is complete and on
/// disk when the command ends with success. An existing file is never overwritten.
#[derive(Debug, Args)]
pub(in crate::cli) struct BackupArgs {
    /// The file to create
    file: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
}

impl BackupArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.existing()?;
        if self.file.symlink_metadata().is_ok() {
            return Err(self.existing_file());
        }
        let folder = self
            .file
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let disk = RealDisk::at(folder).map_err(|error| self.unwritten(&error))?;
        let name = self.file.file_name().unwrap_or_default();
        let draft = format!(".{}.{}.tmp", name.display(), std::process::id());
        let copied = self.copy(&location, (&disk, folder), &draft);
        if copied.is_err() {
            // Best effort: nothing reads a draft.
            disk.unlink(&draft).ok();
        }
        copied?;
        print(format!("copied to {}\n", self.file.display()).as_bytes())
    }

    /// Writes the draft, syncs it and gives it its name.
    fn copy(
        &self,
        location: &DatabaseLocation,
        (disk, folder): (&RealDisk, &Path),
        draft: &str,
    ) -> Result<(), CommandError> {
        let unwritten = |error: io::Error| self.unwritten(&error);
        let file = disk
            .open(draft, Open::CreateNew(FILE_MODE))
            .map_err(unwritten)?;
        run(|_| async {
            let copied = backup(&location.url, &folder.join(draft)).await;
            copied.map_err(|error| self.refused(&error, location))
        })?;
        file.sync_all().map_err(unwritten)?;
        let name = self.file.file_name().unwrap_or_default();
        match disk.rename_new(draft, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.existing_file());
            }
            renamed => renamed.map_err(unwritten)?,
        }
        disk.sync_dir("").map_err(unwritten)
    }

    fn existing_file(&self) -> CommandError {
        CommandError::new(format!("{} exists already", self.file.display()))
            .with_hint("name a new file; a backup never overwrites one")
    }

    fn unwritten(&self, error: &dyn Display) -> CommandError {
        CommandError::new(format!("cannot write {}: {error}", self.file.display()))
            .with_hint("name a new file in a directory with enough room")
    }

    fn refused(&self, error: &BackupError, location: &DatabaseLocation) -> CommandError {
        match error {
            BackupError::Store(error) => location.unusable(error),
            BackupError::Copy(error) => self.unwritten(error),
            BackupError::Path => {
                CommandError::new(format!("the path {} is not UTF-8", self.file.display()))
                    .with_hint("name another file")
            }
            BackupError::Server => CommandError::new(
                "a PostgreSQL database is copied with the programs of PostgreSQL",
            )
            .with_hint("run pg_dump with the address of the database:\n  pg_dump --format=custom --file=orders.dump postgres://USER@HOST/DATABASE"),
        }
    }
}
