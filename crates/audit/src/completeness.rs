//! Compares a log with every checkpoint that is known, and decides whether its completeness was
//! checked. A chain alone cannot show that lines are missing at its end.

use crate::append::AppendReceipt;
use crate::chain::ChainEnd;
use crate::checkpoint::{Checkpoint, LogPosition};
use crate::checkpoint_file::{CheckpointFile, Replaces};
use crate::checkpoint_thread::CheckpointWriter;
use crate::hash::Hash;
use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFiles, read_range};
use crate::read::log_size;
use crate::retire::LogAnchor;
use crate::verify::{
    LogFlaw, Verification, contains_checkpoint, verify_after, verify_from, verify_retired,
};
use candor_disk::{Disk, DiskFile};
use serde::Serialize;
use ssh_key::PublicKey;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A log of at most this many bytes is always verified from its first line.
pub const SMALL_LOG: u64 = 16 * 1024 * 1024;

/// A checkpoint file that the log should agree with, as it was read.
#[derive(Debug)]
pub struct KnownCheckpoint {
    pub path: PathBuf,
    pub content: CheckpointContent,
}

/// The content of a checkpoint file.
#[derive(Debug)]
pub enum CheckpointContent {
    Checkpoint(Box<Checkpoint>),
    /// The file is missing, or cannot be read.
    Unavailable(io::Error),
    /// The bytes are not a checkpoint.
    Invalid,
}

impl KnownCheckpoint {
    /// Reads a checkpoint file that should exist.
    pub fn read(path: PathBuf, file: &CheckpointFile) -> KnownCheckpoint {
        let content = match file.read() {
            Ok(Some(checkpoint)) => CheckpointContent::Checkpoint(Box::new(checkpoint)),
            Ok(None) => CheckpointContent::Unavailable(io::ErrorKind::NotFound.into()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => CheckpointContent::Invalid,
            Err(error) => CheckpointContent::Unavailable(error),
        };
        KnownCheckpoint { path, content }
    }

    /// Returns the checkpoint, unless the file is unavailable or invalid.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        match &self.content {
            CheckpointContent::Checkpoint(checkpoint) => Some(checkpoint),
            CheckpointContent::Unavailable(_) | CheckpointContent::Invalid => None,
        }
    }
}

/// The result of comparing one checkpoint with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointVerdict {
    /// The log contains its line.
    Agrees,
    /// The log ends before its line.
    Truncated,
    /// The log has another line at its number, or another first line.
    Rewritten,
    /// The chain is broken before its line.
    NotReached,
    /// Its line was moved away with [`retire`](crate::retire()), and the files were not given.
    Retired,
    /// It has no signature although a key is expected.
    Unsigned,
    /// Its signature is invalid, or made with another key.
    Signature,
    /// The file is not a checkpoint.
    Invalid,
    /// The file is missing, or cannot be read.
    Gone,
}

impl CheckpointVerdict {
    /// Returns true if the checkpoint was compared and contradicts the log, or cannot be trusted.
    pub fn is_contradiction(self) -> bool {
        use CheckpointVerdict::{Agrees, Gone, Retired};
        !matches!(self, Agrees | Gone | Retired)
    }
}

/// The completeness of a log: whether lines could be missing at its end without being noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The log agrees with every checkpoint that is known, and there is at least one.
    Checked,
    /// No checkpoint is known, or one is gone.
    Unchecked,
    /// The chain is broken, or a checkpoint contradicts it or cannot be trusted.
    Contradicted,
}

impl fmt::Display for Completeness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Completeness::Checked => "checked",
            Completeness::Unchecked => "unchecked",
            Completeness::Contradicted => "contradicted",
        })
    }
}

/// The part of a log that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedPart {
    WholeLog,
    /// The whole log if it is small. Otherwise the lines from the newest checkpoint on, and the ends of
    /// the earlier files, so that a missing file is noticed; everything if there is a flaw.
    SinceNewestCheckpoint,
}

