//! The Landlock rules: everything that is not granted is refused.

use super::tree;
use crate::error::SetupStep;
use crate::job::{Job, Right, StartFailure};
use crate::level::Level;
use crate::probe;
use crate::spec::Network;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Confines this thread, and so the command it becomes.
pub(super) fn confine(job: &Job) -> Result<(), StartFailure> {
    let abi = probe::version();
    if abi < ABI::V3 {
        return Err(refused("this kernel's Landlock is missing or too old"));
    }
    // Hard, so that a right that the kernel does not support is an error.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(failure)?;
    // A network namespace confines TCP already, and leaves the process its own loopback interface.
    if job.level == Level::Landlock && job.network == Network::Off && abi >= ABI::V4 {
        rules = rules
            .handle_access(AccessNet::from_all(abi))
            .map_err(failure)?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi)).map_err(failure)?;
    }
    let mut rules = rules.create().map_err(failure)?;
    let listed = job
        .grants
        .iter()
        .map(|grant| (grant.path.path(), grant.right));
    let own = tree::own_paths(job.level);
    for (path, right) in listed.chain(own.iter().map(|(path, right)| (Path::new(*path), *right))) {
        let Some((handle, is_directory)) = open(path)? else {
            continue;
        };
        let mut rights = rights(right, abi);
        if !is_directory {
            rights &= AccessFs::from_file(abi);
        }
        if !rights.is_empty() {
            rules = rules
                .add_rule(PathBeneath::new(handle, rights))
                .map_err(failure)?;
        }
    }
    let status = rules.restrict_self().map_err(failure)?;
    match status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        true => Ok(()),
        false => Err(refused("the kernel did not enforce every rule")),
    }
}

/// Confines signals of this process and its children to themselves. Returns false if the kernel cannot.
pub(super) fn confine_signals() -> bool {
    let confine = || {
        // Each layer of Landlock forbids moving files between directories unless it grants it.
        let everywhere = PathBeneath::new(PathFd::new("/").ok()?, AccessFs::Refer);
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let rules = rules.handle_access(AccessFs::Refer).ok()?;
        let rules = rules.scope(Scope::Signal).ok()?.create().ok()?;
        rules.add_rule(everywhere).ok()?.restrict_self().ok()
    };
    confine().is_some_and(|status| status.ruleset == RulesetStatus::FullyEnforced)
}

fn rights(right: Right, abi: ABI) -> BitFlags<AccessFs> {
    match right {
        Right::Read => AccessFs::from_read(abi),
        Right::List => AccessFs::ReadDir.into(),
        Right::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        Right::Write => {
            let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
            AccessFs::from_all(abi) & !devices
        }
    }
}

/// Opens a path without following any link. Returns `None` if it is gone or has become a link; it is
/// then not granted.
fn open(path: &Path) -> Result<Option<(OwnedFd, bool)>, StartFailure> {
    let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let handle = match opened {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(StartFailure::io(SetupStep::Landlock, &error.into())),
    };
    let stat =
        fstat(&handle).map_err(|error| StartFailure::io(SetupStep::Landlock, &error.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Ok(None),
        kind => Ok(Some((handle, kind == FileType::Directory))),
    }
}

fn failure(error: RulesetError) -> StartFailure {
    refused(&error.to_string())
}

fn refused(message: &str) -> StartFailure {
    StartFailure::Setup {
        step: SetupStep::Landlock,
        message: message.to_owned(),
        code: None,
    }
}
