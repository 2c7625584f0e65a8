//! Exactly once: clients that retry by the contract, while answers are lost, calls hang, servers are
//! killed and the database is restarted, make each order once and no other.

use crate::fixture::LIMIT;
use crate::orders::fixture::OrdersFixture;
mod client;
mod count;
mod servers;

use client::{Client, FailureCounts};
use servers::Servers;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

/// The number of concurrent clients.
const CLIENTS: usize = 16;

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

/// A disturbance during a run.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// SIGKILL for a server, which is started again elsewhere.
    Kill(usize),
    /// The database is stopped and started again.
    Restart,
    /// The database is killed and started again.
    Crash,
}

/// Returns kills that alternate among the servers.
fn kills(count: usize, servers: usize) -> Vec<Disturbance> {
    (0..count)
        .map(|number| Disturbance::Kill(number % servers))
        .collect()
}

/// Creates orders while the disturbances happen at equal intervals.
fn run(fixture: &OrdersFixture, orders: usize, servers: usize, disturbances: &[Disturbance]) {
    let mut servers = Servers::start(fixture, SEED, servers);
    let (done, progress) = channel();
    let clients = (0..CLIENTS).map(|number| {
        let numbers = (number..orders).step_by(CLIENTS).collect();
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
            },
        );
    let (ids, failures) = running
        .join()
        .unwrap_or_else(|_| panic!("a client failed; seed {SEED}"));
    disturbed.unwrap_or_else(|error| panic!("no progress: {error}; seed {SEED}"));
    // Shows the number of failures in the output of the test.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("{orders} orders, seed {SEED}: {failures:?}");
    }
    failures.check();
    drop(servers);
    count::check(fixture, orders, &ids);
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
    run(&OrdersFixture::sqlite(), orders(), 1, &kills(8, 1));
}

#[test]
fn every_order_is_created_once_on_two_servers() {
    if let Some(fixture) = OrdersFixture::postgres() {
        run(&fixture, orders(), 2, &kills(8, 2));
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
        run(&fixture, 500, 2, &disturbances);
    }
}

impl FailureCounts {
    /// Checks that there were failures of each kind.
    fn check(&self) {
        let all = [self.broken, self.timed_out, self.unavailable];
        assert!(all.iter().all(|count| *count > 0), "{self:?}; seed {SEED}");
    }
}