/// A log, compared with its checkpoints.
#[derive(Debug)]
pub struct LogJudgement {
    pub verification: Verification,
    pub completeness: Completeness,
    /// Every known checkpoint with its verdict, in the order in which they were given.
    pub checkpoints: Vec<(KnownCheckpoint, CheckpointVerdict)>,
}

impl LogJudgement {
    /// Returns the first checkpoint that contradicts the log or cannot be trusted.
    pub fn contradiction(&self) -> Option<(&KnownCheckpoint, CheckpointVerdict)> {
        let mut verdicts = self.checkpoints.iter();
        verdicts
            .find(|(_, verdict)| verdict.is_contradiction())
            .map(|(known, verdict)| (known, *verdict))
    }

    /// Returns the newest checkpoint that agrees with the log.
    pub fn newest(&self) -> Option<&Checkpoint> {
        let agreeing = self.checkpoints.iter();
        let agreeing = agreeing.filter(|(_, verdict)| *verdict == CheckpointVerdict::Agrees);
        agreeing
            .filter_map(|(known, _)| known.checkpoint())
            .max_by_key(|checkpoint| checkpoint.seq)
    }
}

/// Everything that is known about a log outside of it.
#[derive(Debug)]
pub struct LogEvidence<'a, D> {
    pub checkpoints: Vec<KnownCheckpoint>,
    /// The keys that may sign. If there are any, each checkpoint must be signed with one of them; otherwise
    /// a signature must only be valid.
    pub keys: &'a [PublicKey],
    /// The anchor of files that were moved away.
    pub anchor: Option<&'a LogAnchor>,
    /// The directory of these files, if they are to be verified too.
    pub retired: Option<&'a D>,
}

/// Verifies the log of this name and compares it with everything that is known about it.
pub fn judge<D: Disk + Clone>(
    disk: &D,
    name: &str,
    evidence: LogEvidence<'_, D>,
    part: JudgedPart,
) -> io::Result<LogJudgement> {
    let LogEvidence {
        checkpoints: known,
        keys,
        anchor,
        retired,
    } = evidence;
    let anchor = anchor.filter(|anchor| !is_new_chain(&LogFiles::new(disk.clone(), name), anchor));
    let trusted: Vec<Checkpoint> = known
        .iter()
        .filter_map(KnownCheckpoint::checkpoint)
        .filter(|checkpoint| signature_flaw(checkpoint, keys).is_none())
        .cloned()
        .collect();
    let files = LogFiles::new(disk.clone(), name);
    let mut verification = match part {
        JudgedPart::WholeLog => verify_after(disk.clone(), name, &trusted, anchor)?,
        JudgedPart::SinceNewestCheckpoint => {
            verify_since_newest(disk, &files, &trusted, anchor, SMALL_LOG)?
        }
    };
    let mut retired_files = None;
    if let (Some(retired), Some(anchor)) = (retired, anchor) {
        let verified = verify_retired(retired.clone(), name, anchor, &trusted)?;
        match verified.flaw {
            Some(_) => verification = verified,
            None => {
                verification.files += verified.files;
                verification.lines += verified.lines.min(anchor.seq);
                verification.bytes += verified.bytes;
            }
        }
        retired_files = Some(LogFiles::new(retired.clone(), name));
    }
    let first_hash = first_hash(&files, anchor)?;
    let mut checkpoints = Vec::with_capacity(known.len());
    for known in known {
        let verdict = match &known.content {
            CheckpointContent::Unavailable(_) => CheckpointVerdict::Gone,
            CheckpointContent::Invalid => CheckpointVerdict::Invalid,
            CheckpointContent::Checkpoint(checkpoint) => match signature_flaw(checkpoint, keys) {
                Some(flaw) => flaw,
                None if first_hash.is_some_and(|first| first != checkpoint.chain) => {
                    CheckpointVerdict::Rewritten
                }
                None => match (anchor, &retired_files) {
                    (Some(anchor), _) if checkpoint.receipt() == anchor.receipt() => {
                        CheckpointVerdict::Agrees
                    }
                    (Some(anchor), None) if checkpoint.seq < anchor.seq => {
                        CheckpointVerdict::Retired
                    }
                    (Some(anchor), Some(files)) if checkpoint.seq <= anchor.seq => {
                        compare(files, checkpoint, &verification)?
                    }
                    _ => compare(&files, checkpoint, &verification)?,
                },
            },
        };
        checkpoints.push((known, verdict));
    }
    let is_broken = !matches!(verification.flaw, None | Some(LogFlaw::Torn(_)));
    let completeness = match checkpoints.as_slice() {
        all if is_broken || all.iter().any(|(_, verdict)| verdict.is_contradiction()) => {
            Completeness::Contradicted
        }
        [] => Completeness::Unchecked,
        all if all
            .iter()
            .any(|(_, verdict)| *verdict != CheckpointVerdict::Agrees) =>
        {
            Completeness::Unchecked
        }
        _ => Completeness::Checked,
    };
    Ok(LogJudgement {
        verification,
        completeness,
        checkpoints,
    })
}

