//! Pages of orders. Orders and lines come from one query, so that they are consistent.

use super::index_scan::{
    IndexScan, LeadingFilter, PHONE_MATCH, PageQuery, RowFilter, SqlArguments, has_update_range,
    limit, phone_matches,
};
use super::position::{PageRange, write};
use super::{PagedEntity, sorted_at};
use crate::failure::Failure;
use crate::model::{Currency, Order, OrderStatus, SortOrder};
use crate::model::{EntityQuery, Filters};
use crate::sql::connection::{get_number, get_optional_number, get_optional_text, get_text};
use crate::sql::lookups::{LookupKind, searched_digits};
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

/// A scan of the keys by which orders are looked up. Several keys may belong to one order.
const LOOKUPS: IndexScan<'_, 1> = IndexScan {
    columns: "lookups.created_at, lookups.id",
    from: "lookups",
    at: "lookups.created_at",
    rest: ["lookups.id"],
    order: "created_at, id",
    repeats: true,
};

/// A scan of the keys that joins the orders, for further conditions.
const LOOKUPS_AND_HEADS: IndexScan<'_, 1> = IndexScan {
    from: "lookups JOIN orders ON orders.id = lookups.id",
    ..LOOKUPS
};

/// A scan of the lines that joins the orders, for further conditions.
const LINES_AND_HEADS: IndexScan<'_, 1> = IndexScan {
    from: "order_lines JOIN orders ON orders.id = order_lines.order_id",
    ..LINES
};

fn words(statuses: &[OrderStatus]) -> Vec<&'static str> {
    statuses.iter().map(|status| status.word()).collect()
}

/// The table that a leading filter scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadingTable {
    Orders,
    Lines,
    Lookups(LookupKind),
}

/// Returns the keys of the filters that are looked up, without phones.
fn lookup_keys(filters: &Filters) -> [(LookupKind, Option<Vec<String>>); 3] {
    let keys = |kind: LookupKind, values: &Option<Vec<String>>| {
        (kind, values.as_deref().map(|all| kind.searched_keys(all)))
    };
    [
        keys(LookupKind::OrderTracking, &filters.tracking_numbers),
        keys(LookupKind::OrderName, &filters.names),
        keys(LookupKind::OrderPerson, &filters.customer_names),
    ]
}

/// Returns the leading filter: ids, else keys of lookups, else customers, else SKUs, else states,
/// else time. Pages that are sorted by the last change follow that time, unless few orders match.
fn each(filters: &Filters) -> Option<(LeadingFilter, LeadingTable)> {
    if filters.ids.is_some() || filters.external_ids.is_some() || filters.order_numbers.is_some() {
        return None;
    }
    if let Some(phones) = &filters.phones {
        let kind = LookupKind::OrderPhone;
        let each = LeadingFilter::of("lookups.key", &searched_digits(phones));
        let matches = PHONE_MATCH.replace("{prefix}", kind.prefix());
        let matches = matches.replace("{table}", "lookups");
        return Some((each.found_by(matches), LeadingTable::Lookups(kind)));
    }
    for (kind, keys) in lookup_keys(filters) {
        if let Some(keys) = keys {
            let each = LeadingFilter::of("lookups.key", &keys);
            return Some((each, LeadingTable::Lookups(kind)));
        }
    }
    if let Some(ids) = &filters.customer_ids {
        let each = LeadingFilter::of("orders.customer_id", ids);
        return Some((each, LeadingTable::Orders));
    }
    if let Some(emails) = &filters.emails {
        let each = LeadingFilter::of("orders.customer_id", emails);
        let whose = "(SELECT id FROM customers WHERE email_key = ?)";
        return Some((each.found_by(whose), LeadingTable::Orders));
    }
    if filters.sort == Some(SortOrder::UpdatedAt) {
        return None;
    }
    if let Some(skus) = &filters.skus {
        let each = LeadingFilter::of("order_lines.sku", skus);
        return Some((each, LeadingTable::Lines));
    }
    if let Some(statuses) = filters.statuses.as_deref() {
        let each = LeadingFilter::of("orders.status", &words(statuses));
        return Some((each, LeadingTable::Orders));
    }
    let statuses = filters.payment_statuses.as_deref()?;
    let words: Vec<_> = statuses.iter().map(|status| status.word()).collect();
    let each = LeadingFilter::of("orders.payment_status", &words);
    Some((each, LeadingTable::Orders))
}

/// Returns the condition that an order has a row in `lookups`.
fn has_lookup(condition: &str) -> String {
    // A count, because no planner turns it into a join over all rows of the keys.
    format!(
        "(SELECT COUNT(*) FROM lookups AS other WHERE other.id = orders.id AND other.created_at = orders.created_at AND {condition}) > 0"
    )
}

