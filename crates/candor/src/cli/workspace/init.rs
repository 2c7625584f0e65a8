//! `candor workspace init`: the key of the person at this machine, and who may approve.

use super::opened::{OpenedWorkspace, WorkspaceArgs};
use super::prompt;
use super::serve::os_user;
use super::sign::{key_text, require_outside};
use crate::cli::{CommandError, print};
use crate::host::{hint, note};
use candor_disk::{Disk, DiskFile, Open};
use candor_workspace::approval::{ApproverKey, KeyId, Signers, approver_line};
use candor_workspace::state;
use clap::Args;
use serde_json::json;
use ssh_key::rand_core::OsRng;
use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const KEY_MODE: u32 = 0o600;
const APPROVERS_MODE: u32 = 0o644;

/// Make the key that you approve with, and trust it
///
/// The key lies in the configuration directory, encrypted with a passphrase, where no agent reaches it;
/// the file beside it says who may approve. What is there already stays as it is. No file of the
/// workspace is changed.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkspaceInitArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
    /// Your name, as approvals will have it [default: the user who runs this]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that holds the passphrase of the new key, for machines
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Make a key without a passphrase: whatever runs as you can approve with it
    #[arg(long, conflicts_with = "passphrase_file")]
    no_passphrase: bool,
}

impl WorkspaceInitArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let name = self.name.clone().unwrap_or_else(os_user);
        let config = state::open(&workspace.directories.config).map_err(|error| {
            let config = workspace.directories.config.display();
            CommandError::new(format!("the directory {config} cannot be used: {error}"))
                .with_hint("name another one with --config-dir DIR")
        })?;
        let file = workspace.directories.key();
        let mut said = String::new();
        let public = match file.exists() {
            true => {
                let _ = writeln!(
                    said,
                    "the key {} was there already, and stays as it is",
                    file.display()
                );
                existing_key(&file)?
            }
            false => {
                check_name(&name)?;
                let key = self.make_key(&workspace, &config, &file, &name)?;
                let _ = writeln!(said, "a new key is in {}", file.display());
                key.public_key().clone()
            }
        };
        let names = trust(&workspace, &config, &name, &public)?;
        let _ = writeln!(said, "{names} may approve with it: {}", KeyId::of(&public));
        let _ = write!(
            said,
            "\nNext, say what an agent may change:\n  candor workspace allow 'src/**'\n\nand give this to your MCP client:\n{}\n",
            self.client(&workspace)
        );
        print(said.as_bytes())?;
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
        let wrong = |why: &dyn std::fmt::Display| {
            CommandError::new(format!("the key {} cannot be made: {why}", file.display()))
        };
        let key = ApproverKey::generate(&mut OsRng, name).map_err(|error| wrong(&error))?;
        let text = match &passphrase {
            Some(passphrase) => key.to_file(&mut OsRng, passphrase.as_bytes()),
            None => key.to_open_file(),
        };
        let text = text.map_err(|error| wrong(&error))?;
        write_file(config, file, &text, KEY_MODE, false).map_err(|error| wrong(&error))?;
        Ok(key)
    }

    /// The passphrase of a new key; nothing where the person wants none.
    fn passphrase(&self, workspace: &OpenedWorkspace) -> Result<Option<String>, CommandError> {
        if self.no_passphrase {
            note("the key has no passphrase: whatever runs as you can approve with it");
            return Ok(None);
        }
        let passphrase = match &self.passphrase_file {
            Some(file) => {
                require_outside(workspace, file)?;
                prompt::passphrase_in(file)?
            }
            None if prompt::is_terminal() => {
                let first = prompt::secret("A passphrase for your new key")?;
                if !first.is_empty() && prompt::secret("The same again")? != first {
                    return Err(CommandError::new(
                        "the two passphrases differ; no key was made",
                    ));
                }
                first
            }
            None => {
                return Err(CommandError::new("there is no terminal to ask for a passphrase on").with_hint(
                    "run it in a terminal, or name a file that holds the passphrase with --passphrase-file FILE",
                ));
            }
        };
        match passphrase.is_empty() {
            false => Ok(Some(passphrase)),
            true => Err(
                CommandError::new("the passphrase is empty; no key was made").with_hint(
                    "choose one, or say --no-passphrase if anything that runs as you may approve",
                ),
            ),
        }
    }

    /// What an MCP client has to run.
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

/// Whether an approvers file can have a name.
fn check_name(name: &str) -> Result<(), CommandError> {
    let odd =
        name.trim() != name || name.contains([',', '"', '#']) || name.chars().any(char::is_control);
    match odd || name.is_empty() {
        false => Ok(()),
        true => Err(
            CommandError::new(format!("{name:?} cannot stand in a list of approvers"))
                .with_hint("choose a name without commas and quotes, with --name NAME"),
        ),
    }
}

/// The public half of a key that is there.
fn existing_key(file: &Path) -> Result<ssh_key::PublicKey, CommandError> {
    let key = ssh_key::PrivateKey::from_openssh(key_text(file)?);
    let key = key.map_err(|_| {
        CommandError::new(format!("{} is no OpenSSH private key", file.display()))
            .with_hint("move it away, and run this again")
    })?;
    let mode = std::fs::metadata(file).map_or(0, |about| about.permissions().mode());
    if mode & 0o077 != 0 {
        note(&format!(
            "others can read the key: chmod 600 {}",
            file.display()
        ));
    }
    Ok(key.public_key().clone())
}

/// Adds a key to the approvers, where it is not one already; the names that it has.
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
    let wrong = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("{} cannot be written: {why}", file.display()))
    };
    let mut text = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| wrong(&error))?,
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&approver_line(name, key));
    let signers = Signers::parse(&text).map_err(|error| wrong(&error))?;
    write_file(config, &file, &text, APPROVERS_MODE, true).map_err(|error| wrong(&error))?;
    Ok(known(&signers).unwrap_or_default())
}

/// Writes a file of the configuration directory, whole or not at all.
fn write_file(
    config: &impl Disk,
    file: &Path,
    text: &str,
    mode: u32,
    replace: bool,
) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default();
    let temporary = format!(".{}.{}.tmp", name.display(), std::process::id());
    let opened = config.open(&temporary, Open::CreateNew(mode))?;
    let written = opened
        .write_all_at(text.as_bytes(), 0)
        .and_then(|()| opened.sync_all())
        .and_then(|()| match replace {
            true => config.rename(&temporary, name),
            false => config.rename_new(&temporary, name),
        });
    if written.is_err() {
        // Whether it works or not: a temporary file is nobody's truth.
        config.unlink(&temporary).ok();
    }
    written?;
    config.sync_dir("")
}

/// Says that the log lies in the repository, where git would take it for a file of the project.
fn hint_at_gitignore(list: &Path, root: &Path) {
    let said = std::fs::read_to_string(list).unwrap_or_default();
    if root.join(".git").exists() && !said.contains("audit-log.jsonl") {
        hint(
            "the record of what agents do is audit-log.jsonl in the workspace; unless you keep it in git, add audit-log.jsonl* to .gitignore",
        );
    }
}
