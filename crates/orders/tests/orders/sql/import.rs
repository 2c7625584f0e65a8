//! Imports of catalogues into stores that already have one.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use candor_orders::model::UtcTime;
use candor_orders::sql::{ImportCounts, ImportError, ImportReport, import, invariants};
use serde_json::{Value, json};

const LATER: UtcTime = UtcTime::of_micros(1_760_356_800_000_000);

async fn run_import(fixture: &StoreFixture, catalogue: &Value) -> Result<ImportReport, String> {
    let imported = import(
        &fixture.database.database_url(),
        &catalogue.to_string(),
        LATER,
    )
    .await;
    imported.map_err(|error| error.to_string())
}

fn tally(made: u64, changed: u64, same: u64) -> ImportCounts {
    ImportCounts {
        made,
        changed,
        same,
    }
}

fn catalogue(price: &str, east: i64) -> Value {
    json!({
        "locations": [{ "id": "loc_east", "name": "East" }, { "id": "attic", "name": "The attic" }],
        "products": [{ "id": "lamp", "name": "Lamp", "description": "It shines.", "variants": [
            { "sku": "LAMP-2", "price": price, "stock": [
                { "locationId": "loc_east", "onHand": east },
                { "locationId": "attic", "onHand": 3.0 }
            ]},
            { "sku": "LAMP-1", "name": "Lamp, small", "price": "5" }
        ]}]
    })
}

/// Runs a case on each database; afterwards the invariants must hold.
async fn on_each(case: impl AsyncFn(&StoreFixture)) {
    for database in [Some(TestDatabase::sqlite()), TestDatabase::postgres()] {
        let Some(database) = database else { continue };
        let fixture = StoreFixture::on(database).await;
        case(&fixture).await;
        let found = invariants(&fixture.database.database_url()).await.unwrap();
        assert_eq!(found, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn import_changes_what_differs() {
    on_each(made_changed_and_left).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn longest_ids_can_be_paged() {
    on_each(pages_of_long_ids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_import_changes_nothing() {
    on_each(refused_as_a_whole).await;
}

async fn made_changed_and_left(fixture: &StoreFixture) {
    let first = run_import(fixture, &catalogue("12.50", 4)).await.unwrap();
    assert_eq!(first.products, tally(1, 0, 0));
    assert_eq!(first.variants, tally(2, 0, 0));
    assert_eq!(first.stock, tally(2, 0, 0));
    let order = json!({ "order": { "lineItems": [{ "sku": "LAMP-2", "quantity": 5 }] } });
    let response = fixture
        .server
        .call("create-sales-order", order.clone())
        .await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    let again = run_import(fixture, &catalogue("12.50", 4)).await.unwrap();
    assert_eq!(again.locations, tally(0, 0, 2));
    assert_eq!(again.products, tally(0, 0, 1));
    assert_eq!(again.variants, tally(0, 0, 2));
    assert_eq!(again.stock, tally(0, 0, 2));
    let dearer = run_import(fixture, &catalogue("13", 9)).await.unwrap();
    assert_eq!(dearer.variants, tally(0, 1, 1));
    assert_eq!(dearer.stock, tally(0, 1, 1));
    let rows = fixture
        .rows("SELECT sku, id, product_id, name, price, on_hand, reserved FROM variants WHERE sku LIKE 'LAMP%' ORDER BY sku")
        .await;
    assert_eq!(
        rows,
        [
            "LAMP-1 LAMP-1 lamp Lamp, small 500 0 0",
            "LAMP-2 LAMP-2 lamp Lamp 1300 12 5"
        ]
    );
    let response = fixture.server.call("create-sales-order", order).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
}

/// The longest ids, in characters of the most bytes.
async fn pages_of_long_ids(fixture: &StoreFixture) {
    let long = |first: &str| format!("{first}{}", "😀".repeat(63));
    let variants: Vec<_> = ["a", "b"]
        .iter()
        .map(|first| {
            let stock = json!([{ "locationId": long("l"), "onHand": 1 }]);
            json!({ "sku": long(first), "price": "1", "stock": stock })
        })
        .collect();
    let catalogue = json!({
        "locations": [{ "id": long("l"), "name": "Long" }],
        "products": [{ "id": long("p"), "name": "P", "variants": variants }]
    });
    run_import(fixture, &catalogue).await.unwrap();
    let page = |cursor: Option<&str>| {
        let mut arguments = json!({ "locationIds": [long("l")], "pageSize": 1 });
        if let Some(cursor) = cursor {
            arguments["cursor"] = cursor.into();
        }
        fixture
            .server
            .call_text(None, "get-inventory", arguments.to_string())
    };
    let first = page(None).await;
    let first: Value = serde_json::from_str(&first.whole).unwrap();
    let cursor = first["structuredContent"]["nextCursor"].as_str();
    assert!(cursor.is_some(), "{first}");
    let second = page(cursor).await;
    assert!(
        !second.is_failure() && second.whole.contains(&long("b")),
        "{}",
        second.whole
    );
}

async fn refused_as_a_whole(fixture: &StoreFixture) {
    run_import(fixture, &catalogue("12.50", 4)).await.unwrap();
    let order = json!({ "order": { "lineItems": [{ "sku": "LAMP-2", "quantity": 5 }] } });
    fixture.server.call("create-sales-order", order).await;
    let everything = "SELECT * FROM variants ORDER BY sku";
    let before = fixture.rows(everything).await;
    let variant = |variant: Value| {
        let new = json!({ "sku": "A-NEW-ONE", "price": "1" });
        json!({ "products": [{ "id": "p", "name": "P", "variants": [new, variant] }] })
    };
    let lying = |location: &str, units: i64| {
        let stock = json!([{ "locationId": location, "onHand": units }]);
        variant(json!({ "sku": "LAMP-2", "price": "12.50", "stock": stock }))
    };
    let twice = json!({ "sku": "A-NEW-ONE", "price": "1" });
    let cases = [
        (
            lying("loc_east", 1),
            "products.0.variants.1.stock: orders have reserved 5, which is more than would be there",
        ),
        (
            lying("nowhere", 1),
            "products.0.variants.1.stock.0.locationId: there is no such location",
        ),
        (
            variant(json!({ "sku": "X", "price": "1.234" })),
            "products.0.variants.1.price: more places than the currency has",
        ),
        (
            variant(twice),
            "products.0.variants.1.sku: stands there twice",
        ),
        (
            variant(json!({ "sku": "X" })),
            "products.0.variants.1.price: expected present",
        ),
        (
            variant(json!({ "sku": "ü".repeat(128), "price": "1" })),
            "products.0.variants.1.sku: expected at most 255 bytes",
        ),
        (json!({ "products": [{}], "x": 1 }), "x: expected absent"),
        (json!([]), "expected an object"),
    ];
    for (catalogue, expected) in cases {
        assert_eq!(run_import(fixture, &catalogue).await.unwrap_err(), expected);
        assert_eq!(fixture.rows(everything).await, before);
    }
    let text = r#"{"locations":[{"id":"a","id":"b","name":"c"}]}"#;
    let twice = import(&fixture.database.database_url(), text, LATER).await;
    assert!(matches!(twice, Err(ImportError::Json(_))), "{twice:?}");
    assert_eq!(
        fixture
            .number("SELECT COUNT(*) FROM locations WHERE id IN ('a', 'b')")
            .await,
        0
    );
}
