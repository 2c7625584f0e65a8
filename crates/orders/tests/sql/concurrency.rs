//! Many at once: stock is sold once, nobody fails for another's sake, and sums stay right.

use crate::said::Said;
use crate::stage::{House, Plan, Stage};
use crate::update::order_in;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::task::JoinSet;

const CREATE: &str = "create-sales-order";

/// Makes all calls at once.
async fn at_once(calls: impl IntoIterator<Item = (House, &'static str, Value)>) -> Vec<Said> {
    let mut tasks = JoinSet::new();
    for (place, (house, tool, arguments)) in calls.into_iter().enumerate() {
        tasks.spawn(async move { (place, house.ask(tool, arguments).await) });
    }
    let mut said = tasks.join_all().await;
    said.sort_by_key(|(place, _)| *place);
    said.into_iter().map(|(_, said)| said).collect()
}

fn counted(said: &[Said]) -> BTreeMap<(i64, &str), usize> {
    let mut counts = BTreeMap::new();
    for one in said {
        *counts.entry(one.failure()).or_default() += 1;
    }
    counts
}

/// Of the last hundred mugs each is sold once, by any number of servers.
async fn sell_out(stage: &Stage, houses: &[House]) {
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
    let said = at_once(clients).await;
    let units = |said: &[Said]| -> i64 {
        let sold = said
            .iter()
            .filter_map(|one| one.at("/order/lineItems/0/quantity").as_i64());
        sold.sum()
    };
    let counts = counted(&said);
    assert!(
        counts
            .keys()
            .all(|failure| [(0, ""), (4001, "INSUFFICIENT_INVENTORY")].contains(failure)),
        "{counts:?}"
    );
    // Single units find what is left.
    let left = 100 - units(&said);
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
    let stock = stage
        .rows("SELECT on_hand, reserved FROM variants WHERE sku = 'MUG'")
        .await;
    assert_eq!(stock, ["100 100"]);
}

pub(crate) async fn last_units(stage: &Stage) {
    sell_out(stage, std::slice::from_ref(&stage.house)).await;
}

pub(crate) async fn two_servers(stage: &Stage) {
    let other = stage
        .another(Plan {
            first_id: 1 << 32,
            ..Plan::default()
        })
        .await;
    sell_out(stage, &[stage.house.clone(), other.clone()]).await;
    // A key is the same key on both.
    let arguments = json!({ "order": { "lineItems": [{ "sku": "PIN", "quantity": 1 }] }, "idempotencyKey": "both" });
    let calls = (0..16).map(|call| {
        let house = if call % 2 == 0 { &stage.house } else { &other };
        (house.clone(), CREATE, arguments.clone())
    });
    let said = at_once(calls).await;
    assert!(said.iter().all(|one| one.whole == said[0].whole));
    assert_eq!(said[0].failure(), (0, ""));
}

pub(crate) async fn opposite_orders(stage: &Stage) {
    let lines = ["MUG", "PIN", "SHIRT-L", "SHIRT-S"];
    let calls = (0..40).map(|call| {
        let line = |sku: &&str| json!({ "sku": sku, "quantity": 1 });
        let lines: Vec<_> = match call % 2 {
            0 => lines.iter().map(line).collect(),
            _ => lines.iter().rev().map(line).collect(),
        };
        (
            stage.house.clone(),
            CREATE,
            json!({ "order": { "lineItems": lines } }),
        )
    });
    let said = at_once(calls).await;
    let expected = BTreeMap::from([((0, ""), 8), ((4001, "INSUFFICIENT_INVENTORY"), 32)]);
    assert_eq!(counted(&said), expected);
    // They leave and are cancelled in opposite orders, too.
    let address = json!({ "address1": "1", "city": "X", "country": "US" });
    let made: Vec<_> = said
        .iter()
        .filter(|one| !one.is_failure())
        .map(|one| one.order().to_owned())
        .collect();
    for id in &made {
        let updated = stage
            .house
            .ask(
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
                stage.house.clone(),
                tool,
                json!({ "orderId": id, "lineItems": lines }),
            )
        })
    });
    let said = at_once(calls).await;
    assert_eq!(counted(&said), BTreeMap::from([((0, ""), 16)]));
}

pub(crate) async fn cancel_races_fulfill(stage: &Stage) {
    for _ in 0..50 {
        let id = order_in(stage, "confirmed").await;
        let asked = json!({ "orderId": id });
        let said = at_once([
            (stage.house.clone(), "cancel-order", asked.clone()),
            (stage.house.clone(), "fulfill-order", asked),
        ])
        .await;
        let status = stage
            .rows(&format!("SELECT status FROM orders WHERE id = '{id}'"))
            .await;
        let lost = (4001, "INVALID_ORDER_STATE");
        let (loser, expected) = match status[0].as_str() {
            "cancelled" => (&said[1], [(0, ""), lost]),
            "shipped" => (&said[0], [lost, (0, "")]),
            other => panic!("{other}"),
        };
        assert_eq!([said[0].failure(), said[1].failure()], expected);
        assert_eq!(loser.context("status"), status[0].as_str());
    }
}

pub(crate) async fn same_external_id(stage: &Stage) {
    for round in 0..10 {
        let calls = (0..8).map(|_| {
            let order = json!({ "externalId": format!("ext-{round}"), "lineItems": [{ "sku": "PIN", "quantity": 1 }] });
            (stage.house.clone(), CREATE, json!({ "order": order }))
        });
        let said = at_once(calls).await;
        let expected = BTreeMap::from([((0, ""), 1), ((4001, "EXTERNAL_ID_CONFLICT"), 7)]);
        assert_eq!(counted(&said), expected);
    }
}

pub(crate) async fn same_new_customer(stage: &Stage) {
    let calls = (0..32).map(|call| {
        let customer =
            json!({ "email": if call % 2 == 0 { "new@example.com" } else { "NEW@example.com" } });
        let sku = ["PIN", "MUG"][call % 2];
        let order = json!({ "customer": customer, "lineItems": [{ "sku": sku, "quantity": 1 }] });
        (stage.house.clone(), CREATE, json!({ "order": order }))
    });
    let said = at_once(calls).await;
    assert_eq!(counted(&said), BTreeMap::from([((0, ""), 32)]));
    let id = said[0].at("/order/customer/id");
    assert!(said.iter().all(|one| one.at("/order/customer/id") == id));
    assert_eq!(stage.number("SELECT COUNT(*) FROM customers").await, 3);
}
