//! Runs one command from the server's side: prepares, starts the warden, reads, and judges the end.

use super::grants::{Ground, MAX_GRANTS};
use super::helper::Stage;
use super::job::{Failure, Job, Raw, Report, receive, send};
use super::order::{Fence, Helper, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Order};
use super::outcome::{Ran, RunError, Step};
use super::probe::{Sandbox, probe};
use super::scratch::Scratch;
use super::stop::Stop;
use super::tail::Tail;
use super::{program, writable};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::time::{Duration, Instant};

/// How long the warden gets beyond the command's time, to end its processes and to report.
const GRACE: Duration = Duration::from_secs(10);
/// The longest time a command can be given.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);
/// How much of a report is read.
const MAX_REPORT: usize = 64 * 1024;

/// Runs the command and waits for its end; blocks. Whatever it started is gone afterwards.
pub fn run(
    order: &Order,
    fence: &Fence<'_>,
    helper: &Helper,
    stop: &Stop,
) -> Result<Ran, RunError> {
    well_formed(order)?;
    let sandboxed = match probe() {
        Sandbox::Landlock(_) => true,
        Sandbox::Unavailable(_) if order.allow_unsandboxed => false,
        Sandbox::Unavailable(reason) => return Err(RunError::NoSandbox(reason)),
    };
    let never = own_directories(order)?;
    let name = order.argv.first().map_or("", String::as_str);
    let program =
        program::find(name, &order.root, &order.path).ok_or_else(|| RunError::NotFound {
            program: name.to_owned(),
        })?;
    for path in &order.writable {
        writable::make(&order.root, path, fence).map_err(|fault| RunError::Writable {
            path: path.clone(),
            fault,
        })?;
    }
    let scratch = Scratch::make(&order.scratch).map_err(at(Step::Scratch))?;
    let grants = match sandboxed {
        true => Some(
            Ground {
                root: &order.root,
                writable: &order.writable,
                readable: &order.readable,
                never: &never,
                scratch: scratch.path(),
                unreadable: fence.unreadable,
                most: MAX_GRANTS,
            }
            .grants()?,
        ),
        false => None,
    };
    let mut limits = order.limits;
    limits.time = limits.time.min(MAX_TIME);
    let job = Job {
        server: i32::try_from(std::process::id()).unwrap_or_default(),
        warden: 0,
        first_args: helper.first_args.clone(),
        program: program.into(),
        argv: order.argv.clone(),
        env: environment(order, scratch.path()),
        root: order.root.clone().into(),
        grants,
        network: order.network,
        limits,
        scoped: false,
    };
    let began = Instant::now();
    let mut warden = Warden::start(helper)?;
    let told = warden.tell(&job);
    let heard = warden.listen(limits.time + GRACE, limits.output, stop);
    let gone = warden.end();
    let (report, output, stopped) = heard.map_err(at(Step::Wait))?;
    if stopped {
        return Err(RunError::Stopped);
    }
    let report = match receive::<Report>(report.as_slice()) {
        Ok(Some(report)) => report,
        _ => {
            told.map_err(at(Step::Handover))?;
            gone.map_err(at(Step::Wait))?;
            return Err(RunError::WardenLost);
        }
    };
    match report {
        Report::NotStarted(failure) => Err(not_started(failure, name)),
        Report::Ended {
            exit_code,
            signal,
            timed_out,
            swept,
        } => Ok(Ran {
            argv: order.argv.clone(),
            exit_code,
            signal,
            timed_out,
            output_tail: output.text(),
            output_bytes: output.total(),
            took: began.elapsed(),
            sandboxed,
            swept,
        }),
    }
}

fn at(step: Step) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::Io { step, source }
}

