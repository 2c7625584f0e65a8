//! `create-sales-order`: prices the lines, by the catalogue if the caller gives no price, and
//! reserves their stock.

use super::lines::move_stock;
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{
    Currency, Money, NewLineItem, NewOrder, OrderCustomer, OrderStatus, Totals, to_money,
};
use crate::sql::connection::{
    DbConnection, dynamic_sql, get_number, get_optional_text, get_text, placeholders, sql,
    values_list,
};
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, OrderDetails, OrderRow, get_money};
use candor_fault::to_json;
use std::collections::BTreeMap;

/// A SKU in the catalogue, with the units that can still be ordered.
struct CatalogueEntry {
    name: String,
    price: Money,
    available: i64,
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
    let entries = read_entries(change.session, &order.line_items).await?;
    let by_catalogue = currency == change.currency;
    let lines = price_lines(&order.line_items, &entries, currency, by_catalogue)?;
    let totals = totals(order, &lines, currency)?;
    let units = check_stock(&order.line_items, &entries)?;
    // Every check has passed. The writes start here.
    let customer = match (&order.customer, known) {
        (Some(_), Some(known)) => Some(known),
        (Some(customer), None) => Some(insert_customer(&mut change, customer).await?),
        (None, _) => None,
    };
    let order_row = OrderRow {
        id: change.ids.next("ord", change.at),
        external_id: order.external_id.clone(),
        name: order.name.clone(),
        status: OrderStatus::Pending,
        currency,
        details: details(order, customer.as_ref()),
        sub_total: totals.sub_total,
        discount_total: totals.discount_total,
        total: totals.total,
        created_at: change.at,
        updated_at: change.at,
    };
    let lines: Vec<_> = lines
        .into_iter()
        .map(|line| LineRow {
            order_id: order_row.id.clone(),
            ..line
        })
        .collect();
    insert(change.session, &order_row, customer).await?;
    insert_lines(change.session, &lines, change.at.micros()).await?;
    move_stock(change.session, &units, (0, 1));
    let id = order_row.id.clone();
    ChangeResult::new(&order_row.into_entity(lines), &id)
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
    let statement = sql("SELECT id FROM orders WHERE external_id = $1");
    match session
        .first(statement.bind(external_id.to_owned()))
        .await?
    {
        None => Ok(()),
        Some(_) => {
            let refused =
                OrderRefusal::from(RefusalReason::ExternalIdConflict).at("order.externalId");
            Err(Failure::from(refused).into())
        }
    }
}

/// Returns the known customer with this id or email address, or `None` for a new one.
async fn find_customer(
    session: &mut DbConnection,
    customer: &OrderCustomer,
) -> Result<Option<OrderCustomer>, TransactionError> {
    let found = match (&customer.id, &customer.email) {
        (Some(id), _) => {
            let statement =
                sql("SELECT id, email, first_name, last_name FROM customers WHERE id = $1");
            session.first(statement.bind(id.clone())).await?
        }
        (None, Some(email)) => find_by_email(session, email).await?,
        (None, None) => None,
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

async fn find_by_email(
    session: &mut DbConnection,
    email: &str,
) -> Result<Option<sqlx::any::AnyRow>, TransactionError> {
    let statement =
        sql("SELECT id, email, first_name, last_name FROM customers WHERE email_key = $1");
    session.first(statement.bind(email.to_lowercase())).await
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
    })
}

async fn insert_customer(
    change: &mut ChangeContext<'_>,
    customer: &OrderCustomer,
) -> Result<OrderCustomer, TransactionError> {
    let email = customer.email.clone().unwrap_or_default();
    let query = sql("INSERT INTO customers (id, email, email_key, first_name, last_name, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (email_key) DO NOTHING RETURNING id, email, first_name, last_name")
    .bind(change.ids.next("cus", change.at))
    .bind(email.clone())
    .bind(email.to_lowercase())
    .bind(customer.first_name.clone())
    .bind(customer.last_name.clone())
    .bind(change.at.micros());
    let row = match change.session.first(query).await? {
        Some(row) => Some(row),
        // Another call created the same customer in the meantime.
        None => find_by_email(change.session, &email).await?,
    };
    let row = row.ok_or_else(|| TransactionError::Again(Failure::Unavailable(None, None)))?;
    Ok(merge_customer(&row, customer)?)
}

