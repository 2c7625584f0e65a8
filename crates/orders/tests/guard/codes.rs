//! One failure of each of the eight codes, through the desk, byte for byte and held against the schema.

use crate::house::{Plan, SECOND, Said, order};
use crate::scripted::{Step, Steps, fails};
use candor_orders::dialect::schemas;
use candor_orders::model::OrderStatus;
use candor_orders::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use serde_json::{Value, json};
use std::num::NonZeroU32;

async fn failing(tool: &str, arguments: Value, steps: Steps) -> Said {
    let house = Plan::default().once().always(steps).house();
    house.ask(tool, arguments).await
}

async fn burst() -> Said {
    let mut plan = Plan::default();
    plan.config.calls_a_minute = NonZeroU32::new(1);
    let house = plan.house();
    house.find().await;
    house.find().await
}

async fn left_alone() -> Said {
    let down = fails(Failure::Unavailable(None, None));
    let house = Plan::default()
        .breaking_after(1)
        .once()
        .always(down)
        .house();
    house.find().await;
    house.find().await
}

#[tokio::test(start_paused = true)]
async fn every_code_is_reached_by_a_cause_of_its_own() {
    let inverted = json!({
        "createdAtMin": "2025-10-13T00:00:00Z",
        "createdAtMax": "2025-10-12T00:00:00Z"
    });
    let fulfil = json!({ "orderId": "1", "idempotencyKey": "k" });
    let no_address = RuleViolation::new("order.shippingAddress", OrderRule::ShippingAddress);
    let shipped =
        OrderRefusal::from(RefusalReason::InvalidOrderState).in_status(OrderStatus::Shipped);
    let no_stock = OrderRefusal::from(RefusalReason::InsufficientInventory)
        .at("order.lineItems.0.quantity")
        .having(3);
    let busy = Failure::Busy(
        Box::new(RefusalReason::BackendRefused.into()),
        Some(SECOND),
        None,
    );
    let lost = vec![
        Step::Begin,
        Step::Fail(Failure::Unavailable(Some(2 * SECOND), None)),
    ];
    let (find, create) = ("get-orders", "create-sales-order");
    let cases = [
        (2001, failing(find, inverted, vec![]).await),
        (
            2002,
            failing("fulfill-order", fulfil, fails(no_address)).await,
        ),
        (
            2003,
            failing(find, json!({ "cursor": "AAAA" }), vec![]).await,
        ),
        (3001, burst().await),
        (
            3002,
            failing(create, order(), vec![Step::Begin, Step::Hang]).await,
        ),
        (4001, failing(create, order(), fails(shipped)).await),
        (4001, failing(create, order(), fails(no_stock)).await),
        (4001, failing(create, order(), fails(busy)).await),
        (4002, failing(create, order(), lost).await),
        (4002, left_alone().await),
        (
            5001,
            failing(create, order(), fails(Failure::Unsupported)).await,
        ),
    ];
    let result = jsonschema::validator_for(&schemas::result()).unwrap();
    let response = jsonschema::validator_for(&schemas::response()).unwrap();
    let mut lines = Vec::new();
    for (code, said) in cases {
        assert_eq!(said.error()["code"], json!(code));
        let value = said.value();
        let found = result.iter_errors(&value["result"]).next();
        assert!(found.is_none(), "{found:?}");
        let found = response
            .iter_errors(&value["result"]["error"])
            .next()
            .is_none();
        assert!(found);
        lines.push(said.line());
    }
    insta::assert_snapshot!(lines.join("\n"));
}
