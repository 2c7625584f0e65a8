//! Pages of orders. Orders and lines come from one query, so that they are consistent.

use super::PagedEntity;
use super::index_scan::{
    IndexScan, LeadingFilter, PageQuery, RowFilter, SqlArguments, between, limit,
};
use super::position::{PageRange, write};
use crate::failure::Failure;
use crate::model::{Currency, Order, OrderStatus};
use crate::model::{EntityQuery, Filters};
use crate::sql::connection::{get_number, get_optional_number, get_optional_text, get_text};
use crate::sql::order::{LineRow, ORDER_COLUMNS, OrderRow, get_money, order_row};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// A scan of the orders.
const HEADS: IndexScan<'_, 1> = IndexScan {
    columns: "orders.created_at, orders.id",
    from: "orders",
    at: "orders.created_at",
    rest: ["orders.id"],
    order: "created_at, id",
    repeats: false,
};

/// A scan of the lines. Several lines may belong to one order.
const LINES: IndexScan<'_, 1> = IndexScan {
    columns: "order_lines.created_at, order_lines.order_id AS id",
    from: "order_lines",
    at: "order_lines.created_at",
    rest: ["order_lines.order_id"],
    order: "created_at, id",
    repeats: true,
};

/// A scan of the lines that joins the orders, for further conditions.
const LINES_AND_HEADS: IndexScan<'_, 1> = IndexScan {
    from: "order_lines JOIN orders ON orders.id = order_lines.order_id",
    ..LINES
};

fn words(statuses: &[OrderStatus]) -> Vec<&'static str> {
    statuses.iter().map(|status| status.word()).collect()
}

/// Returns the leading filter: ids, else customers, else SKUs, else states, else time. The flag is
/// true for a scan of the lines.
fn each(filters: &Filters) -> Option<(LeadingFilter, bool)> {
    if filters.ids.is_some() || filters.external_ids.is_some() {
        return None;
    }
    if let Some(emails) = &filters.emails {
        let each = LeadingFilter::of("orders.customer_id", emails);
        let whose = "(SELECT id FROM customers WHERE email_key = ?)";
        return Some((each.found_by(whose), false));
    }
    if let Some(skus) = &filters.skus {
        return Some((LeadingFilter::of("order_lines.sku", skus), true));
    }
    let statuses = filters.statuses.as_deref()?;
    Some((LeadingFilter::of("orders.status", &words(statuses)), false))
}

/// Returns the conditions of all filters except the leading one. Columns with another index are
/// concatenated with an empty text, so that no planner chooses that index.
fn conditions(
    arguments: &mut SqlArguments,
    filters: &Filters,
    (leading, changed): (Option<&LeadingFilter>, bool),
) -> Vec<String> {
    let mut conditions = Vec::new();
    let by = |column: &str| leading.is_some_and(|each| each.column == column);
    if let Some(ids) = &filters.ids {
        conditions.push(format!("orders.id IN ({})", arguments.list(ids)));
    }
    if let Some(ids) = &filters.external_ids {
        conditions.push(format!("orders.external_id IN ({})", arguments.list(ids)));
    }
    if let Some(emails) = filters
        .emails
        .as_ref()
        .filter(|_| !by("orders.customer_id"))
    {
        conditions.push(format!(
            "orders.customer_id || '' IN (SELECT id FROM customers WHERE email_key IN ({}))",
            arguments.list(emails)
        ));
    }
    if let Some(skus) = filters.skus.as_ref().filter(|_| !by("order_lines.sku")) {
        // A count, because no planner turns it into a join over all lines of the SKU.
        conditions.push(format!(
            "(SELECT COUNT(*) FROM order_lines WHERE order_lines.order_id = orders.id AND order_lines.sku || '' IN ({})) > 0",
            arguments.list(skus)
        ));
    }
    if let Some(statuses) = filters.statuses.as_ref().filter(|_| !by("orders.status")) {
        conditions.push(format!(
            "orders.status || '' IN ({})",
            arguments.list(&words(statuses))
        ));
    }
    let range = (filters.updated_at_min, filters.updated_at_max);
    conditions.extend(between(arguments, ("orders.updated_at", changed), range));
    conditions
}

/// Returns the query for orders and lines as rows of one shape: the columns of an order, then two
/// that only lines have. Long texts of an order are not repeated with each line.
fn both(page: &str) -> String {
    format!(
        "WITH page AS MATERIALIZED ({page})
         SELECT {ORDER_COLUMNS}, CAST(NULL AS BIGINT) AS line, CAST(NULL AS BIGINT) AS returned
         FROM page CROSS JOIN orders WHERE orders.id = page.id
         UNION ALL
         SELECT order_lines.order_id, order_lines.sku, order_lines.name, NULL, NULL, NULL,
             order_lines.quantity, order_lines.unit_price, order_lines.unit_discount,
             order_lines.fulfilled, order_lines.cancelled, order_lines.line, order_lines.returned
         FROM page CROSS JOIN order_lines WHERE order_lines.order_id = page.id"
    )
}

fn line(row: &AnyRow, line: i64) -> Result<LineRow, Failure> {
    Ok(LineRow {
        order_id: get_text(row, 0)?,
        line,
        sku: get_text(row, 1)?,
        name: get_optional_text(row, 2)?,
        quantity: get_number(row, 6)?,
        unit_price: get_money(row, 7)?,
        unit_discount: get_money(row, 8)?,
        fulfilled: get_number(row, 9)?,
        cancelled: get_number(row, 10)?,
        returned: get_number(row, 12)?,
    })
}

impl PagedEntity for Order {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        let filters = &query.filters;
        let span = PageRange::of(query)?;
        let mut arguments = SqlArguments::default();
        let leading = each(filters);
        let (each, by_lines) = leading.map_or((None, false), |(each, lines)| (Some(each), lines));
        let alone = each.is_none() && filters.ids.is_none() && filters.external_ids.is_none();
        let changed = alone && filters.updated_at_min.is_some();
        let conditions = conditions(&mut arguments, filters, (each.as_ref(), changed));
        let walk = match (by_lines, conditions.is_empty()) {
            (false, _) => HEADS,
            (true, true) => LINES,
            (true, false) => LINES_AND_HEADS,
        };
        let filter = RowFilter {
            each,
            conditions,
            changed,
        };
        let page = walk.text(&mut arguments, &span, &filter, limit(page_size));
        Ok(arguments.of(both(&page)))
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Order>, Failure> {
        let mut heads: Vec<OrderRow> = Vec::new();
        let mut lines: BTreeMap<String, Vec<LineRow>> = BTreeMap::new();
        for row in rows {
            match get_optional_number(row, 11)? {
                None => heads.push(order_row(row)?),
                Some(number) => {
                    let line = line(row, number)?;
                    lines.entry(line.order_id.clone()).or_default().push(line);
                }
            }
        }
        heads.sort_unstable_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        let orders = heads.into_iter().map(|order_row| {
            let mut lines = lines.remove(&order_row.id).unwrap_or_default();
            lines.sort_unstable_by_key(|line| line.line);
            order_row.into_entity(lines)
        });
        Ok(orders.collect())
    }

    fn position(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}
