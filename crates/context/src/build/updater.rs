//! Keeps a cache up to date: updates it once, and then after every change of its sources.

use crate::build::build_record::{BuildRecord, FoundRecord, RecordLookup, find_record};
use crate::build::builder::{Build, BuildOutcome};
use crate::build::freshness::{Comparison, status};
use crate::build::quiet_time::{LONGEST_WAIT, PendingChanges};
use crate::build::source_filter::SourceFilter;
use crate::build::source_memory::SourceMemory;
use crate::build::source_watch::{SourceChange, SourceWatch, wait};
use crate::build::sources::{ListingRequest, SourceDirectory};
use crate::build::target_names::TargetNames;
use crate::failure::Failure;
use crate::files::file_stamp::FileStamp;
use crate::files::location::Location;
use crate::format::manifest::MANIFEST;
use crate::serve::open_caches::ChangeDetection;
use candor_fault::Timestamp;
use candor_street::Clock;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time between two comparisons, if directories cannot be watched.
const COMPARE_INTERVAL: Duration = LONGEST_WAIT;

/// The time after which an update that the system has failed, for example on a full disk, is tried again.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Keeps one cache up to date, by what its build has recorded.
pub struct Updater {
    /// The directory that relative paths start at.
    pub location: Arc<Location>,
    /// The directory of the cache.
    pub cache: PathBuf,
    /// True if updates may remove most documents.
    pub force: bool,
    pub detection: ChangeDetection,
    /// The real time.
    pub clock: Arc<dyn Clock>,
    /// Returns the time that is written as `created_at`.
    pub created_at: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Returns a random part of the name of a draft.
    pub random: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The time after which an update that the system has failed is tried again.
    pub retry_interval: Duration,
    /// Held during an update: updaters that share it take turns.
    pub turn: Arc<Mutex<()>>,
}

/// Receives what an updater does.
pub trait UpdateReports {
    /// Called after every update.
    fn updated(&self, outcome: &BuildOutcome);
    /// Called after every update that failed. The cache is as it was.
    fn failed(&self, failure: &Failure);
    /// Called when the sources have changed, before they are quiet.
    fn changed(&self) {}
    /// Called when a comparison has found that the cache matches its sources.
    fn matched(&self) {}
    /// Called once, if the sources are compared every two seconds instead of being watched.
    fn comparing(&self, reason: &str);
}

/// Ends an updater, from any thread.
#[derive(Debug)]
pub struct StopSignal {
    stopped: AtomicBool,
    handle: OwnedFd,
}

impl StopSignal {
    pub fn new() -> std::io::Result<StopSignal> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(StopSignal {
            stopped: AtomicBool::new(false),
            handle: eventfd(0, flags)?,
        })
    }

    /// Ends the updater after the running update.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // A full counter is readable too.
        let _ = rustix::io::write(&self.handle, &1u64.to_ne_bytes());
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Sources that are being watched.
struct WatchedSources {
    watch: SourceWatch,
    path: PathBuf,
    /// The device and the inode of their directory.
    identity: (u64, u64),
    record: BuildRecord,
    filter: SourceFilter,
    target: Option<TargetNames>,
}

/// The reason why sources are not watched.
enum WatchError {
    /// They cannot be listed now: an update fails for the same reason.
    Failed,
    /// The system cannot watch them.
    Unwatchable(Errno),
}

/// The outcome of the last update.
#[derive(Debug, Default)]
struct LastUpdate {
    /// The message of its failure.
    failure: Option<String>,
    /// The time of the next try, if the system has failed it.
    retry: Option<Instant>,
    /// The stamp of the manifest after it: another process may replace the cache.
    manifest: Option<FileStamp>,
}

/// The end of a wait.
enum NextStep {
    Update,
    /// The last update failed: it is tried again, although nothing has changed.
    Retry,
    /// Directories have changed, so that they have to be watched anew.
    WatchAndUpdate,
    /// Events were lost.
    Compare,
    Stop,
}

