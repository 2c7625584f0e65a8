//! A session: one root, one log, from `begin_session` to the end of the process.

use crate::audit_line::{self, Actor};
use crate::command::repair_modes;
use crate::command_starts::{self, CommandStart};
use crate::config::Config;
use crate::failure::{BadCheckpoint, BrokenInvariant, Failure, StartError};
use crate::faults;
use crate::governed::{self, Recovered, SavedBytes};
use crate::lock::{self, Lock};
use crate::log_checkpoints::{CHECKPOINT, LogCheckpoints, checkpoint_files};
use crate::log_place::{LogPlace, log_disk};
use crate::loose_files::find_loose;
use crate::notes::Notes;
use crate::path::Root;
use crate::plan_cache::PlanCache;
use crate::repository::RepositoryReader;
use crate::role::Role;
use crate::state::{self, LOG};
use crate::write::{
    ChangeOrigin, JournalMark, SettleError, Settlement, WriteQueue, WriteTurn, journal_mark,
};
use candor_audit::{
    AppendReceipt, Checkpoint, CheckpointFile, CheckpointVerdict, CheckpointWriter, Completeness,
    JudgedPart, Log, LogAnchor, LogEvidence, LogFlaw, LogJudgement, LogOptions, OpenError, Signer,
};
use candor_disk::{RealDisk, RealFile};
use candor_fault::iso_millis;
use candor_sandbox::Offer;
use candor_street::{Call, Clock};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The time that a call waits for another one that writes.
pub const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// The number of bytes of the log that are searched at once for the line of a call.
const LOOK_BYTES: usize = 1024 * 1024;

/// The size of the log is measured again after this many lines.
const MEASURE_EVERY: u64 = 256;

/// The size of a log when it was last measured.
#[derive(Debug, Default)]
struct MeasuredLog {
    bytes: u64,
    /// The number of the last line then.
    at: Option<u64>,
}

/// A session.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) root: Root,
    pub(crate) state: RealDisk,
    pub(crate) log: Log,
    /// The directory that contains the log.
    pub(crate) log_disk: RealDisk,
    strikes: AtomicU32,
    /// True if the lock was seen: a person who removes it removes the strikes too.
    was_locked: AtomicBool,
    pub(crate) plan_cache: PlanCache,
    pub(crate) repository: RepositoryReader,
    writing: Arc<WriteQueue<RealDisk>>,
    actor: Actor,
    clock: Arc<dyn Clock>,
    /// The number of the last line that this session has seen.
    last: AtomicU64,
    /// The size of the log at some line.
    size: Mutex<MeasuredLog>,
    /// The sandbox that the machine offers, once it has been tried.
    pub(crate) offer: OnceLock<Offer>,
    /// Open while the session may run commands.
    running: Mutex<Option<RealFile>>,
    /// The result of comparing the log with its checkpoints when the session began.
    pub(crate) completeness: Completeness,
    /// The checkpoints that were missing then.
    pub(crate) missing_checkpoints: Vec<PathBuf>,
    unsettled: Mutex<Option<UnsettledJournal>>,
    /// The path of the log.
    pub(crate) log_path: PathBuf,
    /// Held while commands run: those of one server run one after the other.
    pub(crate) command_order: Mutex<()>,
    /// The bytes of files that commands may change.
    pub(crate) saved_bytes: Mutex<SavedBytes<RealDisk>>,
}

/// A change of a dead process that can be neither finished nor undone. It locks both roles until a person
/// has settled it.
#[derive(Debug, Clone)]
pub(crate) struct UnsettledJournal {
    pub(crate) lock: Lock,
    pub(crate) invariant_id: Option<&'static str>,
    pub(crate) paths: Vec<String>,
    mark: (JournalMark, bool),
}

/// Returns the root of the server that a caller means.
pub(crate) fn choose_root<'c>(
    config: &'c Config,
    asked: Option<&str>,
) -> Result<&'c Root, StartError> {
    let asked = match (asked, config.roots.as_slice()) {
        (Some(asked), _) => asked,
        (None, [only]) => return Ok(only),
        (None, roots) => {
            return Err(StartError::Unnamed {
                roots: roots.iter().map(|root| root.path().to_owned()).collect(),
            });
        }
    };
    let path = Path::new(asked);
    if asked.trim().is_empty() {
        return Err(StartError::Blank);
    }
    if !path.is_absolute() {
        return Err(StartError::Relative);
    }
    let real = std::fs::canonicalize(path).map_err(StartError::Unusable)?;
    if !real.is_dir() {
        return Err(StartError::Unusable(io::ErrorKind::NotADirectory.into()));
    }
    let roots = config.roots.iter();
    let mut same = roots.filter(|root| root.path() == real);
    same.next().ok_or_else(|| StartError::NotARoot {
        roots: config
            .roots
            .iter()
            .map(|root| root.path().to_owned())
            .collect(),
    })
}

