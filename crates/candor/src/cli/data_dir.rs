//! `--data-dir`: the directory of the servers' data.

use super::{CommandError, xdg};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct DataDirArgs {
    /// The directory of all data [default: candor in $XDG_DATA_HOME, else ~/.local/share/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_DATA_DIR",
        hide_env_values = true
    )]
    data_dir: Option<PathBuf>,
}

/// The log of the GitHub tools' writes, in the data directory.
pub(super) const WRITES: &str = "github-writes.jsonl";

impl DataDirArgs {
    /// Returns the directory, and creates it if it is missing.
    pub(super) fn directory(&self) -> Result<PathBuf, CommandError> {
        let directory = match &self.data_dir {
            Some(directory) => directory.clone(),
            None => xdg::directory("XDG_DATA_HOME", ".local/share").ok_or_else(no_home)?,
        };
        std::fs::create_dir_all(&directory).map_err(|error| {
            let message = format!(
                "cannot create the directory {}: {error}",
                directory.display()
            );
            CommandError::new(message).with_hint("name another one with --data-dir")
        })?;
        Ok(directory)
    }

    /// Returns the directory of the local forge.
    pub(super) fn forge(&self) -> Result<PathBuf, CommandError> {
        Ok(self.directory()?.join("forge"))
    }
}

fn no_home() -> CommandError {
    CommandError::new("there is no home directory for the data")
        .with_hint("name one with --data-dir DIR")
}
