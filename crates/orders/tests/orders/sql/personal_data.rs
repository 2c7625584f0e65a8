//! The export and the erasure of a customer's data.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use candor_orders::sql::{EraseError, EraseOutcome, ErasedCounts, ExportError};
use candor_orders::sql::{erase_customer, export_customer, find_customer, invariants};
use serde_json::{Value, json};
use std::fs;

const EMAIL: &str = "Zorabel@quix.example";

/// Texts that only the erased customer has. Some are words of longer texts.
const CANARIES: [&str; 12] = [
    "zorabel",
    "quixanter",
    "98765432",
    "fluegelweg",
    "vogelheim",
    "zip4711",
    "canary-note",
    "canary-tag",
    "canary-field",
    "canary-instruction",
    "canary-reason",
    "canary-company",
];

const TABLES: [&str; 14] = [
    "settings",
    "migrations",
    "locations",
    "products",
    "variants",
    "stock",
    "customers",
    "orders",
    "order_lines",
    "fulfillments",
    "returns",
    "keys",
    "records",
    "lookups",
];

fn address() -> Value {
    json!({
        "address1": "Fluegelweg 7", "address2": "c/o Zorabel", "city": "Vogelheim", "country": "DE",
        "zipCodeOrPostalCode": "zip4711", "stateOrProvince": "Vogelheim", "company": "canary-company",
        "firstName": "Zorabel", "lastName": "Quixanter", "phone": "030/98765432",
    })
}

fn customer() -> Value {
    json!({ "email": EMAIL, "firstName": "Zorabel", "lastName": "Quixanter", "phone": "+49 30 98765432" })
}

/// Returns the arguments of an order with personal data in every text.
fn order() -> Value {
    json!({ "order": {
        "externalId": "shop-quixanter-1", "name": "Order of Zorabel",
        "lineItems": [
            { "sku": "MUG", "quantity": 4, "name": "Mug for Zorabel", "unitPrice": "7.50", "tax": "1.00" },
            { "sku": "PIN", "quantity": 2 },
        ],
        "customer": customer(), "shippingAddress": address(), "billingAddress": address(),
        "tags": ["canary-tag"], "customFields": [{ "name": "gift", "value": "canary-field" }],
        "notes": "canary-note", "shipping": { "carrier": "DHL", "price": "4.90", "instructions": "canary-instruction" },
        "payments": [{ "reference": "ch_zorabel", "method": "card", "amount": "36.10" }],
    }, "idempotencyKey": "made" })
}

/// Makes calls whose answers, rows and leftovers contain personal data. Returns the order.
async fn make_history(fixture: &StoreFixture) -> String {
    let server = &fixture.server;
    let call = async |tool: &str, arguments: Value| {
        let response = server.call(tool, arguments).await;
        assert!(!response.is_failure(), "{tool}: {}", response.whole);
        response
    };
    let id = call("create-sales-order", order()).await.order().to_owned();
    for number in 0..40 {
        let notes = format!("canary-note {number} {}", "x".repeat(number * 90));
        let updates = json!({ "notes": notes, "shippingAddress": address() });
        call("update-order", json!({ "orderId": id, "updates": updates })).await;
        // Rows of others move between pages.
        let other = json!({ "email": format!("other{number}@example.com"), "lastName": "Other" });
        let other = json!({ "lineItems": [{ "sku": "PIN", "quantity": 1 }], "customer": other, "notes": "y".repeat(700) });
        call("create-sales-order", json!({ "order": other })).await;
    }
    let one_pin = json!([{ "sku": "PIN", "quantity": 1 }]);
    let cancelled = json!({ "orderId": id, "reason": "canary-reason", "lineItems": one_pin });
    call("cancel-order", cancelled).await;
    call(
        "fulfill-order",
        json!({ "orderId": id, "trackingNumbers": ["JD1"], "idempotencyKey": "sent" }),
    )
    .await;
    let mug = json!([{ "sku": "MUG", "quantity": 1 }]);
    let pins = json!([{ "sku": "PIN", "quantity": 3 }]);
    let returned = json!({ "orderId": id, "lineItems": mug, "outcome": "exchange", "note": "canary-note", "exchangeLineItems": pins });
    call("create-return", returned).await;
    let refund = json!([{ "amount": "1.00", "reference": "re_1", "reason": "canary-reason" }]);
    call(
        "update-order",
        json!({ "orderId": id, "updates": { "refunds": refund } }),
    )
    .await;
    id
}