/// Returns true if the log begins with the first line of another chain, as after a quarantine, so that the
/// anchor is of an earlier log.
fn is_new_chain<D: Disk>(files: &LogFiles<D>, anchor: &LogAnchor) -> bool {
    let first = files.first_line().ok().flatten();
    let first = first.and_then(|text| line::read(&text));
    first.is_some_and(|first| first.seq == 1 && first.hash != anchor.chain)
}

/// Returns the hash of the first line, which identifies the chain, if there is one.
fn first_hash<D: Disk>(
    files: &LogFiles<D>,
    anchor: Option<&LogAnchor>,
) -> io::Result<Option<Hash>> {
    if let Some(anchor) = anchor {
        return Ok(Some(anchor.chain));
    }
    let first = files.first_line()?;
    Ok(first
        .and_then(|text| line::read(&text))
        .map(|fields| fields.hash))
}

/// Verifies the lines after the newest checkpoint if the log is large, contains every checkpoint and
/// lacks no file, else the whole log.
fn verify_since_newest<D: Disk + Clone>(
    disk: &D,
    files: &LogFiles<D>,
    trusted: &[Checkpoint],
    anchor: Option<&LogAnchor>,
    small: u64,
) -> io::Result<Verification> {
    let whole = || verify_after(disk.clone(), &files.name, trusted, anchor);
    let anchored = anchor.map_or(0, |anchor| anchor.seq);
    let Some(newest) = trusted.iter().max_by_key(|checkpoint| checkpoint.seq) else {
        return whole();
    };
    if log_size(disk.clone(), &files.name)?.bytes <= small || !files_follow(files, anchor)? {
        return whole();
    }
    let first = first_hash(files, anchor)?;
    for checkpoint in trusted
        .iter()
        .filter(|checkpoint| checkpoint.seq > anchored)
    {
        if first != Some(checkpoint.chain) || !contains_checkpoint(files, checkpoint)? {
            return whole();
        }
    }
    if newest.seq <= anchored {
        return whole();
    }
    let rest = verify_from(disk.clone(), &files.name, newest)?;
    match rest.flaw {
        None | Some(LogFlaw::Torn(_)) => Ok(rest),
        Some(_) => whole(),
    }
}

/// Returns true if the first line of each file follows the last line of the file before.
fn files_follow<D: Disk>(files: &LogFiles<D>, anchor: Option<&LogAnchor>) -> io::Result<bool> {
    let mut end = Some(anchor.map_or(ChainEnd::START, LogAnchor::end));
    for part in files.list_after(anchor)? {
        let file = part.open(files)?;
        let length = file.len()?;
        if length == 0 {
            continue;
        }
        let first = read_range(&file, 0, length.min(MAX_LINE as u64))?;
        let first = memchr::memchr(b'\n', &first).map(|at| &first[..at]);
        let (Some(before), Some(first)) = (end, first) else {
            return Ok(false);
        };
        if before.extend(first).is_err() {
            return Ok(false);
        }
        let tail = read_range(&file, length.saturating_sub(MAX_LINE as u64), length)?;
        let last = line::lines(&tail).map(|(text, _)| text).last();
        end = last.and_then(|text| ChainEnd::from_line(text).ok());
    }
    Ok(true)
}

