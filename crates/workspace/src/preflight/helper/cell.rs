//! The cell: gives up what the command must not have, then becomes the command.

use super::{filter, limits, rules};
use crate::preflight::job::{Failure, Job, receive, send};
use crate::preflight::outcome::Step;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Signal, fchdir, getppid, set_parent_process_death_signal, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Comes back only where the command could not be started; says why on stdout.
pub(super) fn main() -> u8 {
    // A copy that closes when the command starts: no word in it means that the command runs, and the
    // command itself has no way to write there.
    let Ok(report) = io::stdout().as_fd().try_clone_to_owned() else {
        return 1;
    };
    let Err(failure) = become_the_command();
    let _ = send(File::from(report), &failure);
    1
}

enum Never {}

fn become_the_command() -> Result<Never, Failure> {
    let at = |step| move |error: io::Error| Failure::io(step, &error);
    let job: Job = receive(io::stdin().lock())
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(Step::Handover))?;

    // Should the warden die, the command dies with it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| at(Step::Start)(e.into()))?;
    if getppid().is_none_or(|parent| parent.as_raw_pid() != job.warden) {
        return Err(at(Step::Start)(io::ErrorKind::BrokenPipe.into()));
    }
    // A session of its own has no terminal to write to.
    setsid().map_err(|e| at(Step::Start)(e.into()))?;

    let root = open_root(&job).map_err(at(Step::Root))?;
    fchdir(&root).map_err(|e| at(Step::Root)(e.into()))?;
    limits::set(&job.limits).map_err(at(Step::Limits))?;
    let output = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(at(Step::Start))?;
    let errors = output.try_clone().map_err(at(Step::Start))?;
    if let Some(grants) = &job.grants {
        rules::confine(&root, grants, job.network)?;
        powerless().map_err(at(Step::Limits))?;
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
    Err(Failure::Exec {
        code: error.raw_os_error().unwrap_or_default(),
    })
}

/// Gives up what root can do beyond its own files, such as reading the environments of others. As new
/// privileges are ruled out by now, no program brings it back.
fn powerless() -> io::Result<()> {
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
