//! The history of failure reports: a file in the state directory, so that neither reports nor self-unlocking
//! go on without end.

use crate::failure::ReportLimit;
use crate::lock::Lock;
use crate::plan::durable::{self, IfExists};
use crate::role::Role;
use candor_disk::{Disk, DiskFile, Open};
use candor_fault::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;

/// The maximum number of reports about one lock.
pub const MAX_REPORTS_OF_LOCK: usize = 3;

/// The maximum number of reports of a workspace within a day.
pub const MAX_REPORTS_A_DAY: usize = 20;

/// A role unlocks itself once within this time, in seconds.
pub const SELF_UNLOCK_PERIOD_S: i64 = 60 * 60;

const DAY_S: i64 = 24 * 60 * 60;

const FILE: &str = "reports.json";

const MODE: u32 = 0o600;

/// The maximum size of the file, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// One report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportEntry {
    /// In seconds since 1970.
    at: i64,
    role: String,
    /// The line that locked the session, and its time.
    lock_seq: u64,
    lock_at: String,
    /// True if the report unlocked the session.
    unlocks: bool,
}

impl ReportEntry {
    fn is_about(&self, role: Role, lock: &Lock) -> bool {
        self.role == role.wire_name() && self.lock_seq == lock.seq && self.lock_at == lock.timestamp
    }
}

/// The reports of a workspace within the last day, and those about present locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportHistory {
    v: u64,
    reports: Vec<ReportEntry>,
}

impl ReportHistory {
    /// Loads the history. Returns `None` if the file was not written by this program.
    pub(crate) fn load(state: &impl Disk) -> io::Result<Option<ReportHistory>> {
        let file = match state.open(FILE, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(ReportHistory {
                    v: 1,
                    reports: Vec::new(),
                }));
            }
            opened => opened?,
        };
        let history = serde_json::from_slice(&file.read_all(MAX_BYTES)?).ok();
        Ok(history.filter(|history: &ReportHistory| history.v == 1))
    }

    /// Checks that another report about this lock may be written.
    pub(crate) fn check(&self, role: Role, lock: &Lock, now: Timestamp) -> Result<(), ReportLimit> {
        let reports = self.reports.iter();
        let of_lock = reports.filter(|report| report.is_about(role, lock)).count();
        if of_lock >= MAX_REPORTS_OF_LOCK {
            return Err(ReportLimit::Lock);
        }
        match self.since(now, DAY_S).count() >= MAX_REPORTS_A_DAY {
            true => Err(ReportLimit::Day),
            false => Ok(()),
        }
    }

    /// Returns true if the role has not unlocked itself recently.
    pub(crate) fn may_unlock(&self, role: Role, now: Timestamp) -> bool {
        let mut recent = self.since(now, SELF_UNLOCK_PERIOD_S);
        !recent.any(|report| report.unlocks && report.role == role.wire_name())
    }

    /// Adds a report, and drops those that no longer count.
    pub(crate) fn add(&mut self, role: Role, lock: &Lock, now: Timestamp, unlocks: bool) {
        let oldest = now.as_second() - DAY_S;
        self.reports
            .retain(|report| report.at > oldest || report.is_about(role, lock));
        self.reports.push(ReportEntry {
            at: now.as_second(),
            role: role.wire_name().to_owned(),
            lock_seq: lock.seq,
            lock_at: lock.timestamp.clone(),
            unlocks,
        });
    }

    /// Stores the history; durable when this returns.
    pub(crate) fn save(&self, state: &impl Disk) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        durable::write(state, ".", FILE, MODE, &bytes, IfExists::Replace)
    }

    fn since(&self, now: Timestamp, seconds: i64) -> impl Iterator<Item = &ReportEntry> {
        let from = now.as_second() - seconds;
        self.reports.iter().filter(move |report| report.at > from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_disk::RealDisk;

    fn lock(seq: u64) -> Lock {
        Lock {
            v: 1,
            error_code: String::new(),
            human_message: String::new(),
            seq,
            timestamp: seq.to_string(),
            person: false,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn reports_are_bounded_for_a_lock_and_for_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let state = RealDisk::at(dir.path()).unwrap();
        let mut history = ReportHistory::load(&state).unwrap().unwrap();
        let role = Role::Executor;
        for number in 0..3 {
            assert_eq!(history.check(role, &lock(1), at(1000 + number)), Ok(()));
            history.add(role, &lock(1), at(1000 + number), false);
        }
        assert_eq!(
            history.check(role, &lock(1), at(1010)),
            Err(ReportLimit::Lock)
        );
        assert_eq!(history.check(Role::Planner, &lock(1), at(1010)), Ok(()));
        for seq in 2..19 {
            assert_eq!(history.check(role, &lock(seq), at(2000)), Ok(()), "{seq}");
            history.add(role, &lock(seq), at(2000), false);
        }
        assert_eq!(
            history.check(role, &lock(99), at(2001)),
            Err(ReportLimit::Day)
        );
        history.save(&state).unwrap();
        let history = ReportHistory::load(&state).unwrap().unwrap();
        assert_eq!(
            history.check(role, &lock(99), at(2001)),
            Err(ReportLimit::Day)
        );
        assert_eq!(history.check(role, &lock(99), at(2001 + DAY_S)), Ok(()));
        // However old the reports are, a lock has three.
        assert_eq!(
            history.check(role, &lock(1), at(2001 + DAY_S)),
            Err(ReportLimit::Lock)
        );
        std::fs::write(dir.path().join(FILE), "{}").unwrap();
        assert_eq!(ReportHistory::load(&state).unwrap(), None);
    }

    #[test]
    fn role_unlocks_itself_once_an_hour() {
        let mut history = ReportHistory {
            v: 1,
            reports: Vec::new(),
        };
        assert!(history.may_unlock(Role::Executor, at(5000)));
        history.add(Role::Executor, &lock(1), at(5000), true);
        history.add(Role::Executor, &lock(2), at(5001), false);
        assert!(!history.may_unlock(Role::Executor, at(5000 + 3599)));
        assert!(history.may_unlock(Role::Planner, at(5001)));
        assert!(history.may_unlock(Role::Executor, at(5000 + 3600)));
    }
}