impl Updater {
    /// Updates the cache once, then after every change, until it is stopped.
    pub fn run(&self, stop: &StopSignal, reports: &dyn UpdateReports) {
        let mut watched = self.watch_or_compare(reports);
        let mut last = LastUpdate::default();
        let mut memory = SourceMemory::default();
        let mut is_retry = false;
        while !stop.is_stopped() {
            match self.update(stop, &mut memory) {
                Ok(Some(outcome)) => {
                    last = LastUpdate::default();
                    reports.updated(&outcome);
                }
                Ok(None) => return,
                Err(failure) => {
                    let message = failure.to_string();
                    // A comparison finds the same difference again, every two seconds.
                    let repeats = is_retry || matches!(watched, Err(WatchError::Unwatchable(_)));
                    if !repeats || last.failure.as_ref() != Some(&message) {
                        reports.failed(&failure);
                    }
                    last.failure = Some(message);
                    last.retry =
                        is_transient(&failure).then(|| Instant::now() + self.retry_interval);
                }
            }
            last.manifest = self.manifest_stamp();
            let next = match &watched {
                Ok(watched) => self.wait_for_change(watched, &mut last, &mut memory, stop, reports),
                Err(WatchError::Failed) => self.wait_for_sources(stop),
                Err(WatchError::Unwatchable(_)) => self.wait_for_difference(stop, reports),
            };
            // Only a file that changed under a watch leaves everything else as it was.
            if watched.is_err() || !matches!(next, NextStep::Update) {
                memory.forget();
            }
            is_retry = matches!(next, NextStep::Retry);
            match next {
                NextStep::Update | NextStep::Retry => {}
                NextStep::WatchAndUpdate => watched = self.watch_or_compare(reports),
                NextStep::Compare => {
                    reports.comparing("events were lost");
                    watched = Err(WatchError::Unwatchable(Errno::OVERFLOW));
                }
                NextStep::Stop => return,
            }
        }
    }

    fn watch_or_compare(&self, reports: &dyn UpdateReports) -> Result<WatchedSources, WatchError> {
        let watched = self.watch();
        if let Err(WatchError::Unwatchable(error)) = &watched {
            match self.detection {
                ChangeDetection::Watch => reports.comparing(&error.to_string()),
                ChangeDetection::Compare => reports.comparing("watching is switched off"),
            }
        }
        watched
    }

    fn record(&self) -> Result<FoundRecord, Failure> {
        match find_record(&self.location, &self.cache)? {
            RecordLookup::Found(found) => {
                found.check_sources(&self.location)?;
                Ok(*found)
            }
            RecordLookup::Absent => Err(self.no_record(String::from("it is missing"))),
            RecordLookup::Unusable(reason) => Err(self.no_record(reason)),
        }
    }

    fn no_record(&self, reason: String) -> Failure {
        Failure::NoRecord {
            cache: self.cache.to_string_lossy().into_owned(),
            reason,
        }
    }

    /// Updates the cache. Returns `None` if the updater was stopped before.
    fn update(
        &self,
        stop: &StopSignal,
        memory: &mut SourceMemory,
    ) -> Result<Option<BuildOutcome>, Failure> {
        let found = self.record()?;
        let build = Build {
            location: &self.location,
            sources: &found.sources,
            cache: &self.cache,
            filter: &found.filter,
            skip_invalid: found.record.skip_invalid,
            passages: found.record.passages,
            tokenizer: found.record.tokenizer(),
            force: self.force,
            created_at: (self.created_at)(),
            now: &*self.clock,
            random: (self.random)(),
            progress: &(),
        };
        build.update_unless(&|| stop.is_stopped(), &self.turn, memory)
    }

    /// Returns the stamp of the manifest. Every update and every build writes a new one.
    fn manifest_stamp(&self) -> Option<FileStamp> {
        self.location.find(&self.cache).ok()?.stamp(MANIFEST).ok()
    }