/// Returns the conditions of all filters except the leading one. Columns with another index are
/// concatenated with an empty text, so that no planner chooses that index.
fn conditions(
    arguments: &mut SqlArguments,
    filters: &Filters,
    (leading, table): (Option<&LeadingFilter>, LeadingTable),
) -> Vec<String> {
    let mut conditions = Vec::new();
    let by = |column: &str| leading.is_some_and(|each| each.column == column);
    if let Some(ids) = &filters.ids {
        conditions.push(format!("orders.id IN ({})", arguments.list(ids)));
    }
    if let Some(ids) = &filters.external_ids {
        conditions.push(format!("orders.external_id IN ({})", arguments.list(ids)));
    }
    if let Some(numbers) = &filters.order_numbers {
        conditions.push(format!("orders.number IN ({})", numbers_list(numbers)));
    }
    for (kind, keys) in lookup_keys(filters) {
        if let Some(keys) = keys.filter(|_| table != LeadingTable::Lookups(kind)) {
            let keys = arguments.list(&keys);
            conditions.push(has_lookup(&format!("other.key IN ({keys})")));
        }
    }
    let by_phone = table == LeadingTable::Lookups(LookupKind::OrderPhone);
    if let Some(phones) = filters.phones.as_ref().filter(|_| !by_phone) {
        let matches = phone_matches(arguments, LookupKind::OrderPhone, "other", phones);
        conditions.push(has_lookup(&matches));
    }
    let by_customer_ids = by("orders.customer_id") && filters.customer_ids.is_some();
    if let Some(ids) = filters.customer_ids.as_ref().filter(|_| !by_customer_ids) {
        let ids = arguments.list(ids);
        conditions.push(format!("orders.customer_id || '' IN ({ids})"));
    }
    let by_emails = by("orders.customer_id") && filters.customer_ids.is_none();
    if let Some(emails) = filters.emails.as_ref().filter(|_| !by_emails) {
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
    let statuses = filters.payment_statuses.as_ref();
    if let Some(statuses) = statuses.filter(|_| !by("orders.payment_status")) {
        let words: Vec<_> = statuses.iter().map(|status| status.word()).collect();
        let words = arguments.list(&words);
        conditions.push(format!("orders.payment_status || '' IN ({words})"));
    }
    conditions
}

/// Returns the order numbers among these texts, as a list for SQL. A number is written without a
/// sign and leading zeros.
fn numbers_list(texts: &[String]) -> String {
    let numbers = texts.iter().filter_map(|text| {
        let number: i64 = text.parse().ok()?;
        (number.to_string() == *text).then_some(text.as_str())
    });
    let numbers: Vec<_> = numbers.collect();
    match numbers.is_empty() {
        true => String::from("NULL"),
        false => numbers.join(", "),
    }
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
             order_lines.fulfilled, order_lines.cancelled, order_lines.tax,
             NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
             order_lines.line, order_lines.returned
         FROM page CROSS JOIN order_lines WHERE order_lines.order_id = page.id"
    )
}

/// The columns after those of an order: the index of a line, and its returned units.
const LINE: usize = 22;
const RETURNED: usize = 23;

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
        returned: get_number(row, RETURNED)?,
        tax: get_money(row, 11)?,
    })
}

impl PagedEntity for Order {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        let filters = &query.filters;
        let span = PageRange::of(query)?;
        let mut arguments = SqlArguments::default();
        let (each, table) = match each(filters) {
            Some((each, table)) => (Some(each), table),
            None => (None, LeadingTable::Orders),
        };
        let by_id = filters.ids.is_some()
            || filters.external_ids.is_some()
            || filters.order_numbers.is_some();
        let by_creation = query.sort() == SortOrder::CreatedAt;
        let alone = each.is_none() && !by_id && by_creation;
        let changed = alone && has_update_range(filters);
        let conditions = conditions(&mut arguments, filters, (each.as_ref(), table));
        let mut filter = RowFilter {
            each,
            conditions,
            changed,
            time: None,
        };
        filter.within(
            &mut arguments,
            ("orders.created_at", "orders.updated_at"),
            query,
        );
        let join = !filter.conditions.is_empty() || filter.time.is_some() || !by_creation;
        let walk = match (table, join) {
            (LeadingTable::Orders, _) => HEADS,
            (LeadingTable::Lines, false) => LINES,
            (LeadingTable::Lines, true) => LINES_AND_HEADS,
            (LeadingTable::Lookups(_), false) => LOOKUPS,
            (LeadingTable::Lookups(_), true) => LOOKUPS_AND_HEADS,
        };
        let walk = match query.sort() {
            SortOrder::CreatedAt => walk,
            SortOrder::UpdatedAt => IndexScan {
                columns: "orders.updated_at, orders.id",
                rest: ["orders.id"],
                ..walk.sorted_by("orders.updated_at", "updated_at, id")
            },
        };
        let page = walk.text(&mut arguments, &span, &filter, limit(page_size));
        Ok(arguments.of(both(&page)))
    }

    fn read(rows: &[AnyRow], _: Currency, sort: SortOrder) -> Result<Vec<Order>, Failure> {
        let mut heads: Vec<OrderRow> = Vec::new();
        let mut lines: BTreeMap<String, Vec<LineRow>> = BTreeMap::new();
        for row in rows {
            match get_optional_number(row, LINE)? {
                None => heads.push(order_row(row)?),
                Some(number) => {
                    let line = line(row, number)?;
                    lines.entry(line.order_id.clone()).or_default().push(line);
                }
            }
        }
        let at = |row: &OrderRow| sorted_at(sort, row.created_at, row.updated_at);
        heads.sort_unstable_by(|a, b| (at(a), &a.id).cmp(&(at(b), &b.id)));
        let orders = heads.into_iter().map(|order_row| {
            let mut lines = lines.remove(&order_row.id).unwrap_or_default();
            lines.sort_unstable_by_key(|line| line.line);
            order_row.into_entity(lines)
        });
        Ok(orders.collect())
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.id],
        )
    }
}
