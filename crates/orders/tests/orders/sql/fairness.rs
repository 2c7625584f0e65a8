//! A client with many changes and one with a single change: they are served in turn.

use crate::fixture::catalogue::{bulk, bulk_sku};
use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions, StoreServer};
use crate::requests::ToolResponse;
use crate::sql::contention::{CREATE, hold, release, until_open, until_waiting};
use crate::sql::invariants;
use serde_json::json;
use sqlx::{AnyConnection, Connection as _};
use tokio::task::JoinHandle;

/// The changes of the busy client.
const BUSY: usize = 200;

/// Creates an order of one unit, named after its key.
fn create(
    server: &StoreServer,
    client: &'static str,
    (sku, key): (&str, String),
) -> JoinHandle<ToolResponse> {
    let server = server.clone();
    let order = json!({ "externalId": key, "lineItems": [{ "sku": sku, "quantity": 1 }] });
    let arguments = json!({ "order": order, "idempotencyKey": key }).to_string();
    tokio::spawn(async move { server.call_text(Some(client), CREATE, arguments).await })
}

/// Locks what the change of a pin needs.
async fn lock(fixture: &StoreFixture) -> AnyConnection {
    if fixture.database.is_postgres() {
        return hold(fixture, "PIN").await;
    }
    let url = fixture.database.raw_url();
    let mut holder = AnyConnection::connect(&url).await.unwrap();
    let lock = sqlx::query("BEGIN IMMEDIATE");
    lock.execute(&mut holder).await.unwrap();
    holder
}

/// Sends many changes of one client, then one of another. Returns the number of orders that are
/// made before that one, and checks that a query waits for none.
async fn made_before(fixture: &StoreFixture, commit_group: u16, run: usize) -> i64 {
    let options = StoreOptions {
        commit_group,
        first_id: 1_000_000 * (run as u64 + 1),
        clients: &["busy", "calm"],
        ..StoreOptions::default()
    };
    let server = fixture.another_server(options).await;
    let mut holder = lock(fixture).await;
    let busy: Vec<_> = (0..BUSY)
        .map(|number| create(&server, "busy", ("PIN", format!("busy-{run}-{number}"))))
        .collect();
    until_open(&server, BUSY).await;
    let calm = create(&server, "calm", ("PIN", format!("calm-{run}")));
    until_open(&server, BUSY + 1).await;
    let page = String::from("{}");
    let read = server.call_text(Some("calm"), "get-orders", page).await;
    assert!(!read.is_failure(), "{}", read.whole);
    assert_eq!(server.open_changes(), BUSY + 1);
    release(&mut holder).await;
    holder.close().await.unwrap();
    for made in busy.into_iter().chain([calm]) {
        let made = made.await.unwrap();
        assert_eq!(made.status(), "pending", "{}", made.whole);
    }
    let earlier = format!(
        "SELECT COUNT(*) FROM orders WHERE external_id LIKE 'busy-{run}-%' AND number <
         (SELECT number FROM orders WHERE external_id = 'calm-{run}')"
    );
    fixture.number(&earlier).await
}

/// One change was running, and one had its turn before. A group is cut short for another client.
pub(crate) async fn clients_are_served_in_turn(fixture: &StoreFixture) {
    assert_eq!(made_before(fixture, 1, 0).await, 2);
    // On PostgreSQL the changes of a group are made before its last statement waits for the lock.
    let most = if fixture.database.is_postgres() {
        65
    } else {
        9
    };
    let earlier = made_before(fixture, 64, 1).await;
    assert!(earlier <= most, "{earlier}");
}

/// A busy client uses the only connection, and others of its changes wait for it. One of them holds
/// the lane of mugs: a calm client that wants a mug lends it its turn.
#[tokio::test(flavor = "multi_thread")]
async fn holder_of_a_lane_is_served_for_the_client_that_waits() {
    const OTHERS: usize = 20;
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    bulk(&fixture.pool, OTHERS).await;
    let options = StoreOptions {
        connections: 1,
        first_id: 1_000_000,
        clients: &["busy", "calm"],
        ..StoreOptions::default()
    };
    let server = fixture.another_server(options).await;
    let mut holder = hold(&fixture, "PIN").await;
    let mut calls = vec![create(&server, "busy", ("PIN", String::from("running")))];
    until_waiting(&fixture, 1).await;
    for number in 0..OTHERS {
        let order = (bulk_sku(number), format!("other-{number}"));
        calls.push(create(&server, "busy", (&order.0, order.1)));
    }
    until_open(&server, 1 + OTHERS).await;
    calls.push(create(&server, "busy", ("MUG", String::from("mug"))));
    until_open(&server, 2 + OTHERS).await;
    calls.push(create(&server, "calm", ("MUG", String::from("calm"))));
    until_open(&server, 3 + OTHERS).await;
    let page = String::from("{}");
    let read = server.call_text(Some("calm"), "get-orders", page).await;
    assert!(!read.is_failure(), "{}", read.whole);
    release(&mut holder).await;
    for made in calls {
        let made = made.await.unwrap();
        assert_eq!(made.status(), "pending", "{}", made.whole);
    }
    // The running one, one in the busy client's turn, and the one that held the lane.
    let earlier = "SELECT COUNT(*) FROM orders WHERE number < (SELECT number FROM orders WHERE external_id = 'calm')";
    let earlier = fixture.number(earlier).await;
    assert!(earlier <= 3, "{earlier}");
    invariants::assert_hold(&fixture).await;
}
