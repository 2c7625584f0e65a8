//! `begin_session` and `session_status`.

use super::NoArguments;
use super::plans::{person_command, remove_ended_builds};
use crate::dialect::Workspace;
use crate::failure::{Failure, StartError};
use crate::fields::arguments;
use crate::lock::Lock;
use crate::notes::CallNotes;
use crate::server::WorkspaceServer;
use crate::session::{Session, UnsettledJournal, choose_root};
use candor_audit::Completeness;
use candor_fault::Cause;
use candor_fault::Fault;
use candor_street::{CallContext, Pending, Reply, Tool, reply};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const BEGIN_SESSION: &str = "begin_session";
pub(crate) const SESSION_STATUS: &str = "session_status";

#[derive(Deserialize)]
struct BeginSession {
    workspace_root: Option<String>,
}

/// The answer of `begin_session` and `session_status`.
#[derive(Serialize)]
struct SessionStatus {
    session_id: String,
    role: &'static str,
    workspace_root: String,
    read_only: bool,
    locked: bool,
    lock: Option<LockStatus>,
    strikes: u32,
    lock_after: u32,
    log: LogSummary,
}

/// The end of the log, and the result of comparing the log with its checkpoints.
#[derive(Serialize)]
struct LogSummary {
    /// The number of the last line that the session has seen.
    lines: u64,
    /// The result of the comparison when the session began.
    completeness: Completeness,
    /// The checkpoint in the state directory.
    checkpoint: Option<CheckpointSummary>,
}

#[derive(Serialize)]
struct CheckpointSummary {
    seq: u64,
    timestamp: String,
    key_id: Option<String>,
}

impl LogSummary {
    fn of(session: &Session) -> LogSummary {
        let checkpoint = session.checkpoint().map(|checkpoint| CheckpointSummary {
            seq: checkpoint.seq,
            timestamp: checkpoint.timestamp,
            key_id: checkpoint.key_id,
        });
        LogSummary {
            lines: session.last_seq(),
            completeness: session.completeness,
            checkpoint,
        }
    }
}

/// The reason why a session is locked.
#[derive(Serialize)]
struct LockStatus {
    error_code: String,
    human_message: String,
    seq: u64,
    timestamp: String,
    unlock: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    invariant_id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl LockStatus {
    fn of_journal(unsettled: UnsettledJournal, command: String) -> LockStatus {
        LockStatus {
            unlock: "a person has to run candor workspace settle",
            invariant_id: unsettled.invariant_id,
            paths: Some(unsettled.paths),
            command: Some(command),
            ..LockStatus::from(unsettled.lock)
        }
    }
}

impl From<Lock> for LockStatus {
    fn from(lock: Lock) -> Self {
        LockStatus {
            error_code: lock.error_code,
            human_message: lock.human_message,
            seq: lock.seq,
            timestamp: lock.timestamp,
            unlock: match lock.person {
                true => "a person has to run candor workspace unlock",
                false => "write_failure_report unlocks it",
            },
            invariant_id: None,
            paths: None,
            command: None,
        }
    }
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![
        Tool::read_only(
            BEGIN_SESSION,
            "Begin a session in a workspace. Call it first. Again with the same root: the same session.",
            arguments(
                &[],
                json!({ "workspace_root": { "type": "string", "description": "An absolute path, one of the server's roots; the only one if absent" } }),
            ),
            begin,
        ),
        Tool::read_only(
            SESSION_STATUS,
            "Session, role, root, and whether it is locked and why.",
            arguments(&[], json!({})),
            |server: Arc<WorkspaceServer>, _: NoArguments, cx: CallContext<CallNotes>| {
                super::answer(server, cx, |work| status(&work.server, &work.session))
            },
        ),
    ]
}

fn status(server: &WorkspaceServer, session: &Session) -> Result<SessionStatus, Failure> {
    let lock = match session.unsettled_journal() {
        Some(unsettled) => {
            let command = person_command(&server.config, &session.root, "settle");
            Some(LockStatus::of_journal(unsettled, command))
        }
        None => session.lock(server.config.role)?.map(LockStatus::from),
    };
    Ok(SessionStatus {
        session_id: session.id.clone(),
        role: server.config.role.wire_name(),
        workspace_root: session.root.path().display().to_string(),
        read_only: server.config.read_only,
        locked: lock.is_some(),
        lock,
        strikes: session.strikes(),
        lock_after: server.config.lock_after.get(),
        log: LogSummary::of(session),
    })
}

async fn begin(
    server: Arc<WorkspaceServer>,
    begin: BeginSession,
    cx: CallContext<CallNotes>,
) -> Result<Reply, Fault<Workspace>> {
    let _one = server.beginning.lock().await;
    let beginning = Arc::clone(&server);
    let begun = tokio::task::spawn_blocking(move || begun(&beginning, &begin));
    let (session, is_new) = match begun.await {
        Ok(begun) => begun.map_err(|failure| server.raise(&cx.notes, &failure))?,
        Err(join) => match join.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => return Err(server.raise(&cx.notes, &Failure::NoSession)),
        },
    };
    let status = status(&server, &session).map_err(|failure| server.raise(&cx.notes, &failure))?;
    let answer = reply(&status)?;
    if !is_new {
        return Ok(answer);
    }
    if !session.missing_checkpoints.is_empty() {
        let cause = unchecked_cause(&session.missing_checkpoints);
        cx.notes.update(|notes| notes.cause = Some(cause));
    }
    server.set_session(Some(session));
    Ok(answer.with_pending(NewSession(server.clone())))
}

fn begun(server: &WorkspaceServer, begin: &BeginSession) -> Result<(Arc<Session>, bool), Failure> {
    let root = choose_root(&server.config, begin.workspace_root.as_deref());
    if let Some(session) = server.session() {
        let own = session.root.path().to_owned();
        return match root {
            Ok(root) if root.path() == own => Ok((session, false)),
            Ok(_) | Err(StartError::NotARoot { .. }) => Err(StartError::Other { root: own }.into()),
            Err(error) => Err(error.into()),
        };
    }
    let actor = server.actor.clone();
    let session = Session::begin(&server.config, root?, actor, Arc::clone(&server.clock))?;
    if let Err(error) = remove_ended_builds(server, &session) {
        // They are removed by the next session, or by a person.
        tracing::warn!(
            ?error,
            "a build directory whose approval has ended could not be removed"
        );
    }
    Ok((Arc::new(session), true))
}

/// Returns the cause that is recorded if the completeness of the log could not be checked.
fn unchecked_cause(missing: &[PathBuf]) -> Value {
    let missing: Vec<_> = missing
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    json!({
        "message": "the completeness of the log is not checked: a checkpoint is missing",
        "code": null,
        "name": "Checkpoint",
        "completeness": Completeness::Unchecked,
        "checkpoints": missing,
    })
}

/// A session whose beginning is not on record yet.
struct NewSession(Arc<WorkspaceServer>);

impl Pending for NewSession {
    fn keep(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        Box::pin(async { Ok(()) })
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, Result<(), Cause>> {
        self.0.set_session(None);
        Box::pin(async { Ok(()) })
    }
}
