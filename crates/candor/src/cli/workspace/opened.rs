//! The workspace of an owner's command: its root, directories, plans, approvals and revocations.

use super::directories::{Directories, DirectoryArgs};
use super::serve::{os_user, variable};
use crate::cli::CommandError;
use crate::cli::shell_words::quote;
use crate::host::{print_note, system_clock};
use candor_audit::Signer;
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_fault::Timestamp;
use candor_workspace::approval::{
    ApprovalFile, ApprovalQuery, NotApproved, Revocations, Signers, ValidApproval, check,
    find_approvals, load_revocations,
};
use candor_workspace::path::Root;
use candor_workspace::plan::store::{self, PlanList};
use candor_workspace::plan::{Lint, Plan, PlanHash, Severity, lint};
use candor_workspace::protected::{EXECUTED, ExecutedFiles, MAX_RULES_BYTES, is_write_protected};
use candor_workspace::repository::RepositoryReader;
use candor_workspace::{OwnerAction, record_owner_action, state};
use clap::Args;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The number of digits of a hash that are shown.
pub(super) const SHORT: usize = 12;

#[derive(Debug, Args)]
pub(super) struct WorkspaceArgs {
    /// The workspace [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    pub(super) directories: DirectoryArgs,
}

/// An open workspace, with the directories of its keys and state.
pub(super) struct OpenedWorkspace {
    pub(super) root: Root,
    pub(super) directories: Directories,
    pub(super) repository: RepositoryReader,
    /// The options with which another command opens the same workspace.
    flags: Vec<String>,
}

impl WorkspaceArgs {
    pub(super) fn open(&self) -> Result<OpenedWorkspace, CommandError> {
        let directories = self.directories.directories()?;
        let path = match &self.root {
            Some(root) => std::path::absolute(root)?,
            None => std::env::current_dir()?,
        };
        let root = Root::open(&path).map_err(|error| {
            let wrong = format!("cannot open the workspace {}: {error}", path.display());
            CommandError::new(wrong).with_hint("name a directory with --root DIR")
        })?;
        if let Some(inside) = directories.inside(&root) {
            let wrong = format!(
                "the workspace {} contains {}, which an agent must not reach",
                root.path().display(),
                inside.display()
            );
            return Err(CommandError::new(wrong).with_hint(
                "run this in a repository, or name one with --root DIR; --config-dir and --state-dir name other directories",
            ));
        }
        let mut flags = Vec::new();
        if self.root.is_some() {
            flags.extend([String::from("--root"), path.display().to_string()]);
        }
        flags.extend(self.directories.flags(&directories));
        let state = state::of_root(&directories.state, root.id());
        let path = variable("PATH").unwrap_or_default();
        Ok(OpenedWorkspace {
            repository: RepositoryReader::new(root.path(), state, path),
            root,
            directories,
            flags,
        })
    }
}

/// Returns the first digits of a hash.
pub(super) fn short(hash: &PlanHash) -> &str {
    hash.as_str().get(..SHORT).unwrap_or(hash.as_str())
}

/// Returns true for paths that no plan may write.
pub(super) fn is_protected(path: &[u8]) -> bool {
    is_write_protected(Path::new(OsStr::from_bytes(path)))
}

/// Returns the warnings about a plan. A plan that cannot be enforced is an error.
pub(super) fn lint_plan(plan: &Plan) -> Result<Vec<Lint>, CommandError> {
    let found = lint(plan, &is_protected);
    match found.iter().find(|lint| lint.severity == Severity::Error) {
        None => Ok(found),
        Some(error) => Err(CommandError::new(format!(
            "the plan cannot be enforced: {} {}",
            error.at, error.message
        ))),
    }
}

impl OpenedWorkspace {
    /// Returns a command of `candor workspace` for this workspace, quoted so that it can be pasted.
    pub(super) fn command(&self, words: &str) -> String {
        let flags = self.flags.iter().map(|flag| format!(" {}", quote(flag)));
        format!("candor workspace {words}{}", flags.collect::<String>())
    }

    /// Returns the root as approvals name it.
    pub(super) fn name(&self) -> String {
        self.root.path().to_string_lossy().into_owned()
    }

    pub(super) fn now(&self) -> Timestamp {
        system_clock().now()
    }

    pub(super) fn state_dir(&self) -> PathBuf {
        state::of_root(&self.directories.state, self.root.id())
    }

    /// Opens the state directory of the root, and creates it if it is missing.
    pub(super) fn state(&self) -> Result<RealDisk, CommandError> {
        let dir = self.state_dir();
        state::open(&dir).map_err(|error| unusable(&dir, &error))
    }

