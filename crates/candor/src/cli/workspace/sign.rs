//! Who signs, and with which key.

use super::directories::is_in;
use super::opened::OpenedWorkspace;
use super::prompt;
use super::ssh_keygen::SshKeygenKey;
use crate::cli::CommandError;
use crate::host::note;
use candor_workspace::approval::{
    ApproverKey, KEY_BYTES_MAX, KeyError, KeyId, Signable, SignedStatement, Signers,
};
use clap::Args;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How often a passphrase is asked for.
pub(super) const TRIES: usize = 3;

#[derive(Debug, Args)]
pub(super) struct SignArgs {
    /// Sign with this SSH key instead of the one that `init` made
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Who you are, where the approvers file has several names for the key
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that holds the passphrase of the key, for machines
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// A further file that says who may approve, in the form of OpenSSH's allowed_signers (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) approvers: Vec<PathBuf>,
    /// Do not ask whether you are sure
    #[arg(long)]
    pub(super) yes: bool,
}

/// A key that may sign, and whose it is.
pub(super) struct KeyFile<'a> {
    args: &'a SignArgs,
    file: PathBuf,
    text: String,
    name: String,
}

/// Somebody who can sign.
pub(super) struct Approver {
    key: SigningKey,
    pub(super) name: String,
}

/// An Ed25519 key, which signs here, or another one, which signs with `ssh-keygen`.
enum SigningKey {
    Ed25519(Box<ApproverKey>),
    Other(SshKeygenKey),
}

impl Approver {
    /// Signs a statement; the signature is verified before it is used.
    pub(super) fn sign<S: Signable>(
        &self,
        statement: S,
    ) -> Result<SignedStatement<S>, CommandError> {
        match &self.key {
            SigningKey::Ed25519(key) => SignedStatement::sign(key, statement)
                .map_err(|error| CommandError::new(error.to_string())),
            SigningKey::Other(key) => {
                let signature = key.sign(&SignedStatement::message(&statement))?;
                SignedStatement::with_signature(statement, &signature)
                    .map_err(|error| CommandError::new(error.to_string()))
            }
        }
    }
}

impl SignArgs {
    /// Whether a machine runs this, where what was typed is all that has to be known.
    pub(super) fn is_unattended(&self) -> bool {
        self.yes || self.passphrase_file.is_some()
    }

    /// Refuses to go on where somebody has to be asked and nobody can be.
    pub(super) fn require_terminal(&self, decided: bool) -> Result<(), CommandError> {
        match decided || prompt::is_terminal() {
            true => Ok(()),
            false => Err(CommandError::new("there is no terminal to ask on").with_hint(
                "run it in a terminal; a machine gives --yes, and --passphrase-file FILE where the key has a passphrase",
            )),
        }
    }

    /// The key, still closed: what is wrong with it is told before anything is asked.
    pub(super) fn key_file(
        &self,
        workspace: &OpenedWorkspace,
        signers: &Signers,
    ) -> Result<KeyFile<'_>, CommandError> {
        let file = self
            .ssh_key
            .clone()
            .unwrap_or_else(|| workspace.directories.key());
        let secrets = [Some(&file), self.passphrase_file.as_ref()];
        for secret in secrets.into_iter().flatten() {
            require_outside(workspace, secret)?;
        }
        let text = key_text(&file)?;
        let key = candor_audit::PrivateKey::from_openssh(&text)
            .map_err(|_| unusable(&file, &KeyError::NotAKey))?;
        let key_id = KeyId::of(key.public_key());
        let name = self.named(workspace, signers, key_id)?;
        Ok(KeyFile {
            args: self,
            file,
            text,
            name,
        })
    }

    fn named(
        &self,
        workspace: &OpenedWorkspace,
        signers: &Signers,
        key_id: KeyId,
    ) -> Result<String, CommandError> {
        let own = signers.entries().filter(|(_, key)| *key == key_id);
        let names: Vec<&String> = own.flat_map(|(names, _)| names).collect();
        let approvers = workspace.directories.approvers();
        let approvers = approvers.display();
        match (&self.name, names.as_slice()) {
            (_, []) => Err(CommandError::new(format!(
                "the key {key_id} is no approver's: it is not in {approvers}"
            ))
            .with_hint("`candor workspace init` adds its own; for another one append a line with a name and its public key to that file")),
            (Some(name), names) if !names.contains(&name) => Err(CommandError::new(format!(
                "the key {key_id} is not {name:?}'s"
            ))
            .with_hint(format!("its names are {}", listed(names)))),
            (Some(name), _) => Ok(name.clone()),
            (None, [name]) => Ok((*name).clone()),
            (None, names) => Err(CommandError::new(format!(
                "the key {key_id} has several names: {}",
                listed(names)
            ))
            .with_hint("say who you are with --name NAME")),
        }
    }
}

