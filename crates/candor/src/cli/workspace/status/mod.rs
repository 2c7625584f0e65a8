//! `candor workspace status`: shows approvers, sessions, locks, plans and the audit log.

mod log;
mod text;

use super::directories::BuildDirArgs;
use super::opened::{OpenedWorkspace, WorkspaceArgs};
use super::size;
use crate::cli::{CommandError, print};
use candor_sandbox::{Level, Missing, Namespace};
use candor_workspace::approval::{ApprovalBinding, NotApproved, Signers};
use candor_workspace::command::measure;
use candor_workspace::lock::{self, LockError};
use candor_workspace::plan::store::StoredPlan;
use candor_workspace::{Role, unfinished_change};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

/// Show sessions, locks, plans and their approval, and the end of the audit log, and verify the log
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkspaceStatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Another file of approvers, in the format of OpenSSH's allowed_signers (repeatable)
    #[arg(long, value_name = "FILE")]
    approvers: Vec<PathBuf>,
    /// The --log-max of the server, for the warning that the log is nearly full
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size::parse)]
    log_max: u64,
    #[command(flatten)]
    build: BuildDirArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

#[derive(Serialize)]
struct Status {
    workspace_root: String,
    approvers: Vec<Approver>,
    locks: Vec<LockStatus>,
    sessions: Vec<log::SessionStatus>,
    /// A message about a change that is not finished.
    journal: Option<String>,
    plans: Vec<PlanStatus>,
    damaged: Vec<DamagedPlan>,
    omitted: usize,
    log: log::LogStatus,
    sandbox: SandboxStatus,
    build: BuildStatus,
}

/// The private build directories of this workspace.
#[derive(Serialize)]
struct BuildStatus {
    path: String,
    bytes: u64,
}

/// The sandbox that this machine offers to the commands of plans.
#[derive(Serialize)]
struct SandboxStatus {
    level: Level,
    namespaces: Vec<Namespace>,
    landlock: Option<u8>,
    seccomp: bool,
    missing: Vec<Missing>,
}

impl SandboxStatus {
    fn probe() -> SandboxStatus {
        let offer = candor_sandbox::probe(&crate::cli::sandbox::helper());
        SandboxStatus {
            level: offer.level,
            namespaces: offer.namespaces,
            landlock: offer.landlock,
            seccomp: offer.seccomp,
            missing: offer.missing,
        }
    }
}

#[derive(Serialize)]
struct Approver {
    names: Vec<String>,
    key_id: String,
}

#[derive(Serialize)]
struct LockStatus {
    role: &'static str,
    /// This and the next two members are `None` if the lock cannot be read.
    error_code: Option<String>,
    human_message: Option<String>,
    seq: Option<u64>,
    since: Option<String>,
    person: bool,
}

#[derive(Serialize)]
struct PlanStatus {
    plan_hash: String,
    title: String,
    phases: Vec<String>,
    approved: bool,
    approver: Option<String>,
    key_id: Option<String>,
    not_after: Option<String>,
    /// The path and the repository that the approval is bound to.
    bound: Option<ApprovalBinding>,
    why: Option<String>,
    /// True if the plan waits for approval; false if it is approved or was revoked.
    #[serde(skip)]
    waits: bool,
}

#[derive(Serialize)]
struct DamagedPlan {
    name: String,
    why: String,
}

impl WorkspaceStatusArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let signers = workspace.signers(&self.approvers)?;
        let build = self.build.of_root(&workspace.root)?;
        let build = BuildStatus {
            bytes: measure(&build),
            path: build.display().to_string(),
        };
        let status = Status::of(&workspace, &signers, self.log_max, build)?;
        let text = match self.json {
            true => serde_json::to_string_pretty(&status).map_err(std::io::Error::other)? + "\n",
            false => status.text(),
        };
        print(text.as_bytes())
    }
}

impl Status {
    fn of(
        workspace: &OpenedWorkspace,
        signers: &Signers,
        log_max: u64,
        build: BuildStatus,
    ) -> Result<Status, CommandError> {
        let state = workspace.existing_state()?;
        // `--json` prints these words too, so they do not change.
        let journal = match state.as_ref().map(unfinished_change) {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(tool))) => Some(format!(
                "a {tool} is under way, or was cut short; the next session settles it"
            )),
            Some(Err(error)) => Some(format!("the journal cannot be read: {error}")),
        };
        let listing = workspace.plans()?;
        let damaged = listing.damaged.iter().map(|(name, damage)| DamagedPlan {
            name: name.clone(),
            why: damage.to_string(),
        });
        let (log, sessions) = log::read(workspace, log_max)?;
        Ok(Status {
            workspace_root: workspace.name(),
            approvers: signers
                .entries()
                .map(|(names, key_id)| Approver {
                    names: names.to_vec(),
                    key_id: key_id.to_string(),
                })
                .collect(),
            locks: locks(workspace)?,
            sessions,
            journal,
            plans: plans(workspace, signers, &listing.plans)?,
            damaged: damaged.collect(),
            omitted: listing.omitted,
            log,
            sandbox: SandboxStatus::probe(),
            build,
        })
    }
}

fn locks(workspace: &OpenedWorkspace) -> Result<Vec<LockStatus>, CommandError> {
    let Some(state) = workspace.existing_state()? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for role in Role::ALL {
        let lock = match lock::read(&state, role) {
            Ok(None) => continue,
            Ok(lock) => lock,
            Err(LockError::Damaged) => None,
            Err(error) => return Err(CommandError::new(error.to_string())),
        };
        all.push(LockStatus {
            role: role.wire_name(),
            person: lock.as_ref().is_none_or(|lock| lock.person),
            error_code: lock.as_ref().map(|lock| lock.error_code.clone()),
            human_message: lock.as_ref().map(|lock| lock.human_message.clone()),
            seq: lock.as_ref().map(|lock| lock.seq),
            since: lock.map(|lock| lock.timestamp),
        });
    }
    Ok(all)
}

fn plans(
    workspace: &OpenedWorkspace,
    signers: &Signers,
    stored: &[StoredPlan],
) -> Result<Vec<PlanStatus>, CommandError> {
    // If the revocations cannot be read, no plan is approved, and the reason is shown.
    let revocations = workspace.revocations();
    let mut all = Vec::new();
    for stored in stored {
        let standing = match &revocations {
            Err(error) => Err((error.message.clone(), false)),
            Ok(revocations) => workspace
                .approval_of(&stored.hash, signers, revocations)?
                .map_err(|why| (why.to_string(), !matches!(why, NotApproved::Revoked { .. }))),
        };
        let approved = standing.as_ref().ok();
        all.push(PlanStatus {
            plan_hash: stored.hash.to_string(),
            title: stored.plan.title.clone(),
            phases: stored
                .plan
                .phases
                .iter()
                .map(|phase| phase.id.to_string())
                .collect(),
            approved: approved.is_some(),
            approver: approved.map(|approved| approved.approver.clone()),
            key_id: approved.map(|approved| approved.key_id.to_string()),
            not_after: approved.map(|approved| approved.not_after.to_string()),
            bound: approved.map(|approved| approved.binding.clone()),
            waits: standing.as_ref().err().is_some_and(|(_, waits)| *waits),
            why: standing.err().map(|(why, _)| why),
        });
    }
    Ok(all)
}
