//! The steps of returns: goods are received, and put back into stock; a return is completed or
//! declined.

use super::ChangeContext;
use super::fulfill::check_location;
use super::lines::StockShift;
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{ReturnStatus, ReturnUpdate};
use crate::sql::connection::{dynamic_sql, get_json, get_number, get_text, sql};
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, corrupt_row};
use crate::sql::stock_changes::CatalogueEntry;
use crate::sql::stored_details::ReturnDetails;
use candor_fault::to_json;
use std::collections::BTreeMap;

/// The path of the steps.
const FIELD: &str = "updates.returns";

/// A row of `returns`.
#[derive(Debug, Clone)]
pub(super) struct ReturnRow {
    pub(super) id: String,
    pub(super) status: ReturnStatus,
    pub(super) details: ReturnDetails<'static>,
    is_changed: bool,
}

/// The units that steps add to the stock of a SKU at a location, or take from it.
type LocationShifts = BTreeMap<(String, String), i64>;

/// The effect of steps on the stock.
#[derive(Debug, Default)]
pub(super) struct ReturnEffects {
    pub(super) shifts: BTreeMap<String, StockShift>,
    locations: LocationShifts,
    /// True if units are no longer returned.
    pub(super) changes_lines: bool,
}

/// Loads the returns of an order. The order is locked, so they do not change.
pub(super) async fn load(
    change: &mut ChangeContext<'_>,
    order_id: &str,
) -> Result<Vec<ReturnRow>, TransactionError> {
    let statement = sql("SELECT id, status, details FROM returns WHERE order_id = $1");
    let rows = change
        .session
        .all(statement.bind(order_id.to_owned()))
        .await?;
    let read = rows.iter().map(|row| {
        let status = ReturnStatus::read(&get_text(row, 1)?);
        Ok(ReturnRow {
            id: get_text(row, 0)?,
            status: status.ok_or_else(|| corrupt_row("the database has an unknown status"))?,
            details: get_json(row, 2)?,
            is_changed: false,
        })
    });
    read.collect::<Result<_, Failure>>()
        .map_err(TransactionError::from)
}

/// Returns the SKUs whose stock the steps may move.
pub(super) fn skus(steps: &[ReturnUpdate], returns: &[ReturnRow]) -> Vec<String> {
    let moved = returns.iter().filter(|row| {
        let mut own = steps.iter().filter(|step| step.id == row.id);
        own.any(|step| {
            step.restock_location_id.is_some() || row.details.restock_location_id.is_some()
        })
    });
    let lines = moved.flat_map(|row| row.details.line_items.iter());
    lines.map(|line| line.sku.clone()).collect()
}

/// Checks the steps and applies them to the rows and lines. `entries` contains the SKUs of
/// [`skus`].
pub(super) async fn apply(
    change: &mut ChangeContext<'_>,
    steps: &[ReturnUpdate],
    returns: &mut [ReturnRow],
    (lines, entries): (&mut [LineRow], &mut BTreeMap<String, CatalogueEntry>),
) -> Result<ReturnEffects, TransactionError> {
    let mut effects = ReturnEffects::default();
    for (index, step) in steps.iter().enumerate() {
        let field = |name: &str| format!("{FIELD}.{index}.{name}");
        let row = returns.iter_mut().find(|row| row.id == step.id);
        let missing = || OrderRefusal::from(RefusalReason::ReturnNotFound).at(field("id"));
        let row = row.ok_or_else(|| Failure::from(missing()))?;
        if step.restock_location_id.is_some() && step.status != ReturnStatus::Received {
            let broken = RuleViolation::new(field("restockLocationId"), OrderRule::Restock);
            return Err(Failure::from(broken).into());
        }
        if !row.status.may_become(step.status) {
            let refused = OrderRefusal::from(RefusalReason::InvalidReturnState);
            let refused = refused.at(field("status")).in_return_status(row.status);
            return Err(Failure::from(refused).into());
        }
        row.status = step.status;
        row.is_changed = true;
        row.details.note = step.note.clone().or(row.details.note.take());
        if let Some(location) = &step.restock_location_id {
            let path = field("restockLocationId");
            check_location(change.session, (location, &path)).await?;
            restock(row, location, entries, &mut effects);
        }
        if step.status == ReturnStatus::Declined {
            take_from_stock(change, row, (entries, &field("status")), &mut effects).await?;
            for (number, units) in row.details.units.iter() {
                for line in lines.iter_mut().filter(|line| line.line == *number) {
                    line.returned -= units;
                }
            }
            effects.changes_lines = true;
        }
    }
    Ok(effects)
}

