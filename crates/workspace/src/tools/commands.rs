//! Runs the commands of a call: the intent is recorded first, files of the tree that they change are judged
//! like edits, and everything is put back if the call fails.

use super::plans::ChosenPlan;
use super::reading::{denied, executed};
use super::writing::{ChangeJudge, change_origin};
use super::{ToolContext, stopped_failure};
use crate::command::{
    BuildDir, CommandError, CommandOutcome, CommandSpec, Fence, Fingerprint, KeptOutput, ModeList,
    PathRules, repair_modes, run,
};
use crate::failure::{BrokenInvariant, Failure, RefusedPaths};
use crate::governed::{
    GovernedChange, GovernedChanges, GovernedRun, MAX_GOVERNED_CHANGES, SnapshotError,
};
use crate::lock;
use crate::notes::{CommandRecord, Subject};
use crate::path::{Root, TypedPath, resolve_path};
use crate::plan::{Operation, Phase, fill_build_dir};
use crate::protected::is_write_protected;
use crate::reading::MAX_WHOLE_BYTES;
use crate::role::Role;
use crate::sandbox_record::{describe_sandbox, expected_protection};
use crate::session::Session;
use crate::state;
use crate::write::{WriteError, WriteTurn};
use candor_disk::{Disk, DiskFile, Open, RealDisk};
use candor_sandbox::{Level, Network, Standby, probe, stand_by};
use candor_secrets::redact;
use std::borrow::Cow;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

/// Paths below the root that no command may change. The log has its own proof, and git's objects
/// are identified by their hashes.
const PROTECTED: [&str; 12] = [
    ".candor",
    ".git/HEAD",
    ".git/config",
    ".git/hooks",
    ".git/index",
    ".git/info",
    ".git/logs",
    ".git/packed-refs",
    ".git/refs",
    ".git/reftable",
    ".git/worktrees",
    "docs/plans",
];

/// The beginning of the names of files that the server itself puts beside others.
const OWN_FILES: &str = ".candor-";

/// A command that a call runs.
pub(super) struct CommandRequest {
    pub(super) argv: Vec<String>,
    /// The working directory, canonical.
    pub(super) cwd: PathBuf,
    pub(super) stdin: Vec<u8>,
    /// `None` for the limit of the server.
    pub(super) time: Option<Duration>,
    pub(super) keep: KeptOutput,
}

/// The manner in which the commands of a call run.
pub(super) struct CommandRules {
    /// True if the build directory starts empty and is removed afterwards.
    pub(super) fresh: bool,
    /// True if a command that fails makes the call fail.
    pub(super) must_pass: bool,
    /// True if the call has the turn to write already.
    pub(super) has_turn: bool,
}

/// Commands that have run.
pub(super) struct RanCommands {
    pub(super) outcomes: Vec<CommandOutcome>,
    /// The files of the tree that they changed, if there are any.
    pub(super) changed: Option<ChangedByCommands>,
}

/// Files of the tree that commands have changed, until the call is on record.
pub(super) struct ChangedByCommands {
    run: GovernedRun<RealDisk>,
    pub(super) changes: Vec<GovernedChange>,
    /// The turn to write, unless the call had it already.
    _turn: Option<WriteTurn<RealDisk>>,
}

impl ChangedByCommands {
    /// Leaves the files as they are.
    pub(super) fn keep(self) -> io::Result<()> {
        self.run.keep()
    }

    /// Puts the files back.
    pub(super) fn undo(self) -> io::Result<()> {
        self.run.undo()
    }
}

/// Runs commands of a phase one after the other.
pub(super) fn run_commands(
    work: &ToolContext,
    chosen: &ChosenPlan,
    requests: &[CommandRequest],
    rules: &CommandRules,
) -> Result<RanCommands, Failure> {
    if requests.is_empty() {
        return Ok(RanCommands {
            outcomes: Vec::new(),
            changed: None,
        });
    }
    let session = &work.session;
    let phase = chosen.phase();
    // A call that has the turn to write may wait for the order, so none waits the other way round.
    let needs_turn = !phase.writable.is_empty() && !rules.has_turn;
    let turn = needs_turn.then(|| session.take_turn()).transpose()?;
    let order = session.command_order.lock();
    let _order = order.unwrap_or_else(PoisonError::into_inner);
    // The helper process starts while the intent is recorded; it waits for the command.
    let standby = stand_by(&work.server.config.checks.helper);
    let build = open_build_dir(work, chosen, rules.fresh)?;
    let mut governed = match phase.writable.is_empty() {
        true => None,
        false => Some(begin_governed(work, phase)?),
    };
    let mut outcomes = Vec::new();
    let ran = record_start(work, phase, requests, build.is_fresh())
        .and_then(|()| match governed.is_some() {
            true => work.cx.mark.begins().map_err(stopped_failure),
            false => Ok(()),
        })
        .and_then(|()| run_each(work, phase, requests, rules, &build, standby, &mut outcomes))
        .and_then(|()| match &mut governed {
            Some(governed) => judge_changes(work, chosen, governed),
            None => Ok(Vec::new()),
        });
    match (ran, governed) {
        (Ok(changes), Some(run)) if !changes.is_empty() => {
            note_subjects(work, &changes);
            if !rules.has_turn {
                work.cx.mark.done();
            }
            let changed = ChangedByCommands {
                run,
                changes,
                _turn: turn,
            };
            Ok(RanCommands {
                outcomes,
                changed: Some(changed),
            })
        }
        (ran, governed) => {
            if let Some(run) = governed {
                let ended = match &ran {
                    Ok(_) => run.keep(),
                    Err(_) => run.undo(),
                };
                ended.map_err(WriteError::Stuck)?;
                if !rules.has_turn {
                    work.cx.mark.undone();
                }
            }
            ran.map(|_| RanCommands {
                outcomes,
                changed: None,
            })
        }
    }
}

