//! Actions of the owner (approve, revoke, unlock), recorded in the same log as the agent's calls.

use crate::approval::KeyId;
use crate::audit_line::{self, Actor};
use crate::lock::Lock;
use crate::log_checkpoints::{CHECKPOINT, LogCheckpoints};
use crate::log_place::log_disk;
use crate::notes::ApprovedBy;
use crate::path::Root;
use crate::plan::PlanHash;
use crate::role::Role;
use crate::state::{self, LOG};
use crate::write::{self, JournalError};
use candor_audit::{
    AppendError, AppendReceipt, CheckpointFile, CheckpointWriter, Log, LogOptions, Signer,
};
use candor_disk::Disk;
use candor_fault::iso_millis;
use candor_street::Clock;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An action of the owner.
#[derive(Debug, Clone, Copy)]
pub enum OwnerAction<'a> {
    /// A plan was approved.
    Approved {
        plan: &'a PlanHash,
        by: &'a str,
        key_id: KeyId,
    },
    /// The approvals of a plan were revoked.
    RevokedPlan {
        plan: &'a PlanHash,
        by: &'a str,
        key_id: KeyId,
    },
    /// Everything that a key approved was revoked.
    RevokedKey {
        /// The key that is worth nothing any more.
        revoked: KeyId,
        by: &'a str,
        key_id: KeyId,
    },
    /// Old drafts were removed.
    Cleaned { detail: &'a str },
    /// An interrupted change was settled by a person.
    Settled { detail: &'a str },
    /// A role may work again.
    Unlocked {
        role: Role,
        /// The lock that was removed, if it could be read.
        lock: Option<&'a Lock>,
    },
}

impl OwnerAction<'_> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            OwnerAction::Approved { .. } => "approve",
            OwnerAction::RevokedPlan { .. } | OwnerAction::RevokedKey { .. } => "revoke",
            OwnerAction::Unlocked { .. } => "unlock",
            OwnerAction::Settled { .. } => "settle",
            OwnerAction::Cleaned { .. } => "clean",
        }
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        match self {
            OwnerAction::Approved { plan, .. } | OwnerAction::RevokedPlan { plan, .. } => {
                Some(plan.as_str())
            }
            OwnerAction::RevokedKey { .. }
            | OwnerAction::Unlocked { .. }
            | OwnerAction::Settled { .. }
            | OwnerAction::Cleaned { .. } => None,
        }
    }

    pub(crate) fn approval(&self) -> Option<ApprovedBy> {
        match self {
            OwnerAction::Approved { by, key_id, .. }
            | OwnerAction::RevokedPlan { by, key_id, .. }
            | OwnerAction::RevokedKey { by, key_id, .. } => Some(ApprovedBy {
                approver: (*by).to_owned(),
                key_id: key_id.to_string(),
            }),
            OwnerAction::Unlocked { .. }
            | OwnerAction::Settled { .. }
            | OwnerAction::Cleaned { .. } => None,
        }
    }

    /// Returns the text of the action that no other member of a line contains.
    pub(crate) fn detail(&self) -> Option<String> {
        match self {
            OwnerAction::Approved { .. } | OwnerAction::RevokedPlan { .. } => None,
            OwnerAction::Settled { detail } | OwnerAction::Cleaned { detail } => {
                Some((*detail).to_owned())
            }
            OwnerAction::RevokedKey { revoked, .. } => {
                Some(format!("the key {revoked} was revoked"))
            }
            OwnerAction::Unlocked {
                role,
                lock: Some(lock),
            } => Some(format!(
                "{} was unlocked; {} at line {} had locked it",
                role.label(),
                lock.error_code,
                lock.seq
            )),
            OwnerAction::Unlocked { role, lock: None } => Some(format!(
                "{} was unlocked; why it was locked could not be read",
                role.label()
            )),
        }
    }
}

