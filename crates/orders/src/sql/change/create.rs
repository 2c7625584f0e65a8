//! `create-sales-order`: prices the lines, by the catalogue if the caller gives no price, and
//! reserves their stock.

use super::lines::move_stock;
use super::payments::PaymentLedger;
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{
    Currency, Money, NewLineItem, NewOrder, NewShipping, OrderAmounts, OrderCustomer, OrderStatus,
    Shipping, Totals, TotalsError, to_money,
};
use crate::sql::connection::{
    AnyQuery, DbConnection, dynamic_sql, get_number, get_optional_text, get_text, placeholders,
    sql, values_list,
};
use crate::sql::dialect::SqlDialect;
use crate::sql::errors::TransactionError;
use crate::sql::lookups;
use crate::sql::order::{LineRow, OrderDetails, OrderRow, get_money};
use crate::sql::stock_changes::CatalogueEntry;
use candor_fault::to_json;
use std::collections::{BTreeMap, BTreeSet};

/// An order that passed every check and is to be stored.
pub(super) struct OrderDraft {
    pub(super) external_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) currency: Currency,
    pub(super) details: OrderDetails,
    pub(super) amounts: OrderAmounts,
    pub(super) totals: Totals,
    pub(super) paid_total: Money,
    pub(super) lines: Vec<LineRow>,
    pub(super) exchange_for: Option<String>,
}

pub(super) async fn create(
    mut change: ChangeContext<'_>,
    order: &NewOrder,
) -> Result<ChangeResult, TransactionError> {
    let currency = currency(&change, order)?;
    if let Some(external_id) = &order.external_id {
        check_external_id(change.session, external_id).await?;
    }
    let known = match order.customer.as_ref() {
        Some(customer) => find_customer(change.session, customer).await?,
        None => None,
    };
    let skus = order.line_items.iter().map(|line| line.sku.as_str());
    let entries = read_entries(change.session, skus, "order.lineItems").await?;
    let by_catalogue = currency == change.currency;
    let lines = price_lines(&order.line_items, &entries, currency, by_catalogue)?;
    let amounts = order_amounts(order, currency)?;
    let totals = totals(order, &lines, &amounts, currency)?;
    let mut ledger = PaymentLedger::default();
    if let Some(payments) = &order.payments {
        let ids = || change.ids.next("pay", change.at);
        ledger.record_payments(payments, (currency, change.at, "order.payments"), ids)?;
    }
    let units = order
        .line_items
        .iter()
        .map(|line| (line.sku.as_str(), line.quantity.get()));
    let units = check_stock(units, &entries, "order.lineItems")?;
    let paid_total = ledger.paid_total(currency, "order.payments")?;
    // Every check has passed. The writes start here.
    let customer = match (&order.customer, known) {
        (Some(_), Some(known)) => Some(known),
        (Some(customer), None) => Some(insert_customer(&mut change, customer).await?),
        (None, _) => None,
    };
    let draft = OrderDraft {
        external_id: order.external_id.clone(),
        name: order.name.clone(),
        currency,
        details: OrderDetails {
            customer,
            shipping_address: order.shipping_address.clone(),
            billing_address: order.billing_address.clone(),
            tags: order.tags.clone().unwrap_or_default(),
            custom_fields: order.custom_fields.clone().unwrap_or_default(),
            notes: order.notes.clone(),
            cancel_reason: None,
            shipping: shown_shipping(None, order.shipping.as_ref(), &amounts, currency),
            payments: ledger.payments,
            refunds: Vec::new(),
        },
        amounts,
        totals,
        paid_total,
        lines,
        exchange_for: None,
    };
    let (order_row, lines) = place(&mut change, draft).await?;
    move_stock(change.session, &units, (0, 1));
    let id = order_row.id.clone();
    ChangeResult::new(&order_row.into_entity(lines), &id)
}

/// Returns the queries with which [`create`] starts in a file, in their order.
pub(super) fn first_queries(order: &NewOrder) -> Vec<AnyQuery> {
    let external_id = order.external_id.as_deref().map(external_id_query);
    let customer = order.customer.as_ref().and_then(customer_query);
    let skus = order.line_items.iter().map(|line| line.sku.as_str());
    let skus: BTreeSet<_> = skus.collect();
    let entries = (!skus.is_empty()).then(|| entries_query(&skus, ""));
    let all = [external_id, customer, entries];
    all.into_iter().flatten().collect()
}

