//! The cell: gives up everything that the command must not have, then becomes the command. Process 1 gives up
//! the same.

use super::namespaces::enter;
use super::{filter, landlock_rules, limits, privileges, stdin_socket};
use crate::error::SetupStep;
use crate::job::{Job, StageMessage, StartFailure, receive_with, send};
use crate::level::{Level, Namespace, Part};
use crate::probe;
use crate::spec::Network;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::process::{Signal, fchdir, getppid, set_parent_process_death_signal, setsid};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The variables that name a proxy. Programs differ in which of them they read.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// The processes that the kernel counts beside those of the command in a new user namespace: process 1, and
/// warden or entry.
pub(super) const TASKS_OF_HELPER: u64 = 2;

/// Becomes the command. Returns only if that fails or if there is none.
pub(super) fn main() -> io::Result<()> {
    // The socket is closed when the command starts, and the command itself cannot write to it.
    let socket = stdin_socket()?;
    match become_the_command(&socket) {
        Ok(()) => Ok(()),
        Err(failure) => send(&socket, &StageMessage::Failed(failure)),
    }
}

fn become_the_command(socket: &UnixStream) -> Result<(), StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let (job, files) = receive_with::<Job>(socket)
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(SetupStep::Handover))?;
    let namespaces = match job.level {
        Level::Landlock => enter_some(&job),
        _ => Vec::new(),
    };
    // If the parent dies, the command dies with it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| at(SetupStep::Start)(error.into()))?;
    if getppid().is_none_or(|parent| parent.as_raw_pid() != job.warden) {
        return Err(at(SetupStep::Start)(io::ErrorKind::BrokenPipe.into()));
    }
    let tasks = match namespaces.contains(&Namespace::User) {
        true => TASKS_OF_HELPER,
        false => job.tasks,
    };
    confine(&job, tasks)?;
    send(socket, &StageMessage::Ready { namespaces }).map_err(at(SetupStep::Handover))?;
    let Some(program) = &job.program else {
        return Ok(());
    };
    let command = command(&job, program.path(), &files);
    let error = command.map_or_else(|error| error, |mut command| command.exec());
    Err(StartFailure::Exec {
        code: error.raw_os_error().unwrap_or_default(),
    })
}

/// Gives up everything that the command must not have. `tasks` is the number of processes that the kernel
/// counts beside those of the command.
pub(super) fn confine(job: &Job, tasks: u64) -> Result<(), StartFailure> {
    let at = StartFailure::at::<io::Error>;
    // A new session has no terminal to write to.
    setsid().map_err(|error| at(SetupStep::Start)(error.into()))?;
    if job.program.is_some() {
        enter_directory(job).map_err(at(SetupStep::Directory))?;
    }
    limits::set(&job.limits, tasks).map_err(at(SetupStep::Limits))?;
    if job.level != Level::None {
        if job.level == Level::Landlock || probe::landlock_version().is_ok() {
            landlock_rules::confine(job)?;
        }
        privileges::drop_all().map_err(at(SetupStep::Privileges))?;
        filter::apply(job)?;
    }
    Ok(())
}

/// Returns the command with its environment and these files as stdin, stdout and stderr.
pub(super) fn command(job: &Job, program: &Path, files: &[OwnedFd]) -> io::Result<Command> {
    let [stdin, stdout, stderr] = files else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut command = Command::new(program);
    command
        .arg0(job.argv.first().map_or("", String::as_str))
        .args(job.argv.iter().skip(1))
        .env_clear()
        .envs(job.env.iter().map(|(name, value)| (name, &value.0)))
        .envs(proxy_variables(job))
        .stdin(stdin.try_clone()?)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    Ok(command)
}

/// Enters the namespaces that can be had below the full level. A PID namespace needs a fresh `/proc`, and a
/// mount namespace alone protects nothing.
fn enter_some(job: &Job) -> Vec<Namespace> {
    let mut entered = Vec::new();
    let refused = |part| job.missing.iter().any(|missing| missing.part == part);
    if refused(Part::User) || enter(Namespace::User).is_err() {
        return entered;
    }
    entered.push(Namespace::User);
    for namespace in [Namespace::Ipc, Namespace::Net, Namespace::Uts] {
        let wanted = namespace != Namespace::Net || job.network == Network::Off;
        if wanted && enter(namespace).is_ok() {
            entered.push(namespace);
        }
    }
    entered
}

fn enter_directory(job: &Job) -> io::Result<()> {
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let cwd = openat2(
        CWD,
        job.cwd.path(),
        how,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?;
    Ok(fchdir(&cwd)?)
}

fn proxy_variables(job: &Job) -> Vec<(&'static str, String)> {
    let Some(port) = job.proxy_port else {
        return Vec::new();
    };
    let address = format!("http://127.0.0.1:{port}");
    PROXY_VARIABLES.map(|name| (name, address.clone())).into()
}
