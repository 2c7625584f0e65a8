//! `candor workspace init`: creates the owner's key and adds it to the approvers.

use super::opened::{OpenedWorkspace, WorkspaceArgs};
use super::serve::os_user;
use super::sign::{key_text, require_outside};
use crate::cli::atomic_file::write_file;
use crate::cli::audit::read_signer;
use crate::cli::prompt;
use crate::cli::shell_words::quote;
use crate::cli::{CommandError, print};
use crate::host::{print_hint, print_note};
use candor_audit::KnownCheckpoint;
use candor_disk::Disk;
use candor_workspace::approval::{ApproverKey, KeyId, Signers, approver_line};
use candor_workspace::log_checkpoints::LogCheckpoints;
use candor_workspace::log_place::LogPlace;
use candor_workspace::state;
use candor_workspace::visible_text;
use clap::{Args, ValueEnum};
use serde_json::json;
use ssh_key::rand_core::OsRng;
use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const KEY_MODE: u32 = 0o600;
const APPROVERS_MODE: u32 = 0o644;

/// Create the key with which you approve plans, and trust it
///
/// The key is stored in the configuration directory, which no agent can reach, and is encrypted with a
/// passphrase. The file `approvers` beside it lists the keys that may approve. An existing key stays unchanged.
/// No file of the workspace is changed.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkspaceInitArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
    /// Your name in approvals [default: the user who runs this command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that contains the passphrase of the new key, for scripts
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Create a key without a passphrase: every program that you run can approve with it
    #[arg(long, conflicts_with = "passphrase_file")]
    no_passphrase: bool,
    /// The place of the workspace's log [default: root]
    #[arg(long, value_name = "PLACE", value_enum)]
    log_place: Option<NewLogPlace>,
    /// A private key without a passphrase, with which your commands sign checkpoints of the log too
    #[arg(long, value_name = "FILE")]
    checkpoint_key: Option<PathBuf>,
}

