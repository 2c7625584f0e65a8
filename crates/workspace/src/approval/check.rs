//! Decides whether a plan is approved, from the approvals that were found.

use super::key::KeyId;
use super::revocation::{RevocationInfo, Revocations};
use super::signed::{SignedError, SignedStatement};
use super::signers::{SignerTrust, Signers};
use super::statement::{Approval, ApprovalBinding, StatementTime};
use super::store::ApprovalFile;
use crate::plan::PlanHash;
use crate::repository::{RepositoryError, RootCommits};
use candor_fault::Timestamp;
use std::fmt;

/// Everything that the answer depends on.
#[derive(Clone, Copy)]
pub struct ApprovalQuery<'a> {
    pub plan: &'a PlanHash,
    /// The canonical absolute path of the workspace.
    pub root: &'a str,
    /// Returns the root commits that HEAD of the workspace reaches. It is called only if an approval that
    /// holds otherwise is bound to a repository.
    pub repository: &'a dyn Fn() -> Result<RootCommits, RepositoryError>,
    pub now: Timestamp,
    pub signers: &'a Signers,
    /// The approvals of the plan that were found.
    pub approvals: &'a [ApprovalFile],
    pub revocations: &'a Revocations,
}

/// The approver of a plan and the end of the approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidApproval {
    /// The first digits of the hash of the signed statement.
    pub id: String,
    pub approver: String,
    pub key_id: KeyId,
    /// The last instant at which it is valid.
    pub not_after: StatementTime,
    pub binding: ApprovalBinding,
}

/// The reason why a plan is not approved. If several approvals are invalid, the one that came
/// nearest to being valid gives the reason: variants are ordered by that nearness, the nearest
/// last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApproved {
    Draft,
    /// A file is not an approval.
    Unreadable {
        file: String,
        why: SignedError,
    },
    /// The approval in a file is for another plan.
    OtherPlan {
        file: String,
        plan: PlanHash,
    },
    /// The signature of a file does not match its contents.
    BadSignature {
        file: String,
    },
    /// The key belongs to none of the approvers.
    Foreign {
        key_id: KeyId,
        approver: String,
    },
    /// The key belongs to another approver than the approval names.
    OtherName {
        key_id: KeyId,
        approver: String,
    },
    /// The approver's key is not valid now, was not valid when it signed, or is not for approvals.
    KeyNotValid {
        key_id: KeyId,
        approver: String,
    },
    /// The approval is for another workspace.
    OtherRoot {
        /// The workspace of the approval.
        root: String,
        approver: String,
    },
    /// The approval is for a repository, and the one of this workspace is not known.
    UnknownRepository {
        /// The repository of the approval.
        repository: RootCommits,
        why: RepositoryError,
        approver: String,
    },
    /// The approval is for another repository.
    OtherRepository {
        /// The repository of the approval.
        repository: RootCommits,
        /// The repository of this workspace.
        here: RootCommits,
        approver: String,
    },
    /// The approval was signed in the future.
    NotYet {
        at: StatementTime,
        approver: String,
    },
    /// The approval has expired.
    Expired {
        /// The last instant at which it was valid.
        at: StatementTime,
        approver: String,
    },
    /// The approval was revoked.
    Revoked {
        /// The name of the person who revoked it.
        by: String,
        at: StatementTime,
    },
}

impl NotApproved {
    /// Returns true if an approval has not ended, and holds again when HEAD reaches its root commits.
    pub fn is_about_repository(&self) -> bool {
        matches!(
            self,
            NotApproved::UnknownRepository { .. } | NotApproved::OtherRepository { .. }
        )
    }

    fn nearness(&self) -> u8 {
        match self {
            NotApproved::Draft => 0,
            NotApproved::Unreadable { .. } => 1,
            NotApproved::OtherPlan { .. } => 2,
            NotApproved::BadSignature { .. } => 3,
            NotApproved::Foreign { .. } => 4,
            NotApproved::OtherName { .. } => 5,
            NotApproved::KeyNotValid { .. } => 6,
            NotApproved::OtherRoot { .. } => 7,
            NotApproved::UnknownRepository { .. } => 8,
            NotApproved::OtherRepository { .. } => 9,
            NotApproved::NotYet { .. } => 10,
            NotApproved::Expired { .. } => 11,
            NotApproved::Revoked { .. } => 12,
        }
    }
}

impl fmt::Display for NotApproved {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotApproved::Draft => out.write_str("nobody has approved the plan yet"),
            NotApproved::Unreadable { file, why } => {
                write!(out, "{file} is no approval: {why}")
            }
            NotApproved::OtherPlan { file, plan } => write!(out, "{file} approves the plan {plan}"),
            NotApproved::BadSignature { file } => {
                write!(out, "the signature in {file} does not fit what it says")
            }
            NotApproved::Foreign { key_id, approver } => write!(
                out,
                "the plan was signed by {approver:?} with the key {key_id}, which is no approver's"
            ),
            NotApproved::OtherName { key_id, approver } => {
                write!(out, "the key {key_id} is not {approver:?}'s")
            }
            NotApproved::KeyNotValid { key_id, approver } => write!(
                out,
                "the key {key_id} of {approver:?} is not valid for approvals at this time"
            ),
            NotApproved::OtherRoot { root, approver } => {
                write!(out, "{approver:?} approved the plan for {root:?} only")
            }
            NotApproved::UnknownRepository {
                repository,
                why,
                approver,
            } => write!(
                out,
                "{approver:?} approved the plan for the repository {repository} only, and that of this workspace is not known: {why}"
            ),
            NotApproved::OtherRepository {
                repository,
                here,
                approver,
            } => write!(
                out,
                "{approver:?} approved the plan for the repository {repository} only, and HEAD of this workspace belongs to {here}"
            ),
            NotApproved::NotYet { at, approver } => {
                write!(out, "the approval of {approver:?} begins at {at}")
            }
            NotApproved::Expired { at, approver } => {
                write!(out, "the approval of {approver:?} ended at {at}")
            }
            NotApproved::Revoked { by, at } => {
                write!(out, "the approval was revoked by {by:?} at {at}")
            }
        }
    }
}

