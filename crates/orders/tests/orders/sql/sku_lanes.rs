//! Edits of lines, steps of returns and exchanges of one SKU: like other changes of its stock they
//! wait in the server, and stop nothing else.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreServer};
use crate::requests::ToolResponse;
use crate::sql::contention::{
    CREATE, buy, hold, lock, release, until_open, until_waiting, waiting,
};
use crate::sql::invariants;
use serde_json::{Value, json};
use sqlx::{AnyConnection, Connection as _};
use tokio::task::{JoinHandle, JoinSet};

/// The changes of each kind that are sent at once.
const CHANGES: usize = 4;

/// A tool and its arguments.
type Change = (&'static str, Value);

/// Creates an order of two units, with an address. Returns its id.
async fn ordered(fixture: &StoreFixture, sku: &str) -> String {
    let address = json!({ "address1": "Lindenweg 4", "city": "Berlin", "country": "DE" });
    let lines = json!([{ "sku": sku, "quantity": 2 }]);
    let order = json!({ "lineItems": lines, "shippingAddress": address });
    let created = fixture.server.call(CREATE, json!({ "order": order })).await;
    created.order().to_owned()
}

/// As `ordered`; the units are shipped.
async fn shipped(fixture: &StoreFixture, sku: &str) -> String {
    let id = ordered(fixture, sku).await;
    let arguments = json!({ "orderId": id });
    let shipped = fixture.server.call("fulfill-order", arguments).await;
    assert!(!shipped.is_failure(), "{}", shipped.whole);
    id
}

fn return_one(order: &str, sku: &str) -> Value {
    let lines = json!([{ "sku": sku, "quantity": 1 }]);
    json!({ "orderId": order, "outcome": "refund", "lineItems": lines })
}

/// Returns a step of the return, which is received at a location or declined.
fn step(order: &str, id: &Value, is_received: bool) -> Change {
    let step = match is_received {
        true => json!({ "id": id, "status": "received", "restockLocationId": "loc_east" }),
        false => json!({ "id": id, "status": "declined" }),
    };
    let updates = json!({ "returns": [step] });
    (
        "update-order",
        json!({ "orderId": order, "updates": updates }),
    )
}

/// Adds one unit of a SKU to an order that has none of it.
async fn edit(fixture: &StoreFixture, sku: &str) -> Change {
    let other = if sku == "PIN" { "MUG" } else { "PIN" };
    let order = ordered(fixture, other).await;
    let updates = json!({ "lineItems": [{ "sku": sku, "quantity": 1 }] });
    (
        "update-order",
        json!({ "orderId": order, "updates": updates }),
    )
}

/// Puts a returned unit back into stock.
async fn restock(fixture: &StoreFixture, sku: &str) -> Change {
    let order = shipped(fixture, sku).await;
    let returned = fixture
        .server
        .call("create-return", return_one(&order, sku));
    step(&order, returned.await.at("/return/id"), true)
}

/// Declines a return whose unit is in stock again.
async fn decline(fixture: &StoreFixture, sku: &str) -> Change {
    let order = shipped(fixture, sku).await;
    let returned = fixture
        .server
        .call("create-return", return_one(&order, sku));
    let returned = returned.await;
    let id = returned.at("/return/id");
    let (tool, arguments) = step(&order, id, true);
    let received = fixture.server.call(tool, arguments).await;
    assert!(!received.is_failure(), "{}", received.whole);
    step(&order, id, false)
}

/// Exchanges a pin for one unit of a SKU.
async fn exchange(fixture: &StoreFixture, sku: &str) -> Change {
    let order = shipped(fixture, "PIN").await;
    let mut arguments = return_one(&order, "PIN");
    arguments["outcome"] = "exchange".into();
    arguments["exchangeLineItems"] = json!([{ "sku": sku, "quantity": 1 }]);
    ("create-return", arguments)
}

/// The kinds of changes.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Edit,
    Restock,
    Decline,
    Exchange,
}

const KINDS: [Kind; 4] = [Kind::Edit, Kind::Restock, Kind::Decline, Kind::Exchange];

/// Prepares changes of a SKU, all of one kind.
async fn changes(fixture: &StoreFixture, kind: Kind, sku: &str, count: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    for _ in 0..count {
        changes.push(match kind {
            Kind::Edit => edit(fixture, sku).await,
            Kind::Restock => restock(fixture, sku).await,
            Kind::Decline => decline(fixture, sku).await,
            Kind::Exchange => exchange(fixture, sku).await,
        });
    }
    changes
}

fn send(server: &StoreServer, (tool, arguments): Change) -> JoinHandle<ToolResponse> {
    let server = server.clone();
    tokio::spawn(async move { server.call(tool, arguments).await })
}

