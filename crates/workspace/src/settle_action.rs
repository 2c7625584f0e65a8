//! The ways in which a person settles a change that can be neither finished nor undone: try again, or leave
//! the tree as it is.

use crate::governed;
use crate::log_place::log_disk;
use crate::owner_actions::{OwnerAction, record_owner_action};
use crate::path::Root;
use crate::plan::durable;
use crate::session::log_has_line_of;
use crate::state::{self, LOG};
use crate::write::{
    self, ChangeOrigin, JournalError, PendingEntry, SettleError, TurnError, WriteQueue,
};
use candor_audit::{AppendError, Log, LogOptions, Signer};
use candor_fault::iso_millis;
use candor_street::Clock;
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The directory of the bytes that are kept, in the state directory of a root.
const SETTLED_DIR: &str = "settled";

const DIR_MODE: u32 = 0o700;

/// The time that a person waits for a server that writes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state of the journal of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingJournal {
    /// Nothing is pending.
    Nothing,
    /// The journal was not written by this program.
    Foreign,
    /// A change is pending.
    Change {
        tool_name: String,
        request_id: String,
        files: Vec<PendingChange>,
    },
}

/// One file of a pending change. Hashes are SHA-256 in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChange {
    pub path: String,
    pub before: Option<String>,
    /// The hash after the change; `None` if the file is removed.
    pub intended: Option<String>,
    /// The hash of the file that is there now, or what else is there.
    pub now: String,
}

/// The decision of a person about a pending change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleChoice {
    /// Finish or undo it now.
    Retry,
    /// Leave the tree as it is, and keep the saved bytes.
    Leave,
}

/// The reason why a pending change was not settled.
#[derive(Debug)]
pub enum SettleFailure {
    /// A server is writing.
    Busy,
    /// It still can be neither finished nor undone.
    Unsettled(String),
    /// The log is not available, so nothing was done.
    Log(AppendError),
    /// The disk failed.
    Io(io::Error),
}

impl fmt::Display for SettleFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettleFailure::Busy => out.write_str("a server is writing in this workspace"),
            SettleFailure::Unsettled(why) => {
                write!(
                    out,
                    "the change can still be neither finished nor undone: {why}"
                )
            }
            SettleFailure::Log(error) => write!(out, "it cannot be recorded: {error}"),
            SettleFailure::Io(error) => write!(out, "{error}"),
        }
    }
}

impl std::error::Error for SettleFailure {}

impl From<io::Error> for SettleFailure {
    fn from(error: io::Error) -> Self {
        SettleFailure::Io(error)
    }
}

impl From<TurnError> for SettleFailure {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Busy => SettleFailure::Busy,
            TurnError::Io(error) => SettleFailure::Io(error),
        }
    }
}

fn unsettled(error: SettleError) -> SettleFailure {
    match error {
        SettleError::Log(error) => SettleFailure::Log(error),
        SettleError::Io(error) => SettleFailure::Unsettled(error.to_string()),
        SettleError::Foreign => {
            let why = "the journal was not written by this program";
            SettleFailure::Unsettled(String::from(why))
        }
        SettleError::Contradiction => {
            let why = "the log has a change that the files do not have";
            SettleFailure::Unsettled(String::from(why))
        }
    }
}

/// Returns what waits to be settled. `state` is the state directory of the root.
pub fn pending_changes(root: &Root, state: &candor_disk::RealDisk) -> io::Result<PendingJournal> {
    match write::pending(&root.disk(), state) {
        Ok(None) => pending_governed(root, state),
        Ok(Some(entry)) => Ok(describe(&entry)),
        Err(JournalError::Foreign) => Ok(PendingJournal::Foreign),
        Err(JournalError::Io(error)) => Err(error),
    }
}

/// Returns what the commands of a dead server changed, if it was not put back.
fn pending_governed(root: &Root, state: &candor_disk::RealDisk) -> io::Result<PendingJournal> {
    let entry = match governed::pending_entry(state) {
        Ok(None) => return Ok(PendingJournal::Nothing),
        Ok(Some(entry)) => entry,
        Err(SettleError::Io(error)) => return Err(error),
        Err(_) => return Ok(PendingJournal::Foreign),
    };
    let files = entry.differences(&root.disk()).into_iter();
    let files = files.map(|(path, before, now)| PendingChange {
        path,
        before: Some(before),
        intended: None,
        now,
    });
    Ok(PendingJournal::Change {
        tool_name: entry.about.tool_name.clone(),
        request_id: entry.about.request_id.clone(),
        files: files.collect(),
    })
}

