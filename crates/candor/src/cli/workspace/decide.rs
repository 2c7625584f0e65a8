//! Approving a plan: signed, checked as the server will check it, stored beside the plan, on record.

use super::ground::{Ground, short};
use super::sign::Hand;
use crate::cli::Trouble;
use candor_workspace::OwnerAction;
use candor_workspace::approval::{
    Approval, ApprovalFile, Revocations, Signers, ValidApproval, save_approval, sign_approval,
};
use candor_workspace::plan::PlanHash;
use std::time::Duration;

/// How long an approval holds unless the person says otherwise.
pub(super) const HOLDS: &str = "8h";

/// Approves a plan that is stored.
pub(super) fn approve(
    ground: &Ground,
    hand: &Hand,
    signers: &Signers,
    plan: &PlanHash,
    holds: Duration,
) -> Result<ValidApproval, Trouble> {
    let refused = |why: &dyn std::fmt::Display| {
        Trouble::new(format!("the plan {} was not approved: {why}", short(plan)))
    };
    let now = ground.now();
    let end = now.checked_add(holds).map_err(|error| refused(&error))?;
    let approval = Approval::new(plan.clone(), &ground.name(), &hand.name, now, end);
    let approval = approval.map_err(|error| refused(&error))?;
    let signed = sign_approval(&hand.key, approval).map_err(|error| refused(&error))?;
    let found = [ApprovalFile {
        file: String::new(),
        approval: Ok(signed.clone()),
    }];
    let revocations: Revocations = ground.revocations()?;
    let approved = ground.judge(plan, signers, &revocations, &found);
    let approved = approved.map_err(|error| refused(&error))?;
    save_approval(&ground.root.disk(), &signed).map_err(|error| refused(&error))?;
    ground.record(&OwnerAction::Approved {
        plan,
        by: &hand.name,
        key_id: approved.key_id,
    });
    Ok(approved)
}

/// What is said about a plan that was approved.
pub(super) fn told(plan: &PlanHash, approved: &ValidApproval) -> String {
    format!(
        "approved {} by {} until {}\n",
        short(plan),
        approved.approver,
        approved.not_after
    )
}
