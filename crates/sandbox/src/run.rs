//! Runs one command from the server's side: checks it, starts the warden, reads its output and report.

use crate::grants::{GrantBuilder, MAX_GRANTS};
use crate::helper::Stage;
use crate::job::{Job, OsText, StartFailure, WardenReport, receive, send};
use crate::outcome::{CommandOutcome, RunError, SetupStep};
use crate::probe::{SandboxSupport, probe};
use crate::scratch::Scratch;
use crate::spec::{Helper, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, PathRules, Spec};
use crate::stop::StopSignal;
use crate::tail::OutputTail;
use crate::{program, writable};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::time::{Duration, Instant};

/// The time that the warden gets beyond the command's limit, to end its processes and to report.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum time limit of a command.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);
/// The maximum length of the warden's report, in bytes.
const MAX_REPORT: usize = 64 * 1024;

/// Runs the command and blocks until it has ended. None of its descendants is left afterwards.
pub fn run(
    spec: &Spec,
    rules: &PathRules<'_>,
    helper: &Helper,
    stop: &StopSignal,
) -> Result<CommandOutcome, RunError> {
    Running::start(spec, rules, helper)?.wait(stop)
}

/// A command that was handed to its warden.
struct Running {
    argv: Vec<String>,
    started: Instant,
    time: Duration,
    output_limit: usize,
    sandboxed: bool,
    /// The result of sending the job; an error matters only if there is no report.
    handover: io::Result<()>,
    warden: Warden,
    /// The last field, so that it is removed after the warden's pipes are closed.
    _scratch: Scratch,
}

impl Running {
    fn start(spec: &Spec, rules: &PathRules<'_>, helper: &Helper) -> Result<Running, RunError> {
        check_form(spec)?;
        let sandboxed = match probe() {
            SandboxSupport::Landlock(_) => true,
            SandboxSupport::Unavailable(_) if spec.allow_unsandboxed => false,
            SandboxSupport::Unavailable(reason) => return Err(RunError::NoSandbox(reason)),
        };
        let hide = hidden_directories(spec)?;
        let name = spec.argv.first().map_or("", String::as_str);
        let program =
            program::find(name, &spec.root, &spec.path).ok_or_else(|| RunError::NotFound {
                program: name.to_owned(),
            })?;
        for path in &spec.write {
            writable::create(&spec.root, path, rules).map_err(|error| RunError::Writable {
                path: path.clone(),
                error,
            })?;
        }
        let scratch = Scratch::create(&spec.scratch).map_err(at(SetupStep::Scratch))?;
        let builder = GrantBuilder {
            root: &spec.root,
            write: &spec.write,
            read: &spec.read,
            hide: &hide,
            scratch: scratch.path(),
            is_hidden: rules.is_hidden,
            max_grants: MAX_GRANTS,
        };
        let grants = sandboxed.then(|| builder.build()).transpose()?;
        let mut limits = spec.limits;
        limits.time = limits.time.min(MAX_TIME);
        let job = Job {
            server: i32::try_from(std::process::id()).unwrap_or_default(),
            warden: 0,
            first_args: helper.first_args.clone(),
            program: program.into(),
            argv: spec.argv.clone(),
            env: environment(spec, scratch.path()),
            root: spec.root.clone().into(),
            grants,
            network: spec.network,
            limits,
            signals_confined: false,
        };
        let started = Instant::now();
        let mut warden = Warden::start(helper)?;
        let handover = warden.hand_over(&job);
        Ok(Running {
            argv: job.argv,
            started,
            time: limits.time,
            output_limit: limits.output,
            sandboxed,
            handover,
            warden,
            _scratch: scratch,
        })
    }

    fn wait(mut self, stop: &StopSignal) -> Result<CommandOutcome, RunError> {
        let result = self
            .warden
            .read_until_end(self.time + GRACE, self.output_limit, stop);
        let ended = self.warden.end();
        let (report, output, stopped) = result.map_err(at(SetupStep::Wait))?;
        if stopped {
            return Err(RunError::Stopped);
        }
        let report = match receive::<WardenReport>(report.as_slice()) {
            Ok(Some(report)) => report,
            _ => {
                self.handover.map_err(at(SetupStep::Handover))?;
                ended.map_err(at(SetupStep::Wait))?;
                return Err(RunError::WardenLost);
            }
        };
        match report {
            WardenReport::NotStarted(failure) => Err(start_error(failure, &self.argv)),
            WardenReport::Ended {
                exit_code,
                signal,
                timed_out,
                descendants_ended,
            } => Ok(CommandOutcome {
                argv: self.argv,
                exit_code,
                signal,
                timed_out,
                output_tail: output.text(),
                output_bytes: output.total(),
                duration: self.started.elapsed(),
                sandboxed: self.sandboxed,
                descendants_ended,
            }),
        }
    }
}

fn at(step: SetupStep) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::Io { step, source }
}

fn check_form(spec: &Spec) -> Result<(), RunError> {
    let bytes: usize = spec.argv.iter().map(String::len).sum::<usize>()
        + spec
            .env
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>();
    let texts = || {
        let env = spec.env.iter().flat_map(|(name, value)| [name, value]);
        spec.argv.iter().chain(env).chain([&spec.path, &spec.lang])
    };
    let problem = if spec.argv.is_empty() {
        "it has no program"
    } else if spec.argv.len() > MAX_ARGUMENTS || spec.env.len() > MAX_ARGUMENTS {
        "it has too many arguments or variables"
    } else if bytes > MAX_ARGUMENT_BYTES {
        "its arguments and variables are too long"
    } else if texts().any(|text| text.contains('\0')) {
        "it has a NUL byte"
    } else if spec
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.contains('='))
    {
        "a variable has no proper name"
    } else if !spec.root.is_absolute() || !spec.scratch.is_absolute() {
        "its directories are not absolute"
    } else {
        return Ok(());
    };
    Err(RunError::Malformed(problem))
}