/// Adds the units of a return to the stock of a location.
fn restock(
    row: &mut ReturnRow,
    location: &str,
    entries: &mut BTreeMap<String, CatalogueEntry>,
    effects: &mut ReturnEffects,
) {
    for line in row.details.line_items.iter() {
        let units = line.quantity.get();
        if let Some(entry) = entries.get_mut(&line.sku) {
            entry.available += units;
        }
        effects.shifts.entry(line.sku.clone()).or_default().on_hand += units;
        let here = (line.sku.clone(), location.to_owned());
        *effects.locations.entry(here).or_default() += units;
    }
    row.details.restock_location_id = Some(location.to_owned());
}

/// Takes the units of a declined return from the stock again, if they were added to it.
async fn take_from_stock(
    change: &mut ChangeContext<'_>,
    row: &mut ReturnRow,
    (entries, field): (&mut BTreeMap<String, CatalogueEntry>, &str),
    effects: &mut ReturnEffects,
) -> Result<(), TransactionError> {
    let Some(location) = row.details.restock_location_id.take() else {
        return Ok(());
    };
    for line in row.details.line_items.iter() {
        let units = line.quantity.get();
        let here = (line.sku.clone(), location.clone());
        let statement = dynamic_sql(format!(
            "SELECT on_hand FROM stock WHERE sku = $1 AND location_id = $2{}",
            change.session.dialect().lock_suffix()
        ));
        let statement = statement.bind(here.0.clone()).bind(here.1.clone());
        let stock = match change.session.first(statement).await? {
            Some(stock) => get_number(&stock, 0)?,
            None => 0,
        };
        let lying = stock + effects.locations.get(&here).copied().unwrap_or_default();
        let entry = entries.get_mut(&line.sku);
        let available = entry.as_ref().map_or(0, |entry| entry.available).min(lying);
        if units > available {
            let refused = OrderRefusal::from(RefusalReason::InsufficientInventory);
            let refused = refused.at(field).having(available.max(0));
            return Err(Failure::from(refused).into());
        }
        if let Some(entry) = entry {
            entry.available -= units;
        }
        effects.shifts.entry(line.sku.clone()).or_default().on_hand -= units;
        *effects.locations.entry(here).or_default() -= units;
    }
    Ok(())
}

/// Stores the changed returns and the stock of locations.
pub(super) async fn save(
    change: &mut ChangeContext<'_>,
    returns: &[ReturnRow],
    effects: &ReturnEffects,
) -> Result<(), TransactionError> {
    let at = change.at.micros();
    for row in returns.iter().filter(|row| row.is_changed) {
        let statement =
            sql("UPDATE returns SET status = $1, details = $2, updated_at = $3 WHERE id = $4")
                .bind(row.status.word())
                .bind(to_json(&row.details))
                .bind(at)
                .bind(row.id.clone());
        change.session.execute(statement).await?;
    }
    for ((sku, location), units) in &effects.locations {
        let statement = match units {
            0 => continue,
            1.. => {
                "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at)
                 VALUES ($1, $2, $3, $4, $4)
                 ON CONFLICT (sku, location_id) DO UPDATE
                 SET on_hand = stock.on_hand + excluded.on_hand, updated_at = excluded.updated_at"
            }
            _ => {
                "UPDATE stock SET on_hand = on_hand + $3, updated_at = $4
                 WHERE sku = $1 AND location_id = $2"
            }
        };
        let statement = sql(statement)
            .bind(sku.clone())
            .bind(location.clone())
            .bind(*units)
            .bind(at);
        change.session.execute(statement).await?;
    }
    Ok(())
}
