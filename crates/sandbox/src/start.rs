//! Starts a process from the caller's side: checks the specification, starts the warden and receives its
//! messages.

use crate::error::{Ended, RunError, SetupStep, StartError};
use crate::grants::{GrantBuilder, MAX_GRANTS};
use crate::helper::Stage;
use crate::job::{Job, OsText, StartFailure, WardenMessage, receive, send_with};
use crate::level::{Held, Level, Offer};
use crate::paths::{Links, PathResolver};
use crate::program;
use crate::spec::{Helper, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Spec};
use crate::tree::{TreePlan, plan, top_paths};
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that the set-up may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that the warden gets beyond the limit of the process, to end it and to report.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum time limit of a process.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// A helper process that waits for a specification, so that a later start need not wait for it. Dropping it
/// ends it.
#[derive(Debug)]
pub struct Standby(Warden);

/// Starts a helper process ahead of time. Returns `None` if that fails; the start itself then reports why.
pub fn stand_by(helper: &Helper) -> Option<Standby> {
    Warden::start(helper).ok().map(Standby)
}

/// Starts a process at the best level that the machine offers. It runs when this function returns.
pub fn start(spec: &Spec, helper: &Helper) -> Result<Running, StartError> {
    start_with(spec, helper, None)
}

/// Starts a process like [`start`], with a helper process that waits already.
pub fn start_with(
    spec: &Spec,
    helper: &Helper,
    standby: Option<Standby>,
) -> Result<Running, StartError> {
    check_form(spec)?;
    let name = spec.argv.first().map_or("", String::as_str);
    let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| path.as_os_str()).unwrap_or_default();
    let program = program::find(name, &spec.cwd, path).ok_or_else(|| StartError::NotFound {
        program: name.to_owned(),
    })?;
    // The helper process starts while the paths are resolved.
    let standby = standby.or_else(|| stand_by(helper));
    let mut resolver = PathResolver::default();
    let mut links = Links::new();
    let write = resolver.resolve_all(&spec.write, &mut links)?;
    let read = resolver.resolve_all(&spec.read, &mut links)?;
    let hide = spec.hide.iter();
    let hide = hide.map(|path| resolver.resolve_existing(path));
    let hide = top_paths(hide.collect());
    let grants = GrantBuilder {
        cwd: &spec.cwd,
        read: &read,
        write: &write,
        hide: &hide,
        max_grants: MAX_GRANTS,
    };
    let mut limits = spec.limits;
    limits.time = limits.time.map(|time| time.min(MAX_TIME));
    let env = spec.env.iter();
    let grants = grants.build()?;
    // Programs that are hidden are not offered to be read.
    let real = resolver.resolve_existing(&program);
    let is_known = real.ancestors().any(|above| hide.contains(above))
        || grants
            .iter()
            .any(|grant| real.starts_with(grant.path.path()));
    let job = Job {
        program: Some(program.clone().into()),
        argv: spec.argv.clone(),
        env: env
            .map(|(name, value)| (name.clone(), OsText(value.clone())))
            .collect(),
        cwd: spec.cwd.clone().into(),
        grants,
        tree: plan(&read, &write, &hide, links)?,
        network: spec.network.clone(),
        limits,
        ..empty_job(helper, spec.least)
    };
    hand_over(job, helper, standby, spec.merge_output).map_err(|error| match error {
        StartError::NotStarted { .. } if !is_known => StartError::NotReadable { program },
        error => error,
    })
}

/// Returns a job that only tries the set-up.
pub(crate) fn empty_job(helper: &Helper, least: Level) -> Job {
    Job {
        server: i32::try_from(std::process::id()).unwrap_or_default(),
        warden: 0,
        first_args: helper.first_args.clone(),
        program: None,
        argv: Vec::new(),
        env: Vec::new(),
        cwd: OsText::from("/"),
        least,
        level: Level::None,
        missing: Vec::new(),
        grants: Vec::new(),
        tree: TreePlan::default(),
        network: crate::spec::Network::Off,
        proxy_port: None,
        limits: crate::spec::Limits::default(),
        tasks: 0,
        signals_confined: false,
    }
}

