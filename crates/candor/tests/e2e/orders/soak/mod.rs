//! Exactly once: clients that retry by the contract, while answers are lost, calls hang, servers are
//! killed and the database is restarted, make each order once and no other.

use crate::fixture::LIMIT;
use crate::orders::fixture::OrdersFixture;
mod client;
mod count;
mod servers;

use client::{Client, Met};
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
enum Strike {
    /// SIGKILL for a server, which is started again elsewhere.
    Kill(usize),
    /// The database is stopped and started again.
    Restart,
    /// The database is killed and started again.
    Crash,
}

/// Kills that take turns among so many servers.
fn kills(count: usize, servers: usize) -> Vec<Strike> {
    (0..count)
        .map(|number| Strike::Kill(number % servers))
        .collect()
}

/// Makes so many orders; the strikes come evenly on the way.
fn run(fixture: &OrdersFixture, orders: usize, servers: usize, strikes: &[Strike]) {
    let mut servers = Servers::start(fixture, SEED, servers);
    let (done, progress) = channel();
    let clients = (0..CLIENTS).map(|number| {
        let numbers = (number..orders).step_by(CLIENTS).collect();
        Client::new(SEED, number, numbers, servers.addresses(), done.clone())
    });
    let clients: Vec<_> = clients.collect();
    drop(done);
    let at_work = thread::spawn(move || client::all(clients));
    let struck = strike_through(&progress, orders, strikes, |strike| match strike {
        Strike::Kill(number) => servers.kill(number),
        Strike::Restart => fixture.server().restart().unwrap(),
        Strike::Crash => {
            fixture.server().kill();
            fixture.server().restart().unwrap();
        }
    });
    let (made, met) = at_work
        .join()
        .unwrap_or_else(|_| panic!("a client failed; seed {SEED}"));
    struck.unwrap_or_else(|error| panic!("no progress: {error}; seed {SEED}"));
    // Seen by whoever asks for the output of tests: how much trouble there was.
    #[allow(clippy::print_stderr)]
    {
        eprintln!("{orders} orders, seed {SEED}: {met:?}");
    }
    met.check();
    drop(servers);
    count::check(fixture, orders, &made);
}

/// Strikes whenever another share of the orders is made.
fn strike_through(
    progress: &Receiver<()>,
    orders: usize,
    strikes: &[Strike],
    mut strike: impl FnMut(Strike),
) -> Result<(), RecvTimeoutError> {
    let share = orders / (strikes.len() + 1);
    for made in 1..=orders {
        progress.recv_timeout(LIMIT)?;
        if made % share == 0
            && let Some(next) = strikes.get(made / share - 1)
        {
            strike(*next);
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
        let strikes = [Strike::Restart, Strike::Kill(0), Strike::Crash];
        run(&fixture, 500, 2, &strikes);
    }
}

impl Met {
    /// A run without failures would prove nothing.
    fn check(&self) {
        let all = [self.broken, self.timed_out, self.unavailable];
        assert!(all.iter().all(|count| *count > 0), "{self:?}; seed {SEED}");
    }
}
