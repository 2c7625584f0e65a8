//! Approvals and revocations: their checks, their files, and compatibility with OpenSSH.

mod check;
mod files;
mod openssh;

use super::*;
use crate::plan::{PlanHash, hash};
use crate::repository::{RepositoryError, RootCommits};
use candor_fault::Timestamp;
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, PrivateKey};

const ROOT: &str = "/srv/project";

/// Returns the key of a seed.
fn key(seed: u8) -> ApproverKey {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
    let text = key.to_openssh(LineEnding::LF).unwrap();
    ApproverKey::from_file(&text, None).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn plan() -> PlanHash {
    hash("plan")
}

/// Returns an approval made at 1000 that is valid until 2000.
fn approval(approver: &str) -> Approval {
    let binding = ApprovalBinding::root(ROOT);
    Approval::new(plan(), binding, approver, at(1000), at(2000)).unwrap()
}

/// Returns root commits that consist of these digits.
fn roots(digits: &[&str]) -> RootCommits {
    let hashes: Vec<String> = digits.iter().map(|digit| digit.repeat(40)).collect();
    RootCommits::try_from(hashes).unwrap()
}

fn approval_file(file: &str, approval: &SignedStatement<Approval>) -> ApprovalFile {
    ApprovalFile {
        file: file.to_owned(),
        approval: SignedStatement::read(approval.to_file().as_bytes()),
    }
}

/// Returns approvers of whom anna has key 1 and bo has key 2.
fn signers() -> Signers {
    let anna = approver_line("anna", key(1).public_key());
    let bo = approver_line("bo", key(2).public_key());
    Signers::parse(&format!("{anna}{bo}")).unwrap()
}
