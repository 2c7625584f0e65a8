//! The invariants of the tables after every test.

use crate::fixture::catalogue::initial_stock;
use crate::fixture::store::StoreFixture;
use serde_json::Value;
use std::collections::BTreeMap;

const OPEN: &str = "('pending', 'confirmed', 'processing')";

/// Panics if an invariant does not hold.
pub(crate) async fn assert_hold(fixture: &StoreFixture) {
    let never = [
        (
            "on hand is the sum over locations",
            String::from(
                "SELECT sku FROM variants WHERE on_hand <> (SELECT COALESCE(SUM(stock.on_hand), 0) FROM stock WHERE stock.sku = variants.sku)",
            ),
        ),
        (
            "reserved is what open orders still wait for",
            format!(
                "SELECT sku FROM variants WHERE reserved <> (SELECT COALESCE(SUM(quantity - fulfilled - cancelled), 0) FROM order_lines JOIN orders ON orders.id = order_id WHERE order_lines.sku = variants.sku AND status IN {OPEN})"
            ),
        ),
        (
            "quantities are within each other",
            String::from(
                "SELECT order_id FROM order_lines WHERE fulfilled < 0 OR cancelled < 0 OR returned < 0 OR fulfilled + cancelled > quantity OR returned > fulfilled",
            ),
        ),
        (
            "an order is open exactly while units are",
            format!(
                "SELECT id FROM orders WHERE (status IN {OPEN}) <> EXISTS (SELECT 1 FROM order_lines WHERE order_id = orders.id AND quantity > fulfilled + cancelled)"
            ),
        ),
        (
            "a cancelled order sent nothing, a shipped one something",
            String::from(
                "SELECT id FROM orders WHERE status IN ('shipped', 'delivered', 'cancelled') AND (status = 'cancelled') = EXISTS (SELECT 1 FROM order_lines WHERE order_id = orders.id AND fulfilled > 0)",
            ),
        ),
        (
            "every kept key has its outcome, and its record",
            String::from(
                "SELECT key FROM keys WHERE outcome IS NULL OR NOT EXISTS (SELECT 1 FROM records WHERE records.client = keys.client AND records.tool = keys.tool AND records.key = keys.key)",
            ),
        ),
        (
            "nothing is about an order that is not there",
            String::from(
                "SELECT id FROM fulfillments WHERE order_id NOT IN (SELECT id FROM orders) UNION ALL SELECT id FROM returns WHERE order_id NOT IN (SELECT id FROM orders) UNION ALL SELECT order_id FROM order_lines WHERE order_id NOT IN (SELECT id FROM orders)",
            ),
        ),
    ];
    for (rule, query) in never {
        assert_eq!(fixture.rows(&query).await, [] as [String; 0], "{rule}");
    }
    // Shipped units are gone from the stock, and no others. Some came back.
    let restocked = restocked(fixture).await;
    let moved = "SELECT variants.sku, on_hand, CAST(COALESCE((SELECT SUM(fulfilled) FROM order_lines WHERE order_lines.sku = variants.sku), 0) AS BIGINT) FROM variants";
    for row in fixture.rows(moved).await {
        let cells: Vec<_> = row.split(' ').collect();
        let [sku, on_hand, left] = cells[..] else {
            panic!("{row}")
        };
        let sum: i64 = on_hand.parse::<i64>().unwrap() + left.parse::<i64>().unwrap();
        let restocked = restocked.get(sku).copied().unwrap_or_default();
        assert_eq!(sum - restocked, initial_stock(sku), "units of {sku}");
    }
}

/// Returns the units of each SKU that returns have put back into the stock.
async fn restocked(fixture: &StoreFixture) -> BTreeMap<String, i64> {
    let mut units = BTreeMap::new();
    for details in fixture.rows("SELECT details FROM returns").await {
        let details: Value = serde_json::from_str(&details).unwrap();
        if details["restockLocationId"].is_null() {
            continue;
        }
        for line in details["lineItems"].as_array().unwrap() {
            let sku = line["sku"].as_str().unwrap().to_owned();
            *units.entry(sku).or_default() += line["quantity"].as_i64().unwrap();
        }
    }
    units
}
