//! Where this program keeps keys and state: outside every workspace.

use crate::cli::Trouble;
use candor_workspace::path::Root;
use clap::Args;
use std::path::{Path, PathBuf};

/// The file that says who may approve, in the configuration directory.
const APPROVERS: &str = "approvers";

/// The key of the person at this machine, in the configuration directory.
const KEY: &str = "approver.key";

#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// The directory of keys and of who may approve [default: candor in $XDG_CONFIG_HOME, else ~/.config/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_CONFIG_DIR",
        hide_env_values = true
    )]
    config_dir: Option<PathBuf>,
    /// The directory of locks, journals, revocations and checkpoints [default: candor in $XDG_STATE_HOME, else ~/.local/state/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_STATE_DIR",
        hide_env_values = true
    )]
    state_dir: Option<PathBuf>,
}

/// Both directories, absolute; neither has to exist.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) config: PathBuf,
    pub(super) state: PathBuf,
}

impl PlaceArgs {
    /// What has to be said to another command, so that it finds the same directories.
    pub(super) fn flags(&self) -> Vec<String> {
        let named = [
            ("--config-dir", &self.config_dir),
            ("--state-dir", &self.state_dir),
        ];
        let given = named
            .into_iter()
            .filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        given
            .flat_map(|(flag, path)| [flag.to_owned(), path.display().to_string()])
            .collect()
    }

    pub(super) fn places(&self) -> Result<Places, Trouble> {
        let config = named(
            &self.config_dir,
            "XDG_CONFIG_HOME",
            ".config",
            "--config-dir",
        )?;
        let state = named(
            &self.state_dir,
            "XDG_STATE_HOME",
            ".local/state",
            "--state-dir",
        )?;
        Ok(Places { config, state })
    }
}

fn named(
    given: &Option<PathBuf>,
    variable: &str,
    below_home: &str,
    flag: &str,
) -> Result<PathBuf, Trouble> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || Some(variable_path("HOME").filter(absolute)?.join(below_home));
    let base = variable_path(variable).filter(absolute).or_else(home);
    base.map(|base| base.join("candor")).ok_or_else(|| {
        Trouble::new("there is no home directory")
            .hinting(format!("name a directory with {flag} DIR"))
    })
}

fn variable_path(name: &str) -> Option<PathBuf> {
    // Only the binary reads the environment.
    #[allow(clippy::disallowed_methods)]
    std::env::var_os(name).map(PathBuf::from)
}

impl Places {
    /// Who may approve.
    pub(super) fn approvers(&self) -> PathBuf {
        self.config.join(APPROVERS)
    }

    /// The key of the person at this machine.
    pub(super) fn key(&self) -> PathBuf {
        self.config.join(KEY)
    }

    /// Whether an agent that works in a root could reach one of the directories.
    pub(super) fn lies_in(&self, root: &Root) -> Option<&Path> {
        let inside = |path: &&Path| real(path).starts_with(root.path());
        [self.config.as_path(), self.state.as_path()]
            .into_iter()
            .find(inside)
    }
}

/// A path without links as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut above = path;
    loop {
        if let Ok(real) = std::fs::canonicalize(above) {
            return real.join(missing.iter().rev().collect::<PathBuf>());
        }
        match (above.parent(), above.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                above = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