impl KeyFile<'_> {
    /// The key, opened; the person is asked for its passphrase.
    pub(super) fn open(self) -> Result<Approver, CommandError> {
        let key = match ApproverKey::from_file(&self.text, None) {
            Err(KeyError::NeedsPassphrase) => SigningKey::Ed25519(Box::new(self.unlocked()?)),
            Err(KeyError::NotEd25519 { is_encrypted, .. }) => SigningKey::Other(SshKeygenKey::new(
                &self.file,
                is_encrypted,
                self.args.passphrase_file.as_deref(),
            )?),
            opened => SigningKey::Ed25519(Box::new(
                opened.map_err(|error| unusable(&self.file, &error))?,
            )),
        };
        Ok(Approver {
            key,
            name: self.name,
        })
    }

    fn unlocked(&self) -> Result<ApproverKey, CommandError> {
        let refused = |error: &KeyError| unusable(&self.file, error);
        let with =
            |passphrase: &str| ApproverKey::from_file(&self.text, Some(passphrase.as_bytes()));
        if let Some(file) = &self.args.passphrase_file {
            return with(&prompt::passphrase_in(file)?).map_err(|error| refused(&error));
        }
        if !prompt::is_terminal() {
            return Err(refused(&KeyError::NeedsPassphrase).with_hint(
                "run it in a terminal, or name a file that holds the passphrase with --passphrase-file FILE",
            ));
        }
        let question = format!("Passphrase of {}", self.file.display());
        let mut tries = 1;
        loop {
            match with(&prompt::secret(&question)?) {
                Err(KeyError::WrongPassphrase) if tries < TRIES => {
                    note("that is not its passphrase");
                    tries += 1;
                }
                opened => return opened.map_err(|error| refused(&error)),
            }
        }
    }
}

pub(super) fn unusable(file: &Path, error: &KeyError) -> CommandError {
    CommandError::new(format!(
        "the key {} cannot be used: {error}",
        file.display()
    ))
}

fn listed(names: &[&String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// Refuses a secret where an agent could read it.
pub(super) fn require_outside(
    workspace: &OpenedWorkspace,
    secret: &Path,
) -> Result<(), CommandError> {
    match is_in(&workspace.root, &std::path::absolute(secret)?) {
        false => Ok(()),
        true => Err(CommandError::new(format!(
            "{} lies in the workspace, where an agent could read it",
            secret.display()
        ))
        .with_hint("move it out of the workspace")),
    }
}

/// The text of a key file.
pub(super) fn key_text(file: &Path) -> Result<String, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("the key {} cannot be read: {why}", file.display()))
    };
    let opened = match std::fs::File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(
                CommandError::new(format!("there is no key {}", file.display())).with_hint(
                    "make one with `candor workspace init`, or name yours with --ssh-key FILE",
                ),
            );
        }
        opened => opened.map_err(|error| wrong(&error))?,
    };
    let mut text = String::new();
    let read = opened
        .take(KEY_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text);
    read.map_err(|error| wrong(&error))?;
    Ok(text)
}