fn describe(entry: &PendingEntry) -> PendingJournal {
    let files = entry.files.iter().map(|file| PendingChange {
        path: file.path.clone(),
        before: file.before.clone(),
        intended: file.after.clone(),
        now: match &file.now {
            Ok(hash) => hash.clone(),
            Err(what) => (*what).to_owned(),
        },
    });
    PendingJournal::Change {
        tool_name: entry.about.tool_name.clone(),
        request_id: entry.about.request_id.clone(),
        files: files.collect(),
    }
}

/// Settles a pending change as a person decided, and records it. Returns what was done. `state` is the
/// state directory of this program.
pub fn settle_journal(
    root: &Root,
    state: &Path,
    os_user: &str,
    clock: &Arc<dyn Clock>,
    signer: Option<Signer>,
    choice: SettleChoice,
) -> Result<String, SettleFailure> {
    let dir = state::of_root(state, root.id());
    let own = state::open(&dir)?;
    let queue = Arc::new(WriteQueue::new(root.disk(), own.clone()));
    let turn = queue.take_turn(PATIENCE)?;
    let record = |detail: &str| {
        let action = OwnerAction::Settled { detail };
        record_owner_action(root, state, os_user, clock, signer.clone(), &action)
    };
    let detail = match choice {
        SettleChoice::Retry => {
            let disk = log_disk(root, &dir)?;
            let log = Log::open(disk.clone(), LOG, LogOptions::default());
            let log = log.map_err(SettleFailure::Log)?;
            let recorded = |about: &ChangeOrigin| log_has_line_of(&log, disk.clone(), about);
            let done = RefCell::new(None);
            let put_back = governed::recover(&root.disk(), &own, recorded, |recovered| {
                let detail = format!(
                    "what the commands of request {} changed was put back",
                    recovered.about.request_id
                );
                record(&detail).map_err(SettleError::Log)?;
                *done.borrow_mut() = Some(detail);
                Ok(())
            });
            put_back.map_err(unsettled)?;
            let settled = turn.settle(recorded, |settled| {
                let how = if settled.finished {
                    "finished"
                } else {
                    "undone"
                };
                let about = &settled.about;
                let detail = format!(
                    "the {} of request {} was {how}",
                    about.tool_name, about.request_id
                );
                record(&detail).map_err(SettleError::Log)?;
                *done.borrow_mut() = Some(detail);
                Ok(())
            });
            drop(settled.map_err(unsettled)?);
            done.into_inner()
                .unwrap_or_else(|| String::from("nothing was left to finish or undo"))
        }
        SettleChoice::Leave => {
            let time = iso_millis(clock.now()).replace(':', "-");
            let saved = format!("{SETTLED_DIR}/{time}");
            durable::ensure_dir(&own, "", SETTLED_DIR, DIR_MODE)?;
            durable::ensure_dir(&own, SETTLED_DIR, &saved, DIR_MODE)?;
            let entry = match write::pending(&root.disk(), &own) {
                Ok(entry) => entry,
                Err(JournalError::Foreign) => None,
                Err(JournalError::Io(error)) => return Err(error.into()),
            };
            let files = write::save_aside(&root.disk(), &own, entry.as_ref(), &saved)?;
            let what = match &entry {
                Some(entry) => format!(
                    "the {} of request {}",
                    entry.about.tool_name, entry.about.request_id
                ),
                None => String::from("a journal that this program did not write"),
            };
            let detail = format!(
                "{what} was left as it is; the journal and {files} files of saved bytes are in {}",
                dir.join(&saved).display()
            );
            record(&detail).map_err(SettleFailure::Log)?;
            governed::save_entry(&own, &saved)?;
            write::clear(&own)?;
            governed::remove_entry(&own, true)?;
            drop(turn);
            detail
        }
    };
    Ok(detail)
}
