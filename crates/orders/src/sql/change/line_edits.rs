//! Edits of an order's lines before they are shipped: new quantities and prices, new lines, removed
//! lines.

use super::lines::StockShift;
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{Currency, LineEdit, MAX_LINES, Money, to_money};
use crate::sql::order::{LineRow, OrderRow};
use crate::sql::stock_changes::CatalogueEntry;
use std::collections::BTreeMap;

/// The path of the edits.
pub(super) const FIELD: &str = "updates.lineItems";

/// Applies edits to the lines, and returns the change of the reservations. `entries` contains every
/// SKU of the edits; its available units are reduced by what the edits reserve.
pub(super) fn apply(
    edits: &[LineEdit],
    order_row: &mut OrderRow,
    lines: &mut Vec<LineRow>,
    (entries, by_catalogue): (&mut BTreeMap<String, CatalogueEntry>, bool),
) -> Result<BTreeMap<String, StockShift>, Failure> {
    let mut shifts: BTreeMap<String, StockShift> = BTreeMap::new();
    for (index, edit) in edits.iter().enumerate() {
        let field = |name: &str| format!("{FIELD}.{index}.{name}");
        let target = find_line(edit, lines, field("line"))?;
        let open_before = target.map_or(0, |target| lines[target].open());
        let open_after = match target {
            Some(target) => edit_line(edit, order_row, lines, (target, &field))?,
            None => add_line(
                edit,
                order_row,
                lines,
                (entries.get(&edit.sku), by_catalogue, &field),
            )?,
        };
        let reserved = open_after - open_before;
        if let Some(entry) = entries.get_mut(&edit.sku) {
            if reserved > entry.available {
                let refused = OrderRefusal::from(RefusalReason::InsufficientInventory);
                let refused = refused.at(field("quantity")).having(entry.available.max(0));
                return Err(refused.into());
            }
            entry.available -= reserved;
        }
        shifts.entry(edit.sku.clone()).or_default().reserved += reserved;
    }
    if lines.is_empty() {
        return Err(RuleViolation::new(FIELD, OrderRule::Lines).into());
    }
    if lines.len() > MAX_LINES {
        return Err(RuleViolation::new(FIELD, OrderRule::LineLimit).into());
    }
    Ok(shifts)
}

/// Returns the index of the line that an edit names, or `None` for a new SKU.
fn find_line(
    edit: &LineEdit,
    lines: &[LineRow],
    field: String,
) -> Result<Option<usize>, RuleViolation> {
    let of_sku: Vec<_> = (0..lines.len())
        .filter(|line| lines[*line].sku == edit.sku)
        .collect();
    match (edit.line, of_sku.as_slice()) {
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some(*only)),
        (None, _) => Err(RuleViolation::new(field, OrderRule::Line)),
        (Some(number), of_sku) => {
            let mut named = of_sku.iter();
            let named = named.find(|line| lines[**line].number() == number.get());
            let unknown = || RuleViolation::new(field, OrderRule::Line);
            named.copied().map(Some).ok_or_else(unknown)
        }
    }
}

/// Changes or removes a line, and returns its units that are open afterwards.
fn edit_line(
    edit: &LineEdit,
    order_row: &OrderRow,
    lines: &mut Vec<LineRow>,
    (target, field): (usize, &impl Fn(&str) -> String),
) -> Result<i64, Failure> {
    let (line, quantity) = (&mut lines[target], edit.quantity.get());
    if quantity < line.fulfilled + line.cancelled {
        let refused = OrderRefusal::from(RefusalReason::QuantityExceedsOpen);
        let refused = refused.at(field("quantity")).having(line.open());
        return Err(refused.in_status(order_row.status).into());
    }
    if quantity == 0 {
        lines.remove(target);
        return Ok(0);
    }
    line.quantity = quantity;
    line.name = edit.name.clone().or(line.name.take());
    set_amounts(edit, line, order_row.currency, field)?;
    Ok(line.open())
}

/// Adds a line, and returns its units.
fn add_line<F: Fn(&str) -> String>(
    edit: &LineEdit,
    order_row: &mut OrderRow,
    lines: &mut Vec<LineRow>,
    (entry, by_catalogue, field): (Option<&CatalogueEntry>, bool, &F),
) -> Result<i64, Failure> {
    let quantity = edit.quantity.get();
    if quantity == 0 {
        let refused = OrderRefusal::from(RefusalReason::SkuNotFound).at(field("sku"));
        return Err(refused.in_status(order_row.status).into());
    }
    let catalogue = entry.map(|entry| entry.price).filter(|_| by_catalogue);
    let unit_price = match edit.unit_price {
        // Set below.
        Some(_) => Money::default(),
        None => {
            let unpriced = || RuleViolation::new(field("unitPrice"), OrderRule::CatalogueCurrency);
            catalogue.ok_or_else(unpriced)?
        }
    };
    let catalogue_name = || entry.map(|entry| entry.name.clone());
    let mut line = LineRow {
        order_id: order_row.id.clone(),
        line: order_row.next_line,
        sku: edit.sku.clone(),
        name: edit.name.clone().or_else(catalogue_name),
        quantity,
        unit_price,
        unit_discount: Money::default(),
        fulfilled: 0,
        cancelled: 0,
        returned: 0,
        tax: Money::default(),
    };
    set_amounts(edit, &mut line, order_row.currency, field)?;
    order_row.next_line += 1;
    lines.push(line);
    Ok(quantity)
}

/// Sets the amounts that an edit gives.
fn set_amounts(
    edit: &LineEdit,
    line: &mut LineRow,
    currency: Currency,
    field: &impl Fn(&str) -> String,
) -> Result<(), Failure> {
    let money = |name: &str, amount| to_money(&field(name), amount, currency);
    let price = money("unitPrice", edit.unit_price.as_ref())?;
    let discount = money("unitDiscount", edit.unit_discount.as_ref())?;
    let tax = money("tax", edit.tax.as_ref())?;
    line.unit_price = price.unwrap_or(line.unit_price);
    line.unit_discount = discount.unwrap_or(line.unit_discount);
    line.tax = tax.unwrap_or(line.tax);
    match line.unit_discount > line.unit_price {
        true => Err(RuleViolation::new(field("unitDiscount"), OrderRule::Discount).into()),
        false => Ok(()),
    }
}