fn canaries_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let found = CANARIES.iter().filter(|canary| text.contains(*canary));
    found.copied().collect()
}

/// Panics if a live row of any table contains personal data.
async fn assert_tables_are_clean(fixture: &StoreFixture) {
    for table in TABLES {
        for row in fixture.rows(&format!("SELECT * FROM {table}")).await {
            assert_eq!(canaries_in(&row), [""; 0], "{table}: {row}");
        }
    }
}

/// Panics if a file of a SQLite store contains personal data.
fn assert_files_are_clean(fixture: &StoreFixture) {
    let TestDatabase::Sqlite(folder) = &fixture.database else {
        return;
    };
    let files = fs::read_dir(folder.path()).unwrap();
    let mut count = 0;
    for file in files.map(|file| file.unwrap().path()) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(canaries_in(&text), [""; 0], "{}", file.display());
        count += 1;
    }
    assert!(count >= 2, "the file and its write-ahead log");
}

pub(crate) async fn erasure(fixture: &StoreFixture) {
    let server = &fixture.server;
    let id = make_history(fixture).await;
    let amounts = "SELECT id, status, sub_total, discount_total, total, paid_total, refunded_total, tax_total, payment_status FROM orders ORDER BY id";
    let lines = "SELECT order_id, line, sku, quantity, fulfilled, cancelled, returned, unit_price, tax FROM order_lines ORDER BY order_id, line";
    let before = (fixture.rows(amounts).await, fixture.rows(lines).await);
    let url = fixture.database.database_url();
    let found = find_customer(&url, "ZORABEL@QUIX.EXAMPLE").await.unwrap();
    let customer_id = found.as_ref().unwrap().id.clone();
    assert_eq!(found.unwrap().orders, 2);
    let erased = erase_customer(&url, "zorabel@QUIX.example").await.unwrap();
    // One create, forty updates, and a cancellation, a shipment, a return and a refund.
    let expected = ErasedCounts {
        orders: 2,
        returns: 1,
        outcomes: 45,
        records: 45,
    };
    assert_eq!(erased, EraseOutcome::Erased(expected));
    assert_tables_are_clean(fixture).await;
    assert_files_are_clean(fixture);
    let after = (fixture.rows(amounts).await, fixture.rows(lines).await);
    assert_eq!(after, before);
    assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
    assert_eq!(fixture.number("SELECT COUNT(*) FROM settings").await, 2);
    for arguments in [
        json!({ "ids": [id] }),
        json!({ "customerIds": [customer_id] }),
    ] {
        let shown = server
            .call_text(None, "get-orders", arguments.to_string())
            .await;
        assert_eq!(shown.at("/orders/0/id"), id.as_str());
        assert_eq!(canaries_in(&shown.whole), [""; 0], "{}", shown.whole);
        let city = shown.at("/orders/0/shippingAddress/city");
        assert_eq!(
            (city, shown.at("/orders/0/total")),
            (&json!("[erased]"), &json!("36.10"))
        );
    }
    for (filter, value) in [
        ("emails", EMAIL),
        ("customerNames", "quixanter"),
        ("phones", "03098765432"),
    ] {
        let none = json!({ filter: [value] }).to_string();
        let shown = server.call_text(None, "get-orders", none).await;
        assert_eq!(shown.at("/orders"), &json!([]), "{filter}");
    }
    replays_after_erasure(fixture, &id).await;
    let again = erase_customer(&url, EMAIL).await.unwrap_err();
    assert!(matches!(again, EraseError::UnknownCustomer), "{again}");
    // The id names nobody any more, and the address is free for a new customer.
    let line = json!([{ "sku": "PIN", "quantity": 1 }]);
    let by_id = json!({ "order": { "lineItems": line, "customer": { "id": customer_id } } });
    let refused = server.call("create-sales-order", by_id).await;
    assert_eq!(refused.failure(), (4001, "CUSTOMER_NOT_FOUND"));
    let by_email = json!({ "order": { "lineItems": line, "customer": { "email": EMAIL } } });
    let made = server.call("create-sales-order", by_email).await;
    assert_ne!(made.at("/order/customer/id"), customer_id.as_str());
}

