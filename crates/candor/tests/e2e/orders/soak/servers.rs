//! The servers of a run: they are killed and started again at another address.

use super::Extent;
use crate::fixture::LIMIT;
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::requests::{call, parse};
use candor_testkit::{Exit, Http};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Short, so that a hang does not take long; long enough to make a connection on a busy machine.
const GUARD: [&str; 6] = [
    "--deadline-ms",
    "1500",
    "--attempts",
    "2",
    "--breaker-pause-ms",
    "100",
];

/// The addresses of the servers.
pub(super) type Addresses = watch::Receiver<Vec<SocketAddr>>;

pub(super) struct Servers<'a> {
    fixture: &'a OrdersFixture,
    seed: u64,
    lost_percent: u64,
    all: Vec<Http>,
    addresses: watch::Sender<Vec<SocketAddr>>,
}

impl<'a> Servers<'a> {
    pub(super) fn start(fixture: &'a OrdersFixture, seed: u64, extent: Extent) -> Servers<'a> {
        let lost_percent = extent.lost_percent;
        let all: Vec<_> = (1..)
            .take(extent.servers)
            .map(|more| server(fixture, seed + more, lost_percent))
            .collect();
        let (addresses, _) = watch::channel(all.iter().map(Http::address).collect());
        Servers {
            fixture,
            seed: seed + 100,
            lost_percent,
            all,
            addresses,
        }
    }

    pub(super) fn addresses(&self) -> Addresses {
        self.addresses.subscribe()
    }

    /// Kills a server with SIGKILL and starts another one.
    pub(super) fn kill(&mut self, number: usize) {
        let old = &mut self.all[number];
        old.signal("KILL");
        assert_eq!(old.process().exit_within(LIMIT), Some(Exit::Signal(9)));
        self.seed += 1;
        *old = server(self.fixture, self.seed, self.lost_percent);
        let address = old.address();
        self.addresses.send_modify(|all| all[number] = address);
    }
}

/// The time after the last disturbance in which every circuit breaker must close.
const RECOVERY: Duration = Duration::from_secs(10);

impl Servers<'_> {
    /// Waits until no breaker of any server is open. A breaker that was open closes with the next
    /// call that succeeds, so each server gets a query and a change that was made before.
    pub(super) fn wait_for_closed_breakers(&self, made: &str) {
        let query = call(1, "get-products", "{}");
        for server in &self.all {
            let started = Instant::now();
            loop {
                server.post(&query, &[]);
                server.post(made, &[]);
                let ready = parse(&server.get("/ready", &[]).text());
                let breakers = &ready["servers"]["orders"]["breakers"];
                if *breakers == json!({ "queries": "closed", "changes": "closed" }) {
                    break;
                }
                assert!(started.elapsed() < RECOVERY, "{ready}");
            }
        }
    }
}

/// A server whose calls fail in every way that a client has to bear.
fn server(fixture: &OrdersFixture, seed: u64, lost_percent: u64) -> Http {
    let rule = |percent: u64, fault| json!({ "percent": percent, "fault": fault });
    let script = json!({
        "seed": seed,
        "rules": [
            rule(20, json!({ "kind": "latency", "ms": 3 })),
            rule(lost_percent, json!({ "kind": "lost-answer" })),
            rule(1, json!({ "kind": "lost-hang" })),
            rule(1, json!({ "kind": "hang" })),
            rule(8, json!({ "kind": "unavailable", "retryAfterMs": 10 })),
            rule(3, json!({ "kind": "timeout" })),
            rule(3, json!({ "kind": "limited", "retryAfterMs": 10 })),
        ],
    });
    let flags: Vec<_> = UNLIMITED.iter().chain(&GUARD).copied().collect();
    fixture.faulty_http(&script.to_string(), &flags)
}
