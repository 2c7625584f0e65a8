//! Pages of fulfilments and returns.

use super::index_scan::{IndexScan, PageQuery};
use super::position::write;
use super::{PagedEntity, each, sorted_at};
use crate::failure::Failure;
use crate::model::{
    Currency, EntityQuery, Fulfillment, Return, ReturnOutcome, ReturnStatus, SortOrder,
};
use crate::sql::connection::{get_json, get_text};
use crate::sql::lookups::LookupKind;
use crate::sql::order::{corrupt_row, get_time};
use crate::sql::stored_details::{FulfillmentDetails, ReturnDetails};
use sqlx::any::AnyRow;

const FULFILLMENTS: IndexScan<'_, 1> = IndexScan {
    columns: "id, order_id, details, created_at, updated_at",
    from: "fulfillments",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

const RETURNS: IndexScan<'_, 1> = IndexScan {
    columns: "id, order_id, details, created_at, updated_at, outcome, status",
    from: "returns",
    ..FULFILLMENTS
};

fn build_query(
    walk: IndexScan<'_, 1>,
    query: &EntityQuery,
    page_size: i64,
) -> Result<PageQuery, Failure> {
    walk.page(
        query,
        page_size,
        "updated_at",
        |filter, arguments, filters| {
            filter.only(arguments, "id", filters.ids.as_ref());
            filter.leading(arguments, "order_id", filters.order_ids.as_ref());
            let numbers = filters.tracking_numbers.as_deref();
            let numbers =
                numbers.map(|numbers| LookupKind::FulfillmentTracking.searched_keys(numbers));
            filter.looked_up(arguments, "id", numbers);
            let outcomes = filters.outcomes.as_deref();
            let outcomes =
                outcomes.map(|all| all.iter().map(|one| one.word().to_owned()).collect());
            let statuses = filters.return_statuses.as_deref();
            let statuses =
                statuses.map(|all| all.iter().map(|one| one.word().to_owned()).collect());
            let sorted = filters.sort == Some(SortOrder::UpdatedAt);
            for (column, values) in [("status", statuses), ("outcome", outcomes)] {
                match (filter.each.is_none() && !sorted, values) {
                    (true, values) => filter.leading(arguments, column, values.as_ref()),
                    (false, values) => filter.only(arguments, column, values.as_ref()),
                }
            }
            filter.by_update_time(filters);
        },
    )
}

fn outcome(row: &AnyRow, index: usize) -> Result<ReturnOutcome, Failure> {
    let outcome = ReturnOutcome::read(&get_text(row, index)?);
    outcome.ok_or_else(|| corrupt_row("the database has an unknown outcome"))
}

fn status(row: &AnyRow, index: usize) -> Result<ReturnStatus, Failure> {
    let status = ReturnStatus::read(&get_text(row, index)?);
    status.ok_or_else(|| corrupt_row("the database has an unknown status"))
}

impl PagedEntity for Fulfillment {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        build_query(FULFILLMENTS, query, page_size)
    }

    fn read(rows: &[AnyRow], _: Currency, _: SortOrder) -> Result<Vec<Fulfillment>, Failure> {
        each(rows, |row| {
            let details: FulfillmentDetails<'_> = get_json(row, 2)?;
            Ok(Fulfillment {
                id: get_text(row, 0)?,
                order_id: get_text(row, 1)?,
                line_items: details.line_items.into_owned(),
                tracking_numbers: details.tracking_numbers.into_owned(),
                carrier: details.carrier,
                service: details.service,
                created_at: get_time(row, 3)?,
                updated_at: get_time(row, 4)?,
            })
        })
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.id],
        )
    }
}

impl PagedEntity for Return {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        build_query(RETURNS, query, page_size)
    }

    fn read(rows: &[AnyRow], _: Currency, _: SortOrder) -> Result<Vec<Return>, Failure> {
        each(rows, |row| {
            let details: ReturnDetails<'_> = get_json(row, 2)?;
            Ok(Return {
                id: get_text(row, 0)?,
                order_id: get_text(row, 1)?,
                outcome: outcome(row, 5)?,
                status: Some(status(row, 6)?),
                line_items: details.line_items.into_owned(),
                note: details.note,
                refund_amount: details.refund_amount,
                exchange_order_id: details.exchange_order_id,
                restock_location_id: details.restock_location_id,
                created_at: get_time(row, 3)?,
                updated_at: get_time(row, 4)?,
            })
        })
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.id],
        )
    }
}
