//! `candor workspace serve`: serves the workspace tools for one role.

use super::directories::{BuildDirArgs, Directories, DirectoryArgs, is_in};
use super::size;
use super::start_checks;
use crate::cli::CommandError;
use crate::host::{stdio_server, system_clock};
use candor_fault::Fault;
use candor_sandbox::{Level, Limits, SYSTEM_PATHS};
use candor_workspace::dialect::Workspace;
use candor_workspace::path::Root;
use candor_workspace::{
    CommandConfig, Config, LOCK_AFTER, MAX_RATE, Role, UnlockPolicy, WorkspaceServer,
    bootstrap_failure,
};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Serve the workspace tools for one role over MCP, on stdin and stdout
///
/// The executor changes files within approved plans; the planner writes plans. Every call is recorded in
/// audit-log.jsonl of the workspace before its answer is sent. An agent can open only the roots that are given
/// here.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkspaceServeArgs {
    /// The role of the agent: executor (WINDSURF) or planner (ANTIGRAVITY)
    #[arg(long, value_parser = role)]
    role: Role,
    /// A workspace that the agent may open [default: the working directory] (repeatable)
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Another file of approvers, in the format of OpenSSH's allowed_signers (repeatable)
    #[arg(long, value_name = "FILE")]
    approvers: Vec<PathBuf>,
    /// The number of violations of role, root or plan after which the session is locked
    #[arg(long, value_name = "N", default_value_t = LOCK_AFTER)]
    lock_after: NonZeroU32,
    /// Who can unlock a session
    #[arg(long, value_enum, default_value_t = UnlockBy::Report)]
    unlock: UnlockBy,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Apply the strict profile to every edit of Rust files, even if the plan does not
    #[arg(long)]
    rust_strict: bool,
    /// Another directory for checkpoints of the log (repeatable)
    #[arg(long, value_name = "DIR")]
    checkpoint_to: Vec<PathBuf>,
    /// A private key without a passphrase, to sign checkpoints; existing ones must be signed with it
    #[arg(long, value_name = "FILE")]
    checkpoint_key: Option<PathBuf>,
    /// The number of calls a second; further ones wait. 0 is no limit
    #[arg(long, value_name = "N", default_value_t = MAX_RATE)]
    max_rate: u32,
    /// The size of the log above which calls fail: 500MiB, 4GiB
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size::parse)]
    log_max: u64,
    /// Begin a session only if no checkpoint of the log is missing
    #[arg(long)]
    require_checkpoint: bool,
    /// A file or directory that the commands of plans may read, such as a toolchain (repeatable)
    #[arg(long, value_name = "PATH")]
    preflight_read: Vec<PathBuf>,
    /// The time limit for a command of a plan, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    preflight_timeout: u32,
    /// The weakest sandbox in which commands of plans may run
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = SandboxLevel::Full)]
    sandbox: SandboxLevel,
    /// Run the commands of plans even if the kernel cannot confine them, as --sandbox none does
    #[arg(long, conflicts_with = "sandbox")]
    allow_unsandboxed_preflight: bool,
    #[command(flatten)]
    build: BuildDirArgs,
    #[command(flatten)]
    directories: DirectoryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxLevel {
    /// Namespaces, a file tree of its own and filtered system calls
    Full,
    /// Landlock and filtered system calls
    Landlock,
    /// No sandbox, if the machine offers none
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnlockBy {
    /// A failure report of the agent, or a person
    Report,
    /// Only a person
    Person,
}

pub(super) fn role(text: &str) -> Result<Role, String> {
    Role::parse(text)
        .ok_or_else(|| String::from("give executor or WINDSURF, or planner or ANTIGRAVITY"))
}

/// Returns the error of a failed start; clients read it as an envelope on stderr.
fn failed(fault: &Fault<Workspace>) -> CommandError {
    let clock = system_clock();
    let mut envelope = Workspace::envelope(fault, None, clock.now());
    envelope.push('\n');
    CommandError::new(fault.message()).with_json(envelope)
}

fn unusable(message: impl AsRef<str>) -> CommandError {
    failed(&bootstrap_failure(message.as_ref()))
}

impl WorkspaceServeArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        if let Some(why) = start_checks::find_unusable_process() {
            return Err(unusable(why));
        }
        let directories = self.directories.directories()?;
        start_checks::find_loose_file(&directories, &self.approvers).map_err(unusable)?;
        let config = self.config(&directories)?;
        self.check_out_of_reach(&config.roots)?;
        let server = WorkspaceServer::new(config, system_clock());
        let server = server.map_err(|fault| failed(&fault))?;
        if self.role == Role::Executor {
            announce_sandbox(self.least());
        }
        Ok(stdio_server(server)?)
    }

    fn config(&self, directories: &Directories) -> Result<Config, CommandError> {
        let roots = self.roots(directories)?;
        Ok(Config {
            role: self.role,
            checks: self.checks(directories, &roots)?,
            roots,
            state: directories.state.clone(),
            checkpoint_to: absolute(&self.checkpoint_to)?,
            signer: self.signer()?,
            require_checkpoint: self.require_checkpoint,
            max_rate: NonZeroU32::new(self.max_rate),
            log_max: self.log_max,
            signers: directories.signers(&self.approvers).map_err(unusable)?,
            person_flags: self.directories.flags(directories),
            lock_after: self.lock_after,
            unlock: match self.unlock {
                UnlockBy::Report => UnlockPolicy::Report,
                UnlockBy::Person => UnlockPolicy::Person,
            },
            read_only: self.read_only,
            rust_strict: self.rust_strict,
            debug_stack: variable("DEBUG_STACK").as_deref() == Some("true"),
            os_user: os_user(),
            ids: Box::new(|| uuid::Uuid::new_v4().to_string()),
        })
    }

    fn roots(&self, directories: &Directories) -> Result<Vec<Root>, CommandError> {
        let paths = match self.root.as_slice() {
            [] => vec![std::env::current_dir()?],
            given => absolute(given)?,
        };
        let open = |path: PathBuf| {
            let root = Root::open(&path).map_err(|error| {
                unusable(format!(
                    "the root {} cannot be opened: {error}",
                    path.display()
                ))
            })?;
            match directories.inside(&root) {
                None => Ok(root),
                Some(inside) => Err(unusable(format!(
                    "the root {} contains {}, where an agent must not reach; name another one with --config-dir or --state-dir",
                    path.display(),
                    inside.display()
                ))),
            }
        };
        paths.into_iter().map(open).collect()
    }

    /// Returns an error if a key, an approvers file or a checkpoint is in a root, because an agent could change it.
    fn check_out_of_reach(&self, roots: &[Root]) -> Result<(), CommandError> {
        let files = self.approvers.iter().chain(&self.checkpoint_key);
        for file in files.chain(&self.checkpoint_to) {
            let path = std::path::absolute(file)?;
            if let Some(root) = roots.iter().find(|root| is_in(root, &path)) {
                return Err(unusable(format!(
                    "{} lies in the root {}, where an agent could change it; move it elsewhere",
                    file.display(),
                    root.path().display()
                )));
            }
        }
        Ok(())
    }

    fn signer(&self) -> Result<Option<candor_audit::Signer>, CommandError> {
        let Some(file) = &self.checkpoint_key else {
            return Ok(None);
        };
        let wrong =
            |why: String| unusable(format!("the key {} cannot be used: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let key = candor_audit::PrivateKey::from_openssh(&text)
            .map_err(|error| wrong(error.to_string()))?;
        let signer = candor_audit::Signer::new(key).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(signer))
    }

    /// Returns the weakest level of the sandbox that is accepted.
    fn least(&self) -> Level {
        match self.sandbox {
            _ if self.allow_unsandboxed_preflight => Level::None,
            SandboxLevel::Full => Level::Full,
            SandboxLevel::Landlock => Level::Landlock,
            SandboxLevel::None => Level::None,
        }
    }

    /// Returns the parent of the build directories. It must be where neither agents nor their commands
    /// reach.
    fn build_dir(
        &self,
        directories: &Directories,
        roots: &[Root],
    ) -> Result<PathBuf, CommandError> {
        let build = self.build.directory()?;
        let inside = |outer: &Path| build.starts_with(outer);
        let root = roots.iter().find(|root| is_in(root, &build));
        let root = root.map(|root| root.path());
        let own = [directories.config.as_path(), directories.state.as_path()];
        let own = own.into_iter().find(|outer| inside(outer));
        match root.or(own) {
            None => Ok(build),
            Some(outer) => Err(unusable(format!(
                "the build directory {} is in {}; name another one with --build-dir",
                build.display(),
                outer.display()
            ))),
        }
    }

    fn checks(
        &self,
        directories: &Directories,
        roots: &[Root],
    ) -> Result<CommandConfig, CommandError> {
        let system = SYSTEM_PATHS.iter().map(PathBuf::from);
        let readable = system.chain(toolchains().map(|(_, at)| at));
        Ok(CommandConfig {
            helper: crate::cli::sandbox::helper(),
            readable: readable.chain(absolute(&self.preflight_read)?).collect(),
            never: never(directories, roots),
            path: variable("PATH").unwrap_or_else(|| String::from("/usr/local/bin:/usr/bin:/bin")),
            lang: variable("LANG").unwrap_or_else(|| String::from("C.UTF-8")),
            scratch: std::env::temp_dir(),
            build: self.build_dir(directories, roots)?,
            guarded: vec![
                directories.config.clone(),
                directories.approvers(),
                directories.key(),
                directories.state.clone(),
            ],
            variable: Box::new(variable),
            least: self.least(),
            limits: Limits {
                time: Some(Duration::from_secs(self.preflight_timeout.into())),
                ..Limits::default()
            },
        })
    }
}

