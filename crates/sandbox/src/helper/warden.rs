//! The warden: starts the command at the best level that can be had, ends it in time, and ends all of its
//! descendants.
//!
//! At the full level it makes the namespaces itself and starts process 1 in them, unless it has to serve a
//! proxy outside of them.

use super::landlock_rules::confine_signals;
use super::sweep::{EndBy, end_descendants, reap};
use super::{Stage, close_inherited_files, entry, limits, start_stage, stdin_socket};
use crate::error::SetupStep;
use crate::job::{
    Job, StageMessage, StartFailure, WardenMessage, receive, receive_with, send, send_with,
};
use crate::level::{Held, HeldNetwork, Level, Missing, Namespace};
use crate::probe::{check_seccomp, landlock_version};
use crate::proxy::{Proxy, Resolve, Traffic};
use crate::spec::Network;
use nix::errno::Errno;
use nix::sys::signal::kill;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitStatus, getpid, getppid, pidfd_open, set_child_subreaper, setsid,
};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval at which orphans are reaped while the command runs.
const TICK: Duration = Duration::from_millis(250);
/// The time that the set-up of one level may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs one job and reports to the server.
pub(super) fn main(resolver: Arc<dyn Resolve>) -> io::Result<()> {
    // Signals of a terminal, and of the kernel to groups whose parent ended, do not reach another session.
    setsid()?;
    close_inherited_files()?;
    let server = stdin_socket()?;
    let (mut job, files) = receive_with::<Job>(&server)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    job.warden = getpid().as_raw_pid();
    set_child_subreaper(Some(getpid()))?;
    let started = match start(&mut job, &files) {
        Ok(started) => started,
        Err(failure) => return send(&server, &WardenMessage::NotStarted(failure)),
    };
    // Only the command holds its ends of the pipes now.
    drop(files);
    let told = send(&server, &WardenMessage::Started(held(&job, &started)));
    let traffic = serve_proxy(&job, started.proxy, resolver);
    let end = match told.and_then(|()| watch(&started.watched, &server, job.limits.time)) {
        Ok(end) => end,
        // The server may be gone already. The command must not outlive it.
        Err(error) => {
            end_descendants(started.end_by, |_| {});
            return Err(error);
        }
    };
    let mut status = end.status;
    let report = |status: Option<(Option<i32>, Option<i32>)>, descendants_ended| {
        // A command whose namespace was ended cannot report by itself.
        let (exit_code, signal) = status.unwrap_or((None, Some(KILLED)));
        let ended = WardenMessage::Ended {
            exit_code,
            signal,
            timed_out: end.timed_out,
            stopped: end.stopped,
            descendants_ended,
            connections: traffic.connections(),
            refused: traffic.refused(),
        };
        send(&server, &ended)
    };
    if end.is_alone {
        // Only helper processes are left, and nobody needs to wait while the kernel takes down their mounts.
        report(status, true)?;
        end_descendants(started.end_by, |_| {});
        return Ok(());
    }
    let descendants_ended = end_descendants(started.end_by, |(child, how)| {
        if started.watched.is_command(child) {
            status = Some((how.exit_status(), how.terminating_signal()));
        }
    });
    report(status, descendants_ended)
}

/// The number of `SIGKILL`.
const KILLED: i32 = 9;

/// A command that runs.
struct Started {
    watched: Watched,
    end_by: EndBy,
    namespaces: Vec<Namespace>,
    proxy: Option<TcpListener>,
}

/// The way to learn of the end of the command.
enum Watched {
    /// Process 1 reports on a socket.
    Reports(UnixStream),
    /// The command is a child of this process.
    Child { id: i32, handle: OwnedFd },
}

impl Watched {
    fn is_command(&self, process: i32) -> bool {
        matches!(self, Watched::Child { id, .. } if *id == process)
    }
}

/// Starts the command at the highest level that can be had and that the caller accepts.
fn start(job: &mut Job, files: &[OwnedFd]) -> Result<Started, StartFailure> {
    for level in [Level::Full, Level::Landlock, Level::None] {
        if level < job.least {
            break;
        }
        if level == Level::Full && !job.missing.is_empty() {
            // Another warden has tried it.
            continue;
        }
        job.level = level;
        let tried = check(level).and_then(|()| match level {
            Level::Full => start_full(job, files),
            _ => start_cell(job, files),
        });
        match tried {
            // This process may be in new namespaces already, so the caller starts another warden.
            Err(missing @ StartFailure::Missing(_))
                if level == Level::Full && level > job.least =>
            {
                return Err(missing);
            }
            Err(StartFailure::Missing(missing)) => job.missing.push(missing),
            tried => return tried,
        }
    }
    let landlock = landlock_version();
    let seccomp = check_seccomp();
    let level = match landlock.is_ok() && seccomp.is_ok() {
        true => Level::Landlock,
        false => Level::None,
    };
    let mut missing = job.missing.clone();
    for lacking in [landlock.as_ref().err(), seccomp.as_ref().err()] {
        add_missing(&mut missing, lacking);
    }
    Err(StartFailure::Weaker {
        level,
        landlock: landlock.ok(),
        missing,
        seccomp: seccomp.is_ok(),
    })
}

