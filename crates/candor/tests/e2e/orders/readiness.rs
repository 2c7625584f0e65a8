//! `/ready` tells whether the order system can be used; `/health` only that the process lives.

use crate::orders::fixture::OrdersFixture;
use candor_testkit::Http;
use std::time::Instant;

const READY: &str = r#"{"status":"ready","servers":{"orders":{"status":"ready","adapter":"sql","breakers":{"queries":"closed","changes":"closed"}}}}"#;
const UNREACHABLE: &str = r#"{"status":"not_ready","servers":{"orders":{"status":"not_ready","reason":"unreachable","adapter":"sql","breakers":{"queries":"closed","changes":"closed"}}}}"#;

/// Asks until the answer is another one than `last`: a server repeats its answer for a second.
fn wait_for_change(server: &Http, last: &str) -> (u16, String) {
    let started = Instant::now();
    loop {
        let answer = server.get("/ready", &[]);
        if answer.text() != format!("{last}\n") {
            return (answer.status, answer.text());
        }
        assert!(started.elapsed() < crate::fixture::LIMIT, "still {last}");
    }
}

#[test]
fn stopped_postgres_is_not_ready_until_it_is_back() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let token = fixture.write("token", "canary-token");
    let server = fixture.http(&["--bearer-file", &token]);
    let ready = server.get("/ready", &[]);
    assert_eq!((ready.status, ready.text()), (200, format!("{READY}\n")));
    assert_eq!(ready.header("content-type"), Some("application/json"));

    fixture.server().kill();
    let gone = wait_for_change(&server, READY);
    assert_eq!(gone, (503, format!("{UNREACHABLE}\n")));
    assert_eq!(server.get("/health", &[]).status, 200);

    fixture.server().restart().unwrap();
    let back = wait_for_change(&server, UNREACHABLE);
    assert_eq!(back, (200, format!("{READY}\n")));
}