/// Starts the warden unless it waits already, hands over the job and waits until the process runs.
pub(crate) fn hand_over(
    mut job: Job,
    helper: &Helper,
    mut standby: Option<Standby>,
    merge_output: bool,
) -> Result<Running, StartError> {
    let at = |step| move |source| StartError::Io { step, source };
    let started = Instant::now();
    let (stdin, stdin_far) = pipe_to_process().map_err(at(SetupStep::Start))?;
    let (stdout, stdout_far) = pipe_from_process().map_err(at(SetupStep::Start))?;
    let (stderr, stderr_far) = match merge_output {
        true => (None, stdout_far.try_clone().map_err(at(SetupStep::Start))?),
        false => {
            let (near, far) = pipe_from_process().map_err(at(SetupStep::Start))?;
            (Some(near), far)
        }
    };
    let files = [stdin_far.as_fd(), stdout_far.as_fd(), stderr_far.as_fd()];
    let (warden, held) = loop {
        let mut warden = match standby.take() {
            Some(Standby(warden)) => warden,
            None => Warden::start(helper).map_err(at(SetupStep::Start))?,
        };
        // A failure matters only if there is no answer.
        let sent = send_with(&warden.socket, &job, &files);
        let answer = warden
            .socket
            .set_read_timeout(Some(SETUP_TIMEOUT))
            .and_then(|()| receive(&warden.socket));
        if let Ok(Some(WardenMessage::Started(held))) = answer {
            break (warden, held);
        }
        warden.end(GRACE);
        match answer {
            // The full level cannot be had; the next warden starts with a lower one.
            Ok(Some(WardenMessage::NotStarted(StartFailure::Missing(missing))))
                if job.missing.is_empty() =>
            {
                job.missing.push(missing);
            }
            Ok(Some(WardenMessage::NotStarted(failure))) => {
                return Err(start_error(failure, &job));
            }
            Ok(_) => {
                sent.map_err(at(SetupStep::Handover))?;
                return Err(StartError::HelperLost);
            }
            Err(source) => return Err(at(SetupStep::Handover)(source)),
        }
    };
    Ok(Running {
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr,
        held,
        started,
        time: job.limits.time,
        warden,
    })
}

fn pipe_to_process() -> io::Result<(File, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((File::from(OwnedFd::from(writer)), reader.into()))
}

fn pipe_from_process() -> io::Result<(File, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((File::from(OwnedFd::from(reader)), writer.into()))
}

fn check_form(spec: &Spec) -> Result<(), StartError> {
    let bytes: usize = spec.argv.iter().map(String::len).sum::<usize>()
        + spec
            .env
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>();
    let has_nul = |bytes: &[u8]| bytes.contains(&0);
    let problem = if spec.argv.is_empty() {
        "it has no program"
    } else if spec.argv.len() > MAX_ARGUMENTS || spec.env.len() > MAX_ARGUMENTS {
        "it has too many arguments or variables"
    } else if bytes > MAX_ARGUMENT_BYTES {
        "its arguments and variables are too long"
    } else if spec.argv.iter().any(|text| has_nul(text.as_bytes()))
        || spec
            .env
            .iter()
            .any(|(name, value)| has_nul(name.as_bytes()) || has_nul(value.as_encoded_bytes()))
    {
        "it has a NUL byte"
    } else if spec
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.contains('='))
    {
        "a variable has no proper name"
    } else if [&spec.read, &spec.write, &spec.hide]
        .into_iter()
        .flatten()
        .chain([&spec.cwd])
        .any(|path| !path.is_absolute())
    {
        "its paths are not absolute"
    } else {
        return Ok(());
    };
    Err(StartError::Malformed(problem))
}