fn open_build_dir(
    work: &ToolContext,
    chosen: &ChosenPlan,
    fresh: bool,
) -> Result<BuildDir, Failure> {
    let config = &work.server.config;
    let of_root = build_dir_of(&config.checks.build, &work.session);
    let opened = match fresh {
        true => BuildDir::fresh(&of_root, &(config.ids)()),
        false => BuildDir::open(&of_root, chosen.approval_id(), chosen.plan_hash()),
    };
    let step = "making the private build directory";
    opened.map_err(|source| CommandError::Io { step, source }.into())
}

/// Returns the directory of the build directories of a root.
pub(super) fn build_dir_of(build: &Path, session: &Session) -> PathBuf {
    build.join(session.root.id().to_string())
}

fn begin_governed(work: &ToolContext, phase: &Phase) -> Result<GovernedRun<RealDisk>, Failure> {
    let session = &work.session;
    let writable: Vec<_> = phase.writable.iter().map(Path::new).collect();
    let tracked = session.repository.tracked_names(&writable);
    let tracked = tracked.map_err(|error| Failure::NotGoverned(SnapshotError::Tracked(error)))?;
    let saved = session.saved_bytes.lock();
    let mut saved = saved.unwrap_or_else(PoisonError::into_inner);
    let about = change_origin(work);
    let (root, state) = (session.root.disk(), session.state.clone());
    let begun = GovernedRun::begin(root, state, &mut saved, &phase.writable, tracked, about);
    begun.map_err(Failure::NotGoverned)
}

/// Runs the commands until one fails that must pass.
fn run_each(
    work: &ToolContext,
    phase: &Phase,
    requests: &[CommandRequest],
    rules: &CommandRules,
    build: &BuildDir,
    mut standby: Option<Standby>,
    outcomes: &mut Vec<CommandOutcome>,
) -> Result<(), Failure> {
    for (index, request) in requests.iter().enumerate() {
        let mut ran = run_one(work, phase, request, build, standby.take())?;
        record_outcome(work, index, &ran);
        if let Cow::Owned(hidden) = redact(&ran.output) {
            ran.output = hidden;
        }
        if rules.must_pass && !ran.is_success() {
            return Err(Failure::Check(Box::new(ran)));
        }
        outcomes.push(ran);
    }
    Ok(())
}

/// Records that commands of a phase are about to run.
fn record_start(
    work: &ToolContext,
    phase: &Phase,
    requests: &[CommandRequest],
    fresh: bool,
) -> Result<(), Failure> {
    let commands = requests.iter().map(|request| CommandRecord {
        argv: request.argv.clone(),
        fresh,
        ..CommandRecord::default()
    });
    let commands: Vec<_> = commands.collect();
    let offer = work
        .session
        .offer
        .get_or_init(|| probe(&work.server.config.checks.helper));
    let expected = expected_protection(offer, phase.network.is_granted());
    let notes = &work.cx.notes;
    notes.update(|notes| {
        notes.commands = Some(commands);
        notes.sandbox = Some(describe_sandbox(&expected, 0, 0));
    });
    let recorded = work
        .session
        .record_command_start(&work.cx.call, &notes.read());
    if recorded.is_err() {
        notes.update(|notes| (notes.commands, notes.sandbox) = (None, None));
    }
    recorded
}

