//! Compares the rows of `lookups` with the entities that they find. The database merges both by
//! the id of the entity, so that only the rows of one entity are in memory.

use super::{Findings, Invariant};
use crate::failure::Failure;
use crate::sql::connection::{get_json, get_number, get_optional_text, get_text, sql};
use crate::sql::lookups::{self, LookupKeys, LookupKind};
use crate::sql::order::OrderDetails;
use crate::sql::store::StoreError;
use crate::sql::stored_details::FulfillmentDetails;
use futures_util::TryStreamExt as _;
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

/// Rows of an entity (part 0), of its shipments (part 1) and of `lookups` (part 2), sorted by the id
/// of the entity.
struct MergedRows {
    invariant: Invariant,
    query: &'static str,
    /// Returns the keys that a row of part 0 or 1 must have.
    keys: fn(&AnyRow, i64) -> Result<LookupKeys, Failure>,
}

const ALL: [MergedRows; 3] = [
    MergedRows {
        invariant: Invariant::OrderLookups,
        query: "SELECT id, CAST(0 AS BIGINT) AS part, created_at, name AS text1, details AS text2, NULL AS text3 FROM orders
             UNION ALL SELECT order_id, CAST(1 AS BIGINT), created_at, NULL, details, NULL FROM fulfillments
             UNION ALL SELECT id, CAST(2 AS BIGINT), created_at, key, value, NULL FROM lookups WHERE key >= 'o' AND key < 'p'
             ORDER BY id, part",
        keys: order_keys,
    },
    MergedRows {
        invariant: Invariant::CustomerLookups,
        query: "SELECT id, CAST(0 AS BIGINT) AS part, created_at, first_name AS text1, last_name AS text2, phone AS text3 FROM customers
             UNION ALL SELECT id, CAST(2 AS BIGINT), created_at, key, value, NULL FROM lookups WHERE key >= 'c' AND key < 'd'
             ORDER BY id, part",
        keys: customer_keys,
    },
    MergedRows {
        invariant: Invariant::FulfillmentLookups,
        query: "SELECT id, CAST(0 AS BIGINT) AS part, created_at, NULL AS text1, details AS text2, NULL AS text3 FROM fulfillments
             UNION ALL SELECT id, CAST(2 AS BIGINT), created_at, key, value, NULL FROM lookups WHERE key >= 'f' AND key < 'g'
             ORDER BY id, part",
        keys: fulfillment_keys,
    },
];

/// The keys of the entity that is being read.
#[derive(Default)]
struct EntityKeys {
    id: String,
    created_at: i64,
    expected: LookupKeys,
    found: LookupKeys,
    /// True if a row cannot be read, or belongs to another time.
    is_broken: bool,
}

impl EntityKeys {
    fn is_complete(&self) -> bool {
        !self.is_broken && self.expected == self.found
    }
}

pub(super) async fn check(
    connection: &mut AnyConnection,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    for merged in ALL {
        let mut entity = EntityKeys::default();
        let mut rows = sql(merged.query).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            let id = get_text(&row, 0)?;
            if id != entity.id {
                findings.check(entity.is_complete(), merged.invariant, &entity.id);
                entity = EntityKeys {
                    id,
                    ..EntityKeys::default()
                };
            }
            if add(&mut entity, &row, merged.keys).is_err() {
                entity.is_broken = true;
            }
        }
        findings.check(entity.is_complete(), merged.invariant, &entity.id);
    }
    Ok(())
}

/// Adds a row to the keys of its entity.
fn add(
    entity: &mut EntityKeys,
    row: &AnyRow,
    keys: fn(&AnyRow, i64) -> Result<LookupKeys, Failure>,
) -> Result<(), Failure> {
    let (part, created_at) = (get_number(row, 1)?, get_number(row, 2)?);
    match part {
        2 => {
            // Rows of an entity that does not exist come first, and at another time.
            entity.is_broken |= created_at != entity.created_at;
            entity.found.insert((get_text(row, 3)?, get_text(row, 4)?));
        }
        part => {
            if part == 0 {
                entity.created_at = created_at;
            }
            entity.expected.extend(keys(row, part)?);
        }
    }
    Ok(())
}

fn order_keys(row: &AnyRow, part: i64) -> Result<LookupKeys, Failure> {
    if part == 0 {
        let details: OrderDetails = get_json(row, 4)?;
        return Ok(lookups::of_order(
            get_optional_text(row, 3)?.as_deref(),
            &details,
        ));
    }
    tracking_keys(row, LookupKind::OrderTracking)
}

fn customer_keys(row: &AnyRow, _: i64) -> Result<LookupKeys, Failure> {
    let text = |index| get_optional_text(row, index);
    let (first, last, phone) = (text(3)?, text(4)?, text(5)?);
    Ok(lookups::of_customer(
        first.as_deref(),
        last.as_deref(),
        phone.as_deref(),
    ))
}

fn fulfillment_keys(row: &AnyRow, _: i64) -> Result<LookupKeys, Failure> {
    tracking_keys(row, LookupKind::FulfillmentTracking)
}

fn tracking_keys(row: &AnyRow, kind: LookupKind) -> Result<LookupKeys, Failure> {
    let details: FulfillmentDetails<'_> = get_json(row, 4)?;
    Ok(lookups::of_tracking(kind, &details.tracking_numbers))
}
