//! Concurrent calls: stock is sold once, calls do not fail each other, and sums stay right.

use crate::fixture::store::{StoreFixture, StoreOptions, StoreServer};
use crate::requests::ToolResponse;
use crate::sql::update::order_in;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::task::JoinSet;

const CREATE: &str = "create-sales-order";

/// Makes all calls at once.
async fn at_once(
    calls: impl IntoIterator<Item = (StoreServer, &'static str, Value)>,
) -> Vec<ToolResponse> {
    let mut tasks = JoinSet::new();
    for (index, (server, tool, arguments)) in calls.into_iter().enumerate() {
        tasks.spawn(async move { (index, server.call(tool, arguments).await) });
    }
    let mut response = tasks.join_all().await;
    response.sort_by_key(|(index, _)| *index);
    response.into_iter().map(|(_, response)| response).collect()
}

fn counted(response: &[ToolResponse]) -> BTreeMap<(i64, &str), usize> {
    let mut counts = BTreeMap::new();
    for one in response {
        *counts.entry(one.failure()).or_default() += 1;
    }
    counts
}

/// Sells the last hundred mugs, each once, through any number of servers.
async fn sell_out(fixture: &StoreFixture, houses: &[StoreServer]) {
    let buy = |client: usize, round: i64| {
        let quantity = 1 + (client as i64 + round) % 3;
        let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": quantity }] });
        (
            houses[client % houses.len()].clone(),
            CREATE,
            json!({ "order": order, "idempotencyKey": format!("{client}-{round}") }),
        )
    };
    let clients = (0..64).map(|client| buy(client, 0));
    let response = at_once(clients).await;
    let units = |response: &[ToolResponse]| -> i64 {
        let sold = response
            .iter()
            .filter_map(|one| one.at("/order/lineItems/0/quantity").as_i64());
        sold.sum()
    };
    let counts = counted(&response);
    assert!(
        counts
            .keys()
            .all(|failure| [(0, ""), (4001, "INSUFFICIENT_INVENTORY")].contains(failure)),
        "{counts:?}"
    );
    // Orders of single units get what is left.
    let left = 100 - units(&response);
    assert!((0..3).contains(&left), "{left} left");
    let singles = (100..116).map(|client| {
        let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
        (
            houses[client % houses.len()].clone(),
            CREATE,
            json!({ "order": order, "idempotencyKey": format!("{client}") }),
        )
    });
    let last = at_once(singles).await;
    assert_eq!(units(&last), left);
    let stock = fixture
        .rows("SELECT on_hand, reserved FROM variants WHERE sku = 'MUG'")
        .await;
    assert_eq!(stock, ["100 100"]);
}

pub(crate) async fn last_units(fixture: &StoreFixture) {
    sell_out(fixture, std::slice::from_ref(&fixture.server)).await;
}

pub(crate) async fn two_servers(fixture: &StoreFixture) {
    let other = fixture
        .another_server(StoreOptions {
            first_id: 1 << 32,
            ..StoreOptions::default()
        })
        .await;
    sell_out(fixture, &[fixture.server.clone(), other.clone()]).await;
    // A key is shared by both servers.
    let arguments = json!({ "order": { "lineItems": [{ "sku": "PIN", "quantity": 1 }] }, "idempotencyKey": "both" });
    let calls = (0..16).map(|call| {
        let server = if call % 2 == 0 {
            &fixture.server
        } else {
            &other
        };
        (server.clone(), CREATE, arguments.clone())
    });
    let response = at_once(calls).await;
    assert!(response.iter().all(|one| one.whole == response[0].whole));
    assert_eq!(response[0].failure(), (0, ""));
}

pub(crate) async fn opposite_orders(fixture: &StoreFixture) {
    let lines = ["MUG", "PIN", "SHIRT-L", "SHIRT-S"];
    let calls = (0..40).map(|call| {
        let line = |sku: &&str| json!({ "sku": sku, "quantity": 1 });
        let lines: Vec<_> = match call % 2 {
            0 => lines.iter().map(line).collect(),
            _ => lines.iter().rev().map(line).collect(),
        };
        (
            fixture.server.clone(),
            CREATE,
            json!({ "order": { "lineItems": lines } }),
        )
    });
    let response = at_once(calls).await;
    let expected = BTreeMap::from([((0, ""), 8), ((4001, "INSUFFICIENT_INVENTORY"), 32)]);
    assert_eq!(counted(&response), expected);
    // Fulfilments and cancellations lock in opposite orders, too.
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    let made: Vec<_> = response
        .iter()
        .filter(|one| !one.is_failure())
        .map(|one| one.order().to_owned())
        .collect();
    for id in &made {
        let updated = fixture
            .server
            .call(
                "update-order",
                json!({ "orderId": id, "updates": { "shippingAddress": address } }),
            )
            .await;
        assert!(!updated.is_failure());
    }
    let calls = made.iter().flat_map(|id| {
        [true, false].map(|forward| {
            let mut skus = lines.to_vec();
            if forward {
                skus.reverse();
            }
            let lines: Vec<_> = skus[..2]
                .iter()
                .map(|sku| json!({ "sku": sku, "quantity": 1 }))
                .collect();
            let tool = if forward {
                "fulfill-order"
            } else {
                "cancel-order"
            };
            (
                fixture.server.clone(),
                tool,
                json!({ "orderId": id, "lineItems": lines }),
            )
        })
    });
    let response = at_once(calls).await;
    assert_eq!(counted(&response), BTreeMap::from([((0, ""), 16)]));
}

pub(crate) async fn cancel_races_fulfill(fixture: &StoreFixture) {
    for _ in 0..50 {
        let id = order_in(fixture, "confirmed").await;
        let arguments = json!({ "orderId": id });
        let response = at_once([
            (fixture.server.clone(), "cancel-order", arguments.clone()),
            (fixture.server.clone(), "fulfill-order", arguments),
        ])
        .await;
        let status = fixture
            .rows(&format!("SELECT status FROM orders WHERE id = '{id}'"))
            .await;
        let lost = (4001, "INVALID_ORDER_STATE");
        let (loser, expected) = match status[0].as_str() {
            "cancelled" => (&response[1], [(0, ""), lost]),
            "shipped" => (&response[0], [lost, (0, "")]),
            other => panic!("{other}"),
        };
        assert_eq!([response[0].failure(), response[1].failure()], expected);
        assert_eq!(loser.context("status"), status[0].as_str());
    }
}

pub(crate) async fn same_external_id(fixture: &StoreFixture) {
    for round in 0..10 {
        let calls = (0..8).map(|_| {
            let order = json!({ "externalId": format!("ext-{round}"), "lineItems": [{ "sku": "PIN", "quantity": 1 }] });
            (fixture.server.clone(), CREATE, json!({ "order": order }))
        });
        let response = at_once(calls).await;
        let expected = BTreeMap::from([((0, ""), 1), ((4001, "EXTERNAL_ID_CONFLICT"), 7)]);
        assert_eq!(counted(&response), expected);
    }
}

pub(crate) async fn same_new_customer(fixture: &StoreFixture) {
    let calls = (0..32).map(|call| {
        let customer =
            json!({ "email": if call % 2 == 0 { "new@example.com" } else { "NEW@example.com" } });
        let sku = ["PIN", "MUG"][call % 2];
        let order = json!({ "customer": customer, "lineItems": [{ "sku": sku, "quantity": 1 }] });
        (fixture.server.clone(), CREATE, json!({ "order": order }))
    });
    let response = at_once(calls).await;
    assert_eq!(counted(&response), BTreeMap::from([((0, ""), 32)]));
    let id = response[0].at("/order/customer/id");
    assert!(
        response
            .iter()
            .all(|one| one.at("/order/customer/id") == id)
    );
    assert_eq!(fixture.number("SELECT COUNT(*) FROM customers").await, 3);
}