/// Notes how a command of the call ended.
fn record_outcome(work: &ToolContext, index: usize, ran: &CommandOutcome) {
    work.cx.notes.update(|notes| {
        let so_far = |name: &str| {
            let sandbox = notes.sandbox.as_ref();
            sandbox
                .and_then(|sandbox| sandbox["network"][name].as_u64())
                .unwrap_or(0)
        };
        let connections = so_far("connections") + ran.connections;
        let refused = so_far("refused") + ran.refused;
        notes.sandbox = Some(describe_sandbox(&ran.held, connections, refused));
        let commands = notes.commands.as_mut();
        if let Some(command) = commands.and_then(|commands| commands.get_mut(index)) {
            command.exit_code = ran.exit_code;
            command.signal = ran.signal;
            command.timed_out = ran.timed_out;
        }
    });
}

/// Adds files that commands changed to those that the call changed itself.
fn note_subjects(work: &ToolContext, changes: &[GovernedChange]) {
    work.cx.notes.update(|notes| {
        for change in changes {
            let mut own = notes.subjects.iter_mut();
            match own.find(|own| own.path == change.path) {
                Some(own) => {
                    own.after.clone_from(&change.after);
                    (own.bytes, own.mode) = (change.bytes, change.mode);
                }
                None => notes.subjects.push(Subject {
                    path: change.path.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                    bytes: change.bytes,
                    mode: change.mode,
                }),
            }
        }
    });
}

/// Judges what commands changed in the tree: every change must be allowed by the phase and the policy.
fn judge_changes(
    work: &ToolContext,
    chosen: &ChosenPlan,
    governed: &mut GovernedRun<RealDisk>,
) -> Result<Vec<GovernedChange>, Failure> {
    let found = governed.changes().map_err(Failure::NotGoverned)?;
    let GovernedChanges {
        changes,
        odd,
        is_too_large,
    } = found;
    let length: usize = changes.iter().map(|change| change.path.len()).sum();
    if is_too_large || changes.len() > MAX_GOVERNED_CHANGES || length > super::MAX_PATHS_BYTES {
        let paths = changes.iter().map(|change| change.path.clone());
        return Err(Failure::CommandChanges(RefusedPaths::TooMany {
            count: changes.len(),
            paths: paths.collect(),
        }));
    }
    let odd = odd.iter().map(|path| path.to_string_lossy().into_owned());
    let mut odd: Vec<String> = odd.collect();
    let root = &work.session.root;
    let out = changes.iter().filter(|change| leads_out(root, change));
    odd.extend(out.map(|change| change.path.clone()));
    if !odd.is_empty() {
        return Err(Failure::CommandChanges(RefusedPaths::NotFiles(odd)));
    }
    let deny = denied(work)?;
    let executed = executed(work)?;
    let judge = ChangeJudge::new(work, chosen, &deny, &executed)?;
    let mut refused = Vec::new();
    let mut first = None;
    for change in &changes {
        let path = Path::new(&change.path);
        let is_own = |part: Component<'_>| {
            part.as_os_str()
                .as_encoded_bytes()
                .starts_with(OWN_FILES.as_bytes())
        };
        let why = match is_write_protected(path) || path.components().any(is_own) {
            true => Some(String::from("the path is protected")),
            false => {
                let allowed = judge.allows_path(change.operation, &change.path);
                allowed.err().map(|error| error.to_string())
            }
        };
        if let Some(why) = why {
            refused.push(change.path.clone());
            first.get_or_insert(why);
        }
    }
    if let Some(why) = first {
        return Err(Failure::CommandChanges(RefusedPaths::Scope {
            why,
            paths: refused,
        }));
    }
    let disk = work.session.root.disk();
    let mut doubtful = Vec::new();
    for change in &changes {
        if change.operation == Operation::Delete || change.link.is_some() {
            continue;
        }
        if change.bytes.is_some_and(|bytes| bytes > MAX_WHOLE_BYTES) {
            continue;
        }
        let after = disk
            .open(&change.path, Open::Read)
            .and_then(|file| file.read_all(MAX_WHOLE_BYTES as usize))?;
        let before = governed.bytes_before(&change.path)?;
        let before = before.as_deref().map(|bytes| (change.path.as_str(), bytes));
        doubtful.extend(judge.check_policy(&change.path, &after, before)?);
    }
    judge.check_doubtful(doubtful, &[])?;
    governed.sync()?;
    Ok(changes)
}

/// Returns true if a link leads out of the root, directly or through other links, or nowhere.
fn leads_out(root: &Root, change: &GovernedChange) -> bool {
    let leads_in = |path: &str| {
        let typed = TypedPath::read(path, root)?;
        resolve_path(root, &typed)
    };
    change.link.is_some() && leads_in(&change.path).is_err()
}

/// Returns the paths below the state directory of the root that no command may change.
fn protected_state() -> impl Iterator<Item = String> {
    let locks = Role::ALL.into_iter().map(lock::file);
    locks.chain([crate::approval::REVOCATIONS_DIR.to_owned()])
}

