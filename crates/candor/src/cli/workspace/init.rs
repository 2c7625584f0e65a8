//! `candor workspace init`: the key of the person at this machine, and who may approve.

use super::ask;
use super::ground::{Ground, GroundArgs};
use super::serve::os_user;
use super::sign::{key_text, outside};
use crate::cli::{Trouble, print};
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
pub(in crate::cli) struct InitArgs {
    #[command(flatten)]
    ground: GroundArgs,
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

impl InitArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let ground = self.ground.open()?;
        let name = self.name.clone().unwrap_or_else(os_user);
        let config = state::open(&ground.places.config).map_err(|error| {
            let config = ground.places.config.display();
            Trouble::new(format!("the directory {config} cannot be used: {error}"))
                .hinting("name another one with --config-dir DIR")
        })?;
        let file = ground.places.key();
        let mut said = String::new();
        let public = match file.exists() {
            true => {
                let _ = writeln!(
                    said,
                    "the key {} was there already, and stays as it is",
                    file.display()
                );
                kept(&file)?
            }
            false => {
                is_a_name(&name)?;
                let key = self.made(&ground, &config, &file, &name)?;
                let _ = writeln!(said, "a new key is in {}", file.display());
                key.public_key().clone()
            }
        };
        let names = trust(&ground, &config, &name, &public)?;
        let _ = writeln!(said, "{names} may approve with it: {}", KeyId::of(&public));
        let _ = write!(
            said,
            "\nNext, say what an agent may change:\n  candor workspace allow 'src/**'\n\nand give this to your MCP client:\n{}\n",
            self.client(&ground)
        );
        print(said.as_bytes())?;
        ignored(&ground.root.path().join(".gitignore"), ground.root.path());
        Ok(())
    }

    fn made(
        &self,
        ground: &Ground,
        config: &impl Disk,
        file: &Path,
        name: &str,
    ) -> Result<ApproverKey, Trouble> {
        let passphrase = self.passphrase(ground)?;
        let wrong = |why: &dyn std::fmt::Display| {
            Trouble::new(format!("the key {} cannot be made: {why}", file.display()))
        };
        let key = ApproverKey::generate(&mut OsRng, name).map_err(|error| wrong(&error))?;
        let text = match &passphrase {
            Some(passphrase) => key.to_file(&mut OsRng, passphrase.as_bytes()),
            None => key.to_open_file(),
        };
        let text = text.map_err(|error| wrong(&error))?;
        put(config, file, &text, KEY_MODE, false).map_err(|error| wrong(&error))?;
        Ok(key)
    }

    /// The passphrase of a new key; nothing where the person wants none.
    fn passphrase(&self, ground: &Ground) -> Result<Option<String>, Trouble> {
        if self.no_passphrase {
            note("the key has no passphrase: whatever runs as you can approve with it");
            return Ok(None);
        }
        let passphrase = match &self.passphrase_file {
            Some(file) => {
                outside(ground, file)?;
                ask::passphrase_in(file)?
            }
            None if ask::is_terminal() => {
                let first = ask::secret("A passphrase for your new key")?;
                if !first.is_empty() && ask::secret("The same again")? != first {
                    return Err(Trouble::new("the two passphrases differ; no key was made"));
                }
                first
            }
            None => {
                return Err(Trouble::new("there is no terminal to ask for a passphrase on").hinting(
                    "run it in a terminal, or name a file that holds the passphrase with --passphrase-file FILE",
                ));
            }
        };
        match passphrase.is_empty() {
            false => Ok(Some(passphrase)),
            true => Err(
                Trouble::new("the passphrase is empty; no key was made").hinting(
                    "choose one, or say --no-passphrase if anything that runs as you may approve",
                ),
            ),
        }
    }

    /// What an MCP client has to run.
    fn client(&self, ground: &Ground) -> String {
        let program = std::env::current_exe().ok();
        let program = program.map_or(String::from("candor"), |path| path.display().to_string());
        let mut args = ["workspace", "serve", "--role", "executor", "--root"]
            .map(String::from)
            .to_vec();
        args.push(ground.name());
        args.extend(self.ground.places.flags(&ground.places));
        let config = json!({
            "mcpServers": { "candor-workspace": { "command": program, "args": args } }
        });
        serde_json::to_string_pretty(&config).unwrap_or_default()
    }
}

/// Whether an approvers file can have a name.
fn is_a_name(name: &str) -> Result<(), Trouble> {
    let odd =
        name.trim() != name || name.contains([',', '"', '#']) || name.chars().any(char::is_control);
    match odd || name.is_empty() {
        false => Ok(()),
        true => Err(
            Trouble::new(format!("{name:?} cannot stand in a list of approvers"))
                .hinting("choose a name without commas and quotes, with --name NAME"),
        ),
    }
}

/// The public half of a key that is there.
fn kept(file: &Path) -> Result<ssh_key::PublicKey, Trouble> {
    let key = ssh_key::PrivateKey::from_openssh(key_text(file)?);
    let key = key.map_err(|_| {
        Trouble::new(format!("{} is no OpenSSH private key", file.display()))
            .hinting("move it away, and run this again")
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
    ground: &Ground,
    config: &impl Disk,
    name: &str,
    key: &ssh_key::PublicKey,
) -> Result<String, Trouble> {
    let file = ground.places.approvers();
    let known = |signers: &Signers| {
        let mut all = signers.entries();
        all.find_map(|(names, id)| (id == KeyId::of(key)).then(|| names.join(", ")))
    };
    if let Some(names) = known(&ground.signers(&[])?) {
        return Ok(names);
    }
    is_a_name(name)?;
    let wrong = |why: &dyn std::fmt::Display| {
        Trouble::new(format!("{} cannot be written: {why}", file.display()))
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
    put(config, &file, &text, APPROVERS_MODE, true).map_err(|error| wrong(&error))?;
    Ok(known(&signers).unwrap_or_default())
}

/// Writes a file of the configuration directory, whole or not at all.
fn put(config: &impl Disk, file: &Path, text: &str, mode: u32, replace: bool) -> io::Result<()> {
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
fn ignored(list: &Path, root: &Path) {
    let said = std::fs::read_to_string(list).unwrap_or_default();
    if root.join(".git").exists() && !said.contains("audit-log.jsonl") {
        hint(
            "the record of what agents do is audit-log.jsonl in the workspace; unless you keep it in git, add audit-log.jsonl* to .gitignore",
        );
    }
}