/// Appends an action of the owner to the log of a workspace; durable when this returns. `state` is
/// the state directory of this program. If `signer` is given, it signs the checkpoint, unless there
/// is one that is not signed.
pub fn record_owner_action(
    root: &Root,
    state: &Path,
    os_user: &str,
    clock: &Arc<dyn Clock>,
    signer: Option<Signer>,
    action: &OwnerAction<'_>,
) -> Result<AppendReceipt, AppendError> {
    let actor = Actor {
        role: None,
        os_user: os_user.to_owned(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let file = CheckpointFile::new(state::open(&state::of_root(state, root.id()))?, CHECKPOINT);
    let checkpoints = LogCheckpoints::load(&state::of_root(state, root.id()))?;
    let checkpoint = file.read()?;
    let signer = signer.filter(|_| checkpoint.is_none_or(|checkpoint| checkpoint.is_signed()));
    let (now, torn_actor, then) = (Arc::clone(clock), actor.clone(), Arc::clone(clock));
    let options = LogOptions {
        torn_entry: Box::new(move |torn| audit_line::torn_log_line(&torn_actor, then.now(), &torn)),
        checkpoints: Some(CheckpointWriter {
            files: vec![file],
            signer,
            now: Box::new(move || iso_millis(now.now())),
        }),
        anchor: checkpoints.and_then(|known| known.anchor().cloned()),
        ..LogOptions::default()
    };
    let log_disk = log_disk(root, &state::of_root(state, root.id()))?;
    let log = Log::open(log_disk, LOG, options)?;
    log.append_blocking(audit_line::owner_action_line(&actor, clock.now(), action))
}

/// Returns the tool whose change of files has not ended: it is running, or its process has died,
/// and the next session finishes or undoes the change. `state` is the state directory of the root.
pub fn unfinished_change(state: &impl Disk) -> io::Result<Option<String>> {
    write::unfinished(state).map_err(|error| match error {
        JournalError::Io(error) => error,
        JournalError::Foreign => {
            let foreign = "the journal was not written by this program";
            io::Error::new(io::ErrorKind::InvalidData, foreign)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::ApproverKey;
    use candor_audit::PrivateKey;
    use candor_fault::Timestamp;
    use serde_json::{Value, json};
    use ssh_key::Algorithm;
    use ssh_key::rand_core::OsRng;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(|| Timestamp::from_second(1_000_000_000).unwrap())
    }

    fn lines(root: &Root) -> Vec<Value> {
        let page = candor_audit::page(root.disk(), LOG, 0, usize::MAX, usize::MAX).unwrap();
        let lines = page.lines.iter();
        lines
            .map(|raw| serde_json::from_slice(&raw.bytes).unwrap())
            .collect()
    }

    #[test]
    fn every_action_is_recorded_with_its_user() {
        let (ws, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Root::open(ws.path().canonicalize().unwrap()).unwrap();
        let key_id = ApproverKey::generate(&mut OsRng, "").unwrap().key_id();
        let (plan, by) = (crate::plan::hash("p"), "anna");
        let lock = Lock {
            v: 1,
            error_code: "ROLE_MISMATCH".into(),
            human_message: String::new(),
            seq: 7,
            timestamp: String::new(),
            person: false,
        };
        let role = Role::Executor;
        let actions = [
            OwnerAction::Approved {
                plan: &plan,
                by,
                key_id,
            },
            OwnerAction::RevokedPlan {
                plan: &plan,
                by,
                key_id,
            },
            OwnerAction::RevokedKey {
                revoked: key_id,
                by,
                key_id,
            },
            OwnerAction::Unlocked {
                role,
                lock: Some(&lock),
            },
            OwnerAction::Unlocked { role, lock: None },
        ];
        for action in &actions {
            record_owner_action(&root, state.path(), "os", &clock(), None, action).unwrap();
        }
        let verified = candor_audit::verify(root.disk(), LOG).unwrap();
        assert_eq!((verified.lines, verified.flaw), (5, None));
        let lines = lines(&root);
        let summaries = lines.iter().map(|line| {
            json!([
                line["tool_name"],
                line["plan_hash"],
                line["approval"]["approver"],
                line["cause"]["message"]
            ])
        });
        let summaries: Vec<_> = summaries.collect();
        let hash = plan.as_str();
        let expected = [
            json!(["approve", hash, "anna", null]),
            json!(["revoke", hash, "anna", null]),
            json!([
                "revoke",
                null,
                "anna",
                format!("the key {key_id} was revoked")
            ]),
            json!([
                "unlock",
                null,
                null,
                "executor (WINDSURF) was unlocked; ROLE_MISMATCH at line 7 had locked it"
            ]),
            json!([
                "unlock",
                null,
                null,
                "executor (WINDSURF) was unlocked; why it was locked could not be read"
            ]),
        ];
        assert_eq!(summaries, expected);
        assert!(
            lines
                .iter()
                .all(|line| line["actor"]["os_user"] == "os" && line["role"].is_null())
        );
    }

    #[test]
    fn signed_checkpoint_is_not_replaced() {
        let (ws, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Root::open(ws.path().canonicalize().unwrap()).unwrap();
        let disk = state::open(&state::of_root(state.path(), root.id())).unwrap();
        let checkpoint_file = || CheckpointFile::new(disk.clone(), CHECKPOINT);
        let key = PrivateKey::random(&mut OsRng, Algorithm::Ed25519).unwrap();
        let options = LogOptions {
            checkpoints: Some(CheckpointWriter {
                files: vec![checkpoint_file()],
                signer: Some(Signer::new(key).unwrap()),
                now: Box::new(|| String::from("2026-01-31T12:00:00.000Z")),
            }),
            ..LogOptions::default()
        };
        let log = Log::open(root.disk(), LOG, options).unwrap();
        log.append_blocking(serde_json::Map::new()).unwrap();
        drop(log);
        let role = Role::Executor;
        let action = OwnerAction::Unlocked { role, lock: None };
        record_owner_action(&root, state.path(), "os", &clock(), None, &action).unwrap();
        let checkpoint = checkpoint_file().read().unwrap().unwrap();
        assert!(checkpoint.is_signed() && checkpoint.seq == 1);
        assert_eq!(lines(&root).len(), 2);
    }

    #[test]
    fn empty_state_has_no_unfinished_change() {
        let state = tempfile::tempdir().unwrap();
        let disk = state::open(state.path()).unwrap();
        assert_eq!(unfinished_change(&disk).unwrap(), None);
    }
}
