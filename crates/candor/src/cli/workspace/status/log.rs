//! The audit log as `status` shows it: its last lines, its sessions, and whether its chain is valid.

use crate::cli::CommandError;
use crate::cli::workspace::opened::OpenedWorkspace;
use candor_audit::{
    CheckpointVerdict, Completeness, JudgedPart, KnownCheckpoint, LogEvidence, LogFlaw, LogLine,
};
use candor_workspace::log_checkpoints::LogCheckpoints;
use candor_workspace::log_place::log_disk;
use candor_workspace::state::LOG;
use serde::Serialize;
use serde_json::Value;
use std::io;

/// The number of lines that are shown.
const SHOWN: usize = 10;

/// The number of lines in which sessions are looked for, and the limit in bytes.
const LOOKED_AT: usize = 256;
const LOOKED_AT_BYTES: u64 = 1024 * 1024;

#[derive(Serialize)]
pub(super) struct LogStatus {
    /// The size of all files of the log.
    pub(super) bytes: u64,
    /// The size above which a server does nothing any more.
    pub(super) max: u64,
    pub(super) lines: Vec<StatusLine>,
    pub(super) verified: ChainStatus,
}

/// The result of the verification.
#[derive(Serialize)]
pub(super) struct ChainStatus {
    pub(super) ok: bool,
    /// The number of valid lines before the first invalid one.
    pub(super) lines: u64,
    pub(super) first_bad_seq: Option<u64>,
    pub(super) why: Option<String>,
    pub(super) completeness: Completeness,
    /// The line that the checkpoint in the state directory covers.
    pub(super) checkpoint_seq: Option<u64>,
    /// Every checkpoint that is known.
    pub(super) checkpoints: Vec<CheckpointStatus>,
}

/// A checkpoint of the log.
#[derive(Serialize)]
pub(super) struct CheckpointStatus {
    pub(super) place: String,
    /// This and the next two members are `None` if the file is missing or not a checkpoint.
    pub(super) seq: Option<u64>,
    pub(super) timestamp: Option<String>,
    pub(super) key_id: Option<String>,
    pub(super) verdict: CheckpointVerdict,
}

impl CheckpointStatus {
    /// Returns the reason why the checkpoint cannot be trusted, if there is one.
    fn distrust(&self) -> Option<String> {
        let reason = match self.verdict {
            CheckpointVerdict::Unsigned => "is not signed, although a key signs them",
            CheckpointVerdict::Signature => "is not signed by the key that signs them",
            CheckpointVerdict::Invalid => "cannot be read: the file is no checkpoint",
            _ => return None,
        };
        Some(format!("the checkpoint {} {reason}", self.place))
    }
}

fn checkpoint_status(known: &KnownCheckpoint, verdict: CheckpointVerdict) -> CheckpointStatus {
    let checkpoint = known.checkpoint();
    CheckpointStatus {
        place: known.path.to_string_lossy().into_owned(),
        seq: checkpoint.map(|checkpoint| checkpoint.seq),
        timestamp: checkpoint.map(|checkpoint| checkpoint.timestamp.clone()),
        key_id: checkpoint.and_then(|checkpoint| checkpoint.key_id.clone()),
        verdict,
    }
}

/// A line of the log, shortened.
#[derive(Serialize)]
pub(super) struct StatusLine {
    pub(super) seq: Option<u64>,
    pub(super) timestamp: Option<String>,
    pub(super) role: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) result: Option<String>,
    pub(super) error_code: Option<String>,
    pub(super) paths: Vec<String>,
    pub(super) plan_hash: Option<String>,
    pub(super) approver: Option<String>,
}

/// The last session of a role.
#[derive(Serialize)]
pub(super) struct SessionStatus {
    pub(super) role: String,
    pub(super) session_id: String,
    pub(super) os_user: Option<String>,
    pub(super) client: Option<String>,
    pub(super) last_seq: Option<u64>,
    pub(super) last_timestamp: Option<String>,
}

