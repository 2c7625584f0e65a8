//! Appending to a log: a protocol with checksums and syncs never fails, and each omission is
//! detected.

use candor_disk::{Disk, DiskFile, Open};
use candor_sim_disk::{
    DiskEvent, DiskFault, DiskOperation, SimDisk, Survival, TrialFailure, TrialSummary,
};
use candor_sim_disk::{SimFile, Trials};
use std::io;

const LINES: usize = 4;
const LIMIT: usize = 1 << 20;

/// The steps that a log takes or omits.
#[derive(Clone, Copy)]
struct LogProtocol {
    checksum: bool,
    sync: bool,
    sync_dir: bool,
    sync_again: bool,
    cut_off_after_errors: bool,
    reserve: bool,
}

const RIGHT: LogProtocol = LogProtocol {
    checksum: true,
    sync: true,
    sync_dir: true,
    sync_again: false,
    cut_off_after_errors: true,
    reserve: false,
};

/// Returns a line long enough to cross a sector, so that its end can survive without its beginning.
fn text(number: usize) -> String {
    format!("{number} {}", "payload ".repeat(70))
}

fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

impl LogProtocol {
    fn line(self, number: usize) -> Vec<u8> {
        let text = text(number);
        match self.checksum {
            true => format!("{:016x} {text}\n", checksum(text.as_bytes())).into_bytes(),
            false => format!("{text}\n").into_bytes(),
        }
    }

    fn open(self, disk: &SimDisk) -> io::Result<SimFile> {
        let file = disk.open("log", Open::Create(0o600))?;
        if self.reserve {
            file.reserve(64 * 1024)?;
        }
        if self.sync_dir {
            disk.sync_dir("")?;
        }
        Ok(file)
    }

    /// Appends one line. The error shows whether the log can still be used.
    fn append(self, file: &SimFile, number: usize) -> Result<(), AppendFailed> {
        let end = file.len().map_err(|_| AppendFailed(true))?;
        if file.append_all(&self.line(number)).is_err() {
            let cut = || file.set_len(end);
            let usable = !self.cut_off_after_errors || cut().is_ok();
            return Err(AppendFailed(!usable));
        }
        match self.sync {
            true if self.sync_again => file.sync_data().or_else(|_| file.sync_data()),
            true => file.sync_data(),
            false => Ok(()),
        }
        .map_err(|_| AppendFailed(true))
    }

    /// Appends some lines, and marks those that were acknowledged.
    fn workload(self, disk: &SimDisk) {
        let Ok(file) = self.open(disk) else { return };
        for number in 0..LINES {
            match self.append(&file, number) {
                Ok(()) => disk.mark(text(number)),
                Err(AppendFailed(true)) => return,
                Err(AppendFailed(false)) => disk.mark("refused"),
            }
        }
    }

    /// Returns the lines of a log up to the first incomplete one, or none if there is no log.
    fn read(self, disk: &SimDisk) -> io::Result<Vec<String>> {
        let bytes = match disk.open("log", Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            opened => opened?.read_all(LIMIT)?,
        };
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let whole = lines.map_while(|line| {
            let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
            let Some(line) = line.split_once(' ').filter(|_| self.checksum) else {
                return Some(line.to_string()).filter(|_| !self.checksum);
            };
            let sum = format!("{:016x}", checksum(line.1.as_bytes()));
            (sum == line.0).then(|| line.1.to_string())
        });
        Ok(whole.collect())
    }

    fn check(self, disk: &SimDisk, acknowledged: &[String]) {
        let found = self.read(disk).unwrap();
        for line in acknowledged.iter().filter(|line| *line != "refused") {
            assert!(found.contains(line), "an acknowledged line is lost");
        }
        let attempted: Vec<_> = (0..LINES).map(text).collect();
        for line in &found {
            assert!(attempted.contains(line), "a line that nobody wrote");
        }
        assert!(found.is_sorted(), "lines out of order");
    }

    fn try_all(self, trials: Trials) -> Result<TrialSummary, TrialFailure> {
        trials.run(
            |disk| self.workload(disk),
            |disk, acknowledged| self.check(disk, acknowledged),
        )
    }
}

/// True if the log must not be used any more.
#[derive(Debug)]
struct AppendFailed(bool);

#[test]
fn correct_log_never_fails() {
    let all = || Trials::new().images(32).rounds(8).crash_after_faults();
    let summary = RIGHT.try_all(all()).unwrap();
    assert!(
        summary.operations >= 10 && summary.checks > 10_000,
        "{summary:?}"
    );
    let reserve = true;
    LogProtocol { reserve, ..RIGHT }.try_all(all()).unwrap();
}