/// Returns an error if the machine lacks a part that can be judged without a child process.
fn check(level: Level) -> Result<(), StartFailure> {
    if level > Level::None {
        check_seccomp().map_err(StartFailure::Missing)?;
    }
    if level == Level::Landlock {
        landlock_version().map_err(StartFailure::Missing)?;
    }
    Ok(())
}

fn add_missing(all: &mut Vec<Missing>, one: Option<&Missing>) {
    if let Some(one) = one
        && !all.iter().any(|known| known.part == one.part)
    {
        all.push(one.clone());
    }
}

/// Returns what holds for the command.
fn held(job: &Job, started: &Started) -> Held {
    let landlock = match job.level {
        Level::None => None,
        _ => landlock_version().ok(),
    };
    let mut missing = job.missing.clone();
    add_missing(&mut missing, landlock_version().err().as_ref());
    Held {
        level: job.level,
        namespaces: started.namespaces.clone(),
        landlock,
        seccomp: job.level != Level::None,
        network: match (&job.network, job.level) {
            (Network::Off, Level::Full | Level::Landlock) => HeldNetwork::Off,
            (Network::Proxy(_), Level::Full) => HeldNetwork::Proxy,
            _ => HeldNetwork::Machine,
        },
        missing,
    }
}

fn start_full(job: &Job, files: &[OwnedFd]) -> Result<Started, StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let has_proxy = matches!(job.network, Network::Proxy(_));
    let stage = match has_proxy {
        true => Stage::Entry,
        false => {
            entry::enter_all(job)?;
            Stage::ProcessOne
        }
    };
    let (child, socket) = start_stage(stage, &job.first_args).map_err(at(SetupStep::Start))?;
    let id = process_id(&child).map_err(at(SetupStep::Start))?;
    let start = || {
        socket.set_read_timeout(Some(SETUP_TIMEOUT))?;
        let to_entry = match has_proxy {
            true => send(&socket, job),
            false => Ok(()),
        };
        let sent = to_entry.and_then(|()| send_with(&socket, job, &borrowed(files)));
        let answer = receive_with::<StageMessage>(&socket)?;
        // Without an answer, the failure to send is the reason.
        if answer.is_none() {
            sent?;
        }
        socket.set_read_timeout(None)?;
        Ok(answer)
    };
    let failure = match start() {
        Ok(Some((StageMessage::Ready { namespaces }, mut files))) => {
            return Ok(Started {
                watched: Watched::Reports(socket),
                end_by: EndBy::Process(id),
                namespaces,
                proxy: files.pop().map(TcpListener::from),
            });
        }
        Ok(Some((StageMessage::Failed(failure), _))) => failure,
        Ok(_) => at(SetupStep::Start)(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => at(SetupStep::Handover)(error),
    };
    end_descendants(EndBy::Process(id), |_| {});
    Err(failure)
}

fn start_cell(job: &mut Job, files: &[OwnedFd]) -> Result<Started, StartFailure> {
    let at = StartFailure::at::<io::Error>;
    job.tasks = limits::tasks_of_user();
    job.signals_confined = job.level == Level::Landlock && has_confined_signals(job.server);
    let (cell, socket) = start_stage(Stage::Cell, &job.first_args).map_err(at(SetupStep::Start))?;
    let id = process_id(&cell).map_err(at(SetupStep::Start))?;
    let end_by = match job.signals_confined {
        true => EndBy::Everyone,
        false => EndBy::Session(id),
    };
    let start = || {
        let handle = Pid::from_raw(id)
            .ok_or_else(|| at(SetupStep::Start)(io::ErrorKind::NotFound.into()))
            .and_then(|id| {
                pidfd_open(id, PidfdFlags::empty()).map_err(|e| at(SetupStep::Start)(e.into()))
            })?;
        socket
            .set_read_timeout(Some(SETUP_TIMEOUT))
            .map_err(at(SetupStep::Handover))?;
        // If the cell is gone, `await_command` fails too.
        let _ = send_with(&socket, job, &borrowed(files));
        Ok((await_command(&socket)?, handle))
    };
    match start() {
        Ok((namespaces, handle)) => Ok(Started {
            watched: Watched::Child { id, handle },
            end_by,
            namespaces,
            proxy: None,
        }),
        Err(failure) => {
            end_descendants(end_by, |_| {});
            Err(failure)
        }
    }
}