fn start_error(failure: StartFailure, job: &Job) -> StartError {
    match failure {
        StartFailure::Exec { code } => StartError::NotStarted {
            program: job.argv.first().cloned().unwrap_or_default(),
            source: io::Error::from_raw_os_error(code),
        },
        StartFailure::Setup {
            step,
            message,
            code,
        } => StartError::Setup {
            step,
            message,
            code,
        },
        StartFailure::Weaker {
            level,
            landlock,
            missing,
            seccomp,
        } => StartError::Weaker {
            wanted: job.least,
            offer: Box::new(Offer {
                level,
                landlock,
                missing,
                namespaces: Vec::new(),
                seccomp,
            }),
        },
        StartFailure::Missing(missing) => StartError::Setup {
            step: SetupStep::Start,
            message: missing.to_string(),
            code: None,
        },
    }
}

/// A process that was started. Dropping it ends the process and its descendants.
#[derive(Debug)]
pub struct Running {
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    held: Held,
    started: Instant,
    time: Option<Duration>,
    warden: Warden,
}

/// Stops a process from elsewhere.
#[derive(Debug, Clone)]
pub struct StopHandle(Arc<UnixStream>);

impl StopHandle {
    /// Ends the process and its descendants.
    pub fn stop(&self) {
        // Fails only if the other side is gone already.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

impl Running {
    /// Returns the pipe to stdin. Later calls return `None`.
    pub fn stdin(&mut self) -> Option<File> {
        self.stdin.take()
    }

    /// Returns the pipe from stdout. Later calls return `None`.
    pub fn stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// Returns the pipe from stderr. Returns `None` later, and if the output is merged.
    pub fn stderr(&mut self) -> Option<File> {
        self.stderr.take()
    }

    /// Returns the protection that holds for the process.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Ends the process and its descendants.
    pub fn stop(&self) {
        self.stop_handle().stop();
    }

    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(Arc::clone(&self.warden.socket))
    }

    /// Waits until the process and all of its descendants have ended. Pipes that were not taken are closed
    /// first.
    pub fn wait(mut self) -> Result<Ended, RunError> {
        drop((self.stdin.take(), self.stdout.take(), self.stderr.take()));
        let timeout = self.time.map(|time| {
            let until = self.started + time + GRACE;
            until.saturating_duration_since(Instant::now()).max(GRACE)
        });
        let message = self
            .warden
            .socket
            .set_read_timeout(timeout)
            .and_then(|()| receive(&self.warden.socket));
        match &message {
            // Everything else has ended: the exit of the warden concerns nobody.
            Ok(Some(WardenMessage::Ended { .. })) => self.warden.end_in_background(),
            _ => self.warden.end(GRACE),
        }
        // A helper that did not report in time was ended.
        let is_late = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if message.as_ref().is_err_and(is_late) {
            return Err(RunError::HelperLost);
        }
        match message.map_err(RunError::Io)? {
            Some(WardenMessage::Ended {
                exit_code,
                signal,
                timed_out,
                stopped,
                descendants_ended,
                connections,
                refused,
            }) => Ok(Ended {
                exit_code,
                signal,
                timed_out,
                stopped,
                descendants_ended,
                duration: self.started.elapsed(),
                connections,
                refused,
            }),
            _ => Err(RunError::HelperLost),
        }
    }
}

/// The warden's process and the socket to it.
#[derive(Debug)]
struct Warden {
    process: Child,
    socket: Arc<UnixStream>,
    ended: bool,
}

impl Warden {
    fn start(helper: &Helper) -> io::Result<Warden> {
        let (socket, far) = UnixStream::pair()?;
        let process = Command::new(&helper.program)
            .args(&helper.first_args)
            .arg(Stage::Warden.name())
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(far))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Warden {
            process,
            socket: Arc::new(socket),
            ended: false,
        })
    }

    /// Ends the warden on a thread of its own, or here if there can be none.
    fn end_in_background(self) {
        // A thread that cannot be started drops its closure, and with it the warden.
        let _ = std::thread::Builder::new().spawn(move || drop(self));
    }

    /// Lets the warden end everything, and kills it if it does not end in time.
    fn end(&mut self, grace: Duration) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let _ = self.socket.shutdown(Shutdown::Write);
        // The warden closes its end when it exits.
        let _ = self.socket.set_read_timeout(Some(grace));
        let closed = loop {
            match receive::<WardenMessage>(&self.socket) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if !closed {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.end(GRACE);
    }
}
