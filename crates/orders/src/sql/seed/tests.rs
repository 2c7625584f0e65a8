//! Samples on every database.

use super::{SampleCounts, SeedOptions, SeedReport, seed};
use crate::adapter::{OrderOperation, Response};
use crate::model::{EntityQuery, Filters};
use crate::sql::query::page;
use crate::sql::store::{DatabaseUrl, StoreError};
use crate::sql::test_databases::{Databases, open};
use crate::sql::{connection, invariants};
use serde_json::Value;

async fn fill_samples(database: &DatabaseUrl, orders: u64) -> Result<SeedReport, StoreError> {
    let mut progress = Vec::new();
    let seeded = seed(database, SeedOptions { orders }, &mut |done, of| {
        progress.push((done, of))
    })
    .await;
    if seeded.is_ok() && orders > 0 {
        assert_eq!(progress.first(), Some(&(0, orders)));
        assert_eq!(progress.last(), Some(&(orders, orders)));
    }
    seeded
}

/// Reads all entities of a store through queries.
async fn read_all(database: &DatabaseUrl) -> Vec<(OrderOperation, Vec<Value>)> {
    let store = open(database).await;
    let mut all = Vec::new();
    for operation in OrderOperation::ALL.into_iter().filter(|one| !one.changes()) {
        let (mut entities, mut after) = (Vec::new(), None);
        loop {
            let query = EntityQuery {
                operation,
                filters: Filters::default(),
                page_size: 100,
                after,
            };
            let Response::Page { items, next, .. } = page(&store, &query).await.unwrap() else {
                panic!("not a page");
            };
            entities.extend(serde_json::from_str::<Vec<Value>>(items.get()).unwrap());
            after = next;
            if after.is_none() {
                break;
            }
        }
        all.push((operation, entities));
    }
    store.close().await;
    all
}

async fn run(database: &DatabaseUrl, statement: &'static str) {
    let store = open(database).await;
    let statement = connection::sql(statement);
    statement.execute(store.write_pool()).await.unwrap();
    store.close().await;
}

const SAMPLES: SampleCounts = SampleCounts {
    locations: 3,
    products: 12,
    variants: 41,
    customers: 10,
    orders: 0,
};