impl Session {
    /// Begins a session: verifies the log, and settles the changes of a dead process.
    pub(crate) fn begin(
        config: &Config,
        root: &Root,
        actor: Actor,
        clock: Arc<dyn Clock>,
    ) -> Result<Session, Failure> {
        let directory = state::of_root(&config.state, root.id());
        let state = state::open(&directory).map_err(StartError::State)?;
        let checkpoints = load_checkpoints(&directory).map_err(StartError::State)?;
        let log_disk = log_disk(root, &directory).map_err(StartError::State)?;
        let judged = judge(
            config,
            &log_disk,
            &checkpoints,
            JudgedPart::SinceNewestCheckpoint,
        )
        .map_err(StartError::State)?;
        let missing_checkpoints = missing_checkpoints(&judged, &checkpoints);
        if let Some(bad) = untrusted_checkpoint(&judged) {
            return Err(StartError::Checkpoint(bad).into());
        }
        // A torn end of the log is put aside when the log is opened.
        match judged.verification.flaw {
            None | Some(LogFlaw::Torn(_)) => {}
            Some(flaw) => return Err(StartError::Flawed(flaw).into()),
        }
        let place = LogPlace::read(&directory).map_err(StartError::State)?;
        let log_path = place.path(root, &directory);
        if let Some(loose) = find_loose(&log_path, false).map_err(StartError::State)? {
            return Err(StartError::LooseLog(loose).into());
        }
        if config.require_checkpoint && !missing_checkpoints.is_empty() {
            let missing = missing_checkpoints;
            return Err(StartError::Unchecked { missing }.into());
        }
        let files = checkpoint_files(&directory, &config.checkpoint_to);
        let files = files.map_err(StartError::State)?;
        let remembered = checkpoints.remember(&config.checkpoint_to, config.signer.as_ref());
        // Without further places and a key, the file only shows that there was a session.
        if !config.checkpoint_to.is_empty() || config.signer.is_some() {
            remembered.map_err(StartError::State)?;
        }
        let anchor = checkpoints.anchor().cloned();
        let log = open_log(log_disk.clone(), LOG, &actor, &clock, config, files, anchor);
        let log = log.map_err(StartError::Log)?;
        let last = log.last().map_or(0, |receipt| receipt.seq);
        let id = (config.ids)();
        let session = Session {
            saved_bytes: Mutex::new(SavedBytes::new(state.clone(), &id)),
            id,
            writing: Arc::new(WriteQueue::new(root.disk(), state.clone())),
            root: root.clone(),
            state,
            log,
            log_disk,
            strikes: AtomicU32::new(0),
            was_locked: AtomicBool::new(false),
            plan_cache: PlanCache::default(),
            repository: RepositoryReader::new(root.path(), directory, config.checks.path.clone()),
            actor,
            clock,
            last: AtomicU64::new(last),
            size: Mutex::new(MeasuredLog::default()),
            offer: OnceLock::new(),
            running: Mutex::new(None),
            completeness: judged.completeness,
            missing_checkpoints,
            unsettled: Mutex::new(None),
            log_path,
            command_order: Mutex::new(()),
        };
        // A change that cannot be settled locks the session, which begins all the same.
        match session.settled_turn()? {
            Ok(_turn) => governed::remove_abandoned(&session.state)?,
            // The next turn to write tries again, when there may be space.
            Err(SettleError::Io(error)) if faults::is_disk_full(&error) => {}
            Err(error) => drop(session.note_unsettled(error)?),
        }
        session.recover_commands()?;
        Ok(session)
    }