/// Writes to stderr which sandbox commands will have, and what the machine lacks.
fn announce_sandbox(least: Level) {
    let offer = candor_sandbox::probe(&crate::cli::sandbox::helper());
    let mut text = format!("sandbox: {}", offer.level);
    for missing in &offer.missing {
        text.push_str(&format!("; without {missing}"));
    }
    if offer.level < least {
        text.push_str(&format!(
            "; commands of plans will not run, because they need {least} (--sandbox)"
        ));
    }
    // If stderr is closed, nobody can read it, and every failing call contains the same.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns the directories of cargo and rustup, and the variables that name them.
pub(super) fn toolchains() -> impl Iterator<Item = (&'static str, PathBuf)> {
    let home = variable("HOME").map(PathBuf::from);
    let named = move |(name, below)| {
        let own = variable(name).map(PathBuf::from);
        let at = own.or_else(|| Some(home.as_ref()?.join(below)))?;
        Some((name, at))
    };
    let both = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
    both.into_iter().filter_map(named)
}

/// Returns the paths that no command of a plan may read: our own directories, and credentials of the toolchains.
/// Other rules protect files in a root.
fn never(directories: &Directories, roots: &[Root]) -> Vec<PathBuf> {
    let secrets = toolchains().flat_map(|(_, home)| CARGO_SECRETS.map(|name| home.join(name)));
    let outside = |path: &PathBuf| !roots.iter().any(|root| path.starts_with(root.path()));
    let own = [directories.config.clone(), directories.state.clone()];
    own.into_iter().chain(secrets.filter(outside)).collect()
}

/// The files of cargo's registry credentials.
const CARGO_SECRETS: [&str; 2] = ["credentials", "credentials.toml"];

fn absolute(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    paths.iter().map(std::path::absolute).collect()
}

pub(super) fn variable(name: &str) -> Option<String> {
    // Only this crate reads the environment.
    #[allow(clippy::disallowed_methods)]
    std::env::var(name).ok()
}

/// Returns the name of the user who runs this program, or the user id.
pub(super) fn os_user() -> String {
    let uid = rustix::process::getuid();
    let passwd = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let id: u32 = fields.nth(1)?.parse().ok()?;
        (id == uid.as_raw()).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| uid.as_raw().to_string())
}