/// Stores a new order with its lines and lookup keys. The stock is moved by the caller.
pub(super) async fn place(
    change: &mut ChangeContext<'_>,
    draft: OrderDraft,
) -> Result<(OrderRow, Vec<LineRow>), TransactionError> {
    let mut order_row = OrderRow {
        id: change.ids.next("ord", change.at),
        external_id: draft.external_id,
        name: draft.name,
        status: OrderStatus::Pending,
        currency: draft.currency,
        details: draft.details,
        totals: draft.totals,
        amounts: draft.amounts,
        paid_total: draft.paid_total,
        refunded_total: Money::default(),
        created_at: change.at,
        updated_at: change.at,
        number: 0,
        next_line: i64::try_from(draft.lines.len()).unwrap_or(i64::MAX),
        exchange_for: draft.exchange_for,
    };
    let lines: Vec<_> = draft
        .lines
        .into_iter()
        .map(|line| LineRow {
            order_id: order_row.id.clone(),
            ..line
        })
        .collect();
    let keys = lookups::of_order(order_row.name.as_deref(), &order_row.details);
    let order = (order_row.id.as_str(), order_row.created_at);
    let mut statements = vec![
        order_statement(change.session.dialect(), &order_row),
        lines_statement(&lines, order_row.created_at.micros()),
    ];
    statements.extend(lookups::insert_statement(order, &keys));
    match change.session.write_all(statements).await? {
        // Another call took the external id in the meantime: the next try reports that.
        None => Err(TransactionError::Again(Failure::Unavailable(None, None))),
        Some(row) => {
            order_row.number = get_number(&row, 0)?;
            Ok((order_row, lines))
        }
    }
}

fn currency(change: &ChangeContext<'_>, order: &NewOrder) -> Result<Currency, Failure> {
    match order.currency.as_deref() {
        None => Ok(change.currency),
        Some(code) => Currency::read(code)
            .ok_or_else(|| RuleViolation::new("order.currency", OrderRule::Currency).into()),
    }
}

async fn check_external_id(
    session: &mut DbConnection,
    external_id: &str,
) -> Result<(), TransactionError> {
    match session.first(external_id_query(external_id)).await? {
        None => Ok(()),
        Some(_) => {
            let refused =
                OrderRefusal::from(RefusalReason::ExternalIdConflict).at("order.externalId");
            Err(Failure::from(refused).into())
        }
    }
}

fn external_id_query(external_id: &str) -> AnyQuery {
    let statement = sql("SELECT id FROM orders WHERE external_id = $1");
    statement.bind(external_id.to_owned())
}

/// Returns the known customer with this id or email address, or `None` for a new one.
async fn find_customer(
    session: &mut DbConnection,
    customer: &OrderCustomer,
) -> Result<Option<OrderCustomer>, TransactionError> {
    let found = match customer_query(customer) {
        Some(query) => session.first(query).await?,
        None => None,
    };
    let missing =
        || Failure::from(OrderRefusal::from(RefusalReason::CustomerNotFound).at("order.customer"));
    let Some(row) = found else {
        return match customer.id {
            Some(_) => Err(missing().into()),
            None => Ok(None),
        };
    };
    let known = merge_customer(&row, customer)?;
    let small = |email: &Option<String>| email.as_ref().map(|email| email.to_lowercase());
    // An id and an address of different customers name neither.
    let same =
        customer.email.is_none() || small(&customer.email) == small(&get_optional_text(&row, 1)?);
    if same {
        Ok(Some(known))
    } else {
        Err(missing().into())
    }
}

fn customer_query(customer: &OrderCustomer) -> Option<AnyQuery> {
    match (&customer.id, &customer.email) {
        (Some(id), _) => {
            // The id of an erased customer names nobody any more.
            let statement = sql(
                "SELECT id, email, first_name, last_name, phone FROM customers
                 WHERE id = $1 AND erased_at IS NULL",
            );
            Some(statement.bind(id.clone()))
        }
        (None, Some(email)) => Some(email_query(email)),
        (None, None) => None,
    }
}

fn email_query(email: &str) -> AnyQuery {
    let statement =
        sql("SELECT id, email, first_name, last_name, phone FROM customers WHERE email_key = $1");
    statement.bind(email.to_lowercase())
}

