//! The revocations of a workspace: `revocations/` in its state directory, out of the agent's reach. Those of
//! approvals that are bound to no root are also in `revocations/` of the state directory of this program, so
//! that they hold in every clone.
//!
//! A revocation counts even if its key is no longer trusted: revoking is always
//! the safe side. A file there that is not a revocation means that the state was tampered with, and
//! then nothing is approved.

use super::key::{ApproverKey, KeyError, KeyId};
use super::signed::{SignedError, SignedStatement};
use super::statement::{Approval, Revocation, RevocationTarget, StatementTime};
use super::store::read;
use crate::plan::durable::{self, IfExists};
use candor_disk::Disk;
use rustix::io::Errno;
use std::fmt;
use std::io;

/// The directory of revocations in the state directory.
pub const REVOCATIONS_DIR: &str = "revocations";

/// The maximum number of revocations of a workspace.
pub const MAX_REVOCATIONS: usize = 4096;

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The reason why the revocations cannot be relied on.
#[derive(Debug)]
pub enum RevocationError {
    /// A file is not a revocation, or its signature does not match.
    Unsound { file: String, why: SignedError },
    /// A file has another name than its revocation gives it.
    Misnamed { file: String },
    /// There are more than [`MAX_REVOCATIONS`].
    TooMany,
    /// The disk failed.
    Io(io::Error),
}

impl fmt::Display for RevocationError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevocationError::Unsound { file, why } => {
                write!(out, "the revocation {file} is unsound: {why}")
            }
            RevocationError::Misnamed { file } => {
                write!(out, "{file} does not belong among the revocations")
            }
            RevocationError::TooMany => {
                write!(out, "there are more than {MAX_REVOCATIONS} revocations")
            }
            RevocationError::Io(error) => write!(out, "the revocations cannot be read: {error}"),
        }
    }
}

impl std::error::Error for RevocationError {}

/// The revocations of a workspace, every signature checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revocations {
    /// Those of this workspace.
    own: Vec<SignedStatement<Revocation>>,
    /// Those of all workspaces. They take back approvals of plans that are bound to no root.
    shared: Vec<SignedStatement<Revocation>>,
}

/// The person who revoked an approval, and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationInfo {
    pub by: String,
    /// The key that signed the revocation.
    pub key_id: KeyId,
    pub at: StatementTime,
}

impl Revocations {
    /// Adds the revocations of all workspaces, which [`load_revocations`] has loaded.
    pub fn with_shared(mut self, shared: Revocations) -> Revocations {
        self.shared.extend(shared.own);
        self
    }

    /// Returns the earliest revocation that applies to an approval.
    pub fn of(&self, approval: &SignedStatement<Approval>) -> Option<RevocationInfo> {
        let statement = approval.statement();
        let is_plan = |signed: &&SignedStatement<Revocation>| {
            let subject = signed.statement().subject();
            matches!(subject, Some(RevocationTarget::Plan(_)))
        };
        let has_root = statement.binding.root.is_some();
        let shared = self.shared.iter().filter(is_plan).filter(|_| !has_root);
        let hits = |revocation: &Revocation| match revocation.subject() {
            Some(RevocationTarget::Plan(plan)) => {
                plan == statement.plan_hash && statement.approved_at <= revocation.revoked_at
            }
            Some(RevocationTarget::Key(key)) => key == approval.key_id(),
            None => false,
        };
        let all = self.own.iter().chain(shared);
        let hitting = all.filter(|signed| hits(signed.statement()));
        let first =
            hitting.min_by_key(|signed| (signed.statement().revoked_at, signed.key_id()))?;
        Some(RevocationInfo {
            by: first.statement().revoker.clone(),
            key_id: first.key_id(),
            at: first.statement().revoked_at,
        })
    }

    /// Returns the revocations of this workspace, sorted by file name.
    pub fn all(&self) -> &[SignedStatement<Revocation>] {
        &self.own
    }
}

/// Loads all revocations in a state directory. An invalid one makes all of them unreliable, and is
/// an error.
pub fn load_revocations(state: &impl Disk) -> Result<Revocations, RevocationError> {
    let names = match state.list(REVOCATIONS_DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Revocations::default()),
        listed => listed.map_err(RevocationError::Io)?,
    };
    if names.len() > MAX_REVOCATIONS {
        return Err(RevocationError::TooMany);
    }
    let mut all = Vec::new();
    for name in names {
        let file = name.to_string_lossy().into_owned();
        // A temporary file of a writer that died is not a revocation yet.
        if !durable::is_temporary(&file) {
            all.push(load(state, file)?);
        }
    }
    Ok(Revocations {
        own: all,
        shared: Vec::new(),
    })
}

fn load(state: &impl Disk, file: String) -> Result<SignedStatement<Revocation>, RevocationError> {
    let bytes = read(state, &format!("{REVOCATIONS_DIR}/{file}"));
    let signed = match bytes {
        Ok(bytes) => SignedStatement::read(&bytes),
        Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::FBIG) => Err(SignedError::TooLarge),
            Some(Errno::ISDIR | Errno::LOOP | Errno::INVAL) => Err(SignedError::NotJson),
            _ => return Err(RevocationError::Io(error)),
        },
    };
    match signed {
        Err(why) => Err(RevocationError::Unsound { file, why }),
        Ok(signed) if name(&signed) != file => Err(RevocationError::Misnamed { file }),
        Ok(signed) => Ok(signed),
    }
}

fn name(signed: &SignedStatement<Revocation>) -> String {
    let subject = match signed.statement().subject() {
        Some(RevocationTarget::Plan(hash)) => hash.to_string(),
        Some(RevocationTarget::Key(key)) => format!("key-{}", key.hex()),
        None => String::new(),
    };
    let at = signed.statement().revoked_at.timestamp().as_millisecond();
    format!("{subject}.{at}.{}.json", signed.key_id().short())
}

/// Signs a revocation and stores it in a state directory: when this succeeds it is on the disk.
pub fn revoke(
    state: &impl Disk,
    key: &ApproverKey,
    revocation: Revocation,
) -> Result<SignedStatement<Revocation>, RevokeError> {
    let signed = SignedStatement::sign(key, revocation).map_err(RevokeError::Key)?;
    store(state, &signed).map_err(RevokeError::Io)?;
    Ok(signed)
}

/// The reason why nothing was revoked.
#[derive(Debug)]
pub enum RevokeError {
    /// The key cannot sign.
    Key(KeyError),
    /// The disk failed.
    Io(io::Error),
}

impl fmt::Display for RevokeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevokeError::Key(error) => write!(out, "{error}"),
            RevokeError::Io(error) => write!(out, "the revocation cannot be stored: {error}"),
        }
    }
}

impl std::error::Error for RevokeError {}

/// Stores a revocation that is already signed.
pub fn store(state: &impl Disk, signed: &SignedStatement<Revocation>) -> io::Result<()> {
    durable::ensure_dir(state, "", REVOCATIONS_DIR, DIR_MODE)?;
    let (name, text) = (name(signed), signed.to_file());
    let replace = IfExists::Replace;
    durable::write(
        state,
        REVOCATIONS_DIR,
        &name,
        FILE_MODE,
        text.as_bytes(),
        replace,
    )
}
