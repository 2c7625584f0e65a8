//! The approvals of a workspace: `docs/plans/<plan hash>.<key>.approval.json` below its root. The
//! file names only locate them: only the signed statement inside counts.

use super::signed::{MAX_STATEMENT_BYTES, SignedError, SignedStatement};
use super::statement::Approval;
use crate::plan::durable::{self, IfExists};
use crate::plan::store::{self, PLANS_DIR};
use crate::plan::{PlanHash, PlanNames};
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::io;

/// The maximum number of approvals of one plan that are read.
pub const MAX_APPROVALS: usize = 32;

const FILE_MODE: u32 = 0o644;

/// A file of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalFile {
    /// The name of its file.
    pub file: String,
    /// The approval, or the reason why the file is not one.
    pub approval: Result<SignedStatement<Approval>, SignedError>,
}

impl ApprovalFile {
    /// Returns true if the approval is bound to no root, so that it can hold in several workspaces.
    pub fn is_without_root(&self) -> bool {
        let approval = self.approval.as_ref();
        approval.is_ok_and(|signed| signed.statement().binding.root.is_none())
    }
}

/// Finds the approvals of a plan, sorted by file name.
pub fn find_approvals(disk: &impl Disk, plan: &PlanHash) -> io::Result<Vec<ApprovalFile>> {
    let names = PlanNames::new(store::names(disk)?);
    find_approvals_by(disk, &names, plan, SignedStatement::read)
}

/// Finds the approvals of a plan among these names, and parses the bytes of each with `check`.
pub(crate) fn find_approvals_by(
    disk: &impl Disk,
    names: &PlanNames,
    plan: &PlanHash,
    mut check: impl FnMut(&[u8]) -> Result<SignedStatement<Approval>, SignedError>,
) -> io::Result<Vec<ApprovalFile>> {
    let mut all = Vec::new();
    for file in names.approvals_of(plan).take(MAX_APPROVALS) {
        let approval = match read(disk, &format!("{PLANS_DIR}/{file}")) {
            Ok(bytes) => check(&bytes),
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::NOENT) => continue,
                Some(Errno::FBIG) => Err(SignedError::TooLarge),
                Some(Errno::ISDIR | Errno::LOOP | Errno::INVAL) => Err(SignedError::NotJson),
                _ => return Err(error),
            },
        };
        let file = file.clone();
        all.push(ApprovalFile { file, approval });
    }
    Ok(all)
}

pub(super) fn read(disk: &impl Disk, path: &str) -> io::Result<Vec<u8>> {
    disk.open(path, Open::Read)?.read_all(MAX_STATEMENT_BYTES)
}

/// Stores an approval beside its plan, which must exist, and replaces an earlier one by the same
/// key. Returns its file name.
pub fn save_approval(disk: &impl Disk, approval: &SignedStatement<Approval>) -> io::Result<String> {
    let plan = &approval.statement().plan_hash;
    let name = format!("{plan}.{}.approval.json", approval.key_id().short());
    let text = approval.to_file();
    let replace = IfExists::Replace;
    durable::write(disk, PLANS_DIR, &name, FILE_MODE, text.as_bytes(), replace)?;
    Ok(name)
}
