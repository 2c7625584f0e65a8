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