    /// Opens the directory of the state of all roots, and creates it if it is missing.
    pub(super) fn shared_state(&self) -> Result<RealDisk, CommandError> {
        let dir = &self.directories.state;
        state::open(dir).map_err(|error| unusable(dir, &error))
    }

    /// Opens the state directory of the root, if it exists.
    pub(super) fn existing_state(&self) -> Result<Option<RealDisk>, CommandError> {
        existing(&self.state_dir())
    }

    pub(super) fn signers(&self, others: &[PathBuf]) -> Result<Signers, CommandError> {
        self.directories.signers(others).map_err(CommandError::new)
    }

    /// Loads the revocations of this workspace, and those that hold in all of them.
    pub(super) fn revocations(&self) -> Result<Revocations, CommandError> {
        let load = |state: Option<RealDisk>| {
            match state {
            None => Ok(Revocations::default()),
            Some(state) => load_revocations(&state).map_err(|error| {
                CommandError::new(error.to_string())
                    .with_hint("another program changed the state directory; no plan counts as approved until you remove that file")
            }),
        }
        };
        let shared = load(existing(&self.directories.state)?)?;
        Ok(load(self.existing_state()?)?.with_shared(shared))
    }

    /// Returns the approvals that are stored beside a plan.
    pub(super) fn approvals(&self, plan: &PlanHash) -> Result<Vec<ApprovalFile>, CommandError> {
        find_approvals(&self.root.disk(), plan)
            .map_err(|error| CommandError::new(format!("cannot read the approvals: {error}")))
    }

    /// Returns the files that no wildcard covers. An unusable list of the person's counts as the default
    /// one, because the server then refuses every write.
    pub(super) fn executed_files(&self) -> ExecutedFiles {
        let own = self.root.disk().open(EXECUTED, Open::Read);
        let own = own.and_then(|file| file.read_all(MAX_RULES_BYTES));
        let own = ExecutedFiles::parse(&own.unwrap_or_default());
        own.unwrap_or_default()
    }

    pub(super) fn plans(&self) -> Result<PlanList, CommandError> {
        let listing = store::list(&self.root.disk(), &is_protected);
        listing.map_err(|error| CommandError::new(format!("cannot read the plans: {error}")))
    }

    /// Checks whether the approvals stored beside a plan approve it now.
    pub(super) fn approval_of(
        &self,
        plan: &PlanHash,
        signers: &Signers,
        revocations: &Revocations,
    ) -> Result<Result<ValidApproval, NotApproved>, CommandError> {
        let approvals = self.approvals(plan)?;
        Ok(self.check_approvals(plan, signers, revocations, &approvals))
    }

    /// Checks whether these approvals approve a plan now.
    pub(super) fn check_approvals(
        &self,
        plan: &PlanHash,
        signers: &Signers,
        revocations: &Revocations,
        approvals: &[ApprovalFile],
    ) -> Result<ValidApproval, NotApproved> {
        check(&ApprovalQuery {
            plan,
            root: &self.name(),
            repository: &|| self.repository.root_commits(),
            now: self.now(),
            signers,
            approvals,
            revocations,
        })
    }

    /// Returns the key that signs checkpoints, if it can be used.
    pub(super) fn checkpoint_signer(&self) -> Option<Signer> {
        let signer = self.directories.checkpoint_signer();
        signer.unwrap_or_else(|error| {
            print_note(&format!("the checkpoint is not signed: {}", error.message));
            None
        })
    }

    /// Records an action of the owner. The action is already done, so a log that fails only causes a note.
    pub(super) fn record(&self, deed: &OwnerAction<'_>) {
        let clock = system_clock();
        let signer = self.checkpoint_signer();
        let recorded = record_owner_action(
            &self.root,
            &self.directories.state,
            &os_user(),
            &clock,
            signer,
            deed,
        );
        if let Err(error) = recorded {
            print_note(&format!("this action is not in the audit log: {error}"));
        }
    }
}

/// Opens a state directory, if it exists.
fn existing(dir: &Path) -> Result<Option<RealDisk>, CommandError> {
    match RealDisk::at(dir) {
        Ok(disk) => Ok(Some(disk)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(dir, &error)),
    }
}

fn unusable(dir: &Path, error: &io::Error) -> CommandError {
    let wrong = format!("cannot use the state directory {}: {error}", dir.display());
    CommandError::new(wrong).with_hint("name another directory with --state-dir DIR")
}
