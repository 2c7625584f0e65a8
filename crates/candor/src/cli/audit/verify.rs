//! `candor audit verify`: checks every line of a log, and names the first one that was changed.

use super::{BROKEN, NamedFile, counted, describe, kind_of};
use crate::cli::shell_words::quote;
use crate::cli::{CommandError, print};
use candor_audit::{Checkpoint, LogFlaw, PublicKey, Verification, verify_against};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Check that a log is complete and unchanged
///
/// Reads every line of every file of the log. Without a checkpoint it cannot detect that lines are missing at
/// the end, or that the whole log was rewritten, so give the checkpoints that are stored elsewhere.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditVerifyArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// A checkpoint that the log must agree with (repeatable)
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// A file with a public key, as in ~/.ssh/*.pub; every checkpoint must be signed by one (repeatable)
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    key: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl AuditVerifyArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        let keys = self.key.iter().map(|path| public_key(path));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let checkpoints = self.checkpoint.iter().map(|path| {
            let checkpoint = NamedFile::at(path)?.checkpoint()?;
            Ok((path.as_path(), checkpoint))
        });
        let checkpoints = checkpoints.collect::<Result<Vec<_>, CommandError>>()?;
        if checkpoints.is_empty() {
            // With a checkpoint, a log without a file is a broken log.
            log.extent()?;
        }
        if !keys.is_empty() {
            let unsigned = |(_, checkpoint): &&(_, Checkpoint)| !checkpoint.is_signed_by(&keys);
            if let Some((path, _)) = checkpoints.iter().find(unsigned) {
                let path = path.display();
                return Err(CommandError::new(format!(
                    "the checkpoint {path} is not signed by any of the given keys"
                ))
                .with_hint("do not trust it: it may have been replaced")
                .with_exit_code(BROKEN));
            }
        }
        let seen: Vec<_> = checkpoints.iter().map(|(_, seen)| seen.clone()).collect();
        let verified = verify_against(log.disk.clone(), &log.name, &seen);
        let verified = verified.map_err(|error| log.cannot_read(&error))?;
        let shown = match (self.json, verified.flaw) {
            (true, _) => self.object(&verified, &checkpoints)?,
            (false, Some(_)) => String::new(),
            (false, None) => self.text(&verified, &checkpoints),
        };
        print(shown.as_bytes())?;
        broken_error(&self.path, &self.checkpoint, &verified).map_or(Ok(()), Err)
    }

    fn object(
        &self,
        verified: &Verification,
        checkpoints: &[(&Path, Checkpoint)],
    ) -> Result<String, CommandError> {
        let checkpoints = checkpoints.iter().map(|(path, checkpoint)| {
            json!({
                "file": path.to_string_lossy(),
                "counter": checkpoint.counter,
                "seq": checkpoint.seq,
                "hash": checkpoint.hash,
                "timestamp": checkpoint.timestamp,
                "key_id": checkpoint.key_id,
                "signature_checked": !self.key.is_empty(),
            })
        });
        let flaw = verified.flaw.map(
            |flaw| json!({ "kind": kind_of(flaw), "seq": flaw.seq(), "message": describe(flaw) }),
        );
        let report = json!({
            "log": self.path.to_string_lossy(),
            "files": verified.files,
            "lines": verified.lines,
            "bytes": verified.bytes,
            "last": verified.last,
            "flaw": flaw,
            "checkpoints": checkpoints.collect::<Vec<Value>>(),
        });
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        Ok(text + "\n")
    }

    fn text(&self, verified: &Verification, checkpoints: &[(&Path, Checkpoint)]) -> String {
        let lines = counted(verified.lines, "line");
        let files = counted(verified.files as u64, "file");
        let mut text = format!("{} is intact: {lines} in {files}\n", self.path.display());
        if let Some(last) = verified.last {
            text += &format!("line {} is the last; its hash is {}\n", last.seq, last.hash);
        }
        for (path, checkpoint) in checkpoints {
            let signed = match (&checkpoint.key_id, self.key.is_empty()) {
                (Some(key), false) => format!("signed by {key}"),
                (Some(key), true) => format!("signed by {key}, which was not checked: no --key"),
                (None, _) => String::from("not signed"),
            };
            let (path, seq) = (path.display(), checkpoint.seq);
            text += &format!("{path} agrees up to line {seq}, {signed}\n");
        }
        if checkpoints.is_empty() {
            text += "no checkpoint was given, so lines that are missing at the end cannot be detected\n";
        }
        text
    }
}

/// Returns the error for a log that was changed.
pub(super) fn broken_error(
    path: &Path,
    checkpoints: &[PathBuf],
    verified: &Verification,
) -> Option<CommandError> {
    let flaw = verified.flaw?;
    let word = |path: &Path| quote(path);
    let mut quarantine = format!("candor audit quarantine {}", word(path));
    for checkpoint in checkpoints {
        quarantine += &format!(" --checkpoint {}", word(checkpoint));
    }
    let (path, seq) = (path.display(), flaw.seq());
    let before = match (flaw, seq) {
        (_, 1) => String::new(),
        (LogFlaw::Rewritten(_), _) => String::from("earlier lines may have been changed too; "),
        (_, 2) => String::from("line 1 is intact; "),
        (_, seq) => format!("lines 1 to {} are intact; ", seq - 1),
    };
    let error = CommandError::new(format!(
        "{path} is broken at line {seq}: {}",
        describe(flaw)
    ));
    let hint = format!("{before}to move the log aside, run:\n  {quarantine}");
    Some(error.with_hint(hint).with_exit_code(BROKEN))
}

/// The number of bytes of a key file that are read.
const MAX_KEY: u64 = 64 * 1024;

/// Reads a key file.
pub(super) fn key_text(path: &Path) -> Result<String, CommandError> {
    use std::io::Read;
    let shown = path.display();
    let mut text = String::new();
    let opened = std::fs::File::open(path);
    let read = opened.and_then(|file| file.take(MAX_KEY).read_to_string(&mut text));
    read.map_err(|error| CommandError::new(format!("cannot read the key {shown}: {error}")))?;
    Ok(text)
}

fn public_key(path: &Path) -> Result<PublicKey, CommandError> {
    let key = PublicKey::from_openssh(key_text(path)?.trim());
    key.map_err(|_| {
        CommandError::new(format!("{} is not a public key", path.display()))
            .with_hint("give a file with one line as ssh-keygen writes it: ssh-ed25519 AAAA…")
    })
}
