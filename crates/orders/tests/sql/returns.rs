//! `create-return`: no more comes back than has left.

use crate::cancel::{order, units};
use crate::stage::Stage;
use serde_json::{Value, json};

fn back(order: &str, lines: &[(&str, i64)], outcome: &str) -> Value {
    let mut asked = units(order, lines);
    asked["outcome"] = outcome.into();
    asked
}

pub(crate) async fn quantities(stage: &Stage) {
    let id = order(stage).await;
    stage.tell("fulfill-order", json!({ "orderId": id })).await;
    stage
        .tell("create-return", back(&id, &[("SHIRT-S", 4)], "refund"))
        .await;
    stage
        .show("SELECT line, sku, fulfilled, returned FROM order_lines ORDER BY line")
        .await;
    stage
        .tell(
            "create-return",
            back(&id, &[("MUG", 1), ("SHIRT-S", 4)], "exchange"),
        )
        .await;
    stage
        .tell(
            "create-return",
            back(
                &id,
                &[("SHIRT-S", 1), ("MUG", 2), ("SHIRT-S", 2)],
                "store-credit",
            ),
        )
        .await;
    stage
        .tell("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    stage
        .show("SELECT line, sku, fulfilled, returned FROM order_lines ORDER BY line")
        .await;
    stage.show("SELECT id, order_id, outcome, details, created_at, updated_at FROM returns ORDER BY created_at").await;
    stage.show("SELECT status, updated_at FROM orders").await;
    stage.show_stock("SHIRT-S").await;
    insta::assert_snapshot!("quantities", stage.script());
}

pub(crate) async fn refusals(stage: &Stage) {
    let id = order(stage).await;
    stage
        .tell("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    stage.tell("fulfill-order", units(&id, &[("MUG", 1)])).await;
    stage
        .tell("create-return", back(&id, &[("MUG", 2)], "refund"))
        .await;
    stage
        .tell("create-return", back(&id, &[("PIN", 1)], "refund"))
        .await;
    stage
        .tell("create-return", back("ord_none", &[("MUG", 1)], "refund"))
        .await;
    stage
        .tell("create-return", back(&id, &[("MUG", 1)], "gift"))
        .await;
    stage
        .tell("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    stage.show("SELECT COUNT(*) FROM returns").await;
    insta::assert_snapshot!("refusals", stage.script());
}
