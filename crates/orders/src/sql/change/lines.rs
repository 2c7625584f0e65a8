//! Allocates quantities of SKUs to the lines of an order, and updates the tables.

use super::create::insert_lines;
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{LineQuantity, OrderStatus};
use crate::sql::connection::{DbConnection, dynamic_sql, placeholders, sql, values_list};
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, OrderRow};
use std::collections::BTreeMap;

/// The units of each line that a change affects; as long as the lines.
pub(super) type UnitsPerLine = Vec<i64>;

/// Allocates the requested quantities to the lines, in their order, or to the line that is named. A
/// line takes at most `room`. Without requested quantities, every line takes all of its room.
pub(super) fn allocate(
    lines: &[LineRow],
    requested: Option<&[LineQuantity]>,
    room: fn(&LineRow) -> i64,
    (exceeds, status): (RefusalReason, OrderStatus),
) -> Result<UnitsPerLine, Failure> {
    let mut left: Vec<_> = lines.iter().map(room).collect();
    let Some(requested) = requested else {
        return Ok(left);
    };
    let mut units_per_line = vec![0; lines.len()];
    for (index, line_quantity) in requested.iter().enumerate() {
        let sku = &line_quantity.sku;
        if !lines.iter().any(|line| line.sku == *sku) {
            let refused = OrderRefusal::from(RefusalReason::SkuNotFound);
            let refused = refused.at(format!("lineItems.{index}.sku"));
            return Err(refused.in_status(status).into());
        }
        let named = line_quantity.line.map(|line| line.get());
        let usable: Vec<_> = (0..lines.len())
            .filter(|line| lines[*line].sku == *sku)
            .filter(|line| named.is_none_or(|named| lines[*line].number() == named))
            .collect();
        if usable.is_empty() {
            let field = format!("lineItems.{index}.line");
            return Err(RuleViolation::new(field, OrderRule::Line).into());
        }
        let mut rest = line_quantity.quantity.get();
        for line in usable.iter().copied() {
            let taken = rest.min(left[line]);
            left[line] -= taken;
            units_per_line[line] += taken;
            rest -= taken;
        }
        if rest > 0 {
            let all: i64 = usable.iter().map(|line| room(&lines[*line])).sum();
            let field = format!("lineItems.{index}.quantity");
            let refused = OrderRefusal::from(exceeds).at(field).having(all);
            return Err(refused.in_status(status).into());
        }
    }
    Ok(units_per_line)
}

/// Returns the units of each SKU, without those that are zero.
pub(super) fn sum_by_sku(
    lines: &[LineRow],
    units_per_line: &UnitsPerLine,
) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for (line, units) in lines
        .iter()
        .zip(units_per_line)
        .filter(|(_, units)| **units > 0)
    {
        *sums.entry(line.sku.clone()).or_default() += units;
    }
    sums
}

/// Adds the units to a column of the lines.
pub(super) async fn add_units(
    session: &mut DbConnection,
    lines: &[LineRow],
    units_per_line: &UnitsPerLine,
    column: &'static str,
) -> Result<(), TransactionError> {
    let Some(first) = lines.first() else {
        return Ok(());
    };
    let changed: Vec<_> = lines
        .iter()
        .zip(units_per_line)
        .filter(|(_, units)| **units > 0)
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let values = values_list(changed.len(), &["BIGINT", "BIGINT"], 2);
    let statement = dynamic_sql(format!(
        "UPDATE order_lines SET {column} = {column} + v.column2
         FROM (VALUES {values}) AS v WHERE order_id = $1 AND line = v.column1"
    ));
    let statement = statement.bind(first.order_id.clone());
    let statement = changed.into_iter().fold(statement, |query, (line, units)| {
        query.bind(line.line).bind(*units)
    });
    session.execute(statement).await?;
    Ok(())
}

/// Locks these variants in the order of their SKUs.
pub(super) async fn lock_variants(
    session: &mut DbConnection,
    units: &BTreeMap<String, i64>,
) -> Result<(), TransactionError> {
    let locking = session.dialect().lock_suffix();
    if locking.is_empty() || units.is_empty() {
        return Ok(());
    }
    let statement = dynamic_sql(format!(
        "SELECT sku FROM variants WHERE sku IN ({}) ORDER BY sku{locking}",
        placeholders(units.len(), 1)
    ));
    let statement = units
        .keys()
        .fold(statement, |query, sku| query.bind(sku.clone()));
    session.all(statement).await?;
    Ok(())
}

