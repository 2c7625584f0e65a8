//! The notes of a call, until it is recorded.

use serde::Serialize;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// A file that a call was about, by its hashes: the record has no contents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Subject {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// The mode of the file after the call, as git writes it: `100644` or `100755`.
    pub(crate) mode: Option<&'static str>,
}

/// A command that a call ran, or is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct CommandRecord {
    pub(crate) argv: Vec<String>,
    /// `None` until it has ended, and if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    /// True if its build directory was empty when it started.
    pub(crate) fresh: bool,
}

/// The approval of the plan of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ApprovedBy {
    pub(crate) approver: String,
    pub(crate) key_id: String,
}

/// The penalty of a failure for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Penalty {
    #[default]
    None,
    /// The last of several locks it.
    Strike,
    /// It locks the session.
    Lock,
    /// It locks the session, and only a person can unlock it.
    LockForPerson,
}

/// The reason why a call is not on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unrecorded {
    /// It is on record, or recording has not been tried yet.
    #[default]
    No,
    /// The line is certainly not in the log.
    Certainly,
    /// Another process held the log's lock.
    Busy,
    /// It is unknown whether the line is in the log.
    Perhaps,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) plan_hash: Option<String>,
    pub(crate) phase_id: Option<String>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) approval: Option<ApprovedBy>,
    /// The commands of the call, once it is certain that they run.
    pub(crate) commands: Option<Vec<CommandRecord>>,
    /// The sandbox of these commands.
    pub(crate) sandbox: Option<Value>,
    /// True if the call has waited for its turn in the pace of the server.
    pub(crate) paced: bool,
    pub(crate) penalty: Penalty,
    pub(crate) unrecorded: Unrecorded,
    /// The hash of the arguments, if a tool has computed it.
    pub(crate) args_hash: Option<String>,
    /// The cause that the line of a successful call has.
    pub(crate) cause: Option<Value>,
    /// The plan and the phase in the arguments, once these were parsed.
    pub(crate) claim: Option<PlanClaim>,
}

/// The plan and the phase that the arguments of a call name, if they are well-formed.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanClaim {
    pub(crate) plan_hash: Option<String>,
    pub(crate) phase_id: Option<String>,
}

/// The notes of one call.
#[derive(Debug, Default)]
pub struct CallNotes(Mutex<Notes>);

impl CallNotes {
    pub(crate) fn update(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns a copy of the notes.
    pub(crate) fn read(&self) -> Notes {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
