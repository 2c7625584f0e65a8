//! `--data-dir`: where the servers keep what they keep.

use super::{Trouble, base};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct DataArgs {
    /// The directory that everything is kept in [default: candor in $XDG_DATA_HOME, else ~/.local/share/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_DATA_DIR",
        hide_env_values = true
    )]
    data_dir: Option<PathBuf>,
}

/// The log of what the GitHub tools were asked to write, in the data directory.
pub(super) const WRITES: &str = "github-writes.jsonl";

impl DataArgs {
    /// The directory; it is made where it is missing.
    pub(super) fn directory(&self) -> Result<PathBuf, Trouble> {
        let directory = match &self.data_dir {
            Some(directory) => directory.clone(),
            None => base::directory("XDG_DATA_HOME", ".local/share").ok_or_else(nowhere)?,
        };
        std::fs::create_dir_all(&directory).map_err(|error| {
            let message = format!("cannot make the directory {}: {error}", directory.display());
            Trouble::new(message).hinting("name another one with --data-dir")
        })?;
        Ok(directory)
    }

    /// The directory of the local forge.
    pub(super) fn forge(&self) -> Result<PathBuf, Trouble> {
        Ok(self.directory()?.join("forge"))
    }
}

fn nowhere() -> Trouble {
    Trouble::new("there is no home directory to keep data in")
        .hinting("name one with --data-dir DIR")
}
