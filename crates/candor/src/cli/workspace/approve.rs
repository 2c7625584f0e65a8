//! Approves a plan: signs it, checks the approval as the server does, stores it beside the plan, records it.

use super::opened::short;
use super::plan_page::PlanPage;
use super::sign::Approver;
use crate::cli::CommandError;
use candor_workspace::OwnerAction;
use candor_workspace::approval::{
    Approval, ApprovalFile, Revocations, Signers, ValidApproval, save_approval,
};
use candor_workspace::plan::PlanHash;

/// Approves a stored plan, with the terms that the person was shown.
pub(super) fn approve(
    page: &PlanPage<'_>,
    approver: &Approver,
    signers: &Signers,
) -> Result<ValidApproval, CommandError> {
    let (workspace, plan) = (page.workspace, &page.stored.hash);
    let binding = page.terms.binding.clone();
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::new(format!("the plan {} was not approved: {why}", short(plan)))
    };
    let now = workspace.now();
    let approval = Approval::new(plan.clone(), binding, &approver.name, now, page.until);
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
