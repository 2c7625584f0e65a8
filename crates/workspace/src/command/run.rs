//! Runs one command of a plan: prepares its directories, starts it in the sandbox and reads its output.

use super::build_dir::is_own_variable;
use super::hidden_files::{self, HiddenFilesError};
use super::output::{OutputParts, OutputTail};
use super::scratch::Scratch;
use super::writable::{self, Created, WritableError};
use candor_sandbox::{
    Ended, Held, Helper, Level, Limits, Network, RunError, Spec, Standby, StartError, StopHandle,
    start_with,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The number of bytes of a command's output that are kept, counted from the end.
pub const OUTPUT_BYTES: usize = 8 * 1024;
/// The number of bytes of a command's output that are kept if all of it is wanted.
pub const MAX_OUTPUT_BYTES: usize = FIRST_BYTES + LAST_BYTES;
/// The number of bytes of a long output that are kept from its beginning.
const FIRST_BYTES: usize = 16 * 1024;
/// The number of bytes of a long output that are kept from its end.
const LAST_BYTES: usize = 48 * 1024;
/// The time beyond the limit of a command until its output is given up.
const GRACE: Duration = Duration::from_secs(20);

/// A command of a plan.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program and its arguments. No shell interprets them.
    pub argv: Vec<String>,
    /// The root, canonical. The command may read it, except for the paths that [`PathRules`] hides.
    pub root: PathBuf,
    /// The working directory, in the root and canonical.
    pub cwd: PathBuf,
    /// The bytes on its stdin.
    pub stdin: Vec<u8>,
    /// Directories and files below the root that the command may change, relative to it. They are created
    /// if missing; a file that stays empty is removed again.
    pub write: Vec<PathBuf>,
    /// The path of the private build directory, which the command may change.
    pub build_dir: PathBuf,
    /// The variables that name directories for builds. `env` replaces them, except for the one that names
    /// the build directory itself.
    pub build_env: Vec<(String, OsString)>,
    /// Environment variables. They cannot replace `PATH`, `HOME` and `TMPDIR`.
    pub env: Vec<(String, String)>,
    pub network: Network,
    pub limits: Limits,
    /// Files and directories outside the root that the command may read. Missing ones are skipped.
    pub read: Vec<PathBuf>,
    /// Files and directories outside the root that the command can neither read nor write.
    pub hide: Vec<PathBuf>,
    /// `PATH`, in which the program is looked up.
    pub path: String,
    pub lang: String,
    /// A directory that does not exist yet. It is created for this command, contains its `HOME` and
    /// `TMPDIR`, and is removed afterwards.
    pub scratch: PathBuf,
    /// The weakest level of the sandbox that is acceptable.
    pub least: Level,
    /// The part of its output that is kept.
    pub keep: KeptOutput,
}

/// The part of a command's output that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOutput {
    /// The last [`OUTPUT_BYTES`].
    Tail,
    /// All of it up to [`MAX_OUTPUT_BYTES`] of text, else its beginning and its end.
    Ends,
}

/// The rules about paths below the root. Every path is relative to the root.
#[derive(Clone, Copy)]
pub struct PathRules<'a> {
    /// Returns true if the command must not read a file or directory. It is not called for paths below
    /// a hidden directory.
    pub is_hidden: &'a dyn Fn(&Path) -> bool,
    /// Returns true if a directory of [`CommandSpec::write`] may be writable.
    pub can_be_writable: &'a dyn Fn(&Path) -> bool,
}

/// The outcome of a command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub argv: Vec<String>,
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// The kept part of its stdout and stderr, as text without control characters.
    pub output: String,
    /// The number of bytes of its output that `output` lacks.
    pub omitted_bytes: u64,
    pub duration: Duration,
    /// The number of bytes that it wrote in all.
    pub output_bytes: u64,
    /// The protection that held for it.
    pub held: Held,
    /// The connections that its proxy made.
    pub connections: u64,
    /// The requests that its proxy refused.
    pub refused: u64,
}

impl CommandOutcome {
    /// Returns true if it ended by itself with exit code 0.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }
}

