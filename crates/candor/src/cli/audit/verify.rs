//! `candor audit verify`: checks every line of a log, compares it with every checkpoint that is known,
//! and names the first line that was changed.

use super::known_checkpoints::CheckpointSearch;
use super::{BROKEN, NamedFile, UNCHECKED, counted, describe, kind_of};
use crate::cli::shell_words::quote;
use crate::cli::workspace::directories::StateDirArgs;
use crate::cli::{CommandError, print};
use candor_audit::{
    CheckpointContent, CheckpointVerdict, Completeness, JudgedPart, KnownCheckpoint, LogAnchor,
    LogEvidence, LogFlaw, LogJudgement, PublicKey, Verification, judge,
};
use candor_disk::RealDisk;
use candor_workspace::visible_text;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Check that a log is complete and unchanged
///
/// Reads every line of every file of the log. A checkpoint is a small file outside the log that records how far
/// the log had come; without one, lines that are missing at the end cannot be detected. The checkpoints of a
/// workspace's log are found by themselves: the one in the state directory, and those in every directory that a
/// server was given with --checkpoint-to.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditVerifyArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// Another checkpoint that the log must agree with (repeatable)
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// A file with a public key, as in ~/.ssh/*.pub; every checkpoint must be signed by one (repeatable)
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// The directory to which `candor audit retire` moved files of the log, to verify them too
    #[arg(long, value_name = "DIR")]
    with: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateDirArgs,
}