impl std::error::Error for NotApproved {}

/// Returns the approval of a plan. Of several approvals that hold, the one that holds longest counts,
/// and of those the one whose key id is first.
pub fn check(question: &ApprovalQuery<'_>) -> Result<ValidApproval, NotApproved> {
    let mut best: Result<ValidApproval, NotApproved> = Err(NotApproved::Draft);
    for found in question.approvals {
        let answer = judge(question, found);
        let better = match (&answer, &best) {
            (Ok(_), Err(_)) => true,
            (Err(_), Ok(_)) => false,
            (Ok(one), Ok(other)) => {
                let later = one.not_after.cmp(&other.not_after);
                later.then(other.key_id.cmp(&one.key_id)).is_gt()
            }
            // Files come in the order of their names: the first of the nearest counts.
            (Err(one), Err(other)) => one.nearness() > other.nearness(),
        };
        if better {
            best = answer;
        }
    }
    best
}

fn judge(question: &ApprovalQuery<'_>, found: &ApprovalFile) -> Result<ValidApproval, NotApproved> {
    let file = found.file.clone();
    let signed = match &found.approval {
        Ok(signed) => signed,
        Err(SignedError::BadSignature) => return Err(NotApproved::BadSignature { file }),
        Err(why) => {
            let why = why.clone();
            return Err(NotApproved::Unreadable { file, why });
        }
    };
    let plan = &signed.statement().plan_hash;
    if plan != question.plan {
        let plan = plan.clone();
        return Err(NotApproved::OtherPlan { file, plan });
    }
    judge_signer(question, signed)?;
    judge_root(question, signed.statement())?;
    judge_span(question, signed)?;
    judge_repository(question, signed.statement())?;
    Ok(ValidApproval {
        id: signed.id(),
        approver: signed.statement().approver.clone(),
        key_id: signed.key_id(),
        not_after: signed.statement().not_after,
        binding: signed.statement().binding.clone(),
    })
}

/// Checks that an approver signed. The key must also be valid now: an expired key may have been
/// stolen since, and the time of signing is only a claim of the signer.
fn judge_signer(
    question: &ApprovalQuery<'_>,
    signed: &SignedStatement<Approval>,
) -> Result<(), NotApproved> {
    let statement = signed.statement();
    let (key_id, approver) = (signed.key_id(), statement.approver.clone());
    let at = [statement.approved_at.timestamp(), question.now];
    let signers = question.signers;
    match signers.standing(&approver, signed.public_key(), &at) {
        SignerTrust::Trusted => Ok(()),
        SignerTrust::NotNow => Err(NotApproved::KeyNotValid { key_id, approver }),
        SignerTrust::OtherName => Err(NotApproved::OtherName { key_id, approver }),
        SignerTrust::Unknown => Err(NotApproved::Foreign { key_id, approver }),
    }
}

/// Checks that the approval is for this root.
fn judge_root(question: &ApprovalQuery<'_>, statement: &Approval) -> Result<(), NotApproved> {
    match &statement.binding.root {
        Some(root) if root != question.root => Err(NotApproved::OtherRoot {
            root: root.clone(),
            approver: statement.approver.clone(),
        }),
        _ => Ok(()),
    }
}

/// Checks that the approval is for this repository. It is checked last, because git may have to run.
fn judge_repository(question: &ApprovalQuery<'_>, statement: &Approval) -> Result<(), NotApproved> {
    let Some(repository) = &statement.binding.repository else {
        return Ok(());
    };
    let (repository, approver) = (repository.clone(), statement.approver.clone());
    match (question.repository)() {
        Ok(here) if repository.is_part_of(&here) => Ok(()),
        Ok(here) => Err(NotApproved::OtherRepository {
            repository,
            here,
            approver,
        }),
        Err(why) => Err(NotApproved::UnknownRepository {
            repository,
            why,
            approver,
        }),
    }
}

/// Checks that the approval is for this time, and was not revoked.
fn judge_span(
    question: &ApprovalQuery<'_>,
    signed: &SignedStatement<Approval>,
) -> Result<(), NotApproved> {
    let statement = signed.statement();
    let approver = statement.approver.clone();
    if let Some(RevocationInfo { by, at, .. }) = question.revocations.of(signed) {
        return Err(NotApproved::Revoked { by, at });
    }
    if statement.approved_at.timestamp() > question.now {
        let at = statement.approved_at;
        return Err(NotApproved::NotYet { at, approver });
    }
    if question.now > statement.not_after.timestamp() {
        let at = statement.not_after;
        return Err(NotApproved::Expired { at, approver });
    }
    Ok(())
}
