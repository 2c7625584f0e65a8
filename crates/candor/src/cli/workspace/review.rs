//! `candor workspace review` and `approve`: show and approve plans.

use super::approve::{approve, summary};
use super::opened::{OpenedWorkspace, WorkspaceArgs, is_protected, lint_plan, short};
use super::plan_page::PlanPage;
use super::sign::{Approver, SignArgs};
use super::terms::TermArgs;
use crate::cli::prompt;
use crate::cli::{CommandError, print};
use crate::host::{print_hint, print_note};
use candor_workspace::approval::{NotApproved, Signers};
use candor_workspace::plan::store::{self, FindError, StoredPlan};
use candor_workspace::plan::{PlanHash, PlanRef, visible};
use clap::Args;

/// Show the plans that wait for approval, and ask about each
///
/// Shows everything that a signature would allow: the files that the globs match now, the operations on them, and
/// the commands that will run. Without a terminal, nothing is asked.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReviewArgs {
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Approve one plan
///
/// Shows first everything that a signature would allow.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArgs {
    /// The plan: 8 digits or more of its hash; not needed if only one plan waits
    #[arg(value_name = "PREFIX")]
    plan: Option<String>,
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// A plan that is not approved, and the reason.
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
        print_note(&format!(
            "docs/plans/{} is not shown: {damage}",
            visible(name)
        ));
    }
    if listing.omitted > 0 {
        print_note(&format!("{} more plans are not shown", listing.omitted));
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
        let terms = self.terms.decide(&workspace)?;
        // The passphrase is asked for once.
        let mut approver: Option<Approver> = None;
        for UnapprovedPlan { stored, why } in &waiting {
            let page = PlanPage::new(&workspace, stored, &terms)?;
            let shown = page.render();
            print(format!("{shown}  {:<10} {}\n", "state", visible(&why.to_string())).as_bytes())?;
            if !self.should_sign(&workspace, stored, why)? {
                continue;
            }
            let approver = match &mut approver {
                Some(approver) => approver,
                none => none.insert(self.sign.key_file(&workspace, &signers)?.open()?),
            };
            let approved = approve(&page, approver, &signers)?;
            print(summary(&stored.hash, &approved).as_bytes())?;
        }
        if !self.sign.yes && !prompt::is_terminal() {
            let commands = waiting.iter().map(|plan| {
                let approve = format!("approve {} --yes", short(&plan.stored.hash));
                format!("\n  {}", workspace.command(&approve))
            });
            print_hint(&format!(
                "there is no terminal to ask for confirmation; to approve a plan, run:{}",
                commands.collect::<String>()
            ));
        }
        Ok(())
    }

    /// Returns true if the plan is to be signed. A revoked plan is never signed without a question.
    fn should_sign(
        &self,
        workspace: &OpenedWorkspace,
        stored: &StoredPlan,
        why: &NotApproved,
    ) -> Result<bool, CommandError> {
        match (self.sign.yes, why) {
            (true, NotApproved::Revoked { .. }) => {
                let hash = short(&stored.hash);
                print_note(&format!(
                    "{hash} was revoked; to approve it again, run:\n  {}",
                    workspace.command(&format!("approve {hash}"))
                ));
                Ok(false)
            }
            (true, _) => Ok(true),
            (false, _) if prompt::is_terminal() => prompt::confirm("Approve it?"),
            (false, _) => Ok(false),
        }
    }
}

impl ApproveArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let signers = workspace.signers(&self.sign.approvers)?;
        let stored = match &self.plan {
            Some(prefix) => load_plan(&workspace, prefix)?,
            None => only_one(&workspace, unapproved_plans(&workspace, &signers)?)?,
        };
        lint_plan(&stored.plan)?;
        let key_file = self.sign.key_file(&workspace, &signers)?;
        // An agent wrote the plan, so a person must confirm that it was read.
        self.sign.require_terminal(self.sign.yes)?;
        let terms = self.terms.decide(&workspace)?;
        let page = PlanPage::new(&workspace, &stored, &terms)?;
        print(page.render().as_bytes())?;
        if !self.sign.yes && !prompt::confirm("Approve it?")? {
            return print(b"nothing was approved\n");
        }
        let approver = key_file.open()?;
        let approved = approve(&page, &approver, &signers)?;
        print(summary(&stored.hash, &approved).as_bytes())
    }
}

fn only_one(
    workspace: &OpenedWorkspace,
    mut waiting: Vec<UnapprovedPlan>,
) -> Result<StoredPlan, CommandError> {
    match waiting.len() {
        0 => Err(CommandError::new("no plan waits for approval")),
        1 => Ok(waiting.remove(0).stored),
        several => Err(
            CommandError::new(format!("{several} plans wait for approval")).with_hint(format!(
                "name one by 8 digits or more of its hash; to show them, run:\n  {}",
                workspace.command("review")
            )),
        ),
    }
}

/// Returns the hash of the plan that begins with `prefix`.
pub(super) fn find_plan(
    workspace: &OpenedWorkspace,
    prefix: &str,
) -> Result<PlanHash, CommandError> {
    let reference = PlanRef::read(&prefix.to_ascii_lowercase()).ok_or_else(|| {
        CommandError::new(format!("{prefix:?} is not the name of a plan")).with_hint(format!(
            "name a plan by 8 digits or more of its hash; {}",
            list_plans(workspace)
        ))
    })?;
    match store::find(&workspace.root.disk(), &reference) {
        Ok(hash) => Ok(hash),
        Err(FindError::Missing) => Err(CommandError::new(format!(
            "no plan begins with {reference}"
        ))
        .with_hint(list_plans(workspace))),
        Err(error) => Err(CommandError::new(error.to_string())),
    }
}

fn list_plans(workspace: &OpenedWorkspace) -> String {
    format!("to list the plans, run:\n  {}", workspace.command("status"))
}

fn load_plan(workspace: &OpenedWorkspace, prefix: &str) -> Result<StoredPlan, CommandError> {
    let hash = find_plan(workspace, prefix)?;
    let loaded = store::load(&workspace.root.disk(), &hash, &is_protected);
    loaded.map_err(|error| CommandError::new(format!("{}: {error}", short(&hash))))
}