impl WorkspaceInitArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let name = self.name.clone().unwrap_or_else(os_user);
        let config = state::open(&workspace.directories.config).map_err(|error| {
            let config = workspace.directories.config.display();
            CommandError::new(format!("cannot use the directory {config}: {error}"))
                .with_hint("name another directory with --config-dir DIR")
        })?;
        let file = workspace.directories.key();
        let mut message = String::new();
        let public = match file.exists() {
            true => {
                let _ = writeln!(
                    message,
                    "the key {} exists already and was not changed",
                    file.display()
                );
                existing_key(&file)?
            }
            false => {
                check_name(&name)?;
                let key = self.make_key(&workspace, &config, &file, &name)?;
                let _ = writeln!(message, "created the key {}", file.display());
                key.public_key().clone()
            }
        };
        let names = trust(&workspace, &config, &name, &public)?;
        if let Some(place) = self.log_place {
            message += &set_log_place(&workspace, place)?;
        }
        if let Some(key) = &self.checkpoint_key {
            message += &set_checkpoint_key(&workspace, &config, key)?;
        }
        let _ = writeln!(
            message,
            "{names} may approve with it: {}",
            KeyId::of(&public)
        );
        let _ = write!(
            message,
            "\nNext, allow an agent to change some files:\n  {}\n\nThen add this to the configuration of your MCP client:\n{}\n",
            workspace.command("allow 'src/**'"),
            self.client(&workspace)
        );
        print(message.as_bytes())?;
        hint_at_gitignore(
            &workspace.root.path().join(".gitignore"),
            workspace.root.path(),
        );
        Ok(())
    }

    fn make_key(
        &self,
        workspace: &OpenedWorkspace,
        config: &impl Disk,
        file: &Path,
        name: &str,
    ) -> Result<ApproverKey, CommandError> {
        let passphrase = self.passphrase(workspace)?;
        let failed = |why: &dyn std::fmt::Display| {
            CommandError::new(format!("cannot create the key {}: {why}", file.display()))
        };
        let key = ApproverKey::generate(&mut OsRng, name).map_err(|error| failed(&error))?;
        let text = match &passphrase {
            Some(passphrase) => key.to_file(&mut OsRng, passphrase.as_bytes()),
            None => key.to_open_file(),
        };
        let text = text.map_err(|error| failed(&error))?;
        write_file(config, file, &text, KEY_MODE, false).map_err(|error| failed(&error))?;
        Ok(key)
    }

    /// Returns the passphrase of the new key, or `None` with `--no-passphrase`.
    fn passphrase(&self, workspace: &OpenedWorkspace) -> Result<Option<String>, CommandError> {
        if self.no_passphrase {
            print_note("the key has no passphrase: every program that you run can approve with it");
            return Ok(None);
        }
        let passphrase = match &self.passphrase_file {
            Some(file) => {
                require_outside(workspace, file)?;
                prompt::read_passphrase(file)?
            }
            None if prompt::is_terminal() => {
                let first = prompt::secret("A passphrase for your new key")?;
                if !first.is_empty() && prompt::secret("The same again")? != first {
                    return Err(CommandError::new(
                        "no key was created: the two passphrases differ",
                    ));
                }
                first
            }
            None => {
                return Err(CommandError::new("no key was created: there is no terminal to ask for a passphrase").with_hint(
                    "run it in a terminal, or name a file that contains the passphrase with --passphrase-file FILE",
                ));
            }
        };
        match passphrase.is_empty() {
            false => Ok(Some(passphrase)),
            true => Err(
                CommandError::new("no key was created: the passphrase is empty").with_hint(
                    "choose a passphrase, or give --no-passphrase if every program that you run may approve",
                ),
            ),
        }
    }

    /// Returns the configuration of an MCP client.
    fn client(&self, workspace: &OpenedWorkspace) -> String {
        let program = std::env::current_exe().ok();
        let program = program.map_or(String::from("candor"), |path| path.display().to_string());
        let mut args = ["workspace", "serve", "--role", "executor", "--root"]
            .map(String::from)
            .to_vec();
        args.push(workspace.name());
        args.extend(self.workspace.directories.flags(&workspace.directories));
        let config = json!({
            "mcpServers": { "candor-workspace": { "command": program, "args": args } }
        });
        serde_json::to_string_pretty(&config).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NewLogPlace {
    /// In the root of the workspace
    Root,
    /// In the state directory, which no agent can reach
    State,
}

/// Records the place of the log of a workspace that has none yet. Returns what was done, for the person.
fn set_log_place(workspace: &OpenedWorkspace, new: NewLogPlace) -> Result<String, CommandError> {
    let directory = workspace.state_dir();
    let place = match new {
        NewLogPlace::Root => LogPlace::Root,
        NewLogPlace::State => LogPlace::State,
    };
    let current = LogPlace::read(&directory)?;
    if current != place {
        if current.path(&workspace.root, &directory).exists() {
            return Err(
                CommandError::new("the workspace has a log already").with_hint(format!(
                    "to move it to the state directory, run:\n  {}",
                    workspace.command("log --move state")
                )),
            );
        }
        place.record(&directory)?;
    }
    let path = place.path(&workspace.root, &directory);
    let path = visible_text(&path.display().to_string());
    Ok(format!("the log of the workspace is {path}\n"))
}

/// Stores the path of the key that signs checkpoints. Returns what was done, for the person.
fn set_checkpoint_key(
    workspace: &OpenedWorkspace,
    config: &impl Disk,
    key: &Path,
) -> Result<String, CommandError> {
    require_outside(workspace, key)?;
    let signer = read_signer(key)?;
    let path = std::path::absolute(key)?;
    let Some(text) = path.to_str().filter(|text| !text.contains('\n')) else {
        return Err(CommandError::new(
            "the path of the checkpoint key is not text of one line",
        ));
    };
    let file = workspace.directories.checkpoint_key();
    let written = write_file(config, &file, &format!("{text}\n"), KEY_MODE, true);
    written
        .map_err(|error| CommandError::new(format!("cannot write {}: {error}", file.display())))?;
    workspace.state()?;
    let checkpoints = LogCheckpoints::load(&workspace.state_dir())?;
    let checkpoints = checkpoints.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let signed_by_key = |known: &KnownCheckpoint| {
        let keys = std::slice::from_ref(signer.public_key());
        known
            .checkpoint()
            .is_none_or(|checkpoint| checkpoint.is_signed_by(keys))
    };
    if checkpoints.read(&[]).iter().all(signed_by_key) {
        checkpoints.remember(&[], Some(&signer))?;
    } else {
        print_hint(&format!(
            "the checkpoint of this workspace's log is not signed with that key yet; to sign it, run:\n  candor audit checkpoint {} --sign-with {}",
            quote(workspace.root.path().join(state::LOG)),
            quote(key)
        ));
    }
    Ok(format!(
        "your commands sign checkpoints with {}\n",
        signer.key_id()
    ))
}

/// Returns an error if the approvers file cannot contain the name.
fn check_name(name: &str) -> Result<(), CommandError> {
    let odd =
        name.trim() != name || name.contains([',', '"', '#']) || name.chars().any(char::is_control);
    match odd || name.is_empty() {
        false => Ok(()),
        true => Err(CommandError::new(format!(
            "the list of approvers cannot contain the name {name:?}"
        ))
        .with_hint("choose a name without commas and quotes with --name NAME")),
    }
}

/// Returns the public half of an existing key.
fn existing_key(file: &Path) -> Result<ssh_key::PublicKey, CommandError> {
    let key = ssh_key::PrivateKey::from_openssh(key_text(file)?);
    let key = key.map_err(|_| {
        CommandError::new(format!("{} is not an OpenSSH private key", file.display()))
            .with_hint("move it to another directory, then run the command again")
    })?;
    let mode = std::fs::metadata(file).map_or(0, |about| about.permissions().mode());
    if mode & 0o077 != 0 {
        print_note(&format!(
            "other users can read the key; to prevent that, run:\n  chmod 600 {}",
            quote(file)
        ));
    }
    Ok(key.public_key().clone())
}

/// Adds a key to the approvers if it is missing there. Returns its names.
fn trust(
    workspace: &OpenedWorkspace,
    config: &impl Disk,
    name: &str,
    key: &ssh_key::PublicKey,
) -> Result<String, CommandError> {
    let file = workspace.directories.approvers();
    let known = |signers: &Signers| {
        let mut all = signers.entries();
        all.find_map(|(names, id)| (id == KeyId::of(key)).then(|| names.join(", ")))
    };
    if let Some(names) = known(&workspace.signers(&[])?) {
        return Ok(names);
    }
    check_name(name)?;
    let failed = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("cannot write {}: {why}", file.display()))
    };
    let mut text = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| failed(&error))?,
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&approver_line(name, key));
    let signers = Signers::parse(&text).map_err(|error| failed(&error))?;
    write_file(config, &file, &text, APPROVERS_MODE, true).map_err(|error| failed(&error))?;
    Ok(known(&signers).unwrap_or_default())
}

/// Prints a hint if git would treat the audit log as a file of the project.
fn hint_at_gitignore(list: &Path, root: &Path) {
    let patterns = std::fs::read_to_string(list).unwrap_or_default();
    if root.join(".git").exists() && !patterns.contains("audit-log.jsonl") {
        print_hint(&format!(
            "the calls of agents are recorded in audit-log.jsonl of the workspace; to keep it out of git, run:\n  echo 'audit-log.jsonl*' >> {}",
            quote(list)
        ));
    }
}
