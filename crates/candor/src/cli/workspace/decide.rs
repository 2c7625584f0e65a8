//! Approving a plan: signed, checked as the server will check it, stored beside the plan, on record.

use super::ground::{Ground, short};
use super::sign::Hand;
use crate::cli::Trouble;
use candor_workspace::Deed;
use candor_workspace::approval::{
    Approval, Approved, Found, Revocations, Signers, save_approval, sign_approval,
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
) -> Result<Approved, Trouble> {
    let refused = |why: &dyn std::fmt::Display| {
        Trouble::new(format!("the plan {} was not approved: {why}", short(plan)))
    };
    let now = ground.now();
    let end = now.checked_add(holds).map_err(|error| refused(&error))?;
    let approval = Approval::new(plan.clone(), &ground.name(), &hand.name, now, end);
    let approval = approval.map_err(|error| refused(&error))?;
    let signed = sign_approval(&hand.key, approval).map_err(|error| refused(&error))?;
    let found = [Found {
        file: String::new(),
        approval: Ok(signed.clone()),
    }];
    let revocations: Revocations = ground.revocations()?;
    let approved = ground.judge(plan, signers, &revocations, &found);
    let approved = approved.map_err(|error| refused(&error))?;
    save_approval(&ground.root.disk(), &signed).map_err(|error| refused(&error))?;
    ground.record(&Deed::Approved {
        plan,
        by: &hand.name,
        key_id: approved.key_id,
    });
    Ok(approved)
}

/// What is said about a plan that was approved.
pub(super) fn told(plan: &PlanHash, approved: &Approved) -> String {
    format!(
        "approved {} by {} until {}\n",
        short(plan),
        approved.approver,
        approved.not_after
    )
}
