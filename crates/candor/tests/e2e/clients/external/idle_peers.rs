//! The Node and Python clients over HTTP, with `candor serve`, beside 2,000 idle peers.

use super::{Client, PYTHON, TYPESCRIPT_CLIENT, TYPESCRIPT_SDK, is_skipped};
use crate::clients::cases;
use crate::clients::target::Target;
use crate::fixture::{CANDOR, Directory};
use crate::wire::fixture::{MANY_CONNECTIONS, connect_idle, metric, poll_until, raise_open_files};
use candor_testkit::{Connection, Http};

const PEERS: usize = 2_000;

/// Asks for the health on every connection: none was closed, and each is idle for another minute.
fn check_peers(server: &Http, peers: &mut [Connection<'_>]) {
    let request = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    for peer in &mut *peers {
        peer.send(&request);
    }
    for peer in peers {
        assert_eq!(peer.response().status, 200);
    }
}

impl Client {
    /// Checks the playground and the order tools in every era of this client.
    fn check_beside_idle_peers(&self) {
        if is_skipped() {
            return;
        }
        let _alone = MANY_CONNECTIONS.lock().unwrap();
        raise_open_files();
        let directory = Directory::new();
        let data = directory.text("data");
        let server = Http::spawn(CANDOR, &["serve", "--port", "0", "--data-dir", &data]);
        let mut peers = connect_idle(&server, PEERS);
        let target = |path: &str| Target::Http {
            url: format!("http://{}{path}", server.address()),
            token: None,
        };
        let version = env!("CARGO_PKG_VERSION");
        // The store of `candor serve` does not fail on demand.
        let mut order_cases = cases::order_tools();
        order_cases.retain(|case| case.name != "get-returns");
        for era in self.eras {
            self.drive(
                &target("/playground/mcp"),
                *era,
                ("candor-playground", version),
                cases::PLAYGROUND,
                &cases::playground(),
                era.own_form(),
            );
            self.drive(
                &target("/orders/mcp"),
                *era,
                ("candor-orders", version),
                cases::ORDERS,
                &order_cases,
                era.own_form(),
            );
            check_peers(&server, &mut peers);
        }
        // An answer arrives a moment before its connection counts as idle.
        let idle = || metric(&server, r#"candor_connections{state="idle"} "#);
        poll_until(|| (idle() >= PEERS as u64).then_some(()));
        let evicted = r#"candor_connections_evicted_total{state="idle"} "#;
        assert_eq!(metric(&server, evicted), 0);
    }
}

#[test]
fn python_client_is_served_beside_idle_peers() {
    PYTHON.check_beside_idle_peers();
}

#[test]
fn typescript_sdk_is_served_beside_idle_peers() {
    TYPESCRIPT_SDK.check_beside_idle_peers();
}

#[test]
fn typescript_client_is_served_beside_idle_peers() {
    TYPESCRIPT_CLIENT.check_beside_idle_peers();
}
