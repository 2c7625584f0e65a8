//! Pages of customers.

use super::index_scan::{IndexScan, PageQuery};
use super::position::write;
use super::{PagedEntity, each, sorted_at};
use crate::failure::Failure;
use crate::model::{Currency, Customer, EntityQuery, SortOrder};
use crate::sql::connection::{get_optional_text, get_text};
use crate::sql::lookups::LookupKind;
use crate::sql::order::get_time;
use sqlx::any::AnyRow;

const WALK: IndexScan<'_, 1> = IndexScan {
    columns: "id, email, first_name, last_name, created_at, updated_at, phone",
    from: "customers",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

impl PagedEntity for Customer {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        WALK.page(
            query,
            page_size,
            "updated_at",
            |filter, arguments, filters| {
                filter.only(arguments, "id", filters.ids.as_ref());
                filter.only(arguments, "email_key", filters.emails.as_ref());
                let names = filters.names.as_deref();
                let names = names.map(|names| LookupKind::CustomerName.searched_keys(names));
                filter.looked_up(arguments, "id", names);
                let phones = ("id", LookupKind::CustomerPhone);
                filter.phoned(arguments, phones, filters.phones.as_ref());
                filter.by_update_time(filters);
            },
        )
    }

    fn read(rows: &[AnyRow], _: Currency, _: SortOrder) -> Result<Vec<Customer>, Failure> {
        each(rows, |row| {
            Ok(Customer {
                id: get_text(row, 0)?,
                email: get_optional_text(row, 1)?,
                first_name: get_optional_text(row, 2)?,
                last_name: get_optional_text(row, 3)?,
                phone: get_optional_text(row, 6)?,
                created_at: get_time(row, 4)?,
                updated_at: get_time(row, 5)?,
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
