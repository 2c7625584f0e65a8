//! `candor workspace review` and `approve`: the plans that wait for a person.

use super::approve::{DEFAULT_DURATION, approve, summary};
use super::opened::{OpenedWorkspace, WorkspaceArgs, is_protected, lint_plan, short};
use super::sign::{Approver, SignArgs};
use super::{duration, plan_page, prompt};
use crate::cli::{CommandError, print};
use crate::host::{hint, note};
use candor_workspace::approval::{NotApproved, Signers};
use candor_workspace::plan::store::{self, FindError, StoredPlan};
use candor_workspace::plan::{PlanHash, PlanRef, visible};
use clap::Args;
use std::time::Duration;

/// Show the plans that wait for you, and ask about each
///
/// Each is shown with everything that a signature would allow: the files that its globs match now, what
/// may be done to them, the commands that will run. Without a terminal they are only shown.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReviewArgs {
    /// How long an approval holds: 30m, 4h, 7d
    #[arg(long = "for", value_name = "SPAN", default_value = DEFAULT_DURATION, value_parser = duration::parse)]
    duration: Duration,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Approve one plan
///
/// It is shown first, with everything that a signature would allow.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArgs {
    /// The plan: 8 digits or more of its hash; may be left out where only one waits
    #[arg(value_name = "PREFIX")]
    plan: Option<String>,
    /// How long the approval holds: 30m, 4h, 7d
    #[arg(long = "for", value_name = "SPAN", default_value = DEFAULT_DURATION, value_parser = duration::parse)]
    duration: Duration,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// A plan that waits, and why.
struct UnapprovedPlan {
    stored: StoredPlan,
    why: NotApproved,
}

fn unapproved_plans(
    workspace: &OpenedWorkspace,
    signers: &Signers,
) -> Result<Vec<UnapprovedPlan>, CommandError> {
    let revocations = workspace.revocations()?;
    let listing = workspace.plans()?;
    for (name, damage) in &listing.damaged {
        note(&format!(
            "docs/plans/{} is left out: {damage}",
            visible(name)
        ));
    }
    if listing.omitted > 0 {
        note(&format!("{} further plans are left out", listing.omitted));
    }
    let mut all = Vec::new();
    for stored in listing.plans {
        if let Err(why) = workspace.approval_of(&stored.hash, signers, &revocations)? {
            all.push(UnapprovedPlan { stored, why });
        }
    }
    Ok(all)
}

impl ReviewArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let signers = workspace.signers(&self.sign.approvers)?;
        let waiting = unapproved_plans(&workspace, &signers)?;
        if waiting.is_empty() {
            return print(b"no plan waits for approval\n");
        }
        // One passphrase for all of them.
        let mut approver: Option<Approver> = None;
        for UnapprovedPlan { stored, why } in &waiting {
            let lints = lint_plan(&stored.plan)?;
            let shown = plan_page::render(&workspace, stored, &lints);
            print(format!("{shown}  {:<10} {}\n", "state", visible(&why.to_string())).as_bytes())?;
            if !self.should_sign(stored, why)? {
                continue;
            }
            let approver = match &mut approver {
                Some(approver) => approver,
                none => none.insert(self.sign.key_file(&workspace, &signers)?.open()?),
            };
            let approved = approve(&workspace, approver, &signers, &stored.hash, self.duration)?;
            print(summary(&stored.hash, &approved).as_bytes())?;
        }
        if !self.sign.yes && !prompt::is_terminal() {
            hint(
                "there is no terminal to ask on: `candor workspace approve PREFIX --yes` approves one",
            );
        }
        Ok(())
    }

    /// Whether this one is to be signed. What somebody has taken back is not given again unasked.
    fn should_sign(&self, stored: &StoredPlan, why: &NotApproved) -> Result<bool, CommandError> {
        match (self.sign.yes, why) {
            (true, NotApproved::Revoked { .. }) => {
                let hash = short(&stored.hash);
                note(&format!(
                    "{hash} was revoked; `candor workspace approve {hash}` approves it again"
                ));
                Ok(false)
            }
            (true, _) => Ok(true),
            (false, _) if prompt::is_terminal() => prompt::yes("Approve it?"),
            (false, _) => Ok(false),
        }
    }
}

impl ApproveArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let signers = workspace.signers(&self.sign.approvers)?;
        let stored = match &self.plan {
            Some(prefix) => named(&workspace, prefix)?,
            None => only_one(unapproved_plans(&workspace, &signers)?)?,
        };
        let lints = lint_plan(&stored.plan)?;
        let key_file = self.sign.key_file(&workspace, &signers)?;
        // An agent wrote it: that somebody has read it has to be said.
        self.sign.require_terminal(self.sign.yes)?;
        print(plan_page::render(&workspace, &stored, &lints).as_bytes())?;
        if !self.sign.yes && !prompt::yes("Approve it?")? {
            return print(b"nothing was approved\n");
        }
        let approver = key_file.open()?;
        let approved = approve(&workspace, &approver, &signers, &stored.hash, self.duration)?;
        print(summary(&stored.hash, &approved).as_bytes())
    }
}

fn only_one(mut waiting: Vec<UnapprovedPlan>) -> Result<StoredPlan, CommandError> {
    match waiting.len() {
        0 => Err(CommandError::new("no plan waits for approval")),
        1 => Ok(waiting.remove(0).stored),
        several => Err(
            CommandError::new(format!("{several} plans wait for approval")).with_hint(
                "name one by 8 digits or more of its hash; `candor workspace review` shows each",
            ),
        ),
    }
}

/// The hash of the plan that a person means.
pub(super) fn find_plan(
    workspace: &OpenedWorkspace,
    prefix: &str,
) -> Result<PlanHash, CommandError> {
    let reference = PlanRef::read(&prefix.to_ascii_lowercase()).ok_or_else(|| {
        CommandError::new(format!("{prefix:?} names no plan")).with_hint(
            "a plan is named by 8 digits or more of its hash; `candor workspace status` lists them",
        )
    })?;
    match store::find(&workspace.root.disk(), &reference) {
        Ok(hash) => Ok(hash),
        Err(FindError::Missing) => Err(CommandError::new(format!(
            "no plan begins with {reference}"
        ))
        .with_hint("`candor workspace status` lists them")),
        Err(error) => Err(CommandError::new(error.to_string())),
    }
}

fn named(workspace: &OpenedWorkspace, prefix: &str) -> Result<StoredPlan, CommandError> {
    let hash = find_plan(workspace, prefix)?;
    let loaded = store::load(&workspace.root.disk(), &hash, &is_protected);
    loaded.map_err(|error| CommandError::new(format!("{}: {error}", short(&hash))))
}