/// Returns the customer as it is stored in the order: the caller's values first, then the known
/// ones.
fn merge_customer(
    row: &sqlx::any::AnyRow,
    customer: &OrderCustomer,
) -> Result<OrderCustomer, Failure> {
    let (email, first, last) = (
        get_optional_text(row, 1)?,
        get_optional_text(row, 2)?,
        get_optional_text(row, 3)?,
    );
    Ok(OrderCustomer {
        id: Some(get_text(row, 0)?),
        email: customer.email.clone().or(email),
        first_name: customer.first_name.clone().or(first),
        last_name: customer.last_name.clone().or(last),
        phone: customer.phone.clone().or(get_optional_text(row, 4)?),
    })
}

async fn insert_customer(
    change: &mut ChangeContext<'_>,
    customer: &OrderCustomer,
) -> Result<OrderCustomer, TransactionError> {
    let email = customer.email.clone().unwrap_or_default();
    let id = change.ids.next("cus", change.at);
    let query = sql("INSERT INTO customers (id, email, email_key, first_name, last_name, phone, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
         ON CONFLICT (email_key) DO NOTHING RETURNING id, email, first_name, last_name, phone")
    .bind(id.clone())
    .bind(email.clone())
    .bind(email.to_lowercase())
    .bind(customer.first_name.clone())
    .bind(customer.last_name.clone())
    .bind(customer.phone.clone())
    .bind(change.at.micros());
    let row = match change.session.first(query).await? {
        Some(row) => {
            let (first, last) = (
                customer.first_name.as_deref(),
                customer.last_name.as_deref(),
            );
            let keys = lookups::of_customer(first, last, customer.phone.as_deref());
            lookups::insert(change.session, (&id, change.at), &keys).await?;
            Some(row)
        }
        // Another call created the same customer in the meantime.
        None => change.session.first(email_query(&email)).await?,
    };
    let row = row.ok_or_else(|| TransactionError::Again(Failure::Unavailable(None, None)))?;
    Ok(merge_customer(&row, customer)?)
}

/// Returns the catalogue entries of these SKUs. Earlier changes of the same transaction count for
/// their stock. The rows are locked, in the order of their SKUs, only if an attempt without locks
/// found too little stock in the end. `field` is the path of the lines that name them.
pub(super) async fn read_entries<'a>(
    session: &mut DbConnection,
    named: impl Iterator<Item = &'a str>,
    field: &str,
) -> Result<BTreeMap<String, CatalogueEntry>, TransactionError> {
    let named: Vec<_> = named.collect();
    let skus: BTreeSet<_> = named.iter().copied().collect();
    if skus.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut found = match session.known_entries(&skus) {
        Some(known) => known,
        None => query_entries(session, &skus).await?,
    };
    for (sku, entry) in &mut found {
        entry.available += session.stock().available(sku);
    }
    let unknown = named.iter().position(|sku| !found.contains_key(*sku));
    if let Some(index) = unknown {
        let field = format!("{field}.{index}.sku");
        return Err(Failure::from(OrderRefusal::from(RefusalReason::SkuNotFound).at(field)).into());
    }
    Ok(found)
}

/// Reads the catalogue entries of these SKUs, without the changes of this transaction.
async fn query_entries(
    session: &mut DbConnection,
    skus: &BTreeSet<&str>,
) -> Result<BTreeMap<String, CatalogueEntry>, TransactionError> {
    let locking = match session.locks_stock {
        true => session.dialect().lock_suffix(),
        false => "",
    };
    let rows = session.all(entries_query(skus, locking)).await?;
    let read = rows.iter().map(|row| {
        let entry = CatalogueEntry {
            name: get_text(row, 1)?,
            price: get_money(row, 2)?,
            available: get_number(row, 3)?,
        };
        Ok((get_text(row, 0)?, entry))
    });
    let entries: BTreeMap<_, _> = read.collect::<Result<_, Failure>>()?;
    session.keep_entries(&entries);
    Ok(entries)
}

fn entries_query(skus: &BTreeSet<&str>, locking: &str) -> AnyQuery {
    let statement = dynamic_sql(format!(
        "SELECT sku, name, price, on_hand - reserved FROM variants WHERE sku IN ({}) ORDER BY sku{locking}",
        placeholders(skus.len(), 1),
    ));
    skus.iter()
        .fold(statement, |query, sku| query.bind((*sku).to_owned()))
}