/// Returns the hidden directories, canonical if they exist. None of them may overlap with the root.
fn hidden_directories(spec: &Spec) -> Result<Vec<PathBuf>, RunError> {
    let mut all = Vec::new();
    for path in &spec.hide {
        let canonical = resolve(path);
        if canonical.starts_with(&spec.root) || spec.root.starts_with(&canonical) {
            return Err(RunError::RootOverlapsHidden { path: path.clone() });
        }
        all.push(canonical);
    }
    Ok(all)
}

/// Resolves the links in the part of the path that exists.
fn resolve(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(canonical), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return canonical.join(rest);
        }
    }
    path.to_path_buf()
}

/// Returns the variables of the specification, followed by those that they cannot replace.
fn environment(spec: &Spec, scratch: &Path) -> Vec<(String, OsText)> {
    let mut env = vec![("LANG".to_owned(), OsText::from(spec.lang.as_str()))];
    let listed = spec.env.iter();
    env.extend(listed.map(|(name, value)| (name.clone(), OsText::from(value.as_str()))));
    env.push(("PATH".to_owned(), OsText::from(spec.path.as_str())));
    env.push(("HOME".to_owned(), scratch.join("home").into()));
    env.push(("TMPDIR".to_owned(), scratch.join("tmp").into()));
    env
}

fn start_error(failure: StartFailure, argv: &[String]) -> RunError {
    match failure {
        StartFailure::Exec { code } => RunError::NotStarted {
            program: argv.first().cloned().unwrap_or_default(),
            source: io::Error::from_raw_os_error(code),
        },
        StartFailure::Setup {
            step,
            message,
            code,
        } => RunError::Setup {
            step,
            message,
            code,
        },
    }
}

/// The warden's process and its pipes.
struct Warden {
    process: Child,
    /// Closing it makes the warden end everything.
    stdin: Option<ChildStdin>,
    report: Option<ChildStdout>,
    output: PipeReader,
}

impl Warden {
    fn start(helper: &Helper) -> Result<Warden, RunError> {
        let (output, end): (PipeReader, PipeWriter) = io::pipe().map_err(at(SetupStep::Start))?;
        let mut process = Command::new(&helper.program)
            .args(&helper.first_args)
            .arg(Stage::Warden.name())
            .env_clear()
            .process_group(0)
            .current_dir("/")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(end)
            .spawn()
            .map_err(at(SetupStep::Start))?;
        Ok(Warden {
            stdin: process.stdin.take(),
            report: process.stdout.take(),
            process,
            output,
        })
    }

    fn hand_over(&mut self, job: &Job) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => send(stdin, job),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Reads report and output until both end or the time is over. A stop closes stdin.
    fn read_until_end(
        &mut self,
        time: Duration,
        output_limit: usize,
        stop: &StopSignal,
    ) -> io::Result<(Vec<u8>, OutputTail, bool)> {
        let mut until = Instant::now() + time;
        let (mut report, mut tail) = (Vec::new(), OutputTail::new(output_limit));
        let (mut stopped, mut output_open) = (false, true);
        let mut buffer = vec![0; 64 * 1024];
        let (idle, _open) = io::pipe()?;
        while self.report.is_some() || output_open {
            let left = until.saturating_duration_since(Instant::now());
            let Some(pause) = (!left.is_zero())
                .then(|| Timespec::try_from(left).ok())
                .flatten()
            else {
                break;
            };
            let [report_ready, output_ready, stop_now] = {
                // Closed pipes are left out, because they would be ready for ever.
                let output = self.output.as_fd();
                let report = self.report.as_ref().map(AsFd::as_fd);
                let stop = (!stopped).then(|| stop.0.as_fd());
                let mut watched = [report, output_open.then_some(output), stop].map(|one| {
                    let flags = one.map_or(PollFlags::empty(), |_| PollFlags::IN);
                    PollFd::from_borrowed_fd(one.unwrap_or(idle.as_fd()), flags)
                });
                match poll(&mut watched, Some(&pause)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                watched.map(|one| !one.revents().is_empty())
            };
            if stop_now && !stopped {
                stopped = true;
                self.stdin = None;
                until = Instant::now() + GRACE;
            }
            if output_ready && output_open {
                match self.output.read(&mut buffer)? {
                    0 => output_open = false,
                    read => tail.push(&buffer[..read]),
                }
            }
            if report_ready && let Some(from) = &mut self.report {
                match from.read(&mut buffer)? {
                    0 => {
                        self.report = None;
                        until = until.min(Instant::now() + GRACE);
                    }
                    read if report.len() + read <= MAX_REPORT => {
                        report.extend_from_slice(&buffer[..read]);
                    }
                    _ => self.report = None,
                }
            }
        }
        Ok((report, tail, stopped))
    }

    /// Kills the warden if it has not closed its report, and waits for its end.
    fn end(&mut self) -> io::Result<()> {
        self.stdin = None;
        if self.report.is_some() {
            if let Ok(group) = i32::try_from(self.process.id()) {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            self.process.kill()?;
        }
        self.process.wait().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_resolved_as_far_as_it_exists() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(resolve(&base.join("link/a/b")), base.join("real/a/b"));
        assert_eq!(resolve(&base.join("link")), base.join("real"));
        assert_eq!(resolve(Path::new("/no/such")), Path::new("/no/such"));
    }
}