    /// Watches the directories of the sources.
    fn watch(&self) -> Result<WatchedSources, WatchError> {
        let failed = |_: Failure| WatchError::Failed;
        if self.detection == ChangeDetection::Compare {
            return Err(WatchError::Unwatchable(Errno::NOTSUP));
        }
        let found = self.record().map_err(failed)?;
        let sources = SourceDirectory::open(&self.location, &found.sources).map_err(failed)?;
        let cache = self.location.find(&self.cache).map_err(failed)?;
        let cache = self
            .location
            .real_path(&cache, &self.cache)
            .map_err(failed)?;
        let target = TargetNames::below(&sources.real_path, &cache);
        let listing = sources.list(&ListingRequest {
            filter: &found.filter,
            sign: false,
            target: target.as_ref(),
        });
        let entered = listing.map_err(failed)?.entered;
        let watch = SourceWatch::new(&sources.real_path, &entered);
        let watch = watch.map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => WatchError::Failed,
            error => WatchError::Unwatchable(error),
        })?;
        let identity = sources.directory.identity();
        Ok(WatchedSources {
            watch,
            path: found.sources,
            identity: identity.map_err(|_| WatchError::Failed)?,
            record: found.record,
            filter: found.filter,
            target,
        })
    }

    /// Waits until the sources have changed and are quiet again.
    fn wait_for_change(
        &self,
        watched: &WatchedSources,
        last: &mut LastUpdate,
        memory: &mut SourceMemory,
        stop: &StopSignal,
        reports: &dyn UpdateReports,
    ) -> NextStep {
        let mut pending = PendingChanges::default();
        let mut worst = SourceChange::Nothing;
        loop {
            let left = pending.wait(Instant::now());
            if left == Some(Duration::ZERO) {
                return match worst {
                    SourceChange::Files => NextStep::Update,
                    _ => NextStep::WatchAndUpdate,
                };
            }
            let longest = left.unwrap_or(COMPARE_INTERVAL);
            let waited = watched.watch.wait(stop.as_fd(), longest);
            if stop.is_stopped() {
                return NextStep::Stop;
            }
            let change = match waited {
                Ok(()) => {
                    let (filter, target) = (&watched.filter, watched.target.as_ref());
                    let changed = |path| memory.add_change(path);
                    watched.watch.changes(filter, target, changed)
                }
                Err(_) => SourceChange::Overflow,
            };
            match change {
                SourceChange::Overflow => return NextStep::Compare,
                SourceChange::Nothing if left.is_none() => {
                    if let Some(next) = self.look_around(watched, last, reports) {
                        // The events do not explain it.
                        memory.forget();
                        return next;
                    }
                }
                SourceChange::Nothing => {}
                SourceChange::Files | SourceChange::Directories => {
                    if left.is_none() {
                        reports.changed();
                    }
                    pending.add(Instant::now());
                    worst = worst.max(change);
                }
            }
        }
    }

    /// Looks for changes that cause no event: a directory above the sources was renamed, or another process
    /// has replaced the cache. Returns `None` if there is nothing to do.
    fn look_around(
        &self,
        watched: &WatchedSources,
        last: &mut LastUpdate,
        reports: &dyn UpdateReports,
    ) -> Option<NextStep> {
        if !self.is_current(watched) {
            reports.changed();
            return Some(NextStep::WatchAndUpdate);
        }
        let manifest = self.manifest_stamp();
        if manifest != last.manifest {
            if !matches!(self.is_fresh(), Ok(true)) {
                reports.changed();
                return Some(NextStep::Update);
            }
            *last = LastUpdate {
                manifest,
                ..LastUpdate::default()
            };
            reports.matched();
        }
        let is_due = |retry: Instant| retry <= Instant::now();
        last.retry.is_some_and(is_due).then_some(NextStep::Retry)
    }

    /// Returns true if the record and the path of the sources still lead to the directory that is watched.
    fn is_current(&self, watched: &WatchedSources) -> bool {
        let found = match find_record(&self.location, &self.cache) {
            Ok(RecordLookup::Found(found)) => found,
            // An update reports it.
            Ok(RecordLookup::Absent | RecordLookup::Unusable(_)) | Err(_) => return false,
        };
        let is_same = found.record == watched.record && found.sources == watched.path;
        let sources = self.location.find(&watched.path);
        is_same && sources.is_ok_and(|found| found.identity() == Ok(watched.identity))
    }

    /// Waits until the sources can be listed.
    fn wait_for_sources(&self, stop: &StopSignal) -> NextStep {
        loop {
            let _ = wait(&[stop.as_fd()], COMPARE_INTERVAL);
            if stop.is_stopped() {
                return NextStep::Stop;
            }
            match self.watch() {
                Err(WatchError::Failed) => {}
                _ => return NextStep::WatchAndUpdate,
            }
        }
    }

    /// Compares the cache with its sources until they differ.
    fn wait_for_difference(&self, stop: &StopSignal, reports: &dyn UpdateReports) -> NextStep {
        let mut reported = None;
        loop {
            let _ = wait(&[stop.as_fd()], COMPARE_INTERVAL);
            if stop.is_stopped() {
                return NextStep::Stop;
            }
            match self.is_fresh() {
                Ok(true) => {
                    reported = None;
                    reports.matched();
                }
                Ok(false) => {
                    reports.changed();
                    return NextStep::Update;
                }
                // The same failure is reported once, and not every two seconds.
                Err(failure) => {
                    let message = failure.to_string();
                    if reported.as_ref() != Some(&message) {
                        reports.failed(&failure);
                        reported = Some(message);
                    }
                }
            }
        }
    }

    fn is_fresh(&self) -> Result<bool, Failure> {
        let found = self.record()?;
        let freshness = status(&Comparison {
            location: &self.location,
            sources: &found.sources,
            cache: &self.cache,
            filter: &found.filter,
            skip_invalid: found.record.skip_invalid,
            now: &*self.clock,
        })?;
        Ok(freshness.fresh())
    }
}

/// Returns true if an update may succeed although nothing has changed.
fn is_transient(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::System { .. } | Failure::Write { .. } | Failure::Restless
    )
}
