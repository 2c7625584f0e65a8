//! What a person does beside a server: it goes into the same log as what agents do.

use crate::approval::KeyId;
use crate::line::{self, Actor};
use crate::lock::Lock;
use crate::notes::Approval;
use crate::path::Root;
use crate::plan::PlanHash;
use crate::role::Role;
use crate::session::CHECKPOINT;
use crate::state::{self, LOG};
use crate::write::{self, JournalError};
use candor_audit::{AppendError, Checkpoints, Log, Options, Place, Receipt};
use candor_disk::Disk;
use candor_fault::iso_millis;
use candor_street::Clock;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a person did.
#[derive(Debug, Clone, Copy)]
pub enum Deed<'a> {
    /// A plan was approved.
    Approved {
        /// The plan.
        plan: &'a PlanHash,
        /// The name of the person.
        by: &'a str,
        /// The key that signed.
        key_id: KeyId,
    },
    /// The approvals of a plan were taken back.
    RevokedPlan {
        /// The plan.
        plan: &'a PlanHash,
        /// The name of the person.
        by: &'a str,
        /// The key that signed.
        key_id: KeyId,
    },
    /// Everything that a key approved was taken back.
    RevokedKey {
        /// The key that is worth nothing any more.
        revoked: KeyId,
        /// The name of the person.
        by: &'a str,
        /// The key that signed.
        key_id: KeyId,
    },
    /// A role may work again.
    Unlocked {
        /// The role.
        role: Role,
        /// Why it was locked, where that could be read.
        lock: Option<&'a Lock>,
    },
}

impl Deed<'_> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Deed::Approved { .. } => "approve",
            Deed::RevokedPlan { .. } | Deed::RevokedKey { .. } => "revoke",
            Deed::Unlocked { .. } => "unlock",
        }
    }

    pub(crate) fn plan(&self) -> Option<&str> {
        match self {
            Deed::Approved { plan, .. } | Deed::RevokedPlan { plan, .. } => Some(plan.as_str()),
            Deed::RevokedKey { .. } | Deed::Unlocked { .. } => None,
        }
    }

    pub(crate) fn approval(&self) -> Option<Approval> {
        match self {
            Deed::Approved { by, key_id, .. }
            | Deed::RevokedPlan { by, key_id, .. }
            | Deed::RevokedKey { by, key_id, .. } => Some(Approval {
                approver: (*by).to_owned(),
                key_id: key_id.to_string(),
            }),
            Deed::Unlocked { .. } => None,
        }
    }

    /// What the other members of a line have no room for.
    pub(crate) fn said(&self) -> Option<String> {
        match self {
            Deed::Approved { .. } | Deed::RevokedPlan { .. } => None,
            Deed::RevokedKey { revoked, .. } => Some(format!("the key {revoked} was revoked")),
            Deed::Unlocked {
                role,
                lock: Some(lock),
            } => Some(format!(
                "{role} was unlocked; {} at line {} had locked it",
                lock.error_code, lock.seq
            )),
            Deed::Unlocked { role, lock: None } => Some(format!(
                "{role} was unlocked; why it was locked could not be read"
            )),
        }
    }
}

/// Puts what a person did into the log of a workspace; it is on the disk when this returns. `state` is
/// the state directory of this program.
pub fn record_by_person(
    root: &Root,
    state: &Path,
    os_user: &str,
    clock: &Arc<dyn Clock>,
    deed: &Deed<'_>,
) -> Result<Receipt, AppendError> {
    let actor = Actor {
        role: None,
        os_user: os_user.to_owned(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let place = Place::new(state::open(&state::of_root(state, root.id()))?, CHECKPOINT);
    // A checkpoint that a server signs is not replaced by one that nobody signed.
    let is_signed = place.read()?.is_some_and(|known| known.is_signed());
    let (now, who, then) = (Arc::clone(clock), actor.clone(), Arc::clone(clock));
    let options = Options {
        say_torn: Box::new(move |torn| line::of_torn(&who, then.now(), &torn)),
        checkpoints: (!is_signed).then(|| Checkpoints {
            places: vec![place],
            signer: None,
            now: Box::new(move || iso_millis(now.now())),
        }),
        ..Options::default()
    };
    let log = Log::open(root.disk(), LOG, options)?;
    log.append_blocking(line::of_deed(&actor, clock.now(), deed))
}

/// The tool whose change of files has not come to its end: it is under way, or its process has died,
/// and the next session finishes or undoes it. `state` is the state directory of the root.
pub fn unfinished_change(state: &impl Disk) -> io::Result<Option<String>> {
    write::unfinished(state).map_err(|error| match error {
        JournalError::Io(error) => error,
        JournalError::Foreign => {
            let foreign = "the journal was not written by this program";
            io::Error::new(io::ErrorKind::InvalidData, foreign)
        }
    })
}