fn run_one(
    work: &ToolContext,
    phase: &Phase,
    request: &CommandRequest,
    build: &BuildDir,
    standby: Option<Standby>,
) -> Result<CommandOutcome, Failure> {
    let ToolContext {
        server, session, ..
    } = work;
    let checks = &server.config.checks;
    let root = session.root.path();
    let deny = denied(work)?;
    let build_dir = build.path().to_string_lossy();
    let env = phase.env.iter().filter_map(|env| {
        let value = match env.value() {
            Some(value) => Some(fill_build_dir(value, &build_dir)),
            None => (checks.variable)(env.name()),
        };
        Some((env.name().to_owned(), value?))
    });
    let mut limits = checks.limits;
    limits.time = request.time.or(limits.time);
    let argv = request.argv.iter();
    let mut build_env = build.variables();
    build_env.push(build.own_variable());
    let spec = CommandSpec {
        argv: argv.map(|word| fill_build_dir(word, &build_dir)).collect(),
        root: root.to_owned(),
        cwd: request.cwd.clone(),
        stdin: request.stdin.clone(),
        write: phase.writable.iter().map(PathBuf::from).collect(),
        build_dir: build.path().to_owned(),
        build_env,
        env: env.collect(),
        // A plan with a malformed host is not loaded.
        network: phase.network.to_sandbox().unwrap_or(Network::Off),
        limits,
        read: checks.readable.clone(),
        hide: checks.never.clone(),
        path: checks.path.clone(),
        lang: checks.lang.clone(),
        scratch: checks
            .scratch
            .join(format!("candor-{}", (server.config.ids)())),
        least: checks.least,
        keep: request.keep,
    };
    let protected_paths =
        [state::LOG, ".candor", crate::plan::store::PLANS_DIR, ".git"].map(PathBuf::from);
    let fence = Fence {
        // A process that can open the log can hold its lock.
        is_hidden: &|path| deny.denies(path) || state::is_log_path(path),
        is_protected: &is_write_protected,
        protected_paths: &protected_paths,
    };
    let rules = PathRules {
        is_hidden: fence.is_hidden,
        can_be_writable: &|path| fence.can_be_writable(path),
    };
    let watch = ProtectedWatch::begin(work)?;
    let cancel = work.cx.cancel.clone();
    let runtime = tokio::runtime::Handle::current();
    let mut stopper = None;
    let ran = run(&spec, &rules, &checks.helper, standby, |handle| {
        stopper = Some(runtime.spawn(async move {
            cancel.cancelled().await;
            handle.stop();
        }));
    });
    if let Some(stopper) = stopper {
        stopper.abort();
    }
    // Whatever ended the command, it may have written.
    repair_modes(root, &spec.write)?;
    let mut ran = ran?;
    watch.check(ran.held.level)?;
    ran.argv.clone_from(&request.argv);
    Ok(ran)
}

/// The protected paths before a command, for levels of the sandbox that do not protect all of them.
struct ProtectedWatch {
    /// `None` if mounts protect everything.
    before: Option<(Fingerprint, ModeList)>,
    paths: Vec<PathBuf>,
}

impl ProtectedWatch {
    fn begin(work: &ToolContext) -> Result<ProtectedWatch, Failure> {
        let ToolContext {
            server, session, ..
        } = work;
        let own = state::of_root(&server.config.state, session.root.id());
        let inside = PROTECTED.iter().map(|path| session.root.path().join(path));
        let paths: Vec<_> = inside
            .chain(protected_state().map(|path| own.join(path)))
            // Revocations that clones of a repository share.
            .chain([server.config.state.join(crate::approval::REVOCATIONS_DIR)])
            .collect();
        let before = match server.config.checks.least {
            Level::Full => None,
            _ => {
                let guarded = server.config.checks.guarded.iter().cloned();
                let log = session.log_path.clone();
                let lock = session.log_path.with_extension("jsonl.lock");
                let guarded = guarded.chain([own, log, lock]);
                Some((
                    Fingerprint::take(&paths)?,
                    ModeList::take(guarded.collect()),
                ))
            }
        };
        Ok(ProtectedWatch { before, paths })
    }

    /// Returns an error if the command changed a protected path. Modes are put back.
    fn check(self, level: Level) -> Result<(), Failure> {
        let Some((before, modes)) = self.before.filter(|_| level < Level::Full) else {
            return Ok(());
        };
        let after = Fingerprint::take(&self.paths)?;
        // Landlock protects contents, but not modes; and other processes may change paths whose
        // contents are not compared.
        let changed = match level {
            Level::None => before.differences(&after),
            _ => before.permissions(&after),
        };
        let mut changed: Vec<PathBuf> = changed.into_iter().map(PathBuf::from).collect();
        before.restore_modes(&changed);
        changed.extend(modes.restore());
        match changed.is_empty() {
            true => Ok(()),
            false => Err(BrokenInvariant::Protected(changed).into()),
        }
    }
}
