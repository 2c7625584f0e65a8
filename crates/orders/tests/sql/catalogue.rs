//! The catalogue of every stage, put into its tables by plain SQL.

use sqlx::{AnyPool, AssertSqlSafe};

/// SKU, name, price in cents, and the stock at each location.
pub(crate) type Variant = (
    &'static str,
    &'static str,
    i64,
    &'static [(&'static str, i64)],
);

pub(crate) const VARIANTS: [Variant; 5] = [
    (
        "SHIRT-S",
        "Shirt, small",
        1_999,
        &[("loc_east", 5), ("loc_west", 3)],
    ),
    (
        "SHIRT-L",
        "Shirt, large",
        2_150,
        &[("loc_east", 0), ("loc_west", 10)],
    ),
    ("MUG", "Mug", 750, &[("loc_east", 100)]),
    (
        "PIN",
        "Pin",
        10,
        &[("loc_east", 1_000_000), ("loc_west", 1_000_000)],
    ),
    ("GONE", "Poster", 500, &[]),
];

/// How many of a SKU there were in the beginning.
pub(crate) fn in_the_beginning(sku: &str) -> i64 {
    let known = VARIANTS.iter().find(|variant| variant.0 == sku);
    known.map_or(BULK, |variant| {
        variant.3.iter().map(|(_, units)| units).sum()
    })
}

/// The stock of each of the variants that `bulk` makes.
const BULK: i64 = 7;

/// The SKU of this number of those that `bulk` makes.
pub(crate) fn bulk_sku(number: usize) -> String {
    format!("BULK-{number:03}")
}

async fn execute(pool: &AnyPool, statement: String) {
    let done = sqlx::query(AssertSqlSafe(statement.clone()))
        .execute(pool)
        .await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

pub(crate) async fn insert(pool: &AnyPool) {
    for id in ["loc_east", "loc_west"] {
        execute(pool, format!("INSERT INTO locations (id, name, created_at, updated_at) VALUES ('{id}', '{id}', 1, 1)")).await;
    }
    for id in ["prd_shirt", "prd_mug", "prd_rest"] {
        execute(pool, format!("INSERT INTO products (id, name, created_at, updated_at) VALUES ('{id}', '{id}', 1, 1)")).await;
    }
    for (sku, name, price, stock) in VARIANTS {
        let product = match sku {
            "MUG" => "prd_mug",
            "SHIRT-S" | "SHIRT-L" => "prd_shirt",
            _ => "prd_rest",
        };
        variant(pool, (sku, name, product, price), stock).await;
    }
    execute(
        pool,
        String::from(
            "INSERT INTO customers (id, email, email_key, first_name, last_name, created_at, updated_at) VALUES
             ('cus_ada', 'ada@example.com', 'ada@example.com', 'Ada', 'Lovelace', 1, 1),
             ('cus_bob', 'Bob@Example.COM', 'bob@example.com', NULL, NULL, 1, 1)",
        ),
    )
    .await;
}

async fn variant(
    pool: &AnyPool,
    (sku, name, product, price): (&str, &str, &str, i64),
    stock: &[(&str, i64)],
) {
    let on_hand: i64 = stock.iter().map(|(_, units)| units).sum();
    execute(pool, format!(
        "INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at)
         VALUES ('{sku}', 'var_{sku}', '{product}', '{name}', {price}, {on_hand}, 0, 1, 1)"
    )).await;
    for (location, units) in stock {
        execute(
            pool,
            format!(
                "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at)
             VALUES ('{sku}', '{location}', {units}, 1, 1)"
            ),
        )
        .await;
    }
}

/// Makes so many more variants, each with a little stock.
pub(crate) async fn bulk(pool: &AnyPool, count: usize) {
    for number in 0..count {
        let sku = bulk_sku(number);
        variant(pool, (&sku, "Bulk", "prd_rest", 100), &[("loc_west", BULK)]).await;
    }
}