/// Returns the lines with their amounts. Their order id is set later.
fn price_lines(
    lines: &[NewLineItem],
    entries: &BTreeMap<String, CatalogueEntry>,
    currency: Currency,
    by_catalogue: bool,
) -> Result<Vec<LineRow>, Failure> {
    let mut priced = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let entry = entries.get(&line.sku);
        let field = |name| format!("order.lineItems.{index}.{name}");
        let (cost, off, tax) = (field("unitPrice"), field("unitDiscount"), field("tax"));
        let given = to_money(&cost, line.unit_price.as_ref(), currency)?;
        let catalogue = entry.map(|entry| entry.price).filter(|_| by_catalogue);
        let unit_price = given.or(catalogue);
        let unpriced = || RuleViolation::new("order.currency", OrderRule::CatalogueCurrency);
        let unit_price = unit_price.ok_or_else(unpriced)?;
        let discount = to_money(&off, line.unit_discount.as_ref(), currency)?;
        let unit_discount = discount.unwrap_or_default();
        if unit_discount > unit_price {
            return Err(RuleViolation::new(off, OrderRule::Discount).into());
        }
        priced.push(LineRow {
            order_id: String::new(),
            line: i64::try_from(index).unwrap_or(i64::MAX),
            sku: line.sku.clone(),
            name: line
                .name
                .clone()
                .or_else(|| entry.map(|entry| entry.name.clone())),
            quantity: line.quantity.get(),
            unit_price,
            unit_discount,
            fulfilled: 0,
            cancelled: 0,
            returned: 0,
            tax: to_money(&tax, line.tax.as_ref(), currency)?.unwrap_or_default(),
        });
    }
    Ok(priced)
}

/// Returns the amounts of an order that do not belong to a line.
fn order_amounts(order: &NewOrder, currency: Currency) -> Result<OrderAmounts, Failure> {
    let (discount, tax) = (order.order_discount.as_ref(), order.order_tax.as_ref());
    let amounts = OrderAmounts {
        order_discount: to_money("order.orderDiscount", discount, currency)?.unwrap_or_default(),
        order_tax: to_money("order.orderTax", tax, currency)?.unwrap_or_default(),
        tax_included: order.tax_included.unwrap_or_default(),
        ..OrderAmounts::default()
    };
    with_shipping(amounts, order.shipping.as_ref(), currency, "order.shipping")
}

/// Sets the amounts of the shipping that are given.
pub(super) fn with_shipping(
    mut amounts: OrderAmounts,
    shipping: Option<&NewShipping>,
    currency: Currency,
    field: &str,
) -> Result<OrderAmounts, Failure> {
    if let Some(shipping) = shipping {
        let price = to_money(&format!("{field}.price"), shipping.price.as_ref(), currency)?;
        let tax = to_money(&format!("{field}.tax"), shipping.tax.as_ref(), currency)?;
        amounts.shipping_price = price.unwrap_or(amounts.shipping_price);
        amounts.shipping_tax = tax.unwrap_or(amounts.shipping_tax);
    }
    Ok(amounts)
}

/// Returns the shipping as answers show it: the given members over the earlier ones.
pub(super) fn shown_shipping(
    before: Option<Shipping>,
    given: Option<&NewShipping>,
    amounts: &OrderAmounts,
    currency: Currency,
) -> Option<Shipping> {
    let Some(given) = given else {
        return before;
    };
    let before = before.unwrap_or_default();
    let given = given.clone();
    Some(Shipping {
        carrier: given.carrier.or(before.carrier),
        service: given.service.or(before.service),
        price: Some(amounts.shipping_price.text(currency)),
        tax: Some(amounts.shipping_tax.text(currency)),
        instructions: given.instructions.or(before.instructions),
    })
}

fn totals(
    order: &NewOrder,
    lines: &[LineRow],
    amounts: &OrderAmounts,
    currency: Currency,
) -> Result<Totals, Failure> {
    let of_lines: Vec<_> = lines.iter().map(LineRow::amounts).collect();
    let broken = |error| match error {
        TotalsError::Digits => RuleViolation::new("order.lineItems", OrderRule::Digits),
        TotalsError::Discount => {
            RuleViolation::new("order.orderDiscount", OrderRule::OrderDiscount)
        }
        TotalsError::LineTax(index) => {
            RuleViolation::new(format!("order.lineItems.{index}.tax"), OrderRule::Tax)
        }
        TotalsError::ShippingTax => RuleViolation::new("order.shipping.tax", OrderRule::Tax),
    };
    let totals = Totals::of(&of_lines, amounts).map_err(broken)?;
    let given = [
        ("order.subTotal", order.sub_total.as_ref()),
        ("order.discountTotal", order.discount_total.as_ref()),
        ("order.shippingTotal", order.shipping_total.as_ref()),
        ("order.taxTotal", order.tax_total.as_ref()),
        ("order.total", order.total.as_ref()),
    ];
    totals.check(currency, given)?;
    Ok(totals)
}

