//! Signs with `ssh-keygen`, for keys that are not Ed25519: their private parts are never used here.

use super::sign::{TRIES, unusable};
use crate::cli::CommandError;
use crate::cli::prompt;
use crate::cli::shell_words::quote;
use candor_workspace::approval::{KeyError, NAMESPACE};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Prints the passphrase for `ssh-keygen`, which asks a program if it has no terminal.
const ASKPASS: &str = "#!/bin/sh\nexec cat -- \"$CANDOR_PASSPHRASE_FILE\"\n";

/// A private key file that only `ssh-keygen` uses.
pub(super) struct SshKeygenKey {
    file: PathBuf,
    is_encrypted: bool,
    passphrase_file: Option<PathBuf>,
}

impl SshKeygenKey {
    /// Returns an error if the key has a passphrase and there is no terminal to ask for it.
    pub(super) fn new(
        file: &Path,
        is_encrypted: bool,
        passphrase_file: Option<&Path>,
    ) -> Result<SshKeygenKey, CommandError> {
        if is_encrypted && passphrase_file.is_none() && !prompt::is_terminal() {
            return Err(unusable(file, &KeyError::NeedsPassphrase).with_hint(
                "run it in a terminal, or name a file that contains the passphrase with --passphrase-file FILE",
            ));
        }
        Ok(SshKeygenKey {
            file: std::path::absolute(file)?,
            is_encrypted,
            passphrase_file: passphrase_file.map(std::path::absolute).transpose()?,
        })
    }

    /// Signs a message and returns the armored signature.
    pub(super) fn sign(&self, message: &[u8]) -> Result<String, CommandError> {
        let asks = self.is_encrypted && self.passphrase_file.is_none();
        let mut tries = 1;
        loop {
            let output = self
                .run(message)
                .map_err(|error| self.not_started(&error))?;
            if output.status.success() {
                return String::from_utf8(output.stdout).map_err(|_| self.failed("no signature"));
            }
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if !asks || tries == TRIES || !reason.contains("incorrect passphrase") {
                return Err(self.failed(&reason));
            }
            crate::host::print_note("the passphrase is wrong");
            tries += 1;
        }
    }

    fn run(&self, message: &[u8]) -> io::Result<Output> {
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"])
            .arg(&self.file)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let askpass = match &self.passphrase_file {
            Some(file) if self.is_encrypted => {
                let askpass = Askpass::create()?;
                command
                    .env("SSH_ASKPASS_REQUIRE", "force")
                    .env("SSH_ASKPASS", askpass.program())
                    .env("CANDOR_PASSPHRASE_FILE", file);
                Some(askpass)
            }
            _ => {
                // It asks on the terminal, even if there is a desktop to ask on.
                command.env("SSH_ASKPASS_REQUIRE", "never");
                None
            }
        };
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // An error here means that it ended early, which its status reports.
            let _ = stdin.write_all(message);
        }
        let output = child.wait_with_output();
        drop(askpass);
        output
    }

    fn not_started(&self, error: &io::Error) -> CommandError {
        CommandError::new(format!(
            "the key {} signs with ssh-keygen, which cannot be started: {error}",
            self.file.display()
        ))
        .with_hint("install OpenSSH, or approve with an Ed25519 key")
    }

    fn failed(&self, reason: &str) -> CommandError {
        CommandError::new(format!(
            "ssh-keygen could not sign with the key {}: {reason}",
            self.file.display()
        ))
        .with_hint(format!(
            "to see what is wrong, sign a file yourself:\n  ssh-keygen -Y sign -n {NAMESPACE} -f {} FILE",
            quote(&self.file)
        ))
    }
}

/// The program that prints the passphrase, in a separate directory that is removed on drop.
struct Askpass(PathBuf);

impl Askpass {
    fn create() -> io::Result<Askpass> {
        let directory = std::env::temp_dir().join(format!("candor-{}", uuid::Uuid::new_v4()));
        DirBuilder::new().mode(0o700).create(&directory)?;
        let askpass = Askpass(directory);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(askpass.program())?
            .write_all(ASKPASS.as_bytes())?;
        Ok(askpass)
    }

    fn program(&self) -> PathBuf {
        self.0.join("askpass")
    }
}

impl Drop for Askpass {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
