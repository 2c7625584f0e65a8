//! The workspace that a person's command is about, and what was decided there.

use super::places::{PlaceArgs, Places};
use super::serve::os_user;
use crate::cli::Trouble;
use crate::host::{note, system_clock};
use candor_disk::RealDisk;
use candor_fault::Timestamp;
use candor_workspace::approval::{
    ApprovalFile, ApprovalQuery, NotApproved, Revocations, Signers, ValidApproval, check,
    find_approvals, load_revocations,
};
use candor_workspace::path::Root;
use candor_workspace::plan::store::{self, PlanList};
use candor_workspace::plan::{Lint, Plan, PlanHash, Severity, lint};
use candor_workspace::protected::is_write_protected;
use candor_workspace::{OwnerAction, record_owner_action, state};
use clap::Args;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many digits of a hash are shown to people.
pub(super) const SHORT: usize = 12;

#[derive(Debug, Args)]
pub(super) struct GroundArgs {
    /// The workspace [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    pub(super) places: PlaceArgs,
}

/// A workspace, and where this program keeps what is about it.
pub(super) struct Ground {
    pub(super) root: Root,
    pub(super) places: Places,
}

impl GroundArgs {
    pub(super) fn open(&self) -> Result<Ground, Trouble> {
        let places = self.places.places()?;
        let path = match &self.root {
            Some(root) => std::path::absolute(root)?,
            None => std::env::current_dir()?,
        };
        let root = Root::open(&path).map_err(|error| {
            let wrong = format!("the workspace {} cannot be opened: {error}", path.display());
            Trouble::new(wrong).hinting("name a directory with --root DIR")
        })?;
        if let Some(inside) = places.lies_in(&root) {
            let wrong = format!(
                "the workspace {} contains {}, where an agent must not reach",
                root.path().display(),
                inside.display()
            );
            return Err(Trouble::new(wrong).hinting(
                "run this in a repository or name one with --root DIR; --config-dir and --state-dir move the other",
            ));
        }
        Ok(Ground { root, places })
    }
}

/// The first digits of a hash, enough for a person.
pub(super) fn short(hash: &PlanHash) -> &str {
    hash.as_str().get(..SHORT).unwrap_or(hash.as_str())
}

/// Whether a path of a plan is never written.
pub(super) fn protected(path: &[u8]) -> bool {
    is_write_protected(Path::new(OsStr::from_bytes(path)))
}

/// What whoever approves a plan should know; a plan with an error is refused.
pub(super) fn warnings(plan: &Plan) -> Result<Vec<Lint>, Trouble> {
    let found = lint(plan, &protected);
    match found.iter().find(|lint| lint.severity == Severity::Error) {
        None => Ok(found),
        Some(error) => Err(Trouble::new(format!(
            "such a plan cannot be enforced: {} {}",
            error.at, error.message
        ))),
    }
}

impl Ground {
    /// The root as approvals name it.
    pub(super) fn name(&self) -> String {
        self.root.path().to_string_lossy().into_owned()
    }

    pub(super) fn now(&self) -> Timestamp {
        system_clock().now()
    }

    fn state_dir(&self) -> PathBuf {
        state::of_root(&self.places.state, self.root.id())
    }

    /// The state directory of the root, made where it is missing.
    pub(super) fn state(&self) -> Result<RealDisk, Trouble> {
        let dir = self.state_dir();
        state::open(&dir).map_err(|error| unusable(&dir, &error))
    }

    /// The state directory of the root, if there is one.
    pub(super) fn known_state(&self) -> Result<Option<RealDisk>, Trouble> {
        let dir = self.state_dir();
        match RealDisk::at(&dir) {
            Ok(disk) => Ok(Some(disk)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&dir, &error)),
        }
    }

    pub(super) fn signers(&self, others: &[PathBuf]) -> Result<Signers, Trouble> {
        self.places.signers(others).map_err(Trouble::new)
    }

    pub(super) fn revocations(&self) -> Result<Revocations, Trouble> {
        match self.known_state()? {
            None => Ok(Revocations::default()),
            Some(state) => load_revocations(&state).map_err(|error| {
                Trouble::new(error.to_string())
                    .hinting("the state directory was changed by something else; no plan counts as approved until that file is gone")
            }),
        }
    }

    /// The plans that are stored here.
    pub(super) fn plans(&self) -> Result<PlanList, Trouble> {
        let listing = store::list(&self.root.disk(), &protected);
        listing.map_err(|error| Trouble::new(format!("the plans cannot be read: {error}")))
    }

    /// Whether a plan is approved now, by the approvals beside it.
    pub(super) fn standing(
        &self,
        plan: &PlanHash,
        signers: &Signers,
        revocations: &Revocations,
    ) -> Result<Result<ValidApproval, NotApproved>, Trouble> {
        let approvals = find_approvals(&self.root.disk(), plan)
            .map_err(|error| Trouble::new(format!("the approvals cannot be read: {error}")))?;
        Ok(self.judge(plan, signers, revocations, &approvals))
    }

    /// What these approvals of a plan are worth now.
    pub(super) fn judge(
        &self,
        plan: &PlanHash,
        signers: &Signers,
        revocations: &Revocations,
        approvals: &[ApprovalFile],
    ) -> Result<ValidApproval, NotApproved> {
        check(&ApprovalQuery {
            plan,
            root: &self.name(),
            now: self.now(),
            signers,
            approvals,
            revocations,
        })
    }

    /// Puts what a person did on record. It is done already: a log that takes no line is only told.
    pub(super) fn record(&self, deed: &OwnerAction<'_>) {
        let clock = system_clock();
        let told = record_owner_action(&self.root, &self.places.state, &os_user(), &clock, deed);
        if let Err(error) = told {
            note(&format!("this is not in the audit log: {error}"));
        }
    }
}

fn unusable(dir: &Path, error: &io::Error) -> Trouble {
    let wrong = format!(
        "the state directory {} cannot be used: {error}",
        dir.display()
    );
    Trouble::new(wrong).hinting("name another one with --state-dir DIR")
}