/// Waits until the cell has become the command. Returns the namespaces that the cell entered itself.
fn await_command(socket: &UnixStream) -> Result<Vec<Namespace>, StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let mut entered = None;
    loop {
        match receive(socket).map_err(at(SetupStep::Handover))? {
            Some(StageMessage::Ready { namespaces }) => entered = Some(namespaces),
            Some(StageMessage::Failed(failure)) => return Err(failure),
            Some(StageMessage::Ended { .. }) => {}
            // The socket is closed when the cell executes the command.
            None => {
                let lost = || at(SetupStep::Start)(io::ErrorKind::UnexpectedEof.into());
                return entered.ok_or_else(lost);
            }
        }
    }
}

fn borrowed(files: &[OwnedFd]) -> Vec<std::os::fd::BorrowedFd<'_>> {
    files.iter().map(AsFd::as_fd).collect()
}

fn process_id(child: &Child) -> io::Result<i32> {
    i32::try_from(child.id()).map_err(io::Error::other)
}

/// Confines signals to our own processes. Returns true only if the server, which could be signalled a
/// moment ago, is out of reach now: `end_descendants` then signals every process that it can reach.
fn has_confined_signals(server: i32) -> bool {
    let parent = getppid().is_some_and(|parent| parent.as_raw_pid() == server);
    let reach = || kill(nix::unistd::Pid::from_raw(server), None);
    parent && reach().is_ok() && confine_signals() && reach() == Err(Errno::EPERM)
}

/// Serves the proxy in threads of this process, which end with it.
fn serve_proxy(
    job: &Job,
    listener: Option<TcpListener>,
    resolver: Arc<dyn Resolve>,
) -> Arc<Traffic> {
    match (&job.network, listener) {
        (Network::Proxy(hosts), Some(listener)) => {
            Proxy::new(hosts.clone(), resolver).serve(listener)
        }
        _ => Arc::default(),
    }
}

/// The reason why watching ended.
#[derive(Default)]
struct WatchEnd {
    /// Exit code and signal, if the command ended by itself.
    status: Option<(Option<i32>, Option<i32>)>,
    /// True if the command left no process behind.
    is_alone: bool,
    timed_out: bool,
    stopped: bool,
}

/// Waits until the command ends, its time is over, or the server closes its socket.
fn watch(watched: &Watched, server: &UnixStream, time: Option<Duration>) -> io::Result<WatchEnd> {
    let until = time.map(|time| Instant::now() + time);
    loop {
        let left = until.map_or(TICK, |until| {
            until.saturating_duration_since(Instant::now())
        });
        if left.is_zero() {
            return Ok(WatchEnd {
                timed_out: true,
                ..WatchEnd::default()
            });
        }
        let command = match watched {
            Watched::Reports(socket) => socket.as_fd(),
            Watched::Child { handle, .. } => handle.as_fd(),
        };
        let mut polled = [
            PollFd::from_borrowed_fd(command, PollFlags::IN),
            PollFd::from_borrowed_fd(server.as_fd(), PollFlags::IN),
        ];
        let pause = Timespec::try_from(left.min(TICK)).ok();
        let _ = poll(&mut polled, pause.as_ref());
        let [command, server] = polled.map(|one| !one.revents().is_empty());
        match watched {
            Watched::Reports(socket) if command => {
                let (status, is_alone) = match receive::<StageMessage>(socket) {
                    Ok(Some(StageMessage::Ended {
                        exit_code,
                        signal,
                        is_alone,
                    })) => (Some((exit_code, signal)), is_alone),
                    _ => (None, false),
                };
                return Ok(WatchEnd {
                    status,
                    is_alone,
                    ..WatchEnd::default()
                });
            }
            Watched::Reports(_) => {}
            Watched::Child { id, .. } => {
                let mut status: Option<WaitStatus> = None;
                reap(|(child, how)| {
                    if child == *id {
                        status = Some(how);
                    }
                });
                if let Some(how) = status {
                    return Ok(WatchEnd {
                        status: Some((how.exit_status(), how.terminating_signal())),
                        ..WatchEnd::default()
                    });
                }
            }
        }
        if server {
            return Ok(WatchEnd {
                stopped: true,
                ..WatchEnd::default()
            });
        }
    }
}