/// An error that kept a command from running to its end.
#[derive(Debug)]
pub enum CommandError {
    /// A directory of [`CommandSpec::write`] cannot be writable.
    Writable { path: PathBuf, error: WritableError },
    /// The root contains a hidden directory, or lies in one.
    RootOverlapsHidden { path: PathBuf },
    /// The root has more than [`MAX_ENTRIES`](super::MAX_ENTRIES) files.
    TooManyEntries,
    /// The sandbox did not start it.
    Start(StartError),
    /// A system call outside the sandbox failed.
    Io {
        step: &'static str,
        source: io::Error,
    },
    /// Its end is not known.
    Lost(RunError),
    /// The caller stopped it; all of its processes were ended.
    Stopped,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Writable { path, error } => {
                write!(f, "{} cannot be writable: {error}", path.display())
            }
            CommandError::RootOverlapsHidden { path } => write!(
                f,
                "the root and this program's own directory {} overlap",
                path.display()
            ),
            CommandError::TooManyEntries => {
                f.write_str("the workspace has too many files to look through")
            }
            CommandError::Start(error) => error.fmt(f),
            CommandError::Io { step, source } => write!(f, "{step}: {source}"),
            CommandError::Lost(error) => error.fmt(f),
            CommandError::Stopped => f.write_str("the command was stopped"),
        }
    }
}

impl std::error::Error for CommandError {}

/// Runs the command and blocks until it has ended. None of its descendants is left afterwards. `standby` is
/// a helper process that was started ahead of time. `on_start` gets the handle that stops the command.
pub fn run(
    spec: &CommandSpec,
    rules: &PathRules<'_>,
    helper: &Helper,
    standby: Option<Standby>,
    on_start: impl FnOnce(StopHandle),
) -> Result<CommandOutcome, CommandError> {
    let mut made = Vec::new();
    for path in &spec.write {
        let created = writable::create(&spec.root, path, rules);
        let created = created.map_err(|error| CommandError::Writable {
            path: path.clone(),
            error,
        });
        if created? == Created::File {
            made.push(path.as_path());
        }
    }
    let ran =
        hide_paths(spec, rules).and_then(|hide| run_in(spec, helper, standby, hide, on_start));
    for path in made {
        writable::remove_empty(&spec.root, path);
    }
    ran
}

/// Returns everything that the command must not read.
fn hide_paths(spec: &CommandSpec, rules: &PathRules<'_>) -> Result<Vec<PathBuf>, CommandError> {
    let mut hide = hidden_directories(spec)?;
    let hidden = hidden_files::find(&spec.root, rules.is_hidden);
    hide.extend(hidden?.into_iter().map(|path| spec.root.join(path)));
    Ok(hide)
}

fn run_in(
    spec: &CommandSpec,
    helper: &Helper,
    standby: Option<Standby>,
    hide: Vec<PathBuf>,
    on_start: impl FnOnce(StopHandle),
) -> Result<CommandOutcome, CommandError> {
    let scratch = Scratch::create(&spec.scratch).map_err(at("making the temporary directory"))?;
    let mut write: Vec<PathBuf> = spec.write.iter().map(|path| spec.root.join(path)).collect();
    write.push(scratch.path().to_owned());
    write.push(spec.build_dir.clone());
    let started = Instant::now();
    let sandbox = Spec {
        argv: spec.argv.clone(),
        cwd: spec.cwd.clone(),
        env: environment(spec, scratch.path()),
        read: spec.read.iter().chain([&spec.root]).cloned().collect(),
        write,
        hide,
        network: spec.network.clone(),
        limits: spec.limits,
        least: spec.least,
        merge_output: true,
    };
    let mut running = start_with(&sandbox, helper, standby).map_err(CommandError::Start)?;
    on_start(running.stop_handle());
    let feeder = running.stdin().and_then(|pipe| feed(pipe, &spec.stdin));
    let held = running.held().clone();
    let mut output = CommandOutput::new(spec.keep);
    let until = spec.limits.time.map(|time| started + time + GRACE);
    let read = match running.stdout() {
        Some(pipe) => read_to_end(pipe, &mut output, until),
        None => Ok(()),
    };
    let Ended {
        exit_code,
        signal,
        timed_out,
        stopped,
        connections,
        refused,
        ..
    } = running.wait().map_err(CommandError::Lost)?;
    if let Some(feeder) = feeder {
        // The pipe is closed by now, so it does not wait.
        let _ = feeder.join();
    }
    // The scratch directory is removed last, when nobody uses it any more.
    drop(scratch);
    if stopped {
        return Err(CommandError::Stopped);
    }
    read.map_err(at("reading the output of the command"))?;
    let (text, omitted_bytes) = output.text();
    Ok(CommandOutcome {
        argv: sandbox.argv,
        exit_code,
        signal,
        timed_out,
        output_bytes: output.total(),
        omitted_bytes,
        output: text,
        duration: started.elapsed(),
        held,
        connections,
        refused,
    })
}

