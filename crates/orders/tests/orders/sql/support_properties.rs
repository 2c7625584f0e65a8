//! Random support work keeps every invariant, and has the same answers on both databases.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use candor_orders::sql::invariants;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A random call. Orders and returns are chosen by their number among those that exist.
#[derive(Debug, Clone)]
struct RandomCall {
    kind: usize,
    order: usize,
    sku: &'static str,
    quantity: i64,
    cents: i64,
    choice: usize,
}

fn random_call() -> impl Strategy<Value = RandomCall> {
    let sku = prop::sample::select(&["SHIRT-S", "SHIRT-L", "MUG", "GONE"][..]);
    (
        0..16_usize,
        0..4_usize,
        sku,
        0..4_i64,
        0..3_000_i64,
        0..12_usize,
    )
        .prop_map(|(kind, order, sku, quantity, cents, choice)| RandomCall {
            kind,
            order,
            sku,
            quantity,
            cents,
            choice,
        })
}

fn amount(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// The ids of a store, in the order in which they were made.
#[derive(Debug, Default)]
struct KnownIds {
    orders: Vec<String>,
    /// The id of a return and of its order.
    returns: Vec<(String, String)>,
}

impl RandomCall {
    fn lines(&self) -> Value {
        json!([{ "sku": self.sku, "quantity": self.quantity.max(1) }])
    }

    fn updates(&self, number: usize, ids: &KnownIds) -> Value {
        let reference = format!("{}", self.choice % 5);
        let method = ["card", "cash", "other"][self.choice % 3];
        match self.kind {
            3 => {
                let status = ["confirmed", "processing", "delivered"][self.choice % 3];
                json!({ "status": status })
            }
            4..=6 => {
                let mut edit = json!({ "sku": self.sku, "quantity": self.quantity });
                if self.choice.is_multiple_of(4) {
                    edit["line"] = (self.choice % 3 + 1).into();
                }
                if self.choice.is_multiple_of(3) {
                    edit["tax"] = amount(self.cents % 300).into();
                }
                json!({ "lineItems": [edit] })
            }
            7 | 8 => {
                let status = ["authorized", "captured"][self.choice % 2];
                let entry = json!({ "reference": reference, "method": method, "amount": amount(self.cents), "status": status });
                json!({ "payments": [entry] })
            }
            9 => {
                json!({ "refunds": [{ "reference": format!("{reference}-{}", number % 3), "amount": amount(self.cents / 4) }] })
            }
            10 => {
                json!({ "shipping": { "price": amount(self.cents), "tax": amount(self.cents / 5) }, "name": reference })
            }
            _ => {
                let status = ["received", "completed", "declined", "received"][self.choice % 4];
                let known = ids.returns.get(self.order);
                let id = known.map_or("ret_none", |(id, _)| id);
                let mut step = json!({ "id": id, "status": status });
                if self.choice % 4 == 3 {
                    step["restockLocationId"] =
                        ["loc_east", "loc_west", "loc_none"][self.choice % 3].into();
                }
                json!({ "returns": [step] })
            }
        }
    }

    /// Returns the tool and its arguments.
    fn arguments(&self, number: usize, ids: &KnownIds) -> (&'static str, Value) {
        let id = ids
            .orders
            .get(self.order)
            .map_or("ord_none", String::as_str);
        match self.kind {
            0..=2 => {
                let mut order = json!({
                    "lineItems": [
                        { "sku": self.sku, "quantity": self.quantity.max(1), "tax": amount(self.cents % 200) },
                        { "sku": "MUG", "quantity": 2, "unitDiscount": amount(self.cents % 100) }
                    ],
                    "shippingAddress": { "address1": "1", "city": "X", "country": "US", "phone": "+1 212 7654321" },
                    "shipping": { "price": amount(self.cents) }, "taxIncluded": self.choice.is_multiple_of(2),
                    "orderDiscount": amount(self.cents / 3), "orderTax": amount(self.cents % 50)
                });
                if self.choice.is_multiple_of(3) {
                    let entry =
                        json!({ "reference": "0", "method": "card", "amount": amount(self.cents) });
                    order["payments"] = json!([entry]);
                }
                ("create-sales-order", json!({ "order": order }))
            }
            3..=10 => (
                "update-order",
                json!({ "orderId": id, "updates": self.updates(number, ids) }),
            ),
            11 => {
                let known = ids.returns.get(self.order);
                let order = known.map_or(id, |(_, order)| order);
                (
                    "update-order",
                    json!({ "orderId": order, "updates": self.updates(number, ids) }),
                )
            }
            12 => (
                "cancel-order",
                json!({ "orderId": id, "lineItems": self.lines() }),
            ),
            13 | 14 => match self.choice % 3 {
                0 => (
                    "fulfill-order",
                    json!({ "orderId": id, "trackingNumbers": ["T"] }),
                ),
                _ => (
                    "fulfill-order",
                    json!({ "orderId": id, "lineItems": self.lines() }),
                ),
            },
            _ => {
                let outcome = ["refund", "exchange", "store-credit"][self.choice % 3];
                let mut back =
                    json!({ "orderId": id, "lineItems": self.lines(), "outcome": outcome });
                if outcome == "exchange" && self.choice % 2 == 1 {
                    back["exchangeLineItems"] = json!([{ "sku": "SHIRT-L", "quantity": 1 }]);
                }
                if self.choice.is_multiple_of(4) {
                    back["refundAmount"] = amount(self.cents).into();
                }
                ("create-return", back)
            }
        }
    }
}

/// Replaces ids by their number and times by a letter: both come from clocks.
fn masked(text: &str, ids: &mut BTreeMap<String, usize>) -> String {
    fn walk(value: &mut Value, ids: &mut BTreeMap<String, usize>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, ids)),
            Value::Object(members) => members.values_mut().for_each(|member| walk(member, ids)),
            Value::String(text) if text.ends_with('Z') && text.len() == 27 => {
                *text = String::from("T")
            }
            Value::String(text) if text.len() == 29 && text.as_bytes()[3] == b'_' => {
                let next = ids.len();
                let number = ids.entry(text.clone()).or_insert(next);
                *text = format!("{}{number}", &text[..4]);
            }
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    walk(&mut value, ids);
    value.to_string()
}

