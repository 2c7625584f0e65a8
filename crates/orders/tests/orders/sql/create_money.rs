//! `create-sales-order`: currencies, prices and sums.

use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};

const CREATE: &str = "create-sales-order";

async fn create(fixture: &StoreFixture, order: Value) {
    fixture
        .call_recorded(CREATE, json!({ "order": order }))
        .await;
}

pub(crate) async fn currencies(fixture: &StoreFixture) {
    let priced = |currency: &str, price: &str| json!({ "currency": currency, "lineItems": [{ "sku": "MUG", "quantity": 3, "unitPrice": price }] });
    create(
        fixture,
        json!({ "currency": "USD", "lineItems": [{ "sku": "MUG", "quantity": 3 }] }),
    )
    .await;
    create(
        fixture,
        json!({ "currency": "EUR", "lineItems": [{ "sku": "MUG", "quantity": 3 }] }),
    )
    .await;
    create(fixture, priced("EUR", "7.5")).await;
    create(fixture, priced("JPY", "750")).await;
    create(fixture, priced("JPY", "750.0")).await;
    create(fixture, priced("KWD", "0.001")).await;
    create(fixture, priced("KWD", "0.0001")).await;
    create(fixture, priced("XXX", "1")).await;
    create(fixture, priced("usd", "1")).await;
    // One line without a price is enough.
    let half =
        json!([{ "sku": "MUG", "quantity": 1, "unitPrice": "1" }, { "sku": "PIN", "quantity": 1 }]);
    create(fixture, json!({ "currency": "EUR", "lineItems": half })).await;
    insta::assert_snapshot!("currencies", fixture.transcript());
}

pub(crate) async fn totals(fixture: &StoreFixture) {
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
        create(fixture, with(name, amount)).await;
    }
    fixture.record_stock("MUG").await;
    insta::assert_snapshot!("totals", fixture.transcript());
}

pub(crate) async fn discounts(fixture: &StoreFixture) {
    let line = |price: Option<&str>, off: &str| {
        let mut line = json!({ "sku": "MUG", "quantity": 1, "unitDiscount": off });
        if let Some(price) = price {
            line["unitPrice"] = price.into();
        }
        json!({ "lineItems": [{ "sku": "PIN", "quantity": 1 }, line] })
    };
    create(fixture, line(None, "7.50")).await;
    create(fixture, line(None, "7.51")).await;
    create(fixture, line(Some("1"), "1.01")).await;
    let mut in_dollars = line(Some("1"), "1.01");
    in_dollars["currency"] = "USD".into();
    create(fixture, in_dollars).await;
    insta::assert_snapshot!("discounts", fixture.transcript());
}

pub(crate) async fn too_many_digits(fixture: &StoreFixture) {
    let line = |price: &str, quantity: i64| json!({ "sku": "PIN", "quantity": quantity, "unitPrice": price });
    create(
        fixture,
        json!({ "lineItems": [line("9999999999999.99", 1)] }),
    )
    .await;
    create(
        fixture,
        json!({ "lineItems": [line("99999999999999.99", 1)] }),
    )
    .await;
    create(
        fixture,
        json!({ "lineItems": [line("9999999999999.99", 2)] }),
    )
    .await;
    create(
        fixture,
        json!({ "lineItems": [line("9999999999999.99", 1), line("0.01", 1)] }),
    )
    .await;
    create(
        fixture,
        json!({ "lineItems": [line("10000000", 1_000_000)] }),
    )
    .await;
    create(fixture, json!({ "lineItems": [line("1", 1_000_001)] })).await;
    insta::assert_snapshot!("too_many_digits", fixture.transcript());
}
