//! Exactly once: clients that retry by the contract, while answers are lost, calls hang, servers are
//! killed and the database is restarted, make each order once and no other.

use crate::fixture::LIMIT;
use crate::orders::fixture::OrdersFixture;
mod client;
mod count;
mod servers;

use client::{Client, FailureCounts, OrderIds};
use servers::Servers;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The seed of the fault scripts and of the clients' waits.
const SEED: u64 = 20_261_115;

/// Returns the number of orders that a run makes.
fn orders() -> usize {
    if candor_testkit::is_long() {
        10_000
    } else {
        1_000
    }
}

/// The extent of a run.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The number of wishes; each becomes an order if there is stock.
    orders: usize,
    /// The number of concurrent clients.
    clients: usize,
    servers: usize,
    /// The share of answers that are lost.
    lost_percent: u64,
    /// The units of the order with a number.
    units: fn(usize) -> usize,
}

impl Extent {
    const fn new(orders: usize, servers: usize) -> Extent {
        Extent {
            orders,
            clients: 16,
            servers,
            lost_percent: 6,
            units: client::units,
        }
    }
}

/// A disturbance during a run.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// SIGKILL for a server, which is started again elsewhere.
    Kill(usize),
    /// The database is stopped and started again.
    Restart,
    /// The database is killed and started again.
    Crash,
    /// The database does not answer for a while.
    Partition,
}

/// The length of a partition; longer than the deadline of a call.
const PARTITION: Duration = Duration::from_secs(2);

/// Returns kills that alternate among the servers.
fn kills(count: usize, servers: usize) -> Vec<Disturbance> {
    (0..count)
        .map(|number| Disturbance::Kill(number % servers))
        .collect()
}

/// Creates orders while the disturbances happen at equal intervals. Returns the orders, and the
/// failures that the clients had to bear.
fn run(
    fixture: &OrdersFixture,
    extent: Extent,
    disturbances: &[Disturbance],
) -> (OrderIds, FailureCounts) {
    let orders = extent.orders;
    let mut servers = Servers::start(fixture, SEED, extent);
    let (done, progress) = channel();
    let clients = (0..extent.clients).map(|number| {
        let numbers = (number..orders).step_by(extent.clients).collect();
        let numbers = (numbers, extent.units);
        Client::new(SEED, number, numbers, servers.addresses(), done.clone())
    });
    let clients: Vec<_> = clients.collect();
    drop(done);
    let running = thread::spawn(move || client::all(clients));
    let disturbed =
        disturb_at_intervals(
            &progress,
            orders,
            disturbances,
            |disturbance| match disturbance {
                Disturbance::Kill(number) => servers.kill(number),
                Disturbance::Restart => fixture.server().restart().unwrap(),
                Disturbance::Crash => {
                    fixture.server().kill();
                    fixture.server().restart().unwrap();
                }
                Disturbance::Partition => {
                    fixture.server().pause();
                    thread::sleep(PARTITION);
                    fixture.server().resume();
                }
            },
        );
    let (ids, failures) = running
        .join()
        .unwrap_or_else(|_| panic!("a client failed; seed {SEED}"));
    disturbed.unwrap_or_else(|error| panic!("no progress: {error}; seed {SEED}"));
    servers.wait_for_closed_breakers(&client::message(0, (extent.units)(0)));
    // Shows the number of failures in the output of the test.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("{orders} orders, seed {SEED}: {failures:?}");
    }
    drop(servers);
    (ids, failures)
}

/// As [`run`], with enough stock for all.
fn create_all(fixture: &OrdersFixture, extent: Extent, disturbances: &[Disturbance]) {
    let (ids, failures) = run(fixture, extent, disturbances);
    failures.check();
    assert_eq!(failures.sold_out, 0);
    count::check(fixture, extent.orders, &ids);
}

/// Causes a disturbance whenever another share of the orders has been created.
fn disturb_at_intervals(
    progress: &Receiver<()>,
    orders: usize,
    disturbances: &[Disturbance],
    mut disturbance: impl FnMut(Disturbance),
) -> Result<(), RecvTimeoutError> {
    let share = orders / (disturbances.len() + 1);
    for ids in 1..=orders {
        progress.recv_timeout(LIMIT)?;
        if ids % share == 0
            && let Some(next) = disturbances.get(ids / share - 1)
        {
            disturbance(*next);
        }
    }
    Ok(())
}

#[test]
fn every_order_is_created_once_on_sqlite() {
    create_all(
        &OrdersFixture::sqlite(),
        Extent::new(orders(), 1),
        &kills(8, 1),
    );
}

/// Many clients share commits, a quarter of the answers is lost, and the server is killed again and
/// again.
#[test]
fn every_order_of_shared_commits_is_created_once_on_sqlite() {
    let (orders, killed) = match candor_testkit::is_long() {
        true => (5_000, 20),
        false => (800, 6),
    };
    let extent = Extent {
        clients: 32,
        lost_percent: 25,
        ..Extent::new(orders, 1)
    };
    create_all(&OrdersFixture::sqlite(), extent, &kills(killed, 1));
}

#[test]
fn every_order_is_created_once_on_two_servers() {
    if let Some(fixture) = OrdersFixture::postgres() {
        create_all(&fixture, Extent::new(orders(), 2), &kills(8, 2));
    }
}

#[test]
fn every_order_is_created_once_during_database_restarts() {
    if let Some(fixture) = OrdersFixture::postgres() {
        let disturbances = [
            Disturbance::Restart,
            Disturbance::Kill(0),
            Disturbance::Crash,
        ];
        create_all(&fixture, Extent::new(500, 2), &disturbances);
    }
}

/// Three servers sell a popular SKU, of which there are too few units for all.
#[test]
fn popular_sku_is_sold_out_exactly_once() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let (units, wishes) = match candor_testkit::is_long() {
        true => (1_000, 3_000),
        false => (200, 600),
    };
    let database = fixture.database();
    for table in ["stock", "variants"] {
        database.run(&format!(
            "UPDATE {table} SET on_hand = {units} WHERE sku = 'TEA'"
        ));
    }
    let extent = Extent {
        lost_percent: 25,
        units: |_| 1,
        ..Extent::new(wishes, 3)
    };
    let disturbances = [
        Disturbance::Crash,
        Disturbance::Partition,
        Disturbance::Crash,
        Disturbance::Partition,
        Disturbance::Crash,
    ];
    let (ids, failures) = run(&fixture, extent, &disturbances);
    let reserved = "SELECT on_hand - reserved FROM variants WHERE sku = 'TEA'";
    assert_eq!(database.lines(reserved), "0");
    let count = |table: &str| database.lines(&format!("SELECT COUNT(*) FROM {table}"));
    assert_eq!((ids.len(), failures.sold_out), (units, wishes - units));
    assert_eq!(count("orders"), units.to_string());
    assert_eq!(count("records"), wishes.to_string());
    assert_eq!(database.broken_invariants(), [""; 0]);
}

impl FailureCounts {
    /// Checks that there were failures of each kind.
    fn check(&self) {
        let all = [self.broken, self.timed_out, self.unavailable];
        assert!(all.iter().all(|count| *count > 0), "{self:?}; seed {SEED}");
    }
}