impl AuditVerifyArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        let given = self.key.iter().map(|path| public_key(path));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let state = self.state.directory()?;
        let search = CheckpointSearch::new(&log, state.as_deref(), &self.checkpoint)?;
        if !search.has_checkpoint() {
            // With a checkpoint, a log without a file is a broken log.
            log.extent()?;
        }
        let keys = match given.is_empty() {
            true => search.remembered_key().cloned().into_iter().collect(),
            false => given,
        };
        let anchor = search.anchor().cloned();
        let retired = self.retired(anchor.as_ref())?;
        let evidence = LogEvidence {
            checkpoints: search.known,
            keys: &keys,
            anchor: anchor.as_ref(),
            retired: retired.as_ref(),
        };
        let judged = judge(&log.disk, &log.name, evidence, JudgedPart::WholeLog);
        let judged = judged.map_err(|error| log.cannot_read(&error))?;
        let untrusted = untrusted_error(&judged, !self.key.is_empty());
        let broken = untrusted.or_else(|| broken_error(&self.path, &judged));
        let shown = match (self.json, &broken) {
            (true, _) => self.object(&judged, !keys.is_empty())?,
            (false, Some(_)) => String::new(),
            (false, None) => self.text(&judged, anchor.as_ref(), !keys.is_empty()),
        };
        print(shown.as_bytes())?;
        match (broken, judged.completeness) {
            (Some(error), _) => Err(error),
            (None, Completeness::Checked) => Ok(()),
            (None, _) => Err(CommandError::silent(UNCHECKED)),
        }
    }

    fn object(&self, judged: &LogJudgement, key_known: bool) -> Result<String, CommandError> {
        let verified = &judged.verification;
        let checkpoints = judged.checkpoints.iter().map(|(known, verdict)| {
            let checkpoint = known.checkpoint();
            json!({
                "place": known.path.to_string_lossy(),
                "seq": checkpoint.map(|checkpoint| checkpoint.seq),
                "counter": checkpoint.map(|checkpoint| checkpoint.counter),
                "hash": checkpoint.map(|checkpoint| checkpoint.hash),
                "timestamp": checkpoint.map(|checkpoint| &checkpoint.timestamp),
                "key_id": checkpoint.and_then(|checkpoint| checkpoint.key_id.as_deref()),
                "signature_checked": key_known,
                "verdict": verdict,
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
            "completeness": judged.completeness,
            "checkpoints": checkpoints.collect::<Vec<Value>>(),
        });
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        Ok(text + "\n")
    }

    /// Opens the directory of files that were moved away, if they are to be verified too.
    fn retired(&self, anchor: Option<&LogAnchor>) -> Result<Option<RealDisk>, CommandError> {
        let Some(dir) = &self.with else {
            return Ok(None);
        };
        if anchor.is_none() {
            return Err(CommandError::new("no file of this log was moved away"));
        }
        let disk = RealDisk::at(dir);
        let disk = disk.map_err(|error| {
            CommandError::new(format!("cannot open {}: {error}", dir.display()))
        })?;
        Ok(Some(disk))
    }

    fn text(&self, judged: &LogJudgement, anchor: Option<&LogAnchor>, key_known: bool) -> String {
        let verified = &judged.verification;
        let lines = counted(verified.lines, "line");
        let files = counted(verified.files as u64, "file");
        let path = shown(&self.path);
        let mut text = match judged.completeness {
            Completeness::Checked => format!("{path} is whole: {lines} in {files}\n"),
            Completeness::Unchecked | Completeness::Contradicted => {
                format!("chain consistent, completeness not checked: {path}, {lines} in {files}\n")
            }
        };
        if let Some(last) = verified.last {
            text += &format!("line {} is the last; its hash is {}\n", last.seq, last.hash);
        }
        if let Some(anchor) = anchor {
            let dir = shown(&anchor.directory);
            text += &match self.with {
                Some(_) => format!("lines 1 to {} are in {dir}\n", anchor.seq),
                None => format!(
                    "lines 1 to {} were moved to {dir}; --with {dir} verifies them too\n",
                    anchor.seq
                ),
            };
        }
        for (known, _) in &judged.checkpoints {
            text += &describe_checkpoint(known, key_known);
        }
        if judged.checkpoints.is_empty() {
            text += "no checkpoint was found, so lines that are missing at the end cannot be detected\n";
        }
        text
    }
}

fn shown(path: &Path) -> String {
    visible_text(&path.display().to_string())
}

/// Describes a checkpoint that agrees with the log or is gone.
fn describe_checkpoint(known: &KnownCheckpoint, key_known: bool) -> String {
    let path = shown(&known.path);
    let checkpoint = match &known.content {
        CheckpointContent::Checkpoint(checkpoint) => checkpoint,
        CheckpointContent::Invalid => return format!("{path} is not a checkpoint\n"),
        CheckpointContent::Unavailable(error) => {
            return format!("{path} is gone ({error}), so what it recorded cannot be compared\n");
        }
    };
    let signed = match (&checkpoint.key_id, key_known) {
        (Some(key), true) => format!("signed by {}", visible_text(key)),
        (Some(key), false) => format!("signed by {}, which no --key confirms", visible_text(key)),
        (None, _) => String::from("not signed"),
    };
    let time = visible_text(&checkpoint.timestamp);
    format!(
        "{path} agrees up to line {} of {time}, {signed}\n",
        checkpoint.seq
    )
}

/// Returns the error for a checkpoint that cannot be trusted, if there is one.
pub(super) fn untrusted_error(judged: &LogJudgement, keys_given: bool) -> Option<CommandError> {
    let reason = |verdict: CheckpointVerdict| match verdict {
        CheckpointVerdict::Unsigned | CheckpointVerdict::Signature if keys_given => {
            Some("is not signed by any of the given keys")
        }
        CheckpointVerdict::Unsigned => Some("is not signed, although a key signs them"),
        CheckpointVerdict::Signature => Some("is not signed by the key that signs them"),
        CheckpointVerdict::Invalid => Some("is damaged: the file is no checkpoint"),
        _ => None,
    };
    let mut verdicts = judged.checkpoints.iter();
    let (path, reason) =
        verdicts.find_map(|(known, verdict)| Some((shown(&known.path), reason(*verdict)?)))?;
    let error = CommandError::new(format!("the checkpoint {path} {reason}"));
    let hint = "do not trust it: it may have been replaced";
    Some(error.with_hint(hint).with_exit_code(BROKEN))
}

/// Returns the error for a log that was changed.
pub(super) fn broken_error(path: &Path, judged: &LogJudgement) -> Option<CommandError> {
    let flaw = judged.verification.flaw?;
    let message = describe_broken(path, &judged.verification)?;
    let mut quarantine = format!("candor audit quarantine {}", quote(path));
    for (checkpoint, _) in &judged.checkpoints {
        quarantine += &format!(" --checkpoint {}", quote(&checkpoint.path));
    }
    let before = match (flaw, flaw.seq()) {
        (_, 1) => String::new(),
        (LogFlaw::Rewritten(_), _) => String::from("earlier lines may have been changed too; "),
        (_, 2) => String::from("line 1 is intact; "),
        (_, seq) => format!("lines 1 to {} are intact; ", seq - 1),
    };
    let hint = format!("{before}to move the log aside, run:\n  {quarantine}");
    Some(
        CommandError::new(message)
            .with_hint(hint)
            .with_exit_code(BROKEN),
    )
}

/// Describes the first flaw of a log, if it has one.
pub(super) fn describe_broken(path: &Path, verified: &Verification) -> Option<String> {
    let flaw = verified.flaw?;
    let (path, seq) = (shown(path), flaw.seq());
    Some(format!(
        "{path} is broken at line {seq}: {}",
        describe(flaw)
    ))
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