/// Compares a trusted checkpoint with a log that was verified.
fn compare<D: Disk>(
    files: &LogFiles<D>,
    checkpoint: &Checkpoint,
    verification: &Verification,
) -> io::Result<CheckpointVerdict> {
    let last = verification.last.map_or(0, |last| last.seq);
    if checkpoint.seq > last {
        return Ok(match verification.flaw {
            Some(LogFlaw::NotALine(_) | LogFlaw::Changed(_) | LogFlaw::Missing(_)) => {
                CheckpointVerdict::NotReached
            }
            Some(LogFlaw::Rewritten(seq)) if seq == checkpoint.seq => CheckpointVerdict::Rewritten,
            Some(LogFlaw::Rewritten(_)) => CheckpointVerdict::NotReached,
            None | Some(LogFlaw::Torn(_) | LogFlaw::Truncated(_)) => CheckpointVerdict::Truncated,
        });
    }
    Ok(match contains_checkpoint(files, checkpoint)? {
        true => CheckpointVerdict::Agrees,
        false => CheckpointVerdict::Rewritten,
    })
}

/// Returns the verdict about a signature that is missing, invalid or made with another key.
fn signature_flaw(checkpoint: &Checkpoint, keys: &[PublicKey]) -> Option<CheckpointVerdict> {
    match (checkpoint.is_signed(), keys.is_empty()) {
        (false, true) => None,
        (false, false) => Some(CheckpointVerdict::Unsigned),
        (true, true) => (!checkpoint.has_valid_signature()).then_some(CheckpointVerdict::Signature),
        (true, false) => (!checkpoint.is_signed_by(keys)).then_some(CheckpointVerdict::Signature),
    }
}

/// Writes a checkpoint of a log whose last line was just verified to every file of `checkpoints`.
/// Existing checkpoints are replaced even if another key, or none, has signed them.
pub fn checkpoint_verified_end<D: Disk>(
    disk: D,
    name: &str,
    last: AppendReceipt,
    anchor: Option<&LogAnchor>,
    checkpoints: &CheckpointWriter,
) -> io::Result<()> {
    let Some(chain) = first_hash(&LogFiles::new(disk, name), anchor)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let position = LogPosition { chain, last };
    checkpoints.write(name, position, Replaces::SameChain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{LogWriter, TornBytes};
    use candor_sim_disk::SimDisk;
    use serde_json::{Map, Value};
    use std::time::Duration;

    /// A log of several small files, and a checkpoint of its end.
    fn log_of_files() -> (SimDisk, Checkpoint) {
        let disk = SimDisk::new(1);
        let files = LogFiles::new(disk.clone(), "log");
        let torn = |_: TornBytes| Map::new();
        let mut writer = LogWriter::new(files, 300, Duration::ZERO, Box::new(torn));
        for n in 0..12 {
            let mut members = Map::new();
            members.insert(String::from("n"), Value::from(n));
            writer.append(vec![members]).remove(0).unwrap();
        }
        let position = writer.position().unwrap().unwrap();
        let text = Checkpoint::write("log", &position, 1, String::from("now"), None).unwrap();
        (disk, Checkpoint::read(&text).unwrap())
    }

    fn flaw(disk: &SimDisk, checkpoint: &Checkpoint) -> Option<LogFlaw> {
        let files = LogFiles::new(disk.clone(), "log");
        let trusted = std::slice::from_ref(checkpoint);
        let verified = verify_since_newest(disk, &files, trusted, None, 0).unwrap();
        verified.flaw
    }

    #[test]
    fn missing_and_swapped_files_of_a_large_log_are_noticed() {
        let (disk, checkpoint) = log_of_files();
        assert_eq!(flaw(&disk, &checkpoint), None);
        disk.exchange("log.000001", "log.000002").unwrap();
        assert_eq!(flaw(&disk, &checkpoint), Some(LogFlaw::Missing(1)));
        disk.exchange("log.000001", "log.000002").unwrap();
        disk.unlink("log.000002").unwrap();
        assert!(matches!(
            flaw(&disk, &checkpoint),
            Some(LogFlaw::Missing(_))
        ));
    }
}
