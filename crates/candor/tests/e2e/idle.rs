//! A connection that nobody uses: it may wait for a minute, and no longer.

use crate::messages::{request, result};
use crate::servers::http;
use std::time::{Duration, Instant};

#[test]
fn an_idle_connection_lasts_a_minute() {
    let server = http(&[]);
    let mut connection = server.connect();
    connection.send(server.request("POST", request("1", "ping", "{}").as_bytes(), &[]));
    assert_eq!(connection.response().text(), result("1", "{}"));
    let since = Instant::now();
    connection.limit(Duration::from_secs(80));
    assert!(connection.is_closed());
    let lasted = since.elapsed();
    assert!(
        (Duration::from_secs(55)..Duration::from_secs(75)).contains(&lasted),
        "{lasted:?}"
    );
}