#[track_caller]
fn detected(habits: LogProtocol, message: &str) {
    let few = Trials::new().images(8).rounds(4);
    let failure = habits.try_all(few).expect_err("detected");
    assert!(failure.message.contains(message), "{failure}");
}

#[test]
fn answer_before_the_sync_is_detected() {
    let sync = false;
    detected(LogProtocol { sync, ..RIGHT }, "lost");
}

#[test]
fn new_log_without_durable_name_is_detected() {
    let sync_dir = false;
    detected(LogProtocol { sync_dir, ..RIGHT }, "lost");
}

#[test]
fn missing_checksum_is_detected() {
    let checksum = false;
    detected(LogProtocol { checksum, ..RIGHT }, "nobody wrote");
}

#[test]
fn torn_line_before_the_next_is_detected() {
    let cut_off_after_errors = false;
    let glued = LogProtocol {
        cut_off_after_errors,
        ..RIGHT
    };
    detected(glued, "lost");
}

#[test]
fn repeated_sync_after_a_failure_is_detected() {
    let sync_again = true;
    detected(
        LogProtocol {
            sync_again,
            ..RIGHT
        },
        "lost",
    );
}

#[test]
fn reserved_space_permits_appends_on_a_full_disk() {
    let acknowledged = |reserve| {
        let disk = SimDisk::new(0);
        let file = LogProtocol { reserve, ..RIGHT }.open(&disk).unwrap();
        disk.fail_at(disk.operations(), DiskFault::Full);
        let lines = (0..40).filter(|line| RIGHT.append(&file, *line).is_ok());
        lines.count()
    };
    assert_eq!(acknowledged(true), 40);
    assert_eq!(acknowledged(false), 0);
}

#[test]
fn journal_shows_the_sync_before_the_answer() {
    let disk = SimDisk::new(0);
    RIGHT.workload(&disk);
    let events = disk.journal();
    let answers = events.iter().enumerate();
    let answers = answers.filter(|(_, event)| matches!(event, DiskEvent::Mark(_)));
    for (at, _) in answers {
        let before = events.get(at - 1);
        let synced = matches!(
            before,
            Some(DiskEvent::Operation {
                operation: DiskOperation::SyncData { .. },
                error: None,
                ..
            })
        );
        assert!(synced, "{before:?} before an answer");
    }
    assert_eq!(disk.marks().len(), LINES);
    assert!(disk.is_synced());
}

/// A killed process leaves lines that can be read but are not durable. The next process may report
/// them only after it has synced them; a second crash detects whether it did.
fn report_after_restart(syncs: bool) -> Result<TrialSummary, TrialFailure> {
    let recover = |disk: &SimDisk| {
        if let Ok(file) = disk.open("log", Open::Edit)
            && (!syncs || (disk.sync_dir("").is_ok() && file.sync_data().is_ok()))
        {
            let lines = RIGHT.read(disk).unwrap();
            lines.iter().for_each(|line| disk.mark(line));
        }
    };
    Trials::new().faults(&[DiskFault::Crash]).images(4).run(
        |disk| RIGHT.workload(disk),
        |disk, _| {
            recover(disk);
            let reported = disk.marks();
            RIGHT.check(&disk.after(Survival::Synced), &reported);
        },
    )
}

#[test]
fn trusting_unsynced_data_of_a_killed_process_is_detected() {
    assert!(
        report_after_restart(false)
            .unwrap_err()
            .message
            .contains("lost")
    );
    report_after_restart(true).unwrap();
}

#[test]
fn recovery_survives_every_fault() {
    let first = SimDisk::new(3);
    first.fail_at(6, DiskFault::Crash);
    RIGHT.workload(&first);
    assert!(first.is_dead());
    let acknowledged = first.marks();
    let cut_off_and_go_on = |disk: &SimDisk| {
        let (Ok(lines), Ok(file)) = (RIGHT.read(disk), disk.open("log", Open::Edit)) else {
            return;
        };
        let whole: usize = lines.iter().map(|line| line.len() + 18).sum();
        if file.set_len(whole as u64).is_ok()
            && file.sync_data().is_ok()
            && RIGHT.append(&file, LINES - 1).is_ok()
        {
            disk.mark(text(LINES - 1));
        }
    };
    for seed in 0..32 {
        let found = first.after(Survival::Chance(seed));
        let trials = Trials::new().starting_from(&found).crash_after_faults();
        let check = |disk: &SimDisk, later: &[String]| {
            RIGHT.check(disk, &[&acknowledged[..], later].concat());
        };
        trials.run(cut_off_and_go_on, check).unwrap();
    }
}