fn well_formed(order: &Order) -> Result<(), RunError> {
    let bytes: usize = order.argv.iter().map(String::len).sum::<usize>()
        + order
            .env
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>();
    let texts = || {
        let env = order.env.iter().flat_map(|(name, value)| [name, value]);
        order
            .argv
            .iter()
            .chain(env)
            .chain([&order.path, &order.lang])
    };
    let fault = if order.argv.is_empty() {
        "it has no program"
    } else if order.argv.len() > MAX_ARGUMENTS || order.env.len() > MAX_ARGUMENTS {
        "it has too many arguments or variables"
    } else if bytes > MAX_ARGUMENT_BYTES {
        "its arguments and variables are too long"
    } else if texts().any(|text| text.contains('\0')) {
        "it has a NUL byte"
    } else if order
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.contains('='))
    {
        "a variable has no proper name"
    } else if !order.root.is_absolute() || !order.scratch.is_absolute() {
        "its directories are not absolute"
    } else {
        return Ok(());
    };
    Err(RunError::Malformed(fault))
}

/// Our own directories, canonical where they exist; none may overlap with the root.
fn own_directories(order: &Order) -> Result<Vec<PathBuf>, RunError> {
    let mut all = Vec::new();
    for path in &order.never {
        let canonical = resolved(path);
        if canonical.starts_with(&order.root) || order.root.starts_with(&canonical) {
            return Err(RunError::RootHoldsOwn { path: path.clone() });
        }
        all.push(canonical);
    }
    Ok(all)
}

/// The path with every link on the way resolved, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(canonical), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return canonical.join(rest);
        }
    }
    path.to_path_buf()
}

/// The plan's variables, and ours, which it cannot replace.
fn environment(order: &Order, scratch: &Path) -> Vec<(String, Raw)> {
    let mut env = vec![("LANG".to_owned(), Raw::from(order.lang.as_str()))];
    let listed = order.env.iter();
    env.extend(listed.map(|(name, value)| (name.clone(), Raw::from(value.as_str()))));
    env.push(("PATH".to_owned(), Raw::from(order.path.as_str())));
    env.push(("HOME".to_owned(), scratch.join("home").into()));
    env.push(("TMPDIR".to_owned(), scratch.join("tmp").into()));
    env
}

fn not_started(failure: Failure, program: &str) -> RunError {
    match failure {
        Failure::Exec { code } => RunError::NotStarted {
            program: program.to_owned(),
            source: io::Error::from_raw_os_error(code),
        },
        Failure::Setup {
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

/// The warden's process and the pipes to it.
struct Warden {
    process: Child,
    /// Closing it tells the warden to end everything.
    stdin: Option<ChildStdin>,
    report: Option<ChildStdout>,
    output: PipeReader,
}

impl Warden {
    fn start(helper: &Helper) -> Result<Warden, RunError> {
        let (output, end): (PipeReader, PipeWriter) = io::pipe().map_err(at(Step::Start))?;
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
            .map_err(at(Step::Start))?;
        Ok(Warden {
            stdin: process.stdin.take(),
            report: process.stdout.take(),
            process,
            output,
        })
    }

    fn tell(&mut self, job: &Job) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => send(stdin, job),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Reads report and output until both end. A stop closes stdin; what does not end in time is left.
    fn listen(
        &mut self,
        time: Duration,
        keep: usize,
        stop: &Stop,
    ) -> io::Result<(Vec<u8>, Tail, bool)> {
        let mut until = Instant::now() + time;
        let (mut report, mut tail) = (Vec::new(), Tail::new(keep));
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
            let [said, wrote, stop_now] = {
                // What has ended is left out: it would be ready for ever.
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
            if wrote && output_open {
                match self.output.read(&mut buffer)? {
                    0 => output_open = false,
                    read => tail.push(&buffer[..read]),
                }
            }
            if said && let Some(from) = &mut self.report {
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

    /// By now it has ended, or never will by itself.
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
    fn a_directory_that_is_not_there_yet_is_resolved_as_far_as_it_is() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(resolved(&base.join("link/a/b")), base.join("real/a/b"));
        assert_eq!(resolved(&base.join("link")), base.join("real"));
        assert_eq!(resolved(Path::new("/no/such")), Path::new("/no/such"));
    }
}
