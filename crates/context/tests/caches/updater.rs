//! Caches that follow their sources.

use crate::fixture::{CREATED, CacheFixture, bytes_of, real};
use candor_context::{
    BuildOutcome, ChangeDetection, Failure, Location, StopSignal, UpdateReports, Updater,
};
use candor_fault::Timestamp;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// A report of an updater.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    Updated(u64),
    Failed(String),
    Matched,
    Comparing,
}

struct Reports(Sender<Report>);

impl UpdateReports for Reports {
    fn updated(&self, outcome: &BuildOutcome) {
        let _ = self.0.send(Report::Updated(outcome.document_count));
    }

    fn failed(&self, failure: &Failure) {
        let _ = self.0.send(Report::Failed(failure.to_string()));
    }

    fn matched(&self) {
        let _ = self.0.send(Report::Matched);
    }

    fn comparing(&self, _: &str) {
        let _ = self.0.send(Report::Comparing);
    }
}

/// Runs an updater of the fixture's cache beside `work`.
fn with_updater(fixture: &CacheFixture, cache: &str, work: impl FnOnce(&Receiver<Report>)) {
    with_detection(ChangeDetection::Watch, fixture, cache, work);
}

fn with_detection(
    detection: ChangeDetection,
    fixture: &CacheFixture,
    cache: &str,
    work: impl FnOnce(&Receiver<Report>),
) {
    let updater = Updater {
        location: Arc::new(Location::Anywhere),
        cache: fixture.path(cache),
        force: false,
        detection,
        clock: Arc::new(real),
        created_at: Box::new(|| Timestamp::from_second(CREATED).unwrap()),
        random: Box::new(|| 0x5eed),
        retry_interval: Duration::from_millis(100),
        turn: Arc::default(),
    };
    let stop = StopSignal::new().unwrap();
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let (stop, updater) = (&stop, &updater);
        let running = scope.spawn(move || updater.run(stop, &Reports(sender)));
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&receiver)));
        stop.stop();
        running.join().unwrap();
        if let Err(panic) = worked {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Returns the next report, without updates that have found nothing new.
fn next(reports: &Receiver<Report>, expected: &Report) {
    loop {
        let report = reports.recv_timeout(LIMIT).unwrap();
        if report == *expected {
            return;
        }
        assert!(
            matches!(report, Report::Updated(_) | Report::Matched),
            "{report:?} before {expected:?}"
        );
    }
}

fn built() -> CacheFixture {
    let mut fixture = CacheFixture::with(&[("a.md", "one"), ("in/b.md", "two")]);
    fixture.clock = real;
    fixture.build().unwrap();
    fixture
}

#[test]
fn cache_follows_files_and_directories() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fixture.put("c.md", "three");
        next(reports, &Report::Updated(3));
        // A new directory, and a file in it after it was seen.
        fixture.put("new/deep/d.md", "four");
        next(reports, &Report::Updated(4));
        fixture.put("new/deep/e.md", "five");
        next(reports, &Report::Updated(5));
        fs::remove_dir_all(fixture.sources().join("new")).unwrap();
        next(reports, &Report::Updated(3));
        fs::rename(fixture.sources().join("in"), fixture.path("away")).unwrap();
        next(reports, &Report::Updated(2));
        fs::rename(fixture.path("away"), fixture.sources().join("back")).unwrap();
        next(reports, &Report::Updated(3));
    });
    fixture.build_at("fresh", false).unwrap();
    assert!(bytes_of(&fixture.cache()) == bytes_of(&fixture.path("fresh")));
}

#[test]
fn failure_does_not_end_an_updater() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        let before = bytes_of(&fixture.cache());
        fixture.put("bad.md", b"\xff");
        next(
            reports,
            &Report::Failed(String::from("`bad.md` is not UTF-8 from byte 0 on")),
        );
        assert!(bytes_of(&fixture.cache()) == before);
        fixture.put("bad.md", "good");
        next(reports, &Report::Updated(3));
    });
}

#[test]
fn sources_that_are_deleted_and_made_again_are_followed() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fs::remove_dir_all(fixture.sources()).unwrap();
        // Before the directory is gone, the update may find it empty, which is refused too.
        loop {
            match reports.recv_timeout(LIMIT).unwrap() {
                Report::Failed(message) if message.contains("cannot open the sources") => break,
                Report::Failed(_) | Report::Updated(_) => {}
                Report::Matched | Report::Comparing => panic!("the directories can be watched"),
            }
        }
        fixture.put("a.md", "one");
        fixture.put("x.md", "six");
        loop {
            match reports.recv_timeout(LIMIT).unwrap() {
                Report::Updated(2) => break,
                Report::Failed(_) | Report::Updated(_) => {}
                Report::Matched | Report::Comparing => panic!("the directories can be watched"),
            }
        }
        fixture.put("y.md", "seven");
        next(reports, &Report::Updated(3));
    });
}

/// The updater must not answer its own writes.
#[test]
fn cache_inside_its_sources_is_followed() {
    let mut fixture = CacheFixture::with(&[("a.md", "one")]);
    fixture.clock = real;
    fixture.build_or_update("sources/.context", false).unwrap();
    with_updater(&fixture, "sources/.context", |reports| {
        assert_eq!(reports.recv_timeout(LIMIT).unwrap(), Report::Updated(1));
        fixture.put("b.md", "two");
        assert_eq!(reports.recv_timeout(LIMIT).unwrap(), Report::Updated(2));
        // Longer than the quiet time: an update would be reported by now.
        assert!(
            reports
                .recv_timeout(4 * candor_context::QUIET_TIME)
                .is_err()
        );
    });
}

