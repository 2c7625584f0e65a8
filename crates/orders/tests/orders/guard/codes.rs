//! One failure of each of the eight codes, byte for byte and validated against the schema.

use crate::fixture::guarded::{SECOND, ServerBuilder, order};
use crate::fixture::scripted_adapter::{AdapterStep, Steps, fails};
use crate::requests::ToolResponse;
use candor_orders::dialect::schemas;
use candor_orders::model::OrderStatus;
use candor_orders::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use serde_json::{Value, json};
use std::num::NonZeroU32;

async fn failing(tool: &str, arguments: Value, steps: Steps) -> ToolResponse {
    let server = ServerBuilder::default()
        .with_one_attempt()
        .with_every_call(steps)
        .build();
    server.call(tool, arguments).await
}

async fn burst() -> ToolResponse {
    let mut builder = ServerBuilder::default();
    builder.config.calls_a_minute = NonZeroU32::new(1);
    let server = builder.build();
    server.find().await;
    server.find().await
}

async fn left_alone() -> ToolResponse {
    let down = fails(Failure::Unavailable(None, None));
    let server = ServerBuilder::default()
        .with_breaker_after(1)
        .with_one_attempt()
        .with_every_call(down)
        .build();
    server.find().await;
    server.find().await
}

#[tokio::test(start_paused = true)]
async fn every_code_has_its_cause() {
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
        AdapterStep::Begin,
        AdapterStep::Fail(Failure::Unavailable(Some(2 * SECOND), None)),
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
            failing(create, order(), vec![AdapterStep::Begin, AdapterStep::Hang]).await,
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
    let error_schema = jsonschema::validator_for(&schemas::response()).unwrap();
    let mut lines = Vec::new();
    for (code, response) in cases {
        assert_eq!(response.error()["code"], json!(code));
        let value = response.message();
        let found = result.iter_errors(&value["result"]).next();
        assert!(found.is_none(), "{found:?}");
        let found = error_schema
            .iter_errors(&value["result"]["error"])
            .next()
            .is_none();
        assert!(found);
        lines.push(response.line);
    }
    insta::assert_snapshot!(lines.join("\n"));
}
