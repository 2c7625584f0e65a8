//! Pages of customers.

use super::place::{Span, write};
use super::walk::{Arguments, Walk, Wanted, Written, limit};
use super::{Paged, each};
use crate::failure::Failure;
use crate::model::{Currency, Customer};
use crate::query::Query;
use crate::sql::order::moment;
use crate::sql::session::{maybe, text};
use sqlx::any::AnyRow;

const WALK: Walk<'_, 1> = Walk {
    columns: "id, email, first_name, last_name, created_at, updated_at",
    from: "customers",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

impl Paged for Customer {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        let filters = &query.filters;
        let span = Span::of(query)?;
        let mut arguments = Arguments::default();
        let mut wanted = Wanted::default();
        wanted.only(&mut arguments, "id", filters.ids.as_ref());
        wanted.only(&mut arguments, "email_key", filters.emails.as_ref());
        wanted.changed = wanted.conditions.is_empty() && filters.updated_at_min.is_some();
        wanted.within(&mut arguments, "updated_at", filters);
        let text = WALK.text(&mut arguments, &span, &wanted, limit(page_size));
        Ok(arguments.of(text))
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Customer>, Failure> {
        each(rows, |row| {
            Ok(Customer {
                id: text(row, 0)?,
                email: maybe(row, 1)?,
                first_name: maybe(row, 2)?,
                last_name: maybe(row, 3)?,
                created_at: moment(row, 4)?,
                updated_at: moment(row, 5)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}