/// Adds the units of each SKU, times the two factors, to the stock and the reservations of its
/// variant. They are written with the last statement of the transaction.
pub(super) fn move_stock(
    session: &mut DbConnection,
    units: &BTreeMap<String, i64>,
    (on_hand, reserved): (i64, i64),
) {
    for (sku, units) in units {
        session
            .stock_mut()
            .add(sku, on_hand * units, reserved * units);
    }
}

/// Changes of the stock and of the reservations of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StockShift {
    pub(super) on_hand: i64,
    pub(super) reserved: i64,
}

/// Adds changes of variants. They are written with the last statement of the transaction.
pub(super) fn shift_stock(session: &mut DbConnection, shifts: &BTreeMap<String, StockShift>) {
    for (sku, shift) in shifts {
        if *shift != StockShift::default() {
            session.stock_mut().add(sku, shift.on_hand, shift.reserved);
        }
    }
}

/// Replaces the lines of an order.
pub(super) async fn replace_lines(
    session: &mut DbConnection,
    order_row: &OrderRow,
    lines: &[LineRow],
) -> Result<(), TransactionError> {
    let statement = sql("DELETE FROM order_lines WHERE order_id = $1");
    session
        .execute(statement.bind(order_row.id.clone()))
        .await?;
    insert_lines(session, lines, order_row.created_at.micros()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Money;

    fn line(line: i64, sku: &str, quantity: i64, fulfilled: i64) -> LineRow {
        LineRow {
            order_id: String::from("ord_1"),
            line,
            sku: sku.to_owned(),
            name: None,
            quantity,
            unit_price: Money::default(),
            unit_discount: Money::default(),
            fulfilled,
            cancelled: 0,
            returned: 0,
            tax: Money::default(),
        }
    }

    fn requested(sku: &str, quantity: i64) -> LineQuantity {
        serde_json::from_value(serde_json::json!({ "sku": sku, "quantity": quantity })).unwrap()
    }

    #[test]
    fn units_are_allocated_to_the_lines_of_their_sku_in_order() {
        let lines = [line(0, "A", 3, 1), line(1, "B", 5, 0), line(2, "A", 4, 0)];
        let allocate = |requested: &[LineQuantity]| {
            allocate(
                &lines,
                Some(requested),
                LineRow::open,
                (RefusalReason::QuantityExceedsOpen, OrderStatus::Pending),
            )
        };
        assert_eq!(allocate(&[requested("A", 5)]), Ok(vec![2, 0, 3]));
        assert_eq!(
            allocate(&[requested("A", 1), requested("A", 2)]),
            Ok(vec![2, 0, 1])
        );
        let too_many = OrderRefusal::from(RefusalReason::QuantityExceedsOpen);
        let too_many = too_many.at("lineItems.1.quantity").having(6);
        let too_many = too_many.in_status(OrderStatus::Pending);
        assert_eq!(
            allocate(&[requested("B", 1), requested("A", 7)]),
            Err(too_many.into())
        );
        let unknown = OrderRefusal::from(RefusalReason::SkuNotFound).at("lineItems.0.sku");
        let unknown = unknown.in_status(OrderStatus::Pending);
        assert_eq!(allocate(&[requested("C", 1)]), Err(unknown.into()));
    }

    #[test]
    fn named_line_is_used_alone() {
        let lines = [line(0, "A", 3, 1), line(1, "B", 5, 0), line(2, "A", 4, 0)];
        let named = |sku: &str, quantity: i64, line: i64| -> LineQuantity {
            let value = serde_json::json!({ "sku": sku, "quantity": quantity, "line": line });
            serde_json::from_value(value).unwrap()
        };
        let allocate = |requested: LineQuantity| {
            let exceeds = (RefusalReason::QuantityExceedsOpen, OrderStatus::Pending);
            allocate(&lines, Some(&[requested]), LineRow::open, exceeds)
        };
        assert_eq!(allocate(named("A", 4, 3)), Ok(vec![0, 0, 4]));
        let too_many = OrderRefusal::from(RefusalReason::QuantityExceedsOpen);
        let too_many = too_many.at("lineItems.0.quantity").having(2);
        let too_many = too_many.in_status(OrderStatus::Pending);
        assert_eq!(allocate(named("A", 3, 1)), Err(too_many.into()));
        let wrong = RuleViolation::new("lineItems.0.line", OrderRule::Line);
        for (sku, line) in [("A", 2), ("A", 4), ("B", 1)] {
            assert_eq!(allocate(named(sku, 1, line)), Err(wrong.clone().into()));
        }
    }
}