    /// Records that the commands of a call are about to start; durable when this returns. If it fails,
    /// nothing may be started.
    pub(crate) fn record_command_start(&self, call: &Call, notes: &Notes) -> Result<(), Failure> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_none() {
            let marked = command_starts::mark_session(&self.state, &self.id, self.last_seq());
            *running = Some(marked.map_err(|error| Failure::StartNotRecorded(error.into()))?);
        }
        drop(running);
        let at = self.clock.now();
        let line = audit_line::command_start_line(&self.actor, &self.id, at, call, notes);
        let receipt = self.log.append_blocking(line);
        self.note_line(receipt.map_err(Failure::StartNotRecorded)?);
        Ok(())
    }

    /// Records a recovery for each start of commands whose server died before their end was recorded.
    fn recover_commands(&self) -> Result<(), Failure> {
        let dead = command_starts::dead_sessions(&self.state)?;
        for session in dead {
            for start in self.unfinished_starts(&session.id, session.after_seq)? {
                let at = self.clock.now();
                let line = audit_line::command_recovery_line(&self.actor, at, &start);
                let receipt = self.log.append_blocking(line);
                self.note_line(receipt.map_err(Failure::Unsettled)?);
            }
            command_starts::unmark_session(&self.state, &session.id)?;
        }
        Ok(())
    }

    fn unfinished_starts(&self, session: &str, after_seq: u64) -> io::Result<Vec<CommandStart>> {
        let lines = candor_audit::lines(self.log_disk.clone(), LOG, after_seq + 1)?;
        command_starts::unfinished_starts(lines, session)
    }

    /// Ends the session: the last checkpoint is written, and the session runs no commands any more.
    pub(crate) fn close(&self) {
        self.log.finish_checkpoints();
        let saved = self.saved_bytes.lock();
        // If the file stays, the next session removes it.
        saved.unwrap_or_else(PoisonError::into_inner).remove().ok();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.take().is_some() {
            // If the file stays, the next session finds that everything has an end.
            command_starts::unmark_session(&self.state, &self.id).ok();
        }
    }

    /// Waits for the turn to write, and settles the changes of a dead process.
    pub(crate) fn take_turn(&self) -> Result<WriteTurn<RealDisk>, Failure> {
        match self.settled_turn()? {
            Ok(turn) => {
                *self.unsettled() = None;
                Ok(turn)
            }
            // A link on the way may be gone at the next call.
            Err(SettleError::Io(error)) => Err(Failure::Io(error)),
            Err(error) => Err(self.note_unsettled(error)?),
        }
    }

    fn settled_turn(&self) -> Result<Result<WriteTurn<RealDisk>, SettleError>, Failure> {
        let recorded = |about: &ChangeOrigin| self.has_line_of(about);
        let record = |settled: &Settlement| {
            let start = self.start_of(&settled.about)?;
            let line = audit_line::settlement_line(&self.actor, self.clock.now(), settled, start);
            let receipt = self.log.append_blocking(line).map_err(SettleError::Log)?;
            self.note_line(receipt);
            Ok(())
        };
        let turn = self.writing.take_turn(WRITE_PATIENCE)?;
        // Commands changed files after the call did, so their changes are put back first.
        if let Err(error) = self.recover_governed() {
            return Ok(Err(error));
        }
        Ok(turn.settle(recorded, record))
    }

    /// Puts back what commands changed whose server died before the call was on record.
    fn recover_governed(&self) -> Result<(), SettleError> {
        let record = |recovered: &Recovered| {
            let start = self.start_of(&recovered.about)?;
            let line = audit_line::governed_line(&self.actor, self.clock.now(), recovered, start);
            let receipt = self.log.append_blocking(line).map_err(SettleError::Log)?;
            self.note_line(receipt);
            Ok(())
        };
        if let Some(entry) = governed::pending_entry(&self.state)? {
            let paths: Vec<_> = entry.paths().map(PathBuf::from).collect();
            repair_modes(self.root.path(), &paths)?;
        }
        let recorded = |about: &ChangeOrigin| self.has_line_of(about);
        governed::recover(&self.root.disk(), &self.state, recorded, record)
    }

    /// Returns the line with which the commands of a call started, if they have neither an end nor a
    /// recovery.
    fn start_of(&self, about: &ChangeOrigin) -> io::Result<Option<u64>> {
        let starts = self.unfinished_starts(&about.session_id, about.after_seq)?;
        let mut starts = starts.iter();
        let start = starts.find(|start| start.request_id == about.request_id);
        Ok(start.map(|start| start.seq))
    }

    fn unsettled(&self) -> MutexGuard<'_, Option<UnsettledJournal>> {
        let unsettled = self.unsettled.lock();
        unsettled.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the change that can be neither finished nor undone, unless a person has settled it since.
    pub(crate) fn unsettled_journal(&self) -> Option<UnsettledJournal> {
        let mut unsettled = self.unsettled();
        let is_same = |known: &UnsettledJournal| self.journal_mark().0 == known.mark;
        if !unsettled.as_ref().is_some_and(is_same) {
            *unsettled = None;
        }
        unsettled.clone()
    }

    /// Returns a mark that changes when a pending change is settled, and the paths of the change.
    fn journal_mark(&self) -> ((JournalMark, bool), Vec<String>) {
        let (mark, mut paths) = journal_mark(&self.state);
        let governed = governed::pending_entry(&self.state);
        let is_pending = !matches!(governed, Ok(None));
        if let Ok(Some(entry)) = governed {
            paths.extend(entry.paths());
        }
        ((mark, is_pending), paths)
    }

    /// Records that a change can be neither finished nor undone.
    fn note_unsettled(&self, error: SettleError) -> Result<Failure, Failure> {
        let fault = faults::unsettled_journal(error)?;
        let (mark, paths) = self.journal_mark();
        let mut unsettled = self.unsettled();
        if let Some(known) = unsettled.as_ref().filter(|known| known.mark == mark) {
            return Ok(Failure::JournalLocked(Box::new(known.lock.clone())));
        }
        let at = self.clock.now();
        let line = audit_line::unsettled_line(&self.actor, at, &fault, &paths);
        let receipt = self.log.append_blocking(line);
        let receipt = receipt.map_err(|error| Failure::from(SettleError::Log(error)))?;
        self.note_line(receipt);
        let lock = Lock {
            v: 1,
            error_code: fault.row().code.text().to_owned(),
            human_message: fault.message().to_owned(),
            seq: receipt.seq,
            timestamp: iso_millis(at),
            person: true,
        };
        *unsettled = Some(UnsettledJournal {
            lock: lock.clone(),
            invariant_id: fault.facts().invariant_id,
            paths,
            mark,
        });
        Ok(Failure::JournalLocked(Box::new(lock)))
    }

    /// Records that a line of the log was written.
    pub(crate) fn note_line(&self, receipt: AppendReceipt) {
        self.last.fetch_max(receipt.seq, Ordering::AcqRel);
    }

    /// Returns the number of the last line that this session has seen.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Returns true if the log has the line of a change that was made.
    fn has_line_of(&self, about: &ChangeOrigin) -> Result<bool, SettleError> {
        log_has_line_of(&self.log, self.log_disk.clone(), about)
    }

    /// Reads the lock of the workspace for this role.
    pub(crate) fn lock(&self, role: Role) -> Result<Option<Lock>, Failure> {
        let lock = lock::read(&self.state, role);
        let lock = lock.map_err(|error| Failure::BrokenInvariant(BrokenInvariant::Lock(error)))?;
        let was_locked = self.was_locked.swap(lock.is_some(), Ordering::AcqRel);
        if was_locked && lock.is_none() {
            self.strikes.store(0, Ordering::Release);
        }
        Ok(lock)
    }

    /// Counts a strike; how many there are now.
    pub(crate) fn strike(&self) -> u32 {
        self.strikes.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(crate) fn strikes(&self) -> u32 {
        self.strikes.load(Ordering::Acquire)
    }

    /// Records that the session is about to be locked.
    pub(crate) fn note_lock(&self) {
        self.was_locked.store(true, Ordering::Release);
    }

    /// Verifies the whole log, from its first line, and compares it with its checkpoints.
    pub(crate) fn verify(&self, config: &Config) -> Result<LogJudgement, Failure> {
        let directory = state::of_root(&config.state, self.root.id());
        let checkpoints = load_checkpoints(&directory)?;
        let judged = judge(config, &self.log_disk, &checkpoints, JudgedPart::WholeLog)?;
        if let Some(bad) = untrusted_checkpoint(&judged) {
            return Err(BrokenInvariant::Checkpoint(bad).into());
        }
        match judged.verification.flaw {
            Some(flaw) => Err(BrokenInvariant::Chain(flaw).into()),
            None => Ok(judged),
        }
    }

    /// Returns the size of the log if it is larger than `max`. The log is measured again after every
    /// [`MEASURE_EVERY`] lines, and while it is too large.
    pub(crate) fn full_log(&self, max: u64) -> Option<u64> {
        let last = self.last_seq();
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = size.at.is_none_or(|at| last.abs_diff(at) >= MEASURE_EVERY);
        if is_old || size.bytes > max {
            // A log that cannot be measured cannot be written either, which the next line finds out.
            let measured = candor_audit::log_size(self.log_disk.clone(), LOG);
            size.bytes = measured.map_or(0, |measured| measured.bytes);
            size.at = Some(last);
        }
        Some(size.bytes).filter(|bytes| *bytes > max)
    }

    /// Reads the checkpoint in the state directory, if there is one that can be read.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        let file = CheckpointFile::new(self.state.clone(), CHECKPOINT);
        file.read().ok().flatten()
    }
}

