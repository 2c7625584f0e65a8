//! Invariants that a single query checks. A query returns the ids of the rows that violate it.

use super::Invariant;

/// Missing rows are found with `NOT EXISTS`: PostgreSQL may compare `NOT IN` row by row.
pub(super) const QUERIES: [(Invariant, &str); 22] = [
    (
        Invariant::Format,
        "SELECT name FROM settings WHERE name = 'format' AND NOT EXISTS
             (SELECT 1 FROM migrations WHERE CAST(migrations.version AS TEXT) = settings.value)",
    ),
    (
        Invariant::Erasure,
        "SELECT value FROM settings WHERE name = 'erasure'",
    ),
    (
        Invariant::StockOnHand,
        "SELECT variants.sku FROM variants LEFT JOIN
             (SELECT sku, CAST(SUM(on_hand) AS BIGINT) AS units FROM stock GROUP BY sku) AS lying
             ON lying.sku = variants.sku
         WHERE variants.on_hand <> COALESCE(lying.units, 0) ORDER BY variants.sku",
    ),
    (
        Invariant::StockReserved,
        "SELECT variants.sku FROM variants LEFT JOIN
             (SELECT order_lines.sku AS sku,
                 CAST(SUM(order_lines.quantity - order_lines.fulfilled - order_lines.cancelled) AS BIGINT) AS units
              FROM order_lines JOIN orders ON orders.id = order_lines.order_id
              WHERE orders.status IN ('pending', 'confirmed', 'processing') GROUP BY order_lines.sku) AS wanted
             ON wanted.sku = variants.sku
         WHERE variants.reserved <> COALESCE(wanted.units, 0) ORDER BY variants.sku",
    ),
    (
        Invariant::StockBounds,
        "SELECT sku FROM variants WHERE reserved < 0 OR reserved > on_hand
         UNION ALL SELECT sku FROM stock WHERE on_hand < 0",
    ),
    (
        Invariant::StockLocations,
        "SELECT sku FROM stock WHERE NOT EXISTS
             (SELECT 1 FROM variants WHERE variants.sku = stock.sku)
         OR NOT EXISTS (SELECT 1 FROM locations WHERE locations.id = stock.location_id)",
    ),
    (
        Invariant::Variants,
        "SELECT sku FROM variants WHERE price < 0",
    ),
    (
        Invariant::OrderLines,
        "SELECT order_lines.order_id FROM order_lines LEFT JOIN orders ON orders.id = order_lines.order_id
         WHERE orders.id IS NULL OR orders.created_at <> order_lines.created_at",
    ),
    (
        Invariant::OrderNumbers,
        "SELECT CAST(number AS TEXT) FROM orders GROUP BY number HAVING COUNT(*) > 1",
    ),
    (
        Invariant::OrderNumbers,
        "SELECT id FROM orders WHERE number < 1001",
    ),
    (
        Invariant::ExternalIds,
        "SELECT external_id FROM orders WHERE external_id IS NOT NULL
         GROUP BY external_id HAVING COUNT(*) > 1",
    ),
    (
        Invariant::LineVariants,
        "SELECT order_id FROM order_lines WHERE NOT EXISTS
             (SELECT 1 FROM variants WHERE variants.sku = order_lines.sku)",
    ),
    (
        Invariant::OrderCustomer,
        "SELECT id FROM orders WHERE customer_id IS NOT NULL AND NOT EXISTS
             (SELECT 1 FROM customers WHERE customers.id = orders.customer_id)",
    ),
    (
        Invariant::Fulfillments,
        "SELECT id FROM fulfillments WHERE NOT EXISTS
             (SELECT 1 FROM orders WHERE orders.id = fulfillments.order_id)",
    ),
    (
        Invariant::Returns,
        "SELECT id FROM returns WHERE NOT EXISTS
             (SELECT 1 FROM orders WHERE orders.id = returns.order_id)",
    ),
    (
        Invariant::Exchanges,
        "SELECT id FROM orders WHERE exchange_for IS NOT NULL AND NOT EXISTS
             (SELECT 1 FROM returns WHERE returns.id = orders.exchange_for)",
    ),
    (
        Invariant::Customers,
        "SELECT email_key FROM customers WHERE email_key IS NOT NULL
         GROUP BY email_key HAVING COUNT(*) > 1",
    ),
    // The keys of lookups start with the kind of entity.
    (
        Invariant::OrderLookups,
        "SELECT key FROM lookups WHERE NOT (key >= 'c' AND key < 'd') AND NOT (key >= 'f' AND key < 'g')
         AND NOT (key >= 'o' AND key < 'p')",
    ),
    (
        Invariant::Keys,
        "SELECT key FROM keys WHERE outcome IS NULL",
    ),
    (
        Invariant::KeyRecords,
        "SELECT keys.key FROM keys LEFT JOIN records
             ON records.client = keys.client AND records.tool = keys.tool AND records.key = keys.key
         WHERE records.id IS NULL",
    ),
    (
        Invariant::Records,
        "SELECT id FROM records WHERE outcome = 'done' AND NOT EXISTS
             (SELECT 1 FROM orders WHERE orders.id = records.order_id)",
    ),
    (
        Invariant::Exchanges,
        "SELECT orders.id FROM orders JOIN returns ON returns.id = orders.exchange_for
         WHERE returns.outcome <> 'exchange'",
    ),
];
