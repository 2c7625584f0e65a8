//! Approves a plan: signs it, checks the approval as the server does, stores it beside the plan, records it.

use super::opened::{OpenedWorkspace, short};
use super::sign::Approver;
use crate::cli::CommandError;
use candor_workspace::OwnerAction;
use candor_workspace::approval::{
    Approval, ApprovalFile, Revocations, Signers, ValidApproval, save_approval,
};
use candor_workspace::plan::PlanHash;
use std::time::Duration;

/// The default duration of an approval.
pub(super) const DEFAULT_DURATION: &str = "8h";

/// Approves a stored plan.
pub(super) fn approve(
    workspace: &OpenedWorkspace,
    approver: &Approver,
    signers: &Signers,
    plan: &PlanHash,
    duration: Duration,
) -> Result<ValidApproval, CommandError> {
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("the plan {} was not approved: {why}", short(plan)))
    };
    let now = workspace.now();
    let end = now.checked_add(duration).map_err(|error| refused(&error))?;
    let approval = Approval::new(plan.clone(), &workspace.name(), &approver.name, now, end);
    let approval = approval.map_err(|error| refused(&error))?;
    let signed = approver.sign(approval)?;
    let found = [ApprovalFile {
        file: String::new(),
        approval: Ok(signed.clone()),
    }];
    let revocations: Revocations = workspace.revocations()?;
    let approved = workspace.check_approvals(plan, signers, &revocations, &found);
    let approved = approved.map_err(|error| refused(&error))?;
    save_approval(&workspace.root.disk(), &signed).map_err(|error| refused(&error))?;
    workspace.record(&OwnerAction::Approved {
        plan,
        by: &approver.name,
        key_id: approved.key_id,
    });
    Ok(approved)
}

/// Returns the message about an approved plan.
pub(super) fn summary(plan: &PlanHash, approved: &ValidApproval) -> String {
    format!(
        "approved {} by {} until {}\n",
        short(plan),
        approved.approver,
        approved.not_after
    )
}