/// The output of a command, as it is read.
enum CommandOutput {
    Tail(OutputTail),
    Ends(OutputParts),
}

impl CommandOutput {
    fn new(keep: KeptOutput) -> CommandOutput {
        match keep {
            KeptOutput::Tail => CommandOutput::Tail(OutputTail::new(OUTPUT_BYTES)),
            KeptOutput::Ends => CommandOutput::Ends(OutputParts::new(FIRST_BYTES, LAST_BYTES)),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        match self {
            CommandOutput::Tail(tail) => tail.push(bytes),
            CommandOutput::Ends(parts) => parts.push(bytes),
        }
    }

    fn total(&self) -> u64 {
        match self {
            CommandOutput::Tail(tail) => tail.total(),
            CommandOutput::Ends(parts) => parts.total(),
        }
    }

    /// Returns the kept part as text, and the number of bytes that it lacks.
    fn text(&self) -> (String, u64) {
        match self {
            CommandOutput::Tail(tail) => (tail.text(), tail.omitted()),
            CommandOutput::Ends(parts) => parts.text(),
        }
    }
}

/// Writes bytes to the stdin of a command, on a thread of its own: the command may read them late or never.
fn feed(mut pipe: File, bytes: &[u8]) -> Option<std::thread::JoinHandle<()>> {
    if bytes.is_empty() {
        return None;
    }
    let bytes = bytes.to_vec();
    let write = move || {
        // A command that does not read everything is not an error.
        let _ = pipe.write_all(&bytes);
    };
    std::thread::Builder::new().spawn(write).ok()
}

fn at(step: &'static str) -> impl FnOnce(io::Error) -> CommandError {
    move |source| CommandError::Io { step, source }
}

impl From<HiddenFilesError> for CommandError {
    fn from(error: HiddenFilesError) -> Self {
        match error {
            HiddenFilesError::TooMany => CommandError::TooManyEntries,
            HiddenFilesError::Io(source) => at("searching the workspace")(source),
        }
    }
}

/// Returns the hidden directories, canonical if they exist. None of them may overlap with the root.
fn hidden_directories(spec: &CommandSpec) -> Result<Vec<PathBuf>, CommandError> {
    let mut all = Vec::new();
    for path in &spec.hide {
        let canonical = resolve(path);
        if canonical.starts_with(&spec.root) || spec.root.starts_with(&canonical) {
            return Err(CommandError::RootOverlapsHidden { path: path.clone() });
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

/// Returns the variables of the specification, followed by those that they cannot replace. Of two variables
/// with one name the last counts.
fn environment(spec: &CommandSpec, scratch: &Path) -> Vec<(String, OsString)> {
    let fixed = ["PATH", "HOME", "TMPDIR"];
    let mut env: Vec<(String, OsString)> = vec![("LANG".to_owned(), spec.lang.clone().into())];
    let is_replaced = |name: &str| {
        spec.env
            .iter()
            .any(|(own, _)| own == name && !is_own_variable(name))
    };
    let build = spec.build_env.iter();
    env.extend(build.filter(|(name, _)| !is_replaced(name)).cloned());
    let listed = spec.env.iter();
    env.extend(
        listed
            .filter(|(name, _)| !fixed.contains(&name.as_str()) && !is_own_variable(name))
            .map(|(name, value)| (name.clone(), value.clone().into())),
    );
    env.push(("PATH".to_owned(), spec.path.clone().into()));
    env.push(("HOME".to_owned(), scratch.join("home").into()));
    env.push(("TMPDIR".to_owned(), scratch.join("tmp").into()));
    env
}

/// Reads the output to its end. The end comes when all processes of the command have ended.
fn read_to_end(
    mut pipe: File,
    output: &mut CommandOutput,
    until: Option<Instant>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let pause = left.and_then(|left| Timespec::try_from(left).ok());
        let mut watched = [PollFd::new(&pipe, PollFlags::IN)];
        match poll(&mut watched, pause.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => match pipe.read(&mut buffer)? {
                0 => return Ok(()),
                read => output.push(&buffer[..read]),
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
