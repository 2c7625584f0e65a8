//! `create-return`: no more than was shipped.

use crate::fixture::store::StoreFixture;
use crate::sql::cancel::{order, units};
use serde_json::{Value, json};

fn back(order: &str, lines: &[(&str, i64)], outcome: &str) -> Value {
    let mut arguments = units(order, lines);
    arguments["outcome"] = outcome.into();
    arguments
}

pub(crate) async fn quantities(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded("fulfill-order", json!({ "orderId": id }))
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("SHIRT-S", 4)], "refund"))
        .await;
    fixture
        .record_rows("SELECT line, sku, fulfilled, returned FROM order_lines ORDER BY line")
        .await;
    fixture
        .call_recorded(
            "create-return",
            back(&id, &[("MUG", 1), ("SHIRT-S", 4)], "exchange"),
        )
        .await;
    fixture
        .call_recorded(
            "create-return",
            back(
                &id,
                &[("SHIRT-S", 1), ("MUG", 2), ("SHIRT-S", 2)],
                "store-credit",
            ),
        )
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    fixture
        .record_rows("SELECT line, sku, fulfilled, returned FROM order_lines ORDER BY line")
        .await;
    fixture.record_rows("SELECT id, order_id, outcome, details, created_at, updated_at FROM returns ORDER BY created_at").await;
    fixture
        .record_rows("SELECT status, updated_at FROM orders")
        .await;
    fixture.record_stock("SHIRT-S").await;
    insta::assert_snapshot!("quantities", fixture.transcript());
}

pub(crate) async fn refusals(fixture: &StoreFixture) {
    let id = order(fixture).await;
    fixture
        .call_recorded("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    fixture
        .call_recorded("fulfill-order", units(&id, &[("MUG", 1)]))
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("MUG", 2)], "refund"))
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("PIN", 1)], "refund"))
        .await;
    fixture
        .call_recorded("create-return", back("ord_none", &[("MUG", 1)], "refund"))
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("MUG", 1)], "gift"))
        .await;
    fixture
        .call_recorded("create-return", back(&id, &[("MUG", 1)], "refund"))
        .await;
    fixture.record_rows("SELECT COUNT(*) FROM returns").await;
    insta::assert_snapshot!("refusals", fixture.transcript());
}