/// Returns the catalogue entries of these lines. Earlier changes of the same transaction count for
/// their stock. The rows are locked, in the order of their SKUs, only if an attempt without locks
/// found too little stock in the end.
async fn read_entries(
    session: &mut DbConnection,
    lines: &[NewLineItem],
) -> Result<BTreeMap<String, CatalogueEntry>, TransactionError> {
    let skus: std::collections::BTreeSet<_> = lines.iter().map(|line| &line.sku).collect();
    let statement = dynamic_sql(format!(
        "SELECT sku, name, price, on_hand - reserved FROM variants WHERE sku IN ({}) ORDER BY sku{}",
        placeholders(skus.len(), 1),
        match session.locks_stock {
            true => session.dialect().lock_suffix(),
            false => "",
        }
    ));
    let statement = skus
        .iter()
        .fold(statement, |query, sku| query.bind((*sku).clone()));
    let rows = session.all(statement).await?;
    let read = rows.iter().map(|row| {
        let sku = get_text(row, 0)?;
        let entry = CatalogueEntry {
            name: get_text(row, 1)?,
            price: get_money(row, 2)?,
            available: get_number(row, 3)? + session.stock().available(&sku),
        };
        Ok((sku, entry))
    });
    let found: BTreeMap<_, _> = read.collect::<Result<_, Failure>>()?;
    let unknown = lines.iter().position(|line| !found.contains_key(&line.sku));
    if let Some(index) = unknown {
        let field = format!("order.lineItems.{index}.sku");
        return Err(Failure::from(OrderRefusal::from(RefusalReason::SkuNotFound).at(field)).into());
    }
    Ok(found)
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
        let (cost, off) = (field("unitPrice"), field("unitDiscount"));
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
        });
    }
    Ok(priced)
}

fn totals(order: &NewOrder, lines: &[LineRow], currency: Currency) -> Result<Totals, Failure> {
    let amounts: Vec<_> = lines.iter().map(LineRow::amounts).collect();
    let too_large = || RuleViolation::new("order.lineItems", OrderRule::Digits);
    let totals = Totals::of(&amounts).ok_or_else(too_large)?;
    let given = [
        ("order.subTotal", order.sub_total.as_ref()),
        ("order.discountTotal", order.discount_total.as_ref()),
        ("order.total", order.total.as_ref()),
    ];
    totals.check(currency, given)?;
    Ok(totals)
}

/// Returns the units of each SKU, if there is enough stock of all of them.
fn check_stock(
    lines: &[NewLineItem],
    entries: &BTreeMap<String, CatalogueEntry>,
) -> Result<BTreeMap<String, i64>, Failure> {
    let mut units = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let needed: &mut i64 = units.entry(line.sku.clone()).or_default();
        *needed += line.quantity.get();
        let available = entries.get(&line.sku).map_or(0, |found| found.available);
        if *needed > available {
            let field = format!("order.lineItems.{index}.quantity");
            let refused = OrderRefusal::from(RefusalReason::InsufficientInventory);
            return Err(refused.at(field).having(available).into());
        }
    }
    Ok(units)
}

fn details(order: &NewOrder, customer: Option<&OrderCustomer>) -> OrderDetails {
    OrderDetails {
        customer: customer.cloned(),
        shipping_address: order.shipping_address.clone(),
        billing_address: order.billing_address.clone(),
        tags: order.tags.clone().unwrap_or_default(),
        custom_fields: order.custom_fields.clone().unwrap_or_default(),
        notes: order.notes.clone(),
        cancel_reason: None,
    }
}

async fn insert(
    session: &mut DbConnection,
    order_row: &OrderRow,
    customer: Option<OrderCustomer>,
) -> Result<(), TransactionError> {
    let inserted = sql(
        "INSERT INTO orders (id, external_id, name, status, currency, customer_id, details,
             sub_total, discount_total, total, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (external_id) DO NOTHING",
    )
    .bind(order_row.id.clone())
    .bind(order_row.external_id.clone())
    .bind(order_row.name.clone())
    .bind(order_row.status.word())
    .bind(order_row.currency.code())
    .bind(customer.and_then(|customer| customer.id))
    .bind(to_json(&order_row.details))
    .bind(order_row.sub_total.minor())
    .bind(order_row.discount_total.minor())
    .bind(order_row.total.minor())
    .bind(order_row.created_at.micros())
    .bind(order_row.updated_at.micros());
    match session.execute(inserted).await? {
        // Another call took the external id in the meantime: the next try reports that.
        0 => Err(TransactionError::Again(Failure::Unavailable(None, None))),
        _ => Ok(()),
    }
}

async fn insert_lines(
    session: &mut DbConnection,
    lines: &[LineRow],
    at: i64,
) -> Result<(), TransactionError> {
    const TYPES: [&str; 11] = [
        "TEXT", "BIGINT", "TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT",
        "BIGINT", "BIGINT",
    ];
    let statement = dynamic_sql(format!(
        "INSERT INTO order_lines (order_id, line, sku, name, quantity, unit_price, unit_discount,
             fulfilled, cancelled, returned, created_at) VALUES {}",
        values_list(lines.len(), &TYPES, 1)
    ));
    let statement = lines.iter().fold(statement, |query, line| {
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
    });
    session.execute(statement).await?;
    Ok(())
}