#[tokio::test]
async fn second_fill_changes_nothing() {
    let databases = Databases::empty().await;
    for database in &databases.databases {
        let first = fill_samples(database, 300).await.unwrap();
        let made = SampleCounts {
            orders: 300,
            ..SAMPLES
        };
        let nothing = SampleCounts::default();
        assert_eq!(
            first,
            SeedReport {
                made,
                there: nothing
            }
        );
        let before = read_all(database).await;
        let again = fill_samples(database, 300).await.unwrap();
        assert_eq!(
            again,
            SeedReport {
                made: nothing,
                there: made
            }
        );
        assert_eq!(read_all(database).await, before);
        assert_eq!(invariants(database).await.unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn samples_are_the_same_in_one_run_and_in_several() {
    let databases = Databases::empty().await;
    let mut all = Vec::new();
    for database in &databases.databases {
        for orders in [0, 7, 260] {
            fill_samples(database, orders).await.unwrap();
        }
        all.push(read_all(database).await);
    }
    for database in &databases.more("USD").await {
        fill_samples(database, 260).await.unwrap();
        all.push(read_all(database).await);
    }
    for other in &all[1..] {
        assert_eq!(*other, all[0]);
    }
    let (_, orders) = &all[0][0];
    let first = orders.iter().find(|order| order["id"] == "ord_0000001");
    insta::assert_snapshot!(first.unwrap(), @r##"{"id":"ord_0000001","orderNumber":"1001","externalId":"sample-0000001","name":"#1","status":"delivered","currency":"USD","lineItems":[{"line":1,"sku":"TEE-BLK-L","name":"Black T-shirt, L","quantity":2,"unitPrice":"19.99","unitDiscount":"0.00","tax":"0.00","fulfilledQuantity":2,"cancelledQuantity":0,"returnedQuantity":0}],"customer":{"id":"cust_0001","email":"ada.keller@example.com","firstName":"Ada","lastName":"Keller","phone":"+49 30 5550101"},"shippingAddress":{"address1":"Lindenweg 4","city":"Berlin","zipCodeOrPostalCode":"10115","country":"DE","firstName":"Ada","lastName":"Keller"},"subTotal":"39.98","discountTotal":"0.00","shippingTotal":"0.00","taxTotal":"0.00","taxIncluded":false,"total":"39.98","payments":[],"refunds":[],"paidTotal":"0.00","refundedTotal":"0.00","paymentStatus":"unpaid","createdAt":"2024-01-02T00:04:56.428519Z","updatedAt":"2024-01-05T00:04:56.428519Z"}"##);
}

#[tokio::test]
async fn existing_rows_stay_as_they_are() {
    let databases = Databases::empty().await;
    for database in &databases.databases {
        run(database, "INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at)
             VALUES ('TEE-BLK-M', 'mine', 'mine', 'Mine', 1, 0, 0, 1, 1)").await;
        run(
            database,
            "INSERT INTO customers (id, email, email_key, created_at, updated_at)
             VALUES ('mine', 'ADA.Keller@example.com', 'ada.keller@example.com', 1, 1)",
        )
        .await;
        let seeded = fill_samples(database, 200).await.unwrap();
        assert_eq!((seeded.made.variants, seeded.there.variants), (40, 1));
        assert_eq!((seeded.made.customers, seeded.there.customers), (9, 1));
        assert_eq!(invariants(database).await.unwrap(), [""; 0]);
        let shown = read_all(database).await;
        let of = |operation| &shown.iter().find(|(one, _)| *one == operation).unwrap().1;
        let mine = |entity: &&Value| entity["id"] == "mine";
        let variant = of(OrderOperation::GetVariants).iter().find(mine).unwrap();
        assert_eq!(variant["name"], "Mine");
        assert!(
            of(OrderOperation::GetCustomers)
                .iter()
                .any(|one| mine(&one))
        );
        let orders = of(OrderOperation::GetOrders);
        assert!(orders.iter().any(|order| order["customer"]["id"] == "mine"));
        run(
            database,
            "UPDATE variants SET sku = 'OTHER' WHERE id = 'var_0041'",
        )
        .await;
        let foreign = fill_samples(database, 200).await.unwrap_err();
        assert!(matches!(foreign, StoreError::Foreign(_)), "{foreign}");
    }
}

#[tokio::test]
async fn sample_prices_have_the_places_of_the_currency() {
    let databases = Databases::empty().await;
    for (currency, price) in [("EUR", "19.99"), ("JPY", "19"), ("KWD", "19.990")] {
        for database in &databases.more(currency).await {
            fill_samples(database, 20).await.unwrap();
            let shown = read_all(database).await;
            let variants = &shown
                .iter()
                .find(|(one, _)| *one == OrderOperation::GetVariants)
                .unwrap()
                .1;
            assert_eq!(variants[0]["price"], price);
            assert_eq!(variants[0]["currency"], currency);
            assert_eq!(invariants(database).await.unwrap(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn every_violation_is_found() {
    let breaks = [
        (
            "UPDATE stock SET on_hand = on_hand + 1 WHERE sku = 'MUG-350-SND' AND location_id = 'loc_lisbon'",
            "MUG-350-SND: not true that a variant has on hand what lies at all locations",
        ),
        (
            "UPDATE variants SET reserved = reserved + 1 WHERE sku = 'TEE-BLK-M'",
            "TEE-BLK-M: not true that a variant has reserved what is open in open orders",
        ),
        (
            "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES ('NONE', 'loc_berlin', 0, 1, 1)",
            "NONE: not true that stock is of a known variant at a known location",
        ),
        (
            "UPDATE order_lines SET quantity = 0, fulfilled = 0, cancelled = 0, returned = 0 WHERE order_id = 'ord_0000009' AND line = 0",
            "ord_0000009: not true that the quantities of a line fit together",
        ),
        (
            "UPDATE order_lines SET sku = 'NONE' WHERE order_id = 'ord_0000010'",
            "ord_0000010: not true that a line is of a known variant",
        ),
        (
            "UPDATE order_lines SET created_at = 1 WHERE order_id = 'ord_0000011'",
            "ord_0000011: not true that a line belongs to an order of its time",
        ),
        (
            "UPDATE orders SET total = total + 1 WHERE id = 'ord_0000012'",
            "ord_0000012: not true that an order has lines, and its sums are theirs",
        ),
        (
            "DELETE FROM order_lines WHERE order_id = 'ord_0000013'",
            "ord_0000013: not true that an order has lines, and its sums are theirs",
        ),
        (
            "UPDATE orders SET status = 'lost' WHERE id = 'ord_0000014'",
            "ord_0000014: not true that the status of an order is that of its lines",
        ),
        (
            "UPDATE orders SET customer_id = 'none' WHERE id = 'ord_0000015'",
            "ord_0000015: not true that the customer of an order is known",
        ),
        (
            "INSERT INTO fulfillments (id, order_id, details, created_at, updated_at) VALUES ('ful_x', 'none', '{}', 1, 1)",
            "ful_x: not true that a shipment belongs to an order",
        ),
        (
            "INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ('ret_x', 'none', 'refund', '{}', 1, 1)",
            "ret_x: not true that a return belongs to an order",
        ),
        (
            "INSERT INTO keys (client, tool, key, fingerprint, at) VALUES ('c', 't', 'k', 'f', 1)",
            "k: not true that a key has an outcome",
        ),
        (
            "INSERT INTO fulfillments (id, order_id, details, created_at, updated_at) VALUES ('ful_y', 'ord_0000016', '{\"lineItems\":[{\"sku\":\"EXTRA\",\"quantity\":1}]}', 1, 1)",
            "ord_0000016 EXTRA: not true that as much has left, and come back, as its lines say",
        ),
        (
            "UPDATE orders SET paid_total = 1, payment_status = 'partially-paid' WHERE id = 'ord_0000017'",
            "ord_0000017: not true that its payments come to its sums, and its names and phones find it",
        ),
        (
            "DELETE FROM lookups WHERE id = 'ord_0000018'",
            "ord_0000018: not true that its payments come to its sums, and its names and phones find it",
        ),
        (
            "UPDATE orders SET payment_status = 'refunded' WHERE id = 'ord_0000019'",
            "ord_0000019: not true that no more is refunded than was paid, and the payment status follows from the sums",
        ),
        (
            "UPDATE orders SET next_line = 0 WHERE id = 'ord_0000020'",
            "ord_0000020: not true that an order has a number, and its lines were numbered before the next one",
        ),
        (
            "UPDATE order_lines SET tax = 100000000 WHERE order_id = 'ord_0000021'",
            "ord_0000021: not true that the tax of a line is at most its amount",
        ),
        (
            "UPDATE orders SET exchange_for = 'none' WHERE id = 'ord_0000022'",
            "ord_0000022: not true that a return has a known status and amount, and its exchange refers back to it",
        ),
        (
            "DELETE FROM returns",
            "not true that as much has left, and come back, as its lines say",
        ),
    ];
    let databases = Databases::filled(100).await;
    for database in &databases.databases {
        assert_eq!(invariants(database).await.unwrap(), [""; 0]);
        for (statement, expected) in breaks {
            run(database, statement).await;
            let found = invariants(database).await.unwrap();
            assert!(
                found.iter().any(|one| one.ends_with(expected)),
                "{expected}: {found:#?}"
            );
        }
    }
}
