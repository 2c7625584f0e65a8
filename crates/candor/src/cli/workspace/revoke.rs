//! `candor workspace revoke`: revokes an approval or a key.

use super::opened::{OpenedWorkspace, WorkspaceArgs, short};
use super::review::find_plan;
use super::sign::SignArgs;
use crate::cli::prompt;
use crate::cli::{CommandError, print};
use candor_workspace::OwnerAction;
use candor_workspace::approval::{
    ApprovalFile, KeyId, Revocation, RevocationTarget, RevokeError, SignedStatement,
    save_revocation,
};
use clap::Args;

/// Revoke the approval of a plan, or a key with everything it approved
///
/// The revocation is signed and stored in the state directory, which no agent can reach: restoring the file of an
/// old approval has no effect. An approval that is bound to a repository is revoked in all its clones on this
/// machine. A plan can be approved again later. A revoked key cannot approve anything in this workspace any more.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(in crate::cli) struct RevokeArgs {
    /// The plan: 8 digits or more of its hash
    #[arg(value_name = "PREFIX", group = "what")]
    plan: Option<String>,
    /// The key: SHA256: and its fingerprint, as `candor workspace status` shows it
    #[arg(long, value_name = "KEYID", group = "what", value_parser = key_id)]
    key: Option<KeyId>,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Stores a revocation for the other clones of the repository.
fn save_everywhere(
    workspace: &OpenedWorkspace,
    signed: &SignedStatement<Revocation>,
) -> Result<(), CommandError> {
    save_revocation(&workspace.shared_state()?, signed).map_err(|error| {
        CommandError::new(format!(
            "the plan is still approved in other clones of the repository: {}",
            RevokeError::Io(error)
        ))
    })
}

fn key_id(text: &str) -> Result<KeyId, String> {
    KeyId::read(text).ok_or_else(|| {
        String::from("write SHA256: and the fingerprint, as `candor workspace status` shows it")
    })
}

impl RevokeArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let signers = workspace.signers(&self.sign.approvers)?;
        let subject = match (&self.plan, self.key) {
            (Some(prefix), _) => RevocationTarget::Plan(find_plan(&workspace, prefix)?),
            (None, Some(key)) => RevocationTarget::Key(key),
            (None, None) => {
                return Err(CommandError::new("name a plan, or a key with --key KEYID"));
            }
        };
        let in_clones = match &subject {
            RevocationTarget::Plan(plan) => {
                let approvals = workspace.approvals(plan)?;
                approvals.iter().any(ApprovalFile::is_without_root)
            }
            RevocationTarget::Key(_) => false,
        };
        let key_file = self.sign.key_file(&workspace, &signers)?;
        let decided = self.sign.is_unattended() || matches!(subject, RevocationTarget::Plan(_));
        self.sign.require_terminal(decided)?;
        let question = "Revoke the key permanently, with everything it approved here?";
        if !decided && !prompt::confirm(question)? {
            return print(b"nothing was revoked\n");
        }
        let approver = key_file.open()?;
        let wrong =
            |why: &dyn std::fmt::Display| CommandError::new(format!("nothing was revoked: {why}"));
        let revocation = Revocation::new(
            subject.clone(),
            &workspace.name(),
            &approver.name,
            workspace.now(),
        );
        let revocation = revocation.map_err(|error| wrong(&error))?;
        let signed = approver.sign(revocation)?;
        save_revocation(&workspace.state()?, &signed)
            .map_err(|error| wrong(&RevokeError::Io(error)))?;
        let everywhere = match in_clones {
            true => save_everywhere(&workspace, &signed),
            false => Ok(()),
        };
        let (by, key_id) = (approver.name.as_str(), signed.key_id());
        let message = match &subject {
            RevocationTarget::Plan(plan) => {
                workspace.record(&OwnerAction::RevokedPlan { plan, by, key_id });
                format!("revoked {} by {by}\n", short(plan))
            }
            RevocationTarget::Key(revoked) => {
                let revoked = *revoked;
                workspace.record(&OwnerAction::RevokedKey {
                    revoked,
                    by,
                    key_id,
                });
                format!("revoked the key {revoked} by {by}\n")
            }
        };
        print(message.as_bytes())?;
        everywhere
    }
}