/// Loads the checkpoints of a root whose state directory exists.
fn load_checkpoints(directory: &Path) -> io::Result<LogCheckpoints> {
    LogCheckpoints::load(directory)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Compares the log of a root with every checkpoint that is known.
fn judge(
    config: &Config,
    log_disk: &RealDisk,
    checkpoints: &LogCheckpoints,
    part: JudgedPart,
) -> io::Result<LogJudgement> {
    let own = config.signer.as_ref().map(Signer::public_key);
    let keys: Vec<_> = own.or(checkpoints.key()).cloned().into_iter().collect();
    let evidence = LogEvidence {
        checkpoints: checkpoints.read(&config.checkpoint_to),
        keys: &keys,
        anchor: checkpoints.anchor(),
        retired: None,
    };
    candor_audit::judge(log_disk, LOG, evidence, part)
}

/// Returns the first checkpoint that is damaged or not signed as it should be.
fn untrusted_checkpoint(judged: &LogJudgement) -> Option<BadCheckpoint> {
    let untrusted = |verdict: CheckpointVerdict| {
        use CheckpointVerdict::{Invalid, Signature, Unsigned};
        matches!(verdict, Invalid | Signature | Unsigned)
    };
    let mut all = judged.checkpoints.iter();
    let (known, verdict) = all.find(|(_, verdict)| untrusted(*verdict))?;
    Some(BadCheckpoint {
        path: known.path.clone(),
        verdict: *verdict,
    })
}

/// Returns the checkpoints that should exist and do not. A workspace without a record has none.
fn missing_checkpoints(judged: &LogJudgement, checkpoints: &LogCheckpoints) -> Vec<PathBuf> {
    if judged.verification.last.is_none() && !checkpoints.were_used() {
        return Vec::new();
    }
    let all = judged.checkpoints.iter();
    let gone = all.filter(|(_, verdict)| *verdict == CheckpointVerdict::Gone);
    gone.map(|(known, _)| known.path.clone()).collect()
}

/// Opens a log whose lines are those of this server.
pub(crate) fn open_log(
    disk: RealDisk,
    name: &str,
    actor: &Actor,
    clock: &Arc<dyn Clock>,
    config: &Config,
    files: Vec<CheckpointFile>,
    anchor: Option<LogAnchor>,
) -> Result<Log, OpenError> {
    let (torn_actor, now) = (actor.clone(), Arc::clone(clock));
    let clock = Arc::clone(clock);
    let options = LogOptions {
        torn_entry: Box::new(move |torn| audit_line::torn_log_line(&torn_actor, now.now(), &torn)),
        checkpoints: Some(CheckpointWriter {
            files,
            signer: config.signer.clone(),
            now: Box::new(move || iso_millis(clock.now())),
        }),
        anchor,
        ..LogOptions::default()
    };
    Log::open(disk, name, options)
}

/// Returns true if a log has the line of a change that was made.
pub(crate) fn log_has_line_of(
    log: &Log,
    disk: RealDisk,
    about: &ChangeOrigin,
) -> Result<bool, SettleError> {
    // The process that wrote the line may have died before it was on the disk.
    log.settle_blocking().map_err(SettleError::Log)?;
    let mut after = about.after_seq;
    loop {
        let page = candor_audit::page(disk.clone(), LOG, after, usize::MAX, LOOK_BYTES)?;
        for raw in &page.lines {
            if raw.seq.is_some_and(|seq| seq > about.after_seq) && is_of(&raw.bytes, about) {
                return Ok(true);
            }
        }
        match page.lines.iter().rev().find_map(|raw| raw.seq) {
            Some(seq) if page.more && seq > after => after = seq,
            _ => return Ok(false),
        }
    }
}

/// Returns true if a line is the one of a change that was made.
fn is_of(line: &[u8], about: &ChangeOrigin) -> bool {
    let Ok(line) = serde_json::from_slice::<Value>(line) else {
        return false;
    };
    let is = |member: &str, wanted: &str| line[member] == wanted;
    is("result", "ok")
        && is("session_id", &about.session_id)
        && is("request_id", &about.request_id)
        && is("tool_name", &about.tool_name)
        && is("args_hash", &about.args_hash)
}
