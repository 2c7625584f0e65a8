//! Approvals: statements that a person signs out of the agent's reach, and their validity.
//!
//! Every signature is an SSHSIG of namespace [`NAMESPACE`] over the canonical JSON of a statement,
//! so our own keys and any SSH key are one thing, and `ssh-keygen -Y verify` checks what we check.
//!
//! An approval is for one plan and one span of time, and bound to a root, to a repository or to both.
//! Version 1 is bound to a root only. A revocation takes back the approvals of a plan that were made at or
//! before it, or everything that a key ever approved; it is stored in the state directory, so that restoring
//! an old approval file restores nothing. An approval made later is a new one. An approval from the future is
//! worth nothing until then.

mod check;
mod key;
mod revocation;
mod signed;
mod signers;
mod statement;
mod store;
mod verify;

pub use check::{ApprovalQuery, NotApproved, ValidApproval, check};
pub use key::{ApproverKey, KeyError, KeyId, MAX_KEY_BYTES, MAX_KEY_ROUNDS};
pub use revocation::{
    MAX_REVOCATIONS, REVOCATIONS_DIR, RevocationError, RevocationInfo, Revocations, RevokeError,
    load_revocations, revoke, store as save_revocation,
};
pub use signed::{MAX_STATEMENT_BYTES, NAMESPACE, SignedError, SignedStatement};
pub use signers::{
    MAX_SIGNERS, MAX_SIGNERS_BYTES, SignerTrust, Signers, SignersError, SignersFlaw, approver_line,
};
pub use statement::{
    Approval, ApprovalBinding, MAX_APPROVER_BYTES, MAX_ROOT_BYTES, Revocation, RevocationTarget,
    Signable, StatementError, StatementTime,
};
pub(crate) use store::find_approvals_by;
pub use store::{ApprovalFile, MAX_APPROVALS, find_approvals, save_approval};

/// Signs an approval; [`save_approval`] stores it for the server.
pub fn sign_approval(
    key: &ApproverKey,
    approval: Approval,
) -> Result<SignedStatement<Approval>, KeyError> {
    SignedStatement::sign(key, approval)
}

#[cfg(test)]
mod tests;
