//! `create-sales-order`: currencies, prices and sums.

use crate::stage::Stage;
use serde_json::{Value, json};

const CREATE: &str = "create-sales-order";

async fn create(stage: &Stage, order: Value) {
    stage.tell(CREATE, json!({ "order": order })).await;
}

pub(crate) async fn currencies(stage: &Stage) {
    let priced = |currency: &str, price: &str| json!({ "currency": currency, "lineItems": [{ "sku": "MUG", "quantity": 3, "unitPrice": price }] });
    create(
        stage,
        json!({ "currency": "USD", "lineItems": [{ "sku": "MUG", "quantity": 3 }] }),
    )
    .await;
    create(
        stage,
        json!({ "currency": "EUR", "lineItems": [{ "sku": "MUG", "quantity": 3 }] }),
    )
    .await;
    create(stage, priced("EUR", "7.5")).await;
    create(stage, priced("JPY", "750")).await;
    create(stage, priced("JPY", "750.0")).await;
    create(stage, priced("KWD", "0.001")).await;
    create(stage, priced("KWD", "0.0001")).await;
    create(stage, priced("XXX", "1")).await;
    create(stage, priced("usd", "1")).await;
    // One line without a price is enough.
    let half =
        json!([{ "sku": "MUG", "quantity": 1, "unitPrice": "1" }, { "sku": "PIN", "quantity": 1 }]);
    create(stage, json!({ "currency": "EUR", "lineItems": half })).await;
    insta::assert_snapshot!("currencies", stage.script());
}

pub(crate) async fn totals(stage: &Stage) {
    let with = |name: &str, amount: &str| {
        let lines = json!([{ "sku": "MUG", "quantity": 3, "unitDiscount": "0.5" }]);
        json!({ "lineItems": lines, name: amount })
    };
    for (name, amount) in [
        ("total", "21"),
        ("total", "21.00"),
        ("total", "21.01"),
        ("total", "21.001"),
        ("subTotal", "22.5"),
        ("subTotal", "22.4"),
        ("discountTotal", "1.50"),
        ("discountTotal", "0"),
        ("total", "-1"),
    ] {
        create(stage, with(name, amount)).await;
    }
    stage.show_stock("MUG").await;
    insta::assert_snapshot!("totals", stage.script());
}

pub(crate) async fn discounts(stage: &Stage) {
    let line = |price: Option<&str>, off: &str| {
        let mut line = json!({ "sku": "MUG", "quantity": 1, "unitDiscount": off });
        if let Some(price) = price {
            line["unitPrice"] = price.into();
        }
        json!({ "lineItems": [{ "sku": "PIN", "quantity": 1 }, line] })
    };
    create(stage, line(None, "7.50")).await;
    create(stage, line(None, "7.51")).await;
    create(stage, line(Some("1"), "1.01")).await;
    let mut in_dollars = line(Some("1"), "1.01");
    in_dollars["currency"] = "USD".into();
    create(stage, in_dollars).await;
    insta::assert_snapshot!("discounts", stage.script());
}

pub(crate) async fn too_many_digits(stage: &Stage) {
    let line = |price: &str, quantity: i64| json!({ "sku": "PIN", "quantity": quantity, "unitPrice": price });
    create(stage, json!({ "lineItems": [line("9999999999999.99", 1)] })).await;
    create(
        stage,
        json!({ "lineItems": [line("99999999999999.99", 1)] }),
    )
    .await;
    create(stage, json!({ "lineItems": [line("9999999999999.99", 2)] })).await;
    create(
        stage,
        json!({ "lineItems": [line("9999999999999.99", 1), line("0.01", 1)] }),
    )
    .await;
    create(stage, json!({ "lineItems": [line("10000000", 1_000_000)] })).await;
    create(stage, json!({ "lineItems": [line("1", 1_000_001)] })).await;
    insta::assert_snapshot!("too_many_digits", stage.script());
}
