//! The lock of a workspace for one role: a file in the state directory, so that it outlives a process.

use crate::plan::durable::{self, IfExists};
use crate::role::Role;
use candor_disk::{Disk, DiskFile, Open};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

const MODE: u32 = 0o600;

/// The maximum size of a lock, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The reason why a workspace is locked: the first failure that was one too many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of this form.
    pub v: u64,
    /// The code of that failure.
    pub error_code: String,
    pub human_message: String,
    /// Its line in the log.
    pub seq: u64,
    /// The time of that line.
    pub timestamp: String,
    /// True if only a person can unlock.
    pub person: bool,
}

/// The reason why the lock of a workspace cannot be read.
#[derive(Debug)]
pub enum LockError {
    /// The file was not written by this program.
    Damaged,
    /// The disk failed.
    Io(io::Error),
}

impl fmt::Display for LockError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Damaged => out.write_str("the lock in the state directory is damaged"),
            LockError::Io(error) => {
                write!(
                    out,
                    "the lock in the state directory cannot be read: {error}"
                )
            }
        }
    }
}

impl std::error::Error for LockError {}

/// Returns the name of the file of a role's lock.
pub fn file(role: Role) -> String {
    format!("lock.{role}.json")
}

/// Reads the lock of a role, if there is one.
pub fn read(state: &impl Disk, role: Role) -> Result<Option<Lock>, LockError> {
    let opened = match state.open(file(role), Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(LockError::Io)?,
    };
    let bytes = opened.read_all(MAX_BYTES).map_err(LockError::Io)?;
    let lock: Lock = serde_json::from_slice(&bytes).map_err(|_| LockError::Damaged)?;
    (lock.v == 1)
        .then_some(Some(lock))
        .ok_or(LockError::Damaged)
}

/// Locks a workspace for a role; durable when this returns. An existing lock stays.
pub fn put(state: &impl Disk, role: Role, lock: &Lock) -> io::Result<()> {
    let bytes = serde_json::to_vec(lock)?;
    match durable::write(state, ".", &file(role), MODE, &bytes, IfExists::Keep) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

/// Replaces the lock of a role; durable when this returns.
pub fn replace(state: &impl Disk, role: Role, lock: &Lock) -> io::Result<()> {
    let bytes = serde_json::to_vec(lock)?;
    durable::write(state, ".", &file(role), MODE, &bytes, IfExists::Replace)
}

/// Unlocks a workspace for a role; durable when this returns. Returns true if it was locked.
pub fn remove(state: &impl Disk, role: Role) -> io::Result<bool> {
    match state.unlink(file(role)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        removed => removed?,
    }
    state.sync_dir("")?;
    Ok(true)
}