#[test]
fn sources_that_cannot_be_watched_are_compared() {
    let fixture = built();
    with_detection(ChangeDetection::Compare, &fixture, "cache", |reports| {
        let report = || loop {
            match reports.recv_timeout(LIMIT).unwrap() {
                Report::Matched => {}
                other => return other,
            }
        };
        assert_eq!(report(), Report::Comparing);
        assert_eq!(report(), Report::Updated(2));
        fixture.put("new/c.md", "three");
        assert_eq!(report(), Report::Updated(3));
        // A failure is reported once, although every comparison finds the difference.
        fixture.put("bad.md", b"\xff");
        assert!(matches!(report(), Report::Failed(_)));
        assert!(
            reports
                .recv_timeout(2 * candor_context::LONGEST_WAIT)
                .is_err()
        );
        // The file that failed it is gone: the cache matches its sources without an update.
        fs::remove_file(fixture.sources().join("bad.md")).unwrap();
        assert_eq!(reports.recv_timeout(LIMIT).unwrap(), Report::Matched);
        fixture.put("bad.md", "good");
        assert_eq!(report(), Report::Updated(4));
    });
}

/// Nothing changes in the sources, but the update may succeed later.
#[test]
fn failure_of_the_system_is_tried_again() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fs::create_dir(fixture.path(".cache.lock")).unwrap();
        fixture.put("c.md", "three");
        let path = fixture.cache().display().to_string();
        let message = format!("cannot write beside `{path}`: Is a directory (os error 21)");
        next(reports, &Report::Failed(message));
        // The same failure is not reported again.
        let waited = reports.recv_timeout(2 * candor_context::LONGEST_WAIT);
        assert!(waited.is_err(), "{waited:?}");
        fs::remove_dir(fixture.path(".cache.lock")).unwrap();
        next(reports, &Report::Updated(3));
    });
}

/// Another process has replaced the cache: it is compared, and updated only if it differs.
#[test]
fn cache_that_another_process_replaces_is_compared() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fixture.update().unwrap();
        next(reports, &Report::Matched);
        // A cache of other sources, by the same record.
        fixture.put("c.md", "three");
        next(reports, &Report::Updated(3));
        let other = CacheFixture::with(&[("a.md", "other"), ("x.md", "other")]);
        other.build().unwrap();
        let copied = fixture.path("copied");
        crate::fixture::copy(&other.cache(), &copied);
        let exchange = RenameFlags::EXCHANGE;
        renameat_with(CWD, &copied, CWD, fixture.cache(), exchange).unwrap();
        next(reports, &Report::Updated(3));
    });
}

#[test]
fn record_of_other_sources_is_followed() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fs::create_dir(fixture.path("others")).unwrap();
        fs::write(fixture.path("others/a.md"), "a").unwrap();
        let record = fixture.cache().join("build.json");
        let text = fs::read_to_string(&record).unwrap();
        let edited = text.replace(r#""sources": "sources""#, r#""sources": "others""#);
        assert_ne!(edited, text);
        fs::write(fixture.path("draft"), edited).unwrap();
        fs::rename(fixture.path("draft"), &record).unwrap();
        next(reports, &Report::Updated(1));
        fs::write(fixture.path("others/b.md"), "b").unwrap();
        next(reports, &Report::Updated(2));
    });
}

#[test]
fn other_files_cause_no_update() {
    let fixture = built();
    with_updater(&fixture, "cache", |reports| {
        next(reports, &Report::Updated(2));
        fixture.put("notes.txt", "no source");
        assert!(
            reports
                .recv_timeout(4 * candor_context::QUIET_TIME)
                .is_err()
        );
    });
}

#[test]
fn cache_without_a_record_cannot_be_followed() {
    let fixture = built();
    fs::remove_file(fixture.cache().join("build.json")).unwrap();
    with_updater(&fixture, "cache", |reports| {
        let report = reports.recv_timeout(LIMIT).unwrap();
        let path = fixture.cache().display().to_string();
        let expected = format!("build.json of `{path}` cannot be used: it is missing");
        assert_eq!(report, Report::Failed(expected));
    });
}

#[test]
fn updates_take_turns() {
    let fixture = built();
    let lock = fs::File::create(fixture.path(".cache.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    // An updater that waits for its turn can be stopped.
    with_updater(&fixture, "cache", |reports| {
        assert!(reports.recv_timeout(Duration::from_millis(50)).is_err());
    });
    fixture.put("c.md", "three");
    let manifest = || fs::read(fixture.cache().join("manifest.json")).unwrap();
    let before = manifest();
    thread::scope(|scope| {
        let update = scope.spawn(|| fixture.update());
        thread::sleep(Duration::from_millis(50));
        assert!(manifest() == before && !update.is_finished());
        drop(lock);
        assert_eq!(update.join().unwrap().unwrap().document_count, 3);
    });
    assert_eq!(fixture.names(), [".cache.spare", "cache", "sources"]);
}

#[test]
fn all_of_many_simultaneous_updates_succeed() {
    let fixture = built();
    thread::scope(|scope| {
        let updates: Vec<_> = (0..6).map(|_| scope.spawn(|| fixture.update())).collect();
        for update in updates {
            update.join().unwrap().unwrap();
        }
    });
    assert!(!fixture.reader().unwrap().was_hashed());
    assert_eq!(fixture.names(), [".cache.spare", "cache", "sources"]);
}