/// Returns the units of each SKU, if there is enough stock of all of them. `field` is the path of
/// the lines.
pub(super) fn check_stock<'a>(
    lines: impl Iterator<Item = (&'a str, i64)>,
    entries: &BTreeMap<String, CatalogueEntry>,
    field: &str,
) -> Result<BTreeMap<String, i64>, Failure> {
    let mut units = BTreeMap::new();
    for (index, (sku, quantity)) in lines.enumerate() {
        let needed: &mut i64 = units.entry(sku.to_owned()).or_default();
        *needed += quantity;
        let available = entries.get(sku).map_or(0, |found| found.available);
        if *needed > available {
            let field = format!("{field}.{index}.quantity");
            let refused = OrderRefusal::from(RefusalReason::InsufficientInventory);
            return Err(refused.at(field).having(available).into());
        }
    }
    Ok(units)
}

/// Returns the statement that inserts the row of an order. It returns the number that the order
/// gets, or no row if another order has its external id.
fn order_statement(dialect: SqlDialect, order_row: &OrderRow) -> AnyQuery {
    let (totals, amounts) = (order_row.totals, order_row.amounts);
    let customer = order_row.details.customer.as_ref();
    let customer_id = customer.and_then(|customer| customer.id.clone());
    dynamic_sql(format!(
        "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
             sub_total, discount_total, total, created_at, updated_at, shipping_total, shipping_tax,
             order_discount, order_tax, tax_total, tax_included, paid_total, payment_status,
             next_line, exchange_for, number)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19, $20, $21, $22, {})
         ON CONFLICT (external_id) DO NOTHING RETURNING number",
        dialect.next_order_number()
    ))
    .bind(order_row.id.clone())
    .bind(order_row.external_id.clone())
    .bind(order_row.name.clone())
    .bind(order_row.status.word())
    .bind(order_row.currency.code())
    .bind(customer_id)
    .bind(to_json(&order_row.details))
    .bind(totals.sub_total.minor())
    .bind(totals.discount_total.minor())
    .bind(totals.total.minor())
    .bind(order_row.created_at.micros())
    .bind(order_row.updated_at.micros())
    .bind(amounts.shipping_price.minor())
    .bind(amounts.shipping_tax.minor())
    .bind(amounts.order_discount.minor())
    .bind(amounts.order_tax.minor())
    .bind(totals.tax_total.minor())
    .bind(i64::from(amounts.tax_included))
    .bind(order_row.paid_total.minor())
    .bind(order_row.payment_status().word())
    .bind(order_row.next_line)
    .bind(order_row.exchange_for.clone())
}

pub(super) async fn insert_lines(
    session: &mut DbConnection,
    lines: &[LineRow],
    at: i64,
) -> Result<(), TransactionError> {
    session.execute(lines_statement(lines, at)).await.map(drop)
}

fn lines_statement(lines: &[LineRow], at: i64) -> AnyQuery {
    const TYPES: [&str; 12] = [
        "TEXT", "BIGINT", "TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT",
        "BIGINT", "BIGINT", "BIGINT",
    ];
    let statement = dynamic_sql(format!(
        "INSERT INTO order_lines (order_id, line, sku, name, quantity, unit_price, unit_discount,
             fulfilled, cancelled, returned, created_at, tax) VALUES {}",
        values_list(lines.len(), &TYPES, 1)
    ));
    lines.iter().fold(statement, |query, line| {
        query
            .bind(line.order_id.clone())
            .bind(line.line)
            .bind(line.sku.clone())
            .bind(line.name.clone())
            .bind(line.quantity)
            .bind(line.unit_price.minor())
            .bind(line.unit_discount.minor())
            .bind(line.fulfilled)
            .bind(line.cancelled)
            .bind(line.returned)
            .bind(at)
            .bind(line.tax.minor())
    })
}