async fn answers(
    database: TestDatabase,
    calls: &[RandomCall],
) -> Result<Vec<String>, TestCaseError> {
    let fixture = StoreFixture::on(database).await;
    let url = fixture.database.database_url();
    let (mut known, mut ids, mut answers) = (KnownIds::default(), BTreeMap::new(), Vec::new());
    for (number, call) in calls.iter().enumerate() {
        let (tool, arguments) = call.arguments(number, &known);
        let response = fixture.server.call(tool, arguments).await;
        let text = |pointer: &str| response.at(pointer).as_str().map(str::to_owned);
        if tool == "create-sales-order" {
            known.orders.extend(text("/order/id"));
        }
        known.orders.extend(text("/return/exchangeOrderId"));
        if let (Some(id), Some(order)) = (text("/return/id"), text("/return/orderId")) {
            known.returns.push((id, order));
        }
        answers.push(format!("{tool} {}", masked(&response.text, &mut ids)));
        let broken = invariants(&url).await.unwrap();
        prop_assert_eq!(broken, [""; 0], "after {:?}: {}", call, response.text);
    }
    crate::sql::invariants::assert_hold(&fixture).await;
    Ok(answers)
}

#[test]
fn support_work_keeps_every_invariant_and_is_equal_on_both_databases() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 4,
        failure_persistence: None,
        ..Config::default()
    });
    let calls = prop::collection::vec(random_call(), 15..40);
    // A short random sequence may have no success, but not all of them.
    let succeeded = Cell::new(0);
    let done = runner.run(&calls, |calls| {
        runtime.block_on(async {
            let file = answers(TestDatabase::sqlite(), &calls).await?;
            let is_success = |answer: &&String| !answer.contains("\"error\"");
            succeeded.set(succeeded.get() + file.iter().filter(is_success).count());
            if let Some(database) = TestDatabase::postgres() {
                prop_assert_eq!(answers(database, &calls).await?, file);
            }
            Ok(())
        })
    });
    done.unwrap();
    assert!(succeeded.get() > 0, "every call failed");
}
