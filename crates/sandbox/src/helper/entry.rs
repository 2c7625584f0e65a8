//! The entry: makes the namespaces and starts process 1 in them, if the warden must stay outside.

use super::namespaces::{enter, missing};
use super::{Stage, privileges, start_stage_on, stdin_socket};
use crate::error::SetupStep;
use crate::job::{Job, StageMessage, StartFailure, receive, send};
use crate::level::{Namespace, Part};
use crate::spec::Network;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

/// Starts process 1 and waits for it. The kernel ends the namespace with process 1, and process 1 with this
/// process.
pub(super) fn main() -> io::Result<()> {
    let warden = stdin_socket()?;
    match start(&warden) {
        Ok(mut process_one) => process_one.wait().map(drop),
        Err(failure) => send(&warden, &StageMessage::Failed(failure)),
    }
}

fn start(warden: &UnixStream) -> Result<Child, StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let job = receive::<Job>(warden)
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(SetupStep::Handover))?;
    enter_all(&job)?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| at(SetupStep::Start)(error.into()))?;
    if getppid().is_none_or(|parent| parent.as_raw_pid() != job.warden) {
        return Err(at(SetupStep::Start)(io::ErrorKind::BrokenPipe.into()));
    }
    // The next message on the socket is for process 1.
    start_stage_on(Stdio::inherit(), Stage::ProcessOne, &job.first_args)
        .map_err(at(SetupStep::Start))
}

/// Enters every namespace of process 1 but that of its mounts, which it makes itself: this process keeps the
/// old file tree.
pub(super) fn enter_all(job: &Job) -> Result<(), StartFailure> {
    for namespace in namespaces(job) {
        if namespace != Namespace::Mount {
            enter(namespace).map_err(StartFailure::Missing)?;
        }
    }
    // AppArmor grants a user namespace without any capability in it.
    privileges::keep_for_setup().map_err(|error| {
        StartFailure::Missing(missing(Part::User, "keeping its capabilities", &error))
    })
}

/// Returns the namespaces of a process at the full level, in the order in which they are made.
pub(super) fn namespaces(job: &Job) -> Vec<Namespace> {
    let mut all = Namespace::ALL.to_vec();
    if job.network == Network::Machine {
        all.retain(|namespace| *namespace != Namespace::Net);
    }
    all
}
