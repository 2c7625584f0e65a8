//! The directories of keys and of state, which are outside every workspace.

use crate::cli::audit::read_signer;
use crate::cli::{CommandError, xdg};
use candor_audit::Signer;
use candor_workspace::approval::Signers;
use candor_workspace::path::Root;
use clap::Args;
use std::path::{Path, PathBuf};

/// The name of the approvers file in the configuration directory.
const APPROVERS: &str = "approvers";

/// The name of the owner's key in the configuration directory.
const KEY: &str = "approver.key";

/// The name of the file in the configuration directory that contains the path of the key with which the
/// owner's commands sign checkpoints.
const CHECKPOINT_KEY: &str = "checkpoint-key";

#[derive(Debug, Args)]
pub(super) struct DirectoryArgs {
    /// The directory of keys and approvers [default: candor in $XDG_CONFIG_HOME, else ~/.config/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_CONFIG_DIR",
        hide_env_values = true
    )]
    config_dir: Option<PathBuf>,
    #[command(flatten)]
    state: StateDirArgs,
}

/// The state directory, for commands that need no keys.
#[derive(Debug, Args)]
pub(in crate::cli) struct StateDirArgs {
    /// The directory of locks, journals, revocations and checkpoints [default: candor in $XDG_STATE_HOME, else ~/.local/state/candor]
    #[arg(
        long,
        value_name = "DIR",
        env = "CANDOR_STATE_DIR",
        hide_env_values = true
    )]
    state_dir: Option<PathBuf>,
}

impl StateDirArgs {
    /// Returns the state directory, or `None` if none is given and there is no home directory.
    pub(in crate::cli) fn directory(&self) -> Result<Option<PathBuf>, CommandError> {
        match &self.state_dir {
            Some(given) => Ok(Some(std::path::absolute(given)?)),
            None => Ok(xdg::directory("XDG_STATE_HOME", ".local/state")),
        }
    }
}

/// The directory in which commands build.
#[derive(Debug, Args)]
pub(super) struct BuildDirArgs {
    /// The directory in which commands of plans build [default: candor/build in $XDG_CACHE_HOME, else ~/.cache/candor/build]
    #[arg(long, value_name = "DIR")]
    build_dir: Option<PathBuf>,
}

impl BuildDirArgs {
    /// Returns the absolute path of the directory, which does not have to exist.
    pub(super) fn directory(&self) -> Result<PathBuf, CommandError> {
        match &self.build_dir {
            Some(given) => Ok(std::path::absolute(given)?),
            None => {
                let own = directory_or_default(&None, "XDG_CACHE_HOME", ".cache", "--build-dir")?;
                Ok(own.join("build"))
            }
        }
    }

    /// Returns the directory of a root.
    pub(super) fn of_root(&self, root: &Root) -> Result<PathBuf, CommandError> {
        Ok(self.directory()?.join(root.id().to_string()))
    }
}

/// The absolute paths of both directories; neither has to exist.
#[derive(Debug, Clone)]
pub(super) struct Directories {
    pub(super) config: PathBuf,
    pub(super) state: PathBuf,
}

impl DirectoryArgs {
    /// Returns the options with which another process finds the same directories.
    pub(super) fn flags(&self, directories: &Directories) -> Vec<String> {
        let mut flags = Vec::new();
        let options = [
            ("--config-dir", &self.config_dir, &directories.config),
            ("--state-dir", &self.state.state_dir, &directories.state),
        ];
        for (flag, given, path) in options {
            if given.is_some() {
                flags.extend([flag.to_owned(), path.display().to_string()]);
            }
        }
        flags
    }

    pub(super) fn directories(&self) -> Result<Directories, CommandError> {
        let config = directory_or_default(
            &self.config_dir,
            "XDG_CONFIG_HOME",
            ".config",
            "--config-dir",
        )?;
        let state = directory_or_default(
            &self.state.state_dir,
            "XDG_STATE_HOME",
            ".local/state",
            "--state-dir",
        )?;
        Ok(Directories { config, state })
    }
}

fn directory_or_default(
    given: &Option<PathBuf>,
    variable: &str,
    below_home: &str,
    flag: &str,
) -> Result<PathBuf, CommandError> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    xdg::directory(variable, below_home).ok_or_else(|| {
        CommandError::new("there is no home directory")
            .with_hint(format!("name a directory with {flag} DIR"))
    })
}

impl Directories {
    pub(super) fn approvers(&self) -> PathBuf {
        self.config.join(APPROVERS)
    }

    /// Returns the path of the owner's key.
    pub(super) fn key(&self) -> PathBuf {
        self.config.join(KEY)
    }

    /// Returns the path of the file that names the key of the owner's checkpoints.
    pub(super) fn checkpoint_key(&self) -> PathBuf {
        self.config.join(CHECKPOINT_KEY)
    }

    /// Reads the key with which the owner's commands sign checkpoints, if `init` has named one.
    pub(super) fn checkpoint_signer(&self) -> Result<Option<Signer>, CommandError> {
        let file = self.checkpoint_key();
        match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CommandError::new(format!(
                "cannot read {}: {error}",
                file.display()
            ))),
            Ok(path) => read_signer(Path::new(path.trim_end_matches('\n'))).map(Some),
        }
    }

    /// Reads the approvers file and further files of the same form.
    pub(super) fn signers(&self, others: &[PathBuf]) -> Result<Signers, String> {
        let mut signers = Signers::default();
        let own = self.approvers();
        let own = own.exists().then_some(own);
        for file in own.iter().chain(others) {
            let text = std::fs::read_to_string(file)
                .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
            let more =
                Signers::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
            signers.extend(more);
        }
        Ok(signers)
    }

    /// Returns the directory that an agent in the root could reach, if there is one.
    pub(super) fn inside(&self, root: &Root) -> Option<&Path> {
        let inside = |path: &&Path| is_in(root, path);
        [self.config.as_path(), self.state.as_path()]
            .into_iter()
            .find(inside)
    }
}

/// Returns true if a path leads into a root.
pub(super) fn is_in(root: &Root, path: &Path) -> bool {
    real(path).starts_with(root.path())
}

/// Resolves the links of a path as far as it exists.
fn real(path: &Path) -> PathBuf {
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
