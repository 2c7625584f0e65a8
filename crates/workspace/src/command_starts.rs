//! The intent to run commands: a line that is durable before the first command of a call starts. If the
//! server dies before the call has its own line, the next session finds the start and records a recovery.
//!
//! A session that runs commands holds the lock of a file in the state directory until it ends, so that the
//! starts of a server that is still alive are left alone.

use crate::audit_line::START_TOOL;
use crate::plan::durable;
use candor_audit::LogLine;
use candor_disk::{Disk, DiskFile, Open};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;

/// The directory of the files of sessions that run commands, in the state directory of a root.
const DIR: &str = "running";

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const MAX_BYTES: usize = 4096;

/// The content of the file of a session.
#[derive(Serialize, Deserialize)]
struct RunningSession {
    v: u64,
    /// Every start of the session is after this line.
    after_seq: u64,
}

/// Marks a session as one that runs commands; durable when this returns. The mark lasts as long as the
/// returned file is open.
pub(crate) fn mark_session<D: Disk>(
    state: &D,
    session: &str,
    after_seq: u64,
) -> io::Result<D::File> {
    durable::ensure_dir(state, "", DIR, DIR_MODE)?;
    let file = state.open(format!("{DIR}/{session}"), Open::Create(FILE_MODE))?;
    if !file.try_lock()? {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let content = RunningSession { v: 1, after_seq };
    file.set_len(0)?;
    file.write_all_at(&serde_json::to_vec(&content)?, 0)?;
    file.sync_all()?;
    state.sync_dir(DIR)?;
    Ok(file)
}

/// Removes the mark of a session. Whatever it started must have an end or a recovery.
pub(crate) fn unmark_session(state: &impl Disk, session: &str) -> io::Result<()> {
    match state.unlink(format!("{DIR}/{session}")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A session whose process has died.
pub(crate) struct DeadSession<F> {
    pub(crate) id: String,
    pub(crate) after_seq: u64,
    /// Locked, so that one process recovers it.
    _file: F,
}

/// Returns the sessions that ran commands and whose processes have died.
pub(crate) fn dead_sessions<D: Disk>(state: &D) -> io::Result<Vec<DeadSession<D::File>>> {
    let names = match state.list(DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let mut dead = Vec::new();
    for name in names.into_iter().filter_map(|name| name.into_string().ok()) {
        let file = match state.open(format!("{DIR}/{name}"), Open::Edit) {
            // Another process has recovered it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if !file.try_lock()? || !file.is_named()? {
            continue;
        }
        // A file that was not written completely is of a session that has not started anything yet.
        let read: Option<RunningSession> = serde_json::from_slice(&file.read_all(MAX_BYTES)?).ok();
        dead.push(DeadSession {
            id: name,
            after_seq: read.map_or(0, |read| read.after_seq),
            _file: file,
        });
    }
    Ok(dead)
}

/// A start of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandStart {
    /// The number of its line.
    pub(crate) seq: u64,
    pub(crate) session_id: String,
    pub(crate) request_id: String,
    /// The line.
    pub(crate) line: Value,
}

/// Returns the starts of a session in these lines that have neither an end nor a recovery.
pub(crate) fn unfinished_starts(
    lines: impl Iterator<Item = io::Result<LogLine>>,
    session: &str,
) -> io::Result<Vec<CommandStart>> {
    let of_session = memmem::Finder::new(session.as_bytes());
    let recovery = memmem::Finder::new(b"\"start_seq\":");
    let mut open: Vec<CommandStart> = Vec::new();
    for line in lines {
        let raw = line?;
        // Most lines are of no interest and need not be parsed.
        if of_session.find(&raw.bytes).is_none() && recovery.find(&raw.bytes).is_none() {
            continue;
        }
        let (Some(seq), Ok(line)) = (raw.seq, serde_json::from_slice::<Value>(&raw.bytes)) else {
            continue;
        };
        if let Some(recovered) = line["cause"]["start_seq"].as_u64() {
            open.retain(|start| start.seq != recovered);
        }
        let (Some(of), Some(request)) = (line["session_id"].as_str(), line["request_id"].as_str())
        else {
            continue;
        };
        if of != session {
            continue;
        }
        open.retain(|start| start.request_id != request);
        if line["tool_name"] == START_TOOL {
            open.push(CommandStart {
                seq,
                session_id: of.to_owned(),
                request_id: request.to_owned(),
                line,
            });
        }
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_sim_disk::SimDisk;
    use serde_json::json;

    fn line(seq: u64, members: &Value) -> io::Result<LogLine> {
        Ok(LogLine {
            seq: Some(seq),
            bytes: members.to_string().into_bytes(),
        })
    }

    fn call(session: &str, request: &str, tool: &str) -> Value {
        json!({ "session_id": session, "request_id": request, "tool_name": tool, "cause": null })
    }

    #[test]
    fn start_without_an_end_is_found() {
        let recovery = json!({ "session_id": null, "request_id": null, "tool_name": "recovery",
            "cause": { "message": "m", "start_seq": 5 } });
        let lines = [
            call("s", "1", START_TOOL),
            call("s", "1", "run_preflight"),
            call("other", "2", START_TOOL),
            call("s", "2", START_TOOL),
            call("s", "3", START_TOOL),
            recovery,
        ];
        let lines = (1..).zip(&lines).map(|(seq, members)| line(seq, members));
        let open = unfinished_starts(lines, "s").unwrap();
        let open: Vec<_> = open
            .iter()
            .map(|start| (start.seq, start.request_id.as_str()))
            .collect();
        assert_eq!(open, [(4, "2")]);
    }

    #[test]
    fn session_counts_as_dead_once_its_file_is_closed() {
        let state = SimDisk::new(1);
        assert!(dead_sessions(&state).unwrap().is_empty());
        let mark = mark_session(&state, "s", 7).unwrap();
        assert!(dead_sessions(&state).unwrap().is_empty());
        drop(mark);
        let dead = dead_sessions(&state).unwrap();
        assert_eq!((dead[0].id.as_str(), dead[0].after_seq), ("s", 7));
        assert!(
            dead_sessions(&state).unwrap().is_empty(),
            "it is being recovered"
        );
        drop(dead);
        unmark_session(&state, "s").unwrap();
        unmark_session(&state, "s").unwrap();
        assert!(dead_sessions(&state).unwrap().is_empty());
    }
}
