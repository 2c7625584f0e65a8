//! Power failures during shared commits on SQLite.
//!
//! The released program runs under strace, which records every byte that it writes to the files of
//! its store, every sync of them, and every answer. The steps are repeated on the simulated disk,
//! which loses, keeps or tears what was not synced. After each step the store that the next server
//! would find is opened: every change that was answered by then is in it, and no other change is
//! there in part.
//!
//! This proves that each answer is sent after the sync that makes its change durable, and that
//! SQLite recovers a consistent store from every image that the model of `crates/sim-disk` allows.
//! It does not prove anything about disks that ignore a sync, and only a sample of the images of each
//! step is opened.

mod disk_replay;
mod system_calls;

use crate::orders::database::Database;
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::requests::{order, post};
use crate::requests::{call, parse};
use candor_sim_disk::Survival;
use disk_replay::DiskReplay;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use system_calls::Step;

/// The clients that make changes at once.
const CLIENTS: usize = 16;

/// Enough changes to fill the write-ahead log, so that it is copied to the database and reused.
const CHANGES: usize = 320;

/// The number of steps from one killed server to the next.
const KILLS_APART: usize = 37;

/// Returns the number of steps from one power failure with random losses to the next.
fn failures_apart() -> usize {
    match candor_testkit::is_long() {
        true => 1,
        false => 31,
    }
}

/// The ids of orders by the numbers of their calls; `None` if the call was refused.
type Outcomes = BTreeMap<usize, Option<String>>;

/// Sends one change: an order, of which there is too little stock now and then.
fn change(server: SocketAddr, number: usize) -> Option<String> {
    let (key, sku) = (key(number), ["TEA", "CUP"][usize::from(number % 8 == 7)]);
    let mut arguments = order(&key, sku, 1);
    arguments["order"]["externalId"] = key.into();
    let message = call(number, "create-sales-order", arguments);
    let (status, body) = post(server, "", &message);
    assert_eq!(status, 200, "{body}");
    let answer = parse(&body);
    let result = &answer["result"];
    let reason = result["error"]["details"]["originalError"].as_str();
    if reason == Some("INSUFFICIENT_INVENTORY") {
        return None;
    }
    let id = result["structuredContent"]["order"]["id"].as_str();
    Some(id.unwrap_or_else(|| panic!("{answer}")).to_owned())
}

fn key(number: usize) -> String {
    format!("wish-{number}")
}

/// Makes all changes, many at once, and returns their outcomes.
fn make_changes(server: SocketAddr) -> Outcomes {
    let (next, outcomes) = (AtomicUsize::new(1), Mutex::new(Outcomes::new()));
    let together = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                together.wait();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number > CHANGES {
                        return;
                    }
                    let outcome = change(server, number);
                    outcomes.lock().unwrap().insert(number, outcome);
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

/// Compares a store after a crash with the answers that were sent before it.
struct CrashCheck<'a> {
    outcomes: &'a Outcomes,
    answered: BTreeSet<usize>,
    /// The directory for the files of the store.
    image: PathBuf,
    checked: usize,
}

impl CrashCheck<'_> {
    fn check(&mut self, replay: &DiskReplay, survival: Survival, step: usize) {
        replay.copy_after(survival, &self.image);
        let database = Database::at(self.image.join("orders.db").to_str().unwrap());
        let at = format!("step {step}, {survival:?}");
        assert_eq!(database.broken_invariants(), [""; 0], "{at}");
        let rows = database.rows(
            "SELECT keys.key, COALESCE(orders.id, ''),
                 CASE records.outcome WHEN 'done' THEN 'done' ELSE 'refused' END FROM keys
             JOIN records ON records.client = keys.client AND records.tool = keys.tool
                 AND records.key = keys.key AND records.fingerprint = keys.fingerprint
             LEFT JOIN orders ON orders.external_id = keys.key AND orders.id = records.order_id
             WHERE keys.outcome IS NOT NULL",
        );
        let found: BTreeMap<&str, (&str, &str)> = rows
            .iter()
            .map(|row| (row[0].as_str(), (row[1].as_str(), row[2].as_str())))
            .collect();
        for (number, outcome) in self.outcomes {
            let expected = match outcome {
                Some(id) => (id.as_str(), "done"),
                None => ("", "refused"),
            };
            match found.get(key(*number).as_str()) {
                Some(found) => assert_eq!(*found, expected, "{at}"),
                None => assert!(!self.answered.contains(number), "{at}: {number} is lost"),
            }
        }
        // Nothing else is there: each table has the rows of these changes only.
        let made = found.values().filter(|(_, outcome)| *outcome == "done");
        let made = made.count();
        let counts = "SELECT (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records),
             (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM order_lines),
             (SELECT CAST(SUM(reserved) AS BIGINT) FROM variants)";
        let expected = format!("{0} {0} {made} {made} {made}", found.len());
        assert_eq!(database.lines(counts), expected, "{at}");
        self.checked += 1;
    }
}

/// Returns the number of syncs of the log between the first answer and the last one.
fn commits(steps: &[Step]) -> usize {
    let log = Step::Sync {
        file: String::from("orders.db-wal"),
    };
    steps.iter().filter(|step| **step == log).count()
}

#[test]
fn answered_changes_of_shared_commits_survive_power_failures() {
    if !system_calls::is_available() {
        return;
    }
    let fixture = OrdersFixture::sqlite();
    let replay = DiskReplay::of_store(fixture.root());
    let trace = fixture.path("trace");
    let traced = system_calls::arguments(trace.to_str().unwrap());
    let mut server = fixture.http_under("strace", &traced, &UNLIMITED);
    let outcomes = make_changes(server.address());
    server.signal("KILL");
    let steps = system_calls::read(&trace, server.process(), fixture.root());

    let refused = outcomes.values().filter(|outcome| outcome.is_none());
    assert_eq!(
        (outcomes.len(), refused.count()),
        (CHANGES, CHANGES / 8 - 5)
    );
    assert!(commits(&steps) < CHANGES / 2, "changes share commits");
    let is_copied = |step: &Step| matches!(step, Step::Sync { file } if file == "orders.db");
    assert!(steps.iter().any(is_copied), "the log is copied and reused");

    let image = fixture.path("image");
    fs::create_dir(&image).unwrap();
    let mut check = CrashCheck {
        outcomes: &outcomes,
        answered: BTreeSet::new(),
        image,
        checked: 0,
    };
    let failures_apart = failures_apart();
    for (number, step) in steps.iter().enumerate() {
        // Only a sync changes what is durable; all answers before it count.
        if matches!(step, Step::Sync { .. } | Step::SyncNames) {
            check.check(&replay, Survival::Synced, number);
        }
        replay.apply(step);
        if let Step::Answer(answered) = step {
            check.answered.insert(*answered);
        }
        if number % KILLS_APART == 0 {
            check.check(&replay, Survival::Everything, number);
        }
        if number % failures_apart == 0 {
            check.check(&replay, Survival::Chance(number as u64), number);
        }
    }
    check.check(&replay, Survival::Synced, steps.len());
    assert_eq!(check.answered.len(), CHANGES);
    // Shows the extent in the output of the test.
    #[allow(clippy::print_stderr)]
    {
        let (commits, checked) = (commits(&steps), check.checked);
        eprintln!(
            "{} steps, {commits} syncs of the log, {checked} stores opened",
            steps.len()
        );
    }
}
