//! The cell: gives up everything that the command must not have, then becomes the command.

use super::{filter, limits, rules};
use crate::job::{Job, StartFailure, receive, send};
use crate::outcome::SetupStep;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Signal, fchdir, getppid, set_parent_process_death_signal, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Becomes the command. Returns only if that fails, after the reason was written to stdout.
pub(super) fn main() -> u8 {
    // A copy that is closed when the command starts: an empty report means that the command runs, and
    // the command itself cannot write to it.
    let Ok(report) = io::stdout().as_fd().try_clone_to_owned() else {
        return 1;
    };
    let Err(failure) = become_the_command();
    let _ = send(File::from(report), &failure);
    1
}

enum Never {}

fn become_the_command() -> Result<Never, StartFailure> {
    let at = |step| move |error: io::Error| StartFailure::io(step, &error);
    let job: Job = receive(io::stdin().lock())
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(SetupStep::Handover))?;

    // If the warden dies, the command dies with it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| at(SetupStep::Start)(e.into()))?;
    if getppid().is_none_or(|parent| parent.as_raw_pid() != job.warden) {
        return Err(at(SetupStep::Start)(io::ErrorKind::BrokenPipe.into()));
    }
    // A new session has no terminal to write to.
    setsid().map_err(|e| at(SetupStep::Start)(e.into()))?;

    let root = open_root(&job).map_err(at(SetupStep::Root))?;
    fchdir(&root).map_err(|e| at(SetupStep::Root)(e.into()))?;
    limits::set(&job.limits).map_err(at(SetupStep::Limits))?;
    let output = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(at(SetupStep::Start))?;
    let errors = output.try_clone().map_err(at(SetupStep::Start))?;
    if let Some(grants) = &job.grants {
        rules::confine(&root, grants, job.network)?;
        drop_capabilities().map_err(at(SetupStep::Limits))?;
        filter::apply(&job)?;
    }
    let error = Command::new(&job.program.0)
        .arg0(job.argv.first().map_or("", String::as_str))
        .args(job.argv.iter().skip(1))
        .env_clear()
        .envs(job.env.iter().map(|(name, value)| (name, &value.0)))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .exec();
    Err(StartFailure::Exec {
        code: error.raw_os_error().unwrap_or_default(),
    })
}

/// Gives up the capabilities of root, such as reading the environments of others. New privileges are
/// ruled out at this point, so no program can regain them.
fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets)?)
}

fn open_root(job: &Job) -> io::Result<OwnedFd> {
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, &job.root.0, how, Mode::empty())?)
}
