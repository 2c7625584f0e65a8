//! Finds a customer by email address, and pages of the customer's orders.

use crate::model::{Customer, UtcTime};
use crate::sql::connection::{dynamic_sql, get_number, get_optional_text, get_text, sql};
use crate::sql::existing_store::ExistingStore;
use crate::sql::order::{ORDER_COLUMNS, OrderRow, order_row};
use crate::sql::store::{DatabaseUrl, StoreError};
use sqlx::AnyConnection;

/// The orders of a customer that are read at once.
const ORDERS_AT_ONCE: i64 = 100;

/// A customer as it is shown before an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerSummary {
    pub id: String,
    pub orders: u64,
}

/// Finds the customer with this email address, in any letter case.
pub async fn find_customer(
    database: &DatabaseUrl,
    email: &str,
) -> Result<Option<CustomerSummary>, StoreError> {
    let mut store = ExistingStore::open(database).await?;
    let customer = load_customer(&mut store.connection, email).await?;
    let summary = match customer {
        None => None,
        Some(customer) => {
            let count = sql("SELECT COUNT(*) FROM orders WHERE customer_id = $1");
            let count = count.bind(customer.id.clone());
            let orders = get_number(&count.fetch_one(&mut store.connection).await?, 0)?;
            Some(CustomerSummary {
                id: customer.id,
                orders: orders.unsigned_abs(),
            })
        }
    };
    store.close().await?;
    Ok(summary)
}

/// Loads the customer with this email address.
pub(super) async fn load_customer(
    connection: &mut AnyConnection,
    email: &str,
) -> Result<Option<Customer>, StoreError> {
    let found = sql(
        "SELECT id, email, first_name, last_name, phone, created_at, updated_at
         FROM customers WHERE email_key = $1",
    );
    let found = found.bind(email.to_lowercase());
    let Some(row) = found.fetch_optional(connection).await? else {
        return Ok(None);
    };
    Ok(Some(Customer {
        id: get_text(&row, 0)?,
        email: get_optional_text(&row, 1)?,
        first_name: get_optional_text(&row, 2)?,
        last_name: get_optional_text(&row, 3)?,
        phone: get_optional_text(&row, 4)?,
        created_at: UtcTime::of_micros(get_number(&row, 5)?),
        updated_at: UtcTime::of_micros(get_number(&row, 6)?),
    }))
}

/// The position of a page: the time and the id of the last order of the page before.
pub(super) type OrderPosition = (i64, String);

/// Returns the position before the first order.
pub(super) const fn first_position() -> OrderPosition {
    (i64::MIN, String::new())
}

/// Loads the next orders of a customer, and moves the position behind them.
pub(super) async fn order_page(
    connection: &mut AnyConnection,
    customer: &str,
    position: &mut OrderPosition,
) -> Result<Vec<OrderRow>, StoreError> {
    let page = dynamic_sql(format!(
        "SELECT {ORDER_COLUMNS} FROM orders WHERE customer_id = $1
         AND (created_at > $2 OR (created_at = $2 AND id > $3)) ORDER BY created_at, id LIMIT $4"
    ));
    let page = page.bind(customer.to_owned()).bind(position.0);
    let page = page.bind(position.1.clone()).bind(ORDERS_AT_ONCE);
    let rows = page.fetch_all(connection).await?;
    let orders: Result<Vec<_>, _> = rows.iter().map(order_row).collect();
    let orders = orders?;
    if let Some(last) = orders.last() {
        *position = (last.created_at.micros(), last.id.clone());
    }
    Ok(orders)
}
