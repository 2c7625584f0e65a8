//! Any sequence of changes has the results of a simple model, answer by answer.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use crate::requests::ToolResponse;
use crate::sql::invariants;
use crate::sql::rules_model::{Change, ExpectedFailure, RulesModel, Units};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

const SKUS: [&str; 4] = ["SHIRT-S", "SHIRT-L", "GONE", "NONE"];
const LOCATIONS: [&str; 3] = ["loc_east", "loc_west", "loc_none"];
const STATES: [&str; 3] = ["confirmed", "processing", "delivered"];

fn units(most: i64) -> impl Strategy<Value = Units> {
    let sku = prop_oneof![
        8 => Just("SHIRT-S"), 8 => Just("SHIRT-L"), 1 => Just("GONE"), 1 => Just("NONE")
    ];
    prop::collection::vec((sku, 1..=most), 1..4)
}

fn change() -> impl Strategy<Value = Change> {
    let order = || 0..5_usize;
    prop_oneof![
        3 => (units(4), prop::bool::weighted(0.9)).prop_map(|(lines, address)| Change::Create { lines, address }),
        2 => (order(), prop::sample::select(&STATES[..])).prop_map(|(order, status)| Change::Update { order, status }),
        2 => (order(), prop::option::weighted(0.8, units(2))).prop_map(|(order, lines)| Change::Cancel { order, lines }),
        4 => (order(), prop::option::weighted(0.7, units(2)), prop::option::weighted(0.4, prop::sample::select(&LOCATIONS[..])))
            .prop_map(|(order, lines, location)| Change::Fulfill { order, lines, location }),
        2 => (order(), units(2)).prop_map(|(order, lines)| Change::Return { order, lines }),
    ]
}

fn lines(units: &Units) -> Value {
    units
        .iter()
        .map(|(sku, quantity)| json!({ "sku": sku, "quantity": quantity }))
        .collect()
}

/// Returns the tool of a change and its arguments.
fn arguments(change: &Change, ids: &[String]) -> (&'static str, Value) {
    let id = |order: usize| ids.get(order).map_or("ord_none", String::as_str);
    let some = |order: usize, units: Option<&Units>| {
        let mut arguments = json!({ "orderId": id(order) });
        if let Some(units) = units {
            arguments["lineItems"] = lines(units);
        }
        arguments
    };
    match change {
        Change::Create {
            lines: units,
            address,
        } => {
            let mut order = json!({ "lineItems": lines(units) });
            if *address {
                order["shippingAddress"] = json!({ "address1": "1", "city": "X", "country": "US" });
            }
            ("create-sales-order", json!({ "order": order }))
        }
        Change::Update { order, status } => (
            "update-order",
            json!({ "orderId": id(*order), "updates": { "status": status } }),
        ),
        Change::Cancel { order, lines } => ("cancel-order", some(*order, lines.as_ref())),
        Change::Fulfill {
            order,
            lines,
            location,
        } => {
            let mut arguments = some(*order, lines.as_ref());
            if let Some(location) = location {
                arguments["locationId"] = (*location).into();
            }
            ("fulfill-order", arguments)
        }
        Change::Return { order, lines } => {
            let mut arguments = some(*order, Some(lines));
            arguments["outcome"] = "refund".into();
            ("create-return", arguments)
        }
    }
}

/// Returns true if an answer is the one that the model expects.
fn is_expected(response: &ToolResponse, expected: &Result<(), ExpectedFailure>) -> bool {
    match expected {
        Ok(()) => !response.is_failure(),
        Err(ExpectedFailure(code, name, status, available)) => {
            response.failure() == (*code, *name)
                && response.context("status").as_str() == *status
                && response.context("available").as_i64() == *available
        }
    }
}

async fn same(changes: &[Change]) -> Result<(), TestCaseError> {
    let fixture = StoreFixture::on(TestDatabase::sqlite()).await;
    let (mut model, mut ids) = (RulesModel::new(), Vec::new());
    for change in changes {
        let (tool, arguments) = arguments(change, &ids);
        let response = fixture.server.call(tool, arguments).await;
        let expected = model.make(change);
        prop_assert!(
            is_expected(&response, &expected),
            "{change:?}: {expected:?}, but {}",
            response.whole
        );
        if let (Change::Create { .. }, Ok(())) = (change, &expected) {
            ids.push(response.order().to_owned());
        }
    }
    for (id, order) in ids.iter().zip(&model.orders) {
        let status = fixture
            .rows(&format!("SELECT status FROM orders WHERE id = '{id}'"))
            .await;
        prop_assert_eq!(&status, &[order.status]);
        let sums = "SELECT sku, SUM(quantity), SUM(fulfilled), SUM(cancelled), SUM(returned) FROM order_lines";
        let sums = fixture
            .rows(&format!(
                "{sums} WHERE order_id = '{id}' GROUP BY sku ORDER BY sku"
            ))
            .await;
        let expected = order.skus.iter().map(|(sku, one)| {
            format!(
                "{sku} {} {} {} {}",
                one.ordered, one.sent, one.cancelled, one.back
            )
        });
        prop_assert_eq!(sums, expected.collect::<Vec<_>>());
    }
    for sku in &SKUS[..2] {
        let stock = fixture
            .rows(&format!(
                "SELECT on_hand, reserved FROM variants WHERE sku = '{sku}'"
            ))
            .await;
        prop_assert_eq!(
            stock,
            [format!("{} {}", model.on_hand(sku), model.reserved(sku))]
        );
        let places = fixture
            .rows(&format!(
                "SELECT on_hand FROM stock WHERE sku = '{sku}' ORDER BY location_id"
            ))
            .await;
        let expected: Vec<_> = model
            .stock
            .iter()
            .filter(|((of, _), _)| of == sku)
            .map(|(_, units)| units.to_string())
            .collect();
        prop_assert_eq!(places, expected);
    }
    invariants::assert_hold(&fixture).await;
    Ok(())
}

#[test]
fn changes_have_the_results_of_the_model() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    });
    let changes = prop::collection::vec(change(), 1..40);
    let done = runner.run(&changes, |changes| runtime.block_on(same(&changes)));
    done.unwrap();
}