pub(super) fn read(
    workspace: &OpenedWorkspace,
    max: u64,
) -> Result<(LogStatus, Vec<SessionStatus>), CommandError> {
    let wrong = |error: io::Error| CommandError::new(format!("cannot read the log {LOG}: {error}"));
    let log_disk = log_disk(&workspace.root, &workspace.state_dir()).map_err(wrong)?;
    let checkpoints = LogCheckpoints::load(&workspace.state_dir()).map_err(wrong)?;
    let keys = checkpoints.as_ref().and_then(LogCheckpoints::key);
    let keys: Vec<_> = keys.cloned().into_iter().collect();
    let evidence = LogEvidence {
        checkpoints: checkpoints.iter().flat_map(|all| all.read(&[])).collect(),
        keys: &keys,
        anchor: checkpoints.as_ref().and_then(LogCheckpoints::anchor),
        retired: None,
    };
    let part = JudgedPart::WholeLog;
    let judged = candor_audit::judge(&log_disk, LOG, evidence, part).map_err(wrong)?;
    let verified = judged.verification;
    let checkpoints: Vec<_> = judged
        .checkpoints
        .iter()
        .map(|(known, verdict)| checkpoint_status(known, *verdict))
        .collect();
    let untrusted = checkpoints.iter().find_map(CheckpointStatus::distrust);
    let tail = candor_audit::last_lines(log_disk.clone(), LOG, LOOKED_AT, LOOKED_AT_BYTES);
    let tail = tail.map_err(wrong)?;
    let parsed: Vec<_> = tail.iter().map(parse).collect();
    let first = parsed.len().saturating_sub(SHOWN);
    let size = candor_audit::log_size(log_disk, LOG).map_err(wrong)?;
    let shown = LogStatus {
        bytes: size.bytes,
        max,
        lines: parsed
            .iter()
            .skip(first)
            .map(|(seq, line)| status_line(*seq, line))
            .collect(),
        verified: ChainStatus {
            ok: verified.flaw.is_none() && untrusted.is_none(),
            lines: verified.lines,
            first_bad_seq: verified.flaw.map(LogFlaw::seq),
            why: verified.flaw.map(|flaw| why(flaw).to_owned()).or(untrusted),
            completeness: judged.completeness,
            checkpoint_seq: checkpoints.first().and_then(|own| own.seq),
            checkpoints,
        },
    };
    Ok((shown, sessions(&parsed)))
}

/// Describes the flaw of a log. `status --json` prints these words too, so they do not change.
fn why(flaw: LogFlaw) -> &'static str {
    match flaw {
        LogFlaw::NotALine(_) => "it is no line of a log",
        LogFlaw::Changed(_) => "it was changed",
        LogFlaw::Missing(_) => "it is missing",
        LogFlaw::Torn(_) => "it is cut off, as by a crash; the next session puts it aside",
        LogFlaw::Truncated(_) => {
            "it is missing at the end, where the checkpoint has seen it or a later one"
        }
        LogFlaw::Rewritten(_) => "it is not the one that the checkpoint has seen",
    }
}

fn parse(raw: &LogLine) -> (Option<u64>, Value) {
    (
        raw.seq,
        serde_json::from_slice(&raw.bytes).unwrap_or_default(),
    )
}

fn text(line: &Value, pointer: &str) -> Option<String> {
    line.pointer(pointer)?.as_str().map(str::to_owned)
}

fn status_line(seq: Option<u64>, line: &Value) -> StatusLine {
    let paths = match &line["subject"] {
        Value::Array(several) => several
            .iter()
            .filter_map(|one| text(one, "/path"))
            .collect(),
        one => text(one, "/path").into_iter().collect(),
    };
    StatusLine {
        seq,
        timestamp: text(line, "/timestamp"),
        role: text(line, "/role"),
        tool_name: text(line, "/tool_name"),
        result: text(line, "/result"),
        error_code: text(line, "/error_code"),
        paths,
        plan_hash: text(line, "/plan_hash"),
        approver: text(line, "/approval/approver"),
    }
}

/// Returns the last session of each role in these lines, the latest first.
fn sessions(lines: &[(Option<u64>, Value)]) -> Vec<SessionStatus> {
    let mut found: Vec<SessionStatus> = Vec::new();
    for (seq, line) in lines.iter().rev() {
        let (Some(role), Some(session_id)) = (text(line, "/role"), text(line, "/session_id"))
        else {
            continue;
        };
        if found.iter().any(|known| known.role == role) {
            continue;
        }
        let version = text(line, "/actor/client_version");
        let client = text(line, "/actor/client").map(|client| match version {
            Some(version) => format!("{client} {version}"),
            None => client,
        });
        found.push(SessionStatus {
            role,
            session_id,
            os_user: text(line, "/actor/os_user"),
            client,
            last_seq: *seq,
            last_timestamp: text(line, "/timestamp"),
        });
    }
    found
}