async fn replays_after_erasure(fixture: &StoreFixture, id: &str) {
    let sent = json!({ "orderId": id, "trackingNumbers": ["JD1"], "idempotencyKey": "sent" });
    for (tool, arguments) in [("create-sales-order", order()), ("fulfill-order", sent)] {
        let replayed = fixture.server.call(tool, arguments).await;
        assert_eq!(replayed.failure(), (4001, "CUSTOMER_ERASED"));
        assert_eq!(replayed.error()["retryable"], false);
        assert_eq!(replayed.context("key"), "bound");
        assert_eq!(replayed.context("effect"), "done");
    }
    let mut other = order();
    other["order"]["notes"] = json!("other");
    let reused = fixture.server.call("create-sales-order", other).await;
    assert_eq!(reused.failure(), (4001, "IDEMPOTENCY_KEY_REUSED"));
}

/// Servers create orders of a customer by id, and so copy the stored names, until the customer is
/// erased.
pub(crate) async fn erasure_beside_changes(fixture: &StoreFixture) {
    let line = json!([{ "sku": "PIN", "quantity": 1 }]);
    let first = json!({ "order": { "lineItems": line, "customer": customer() } });
    let first = fixture.server.call("create-sales-order", first).await;
    let customer_id = first.at("/order/customer/id").as_str().unwrap().to_owned();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let server = fixture.server.clone();
        let wish = json!({ "order": { "lineItems": line, "customer": { "id": customer_id }, "shippingAddress": address() } });
        tasks.spawn(async move {
            let mut made = 0;
            loop {
                let response = server.call("create-sales-order", wish.clone()).await;
                match response.failure() {
                    (0, _) => made += 1,
                    (4001, "CUSTOMER_NOT_FOUND") => return made,
                    // The change waited for the erasure for too long.
                    other => assert_eq!(other, (3002, ""), "{}", response.whole),
                }
            }
        });
    }
    while fixture.number("SELECT COUNT(*) FROM orders").await < 20 {
        tokio::task::yield_now().await;
    }
    let url = fixture.database.database_url();
    let erased = erase_customer(&url, EMAIL).await.unwrap();
    let made: u64 = tasks.join_all().await.into_iter().sum();
    let EraseOutcome::Erased(counts) = erased else {
        panic!("{erased:?}")
    };
    assert_eq!(counts.orders, made + 1);
    assert_tables_are_clean(fixture).await;
    assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
}

pub(crate) async fn export(fixture: &StoreFixture) {
    let id = make_history(fixture).await;
    let url = fixture.database.database_url();
    let mut exported = Vec::new();
    export_customer(&url, EMAIL, &mut exported).await.unwrap();
    let exported: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(exported["customer"]["email"], EMAIL);
    let orders = exported["orders"].as_array().unwrap();
    assert_eq!((orders.len(), &orders[0]["order"]["id"]), (2, &json!(id)));
    let count = |name: &str| orders[0][name].as_array().unwrap().len();
    assert_eq!((count("fulfillments"), count("returns")), (1, 1));
    assert_eq!((count("records"), count("storedAnswers")), (45, 45));
    let shown = json!({ "ids": [id] }).to_string();
    let shown = fixture.server.call_text(None, "get-orders", shown).await;
    assert_eq!(&orders[0]["order"], shown.at("/orders/0"));
    assert_eq!(orders[0]["records"][0]["outcome"], "done");
    let missing: Vec<_> = CANARIES
        .iter()
        .filter(|canary| !exported.to_string().to_lowercase().contains(*canary))
        .collect();
    assert_eq!(missing, [&""; 0]);
    let unknown = export_customer(&url, "nobody@example.com", &mut Vec::new()).await;
    assert!(matches!(unknown, Err(ExportError::UnknownCustomer)));
}