/// Sends changes of mugs while their variant is locked: one backend waits, and the same changes of
/// pins are made.
async fn one_backend_waits(fixture: &StoreFixture, of_mugs: Vec<Change>) {
    let mut of_pins = Vec::new();
    for kind in KINDS {
        of_pins.extend(changes(fixture, kind, "PIN", 1).await);
    }
    let sent = of_mugs.len();
    let mut holder = hold(fixture, "MUG").await;
    let mut calls = JoinSet::new();
    for (tool, arguments) in of_mugs {
        let server = fixture.server.clone();
        calls.spawn(async move { server.call(tool, arguments).await });
    }
    until_waiting(fixture, 1).await;
    until_open(&fixture.server, sent).await;
    for (tool, arguments) in of_pins {
        let made = fixture.server.call(tool, arguments).await;
        assert!(!made.is_failure(), "{}", made.whole);
    }
    assert_eq!(waiting(fixture).await, 1);
    assert_eq!(fixture.server.open_changes(), sent);
    release(&mut holder).await;
    holder.close().await.unwrap();
    for made in calls.join_all().await {
        assert!(!made.is_failure(), "{}", made.whole);
    }
    invariants::assert_hold(fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_restocks_and_exchanges_of_a_locked_sku_wait_in_the_server() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    let mut all = Vec::new();
    for kind in KINDS {
        let of_mugs = changes(&fixture, kind, "MUG", CHANGES).await;
        one_backend_waits(&fixture, of_mugs).await;
        all.extend(changes(&fixture, kind, "MUG", CHANGES).await);
    }
    one_backend_waits(&fixture, all).await;
}

/// Variants are locked before the stock of locations. Otherwise a restock and a shipment of two
/// servers could each hold the row that the other one waits for.
#[tokio::test(flavor = "multi_thread")]
async fn restock_locks_the_variant_before_the_location() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    let other = fixture.another_server(crate::fixture::store::StoreOptions {
        first_id: 1_000_000,
        ..Default::default()
    });
    let other = other.await;
    let restock = restock(&fixture, "MUG").await;
    let order = ordered(&fixture, "MUG").await;
    let url = fixture.database.raw_url();
    let mut holder = AnyConnection::connect(&url).await.unwrap();
    for statement in [
        "BEGIN",
        "SELECT sku FROM stock WHERE sku = 'MUG' FOR UPDATE",
    ] {
        sqlx::query(statement).execute(&mut holder).await.unwrap();
    }
    let restocked = send(&fixture.server, restock);
    until_waiting(&fixture, 1).await;
    let arguments = json!({ "orderId": order, "idempotencyKey": "ship" });
    let shipped = send(&other, ("fulfill-order", arguments));
    until_waiting(&fixture, 2).await;
    let on_variants = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM variants%'";
    assert_eq!(fixture.number(on_variants).await, 1);
    release(&mut holder).await;
    for made in [restocked, shipped] {
        let made = made.await.unwrap();
        assert!(!made.is_failure(), "{}", made.whole);
    }
    invariants::assert_hold(&fixture).await;
}

/// A cancellation waits behind an edit that adds a line. It reads the lines afterwards, and waits in
/// the lane of the new one too.
#[tokio::test(flavor = "multi_thread")]
async fn cancellation_takes_the_lanes_of_lines_that_are_being_added() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    let order = ordered(&fixture, "PIN").await;
    let mut first = hold(&fixture, "MUG").await;
    let updates = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    let arguments = json!({ "orderId": order, "updates": updates });
    let edited = send(&fixture.server, ("update-order", arguments));
    until_waiting(&fixture, 1).await;
    let arguments = json!({ "orderId": order });
    let cancelled = send(&fixture.server, ("cancel-order", arguments));
    until_open(&fixture.server, 2).await;
    let created = send(&fixture.server, (CREATE, buy("MUG", "behind")));
    until_open(&fixture.server, 3).await;
    // Locks the variant after the edit, and before the others.
    let second = {
        let url = fixture.database.raw_url();
        tokio::spawn(async move {
            let mut holder = AnyConnection::connect(&url).await.unwrap();
            lock(&mut holder, "MUG").await;
            holder
        })
    };
    until_waiting(&fixture, 2).await;
    release(&mut first).await;
    let edited = edited.await.unwrap();
    assert!(!edited.is_failure(), "{}", edited.whole);
    let mut second = second.await.unwrap();
    until_waiting(&fixture, 1).await;
    for _ in 0..50 {
        let page = String::from("{}");
        let read = fixture.server.call_text(None, "get-orders", page).await;
        assert!(!read.is_failure(), "{}", read.whole);
        assert_eq!(waiting(&fixture).await, 1);
    }
    release(&mut second).await;
    assert_eq!(created.await.unwrap().status(), "pending");
    assert_eq!(cancelled.await.unwrap().status(), "cancelled");
    let reserved = "SELECT CAST(SUM(reserved) AS BIGINT) FROM variants";
    assert_eq!(fixture.number(reserved).await, 1);
    invariants::assert_hold(&fixture).await;
}
