//! The key of the person who signs, and its passphrase.

use super::directories::is_in;
use super::opened::OpenedWorkspace;
use super::ssh_keygen::SshKeygenKey;
use crate::cli::CommandError;
use crate::cli::prompt;
use crate::host::print_note;
use candor_workspace::approval::{
    ApproverKey, KeyError, KeyId, MAX_KEY_BYTES, Signable, SignedStatement, Signers,
};
use clap::Args;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The number of attempts at a passphrase.
pub(super) const TRIES: usize = 3;

#[derive(Debug, Args)]
pub(super) struct SignArgs {
    /// The SSH key to sign with, instead of the key that `init` created
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Your name, if the approvers file has several names for the key
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A file that contains the passphrase of the key, for scripts
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Another file of approvers, in the format of OpenSSH's allowed_signers (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) approvers: Vec<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
}

/// A key file of an approver, still encrypted.
pub(super) struct KeyFile<'a> {
    args: &'a SignArgs,
    file: PathBuf,
    text: String,
    name: String,
}

/// An approver with a decrypted key.
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
    /// Returns true if a script runs the command, so that no question is asked.
    pub(super) fn is_unattended(&self) -> bool {
        self.yes || self.passphrase_file.is_some()
    }

    /// Returns an error if the person must be asked and there is no terminal.
    pub(super) fn require_terminal(&self, decided: bool) -> Result<(), CommandError> {
        match decided || prompt::is_terminal() {
            true => Ok(()),
            false => Err(CommandError::new("there is no terminal to ask for confirmation").with_hint(
                "run it in a terminal, or give --yes, and --passphrase-file FILE if the key has a passphrase",
            )),
        }
    }

    /// Reads the key file, so that its errors are shown before any question.
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
        let name = self.signer_name(workspace, signers, key_id)?;
        Ok(KeyFile {
            args: self,
            file,
            text,
            name,
        })
    }

    fn signer_name(
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
                "the key {key_id} may not approve: it is not in {approvers}"
            ))
            .with_hint(format!(
                "append a line with a name and the public key to that file, or create a new key:\n  {}",
                workspace.command("init")
            ))),
            (Some(name), names) if !names.contains(&name) => Err(CommandError::new(format!(
                "the key {key_id} does not belong to {name:?}"
            ))
            .with_hint(format!("its names are {}", join_names(names)))),
            (Some(name), _) => Ok(name.clone()),
            (None, [name]) => Ok((*name).clone()),
            (None, names) => Err(CommandError::new(format!(
                "the key {key_id} has several names: {}",
                join_names(names)
            ))
            .with_hint("choose one with --name NAME")),
        }
    }
}

impl KeyFile<'_> {
    /// Decrypts the key; asks the person for its passphrase.
    pub(super) fn open(self) -> Result<Approver, CommandError> {
        let key = match ApproverKey::from_file(&self.text, None) {
            Err(KeyError::NeedsPassphrase) => SigningKey::Ed25519(Box::new(self.decrypt()?)),
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

    fn decrypt(&self) -> Result<ApproverKey, CommandError> {
        let refused = |error: &KeyError| unusable(&self.file, error);
        let with =
            |passphrase: &str| ApproverKey::from_file(&self.text, Some(passphrase.as_bytes()));
        if let Some(file) = &self.args.passphrase_file {
            return with(&prompt::read_passphrase(file)?).map_err(|error| refused(&error));
        }
        if !prompt::is_terminal() {
            return Err(refused(&KeyError::NeedsPassphrase).with_hint(
                "run it in a terminal, or name a file that contains the passphrase with --passphrase-file FILE",
            ));
        }
        let question = format!("Passphrase of {}", self.file.display());
        let mut tries = 1;
        loop {
            match with(&prompt::secret(&question)?) {
                Err(KeyError::WrongPassphrase) if tries < TRIES => {
                    print_note("the passphrase is wrong");
                    tries += 1;
                }
                opened => return opened.map_err(|error| refused(&error)),
            }
        }
    }
}

pub(super) fn unusable(file: &Path, error: &KeyError) -> CommandError {
    CommandError::new(format!("cannot use the key {}: {error}", file.display()))
}

fn join_names(names: &[&String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// Returns an error if a secret is in the workspace, where an agent could read it.
pub(super) fn require_outside(
    workspace: &OpenedWorkspace,
    secret: &Path,
) -> Result<(), CommandError> {
    match is_in(&workspace.root, &std::path::absolute(secret)?) {
        false => Ok(()),
        true => Err(CommandError::new(format!(
            "{} is in the workspace, where an agent could read it",
            secret.display()
        ))
        .with_hint("move it out of the workspace")),
    }
}

/// Reads a key file.
pub(super) fn key_text(file: &Path) -> Result<String, CommandError> {
    let failed = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("cannot read the key {}: {why}", file.display()))
    };
    let opened = match std::fs::File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(
                CommandError::new(format!("there is no key {}", file.display())).with_hint(
                    "name your key with --ssh-key FILE, or create one:\n  candor workspace init",
                ),
            );
        }
        opened => opened.map_err(|error| failed(&error))?,
    };
    let mut text = String::new();
    let read = opened
        .take(MAX_KEY_BYTES as u64 + 1)
        .read_to_string(&mut text);
    read.map_err(|error| failed(&error))?;
    Ok(text)
}
